package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// TestDrawnRows: the rows of rlzero tasks draw, with a completion added, are
// lines that rlzero verify takes; the reference is right on them in both forms.
func TestDrawnRows(t *testing.T) {
	for _, f := range tasks.Families() {
		for _, form := range []string{"text", "chat"} {
			var out, errs bytes.Buffer
			if code := Main([]string{"rlzero", "tasks", "draw", f.Name, "--n", "2", "--form", form, "--split", "held-out"}, nil, &out, &errs); code != 0 {
				t.Fatalf("%s: exit code %d: %s", f.Name, code, errs.String())
			}
			n := 0
			for text := range strings.Lines(out.String()) {
				n++
				var line map[string]any
				if err := json.Unmarshal([]byte(text), &line); err != nil {
					t.Fatal(err)
				}
				if (line["prompt"] != nil) == (form == "chat") || (line["messages"] != nil) != (form == "chat") || line["id"] == "" {
					t.Errorf("%s, %s: %s", f.Name, form, text)
				}
				answer := line["answer"].(string)
				task := f.Name
				if kind, of := kindOf(line); of && f.Name == "mixture" { // the task that it was drawn from
					task = kind
				}
				switch task {
				case "countdown", "countdown_search", "rewrite": // the answer is what is written
					line["completion"] = answer
				case "chain_sum":
					line["completion"] = "=" + answer
				default:
					line["completion"] = "<answer>" + answer + "</answer>"
				}
				raw, err := json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
				want := verify.Right
				if _, played := f.New().(tasks.Episodic); played && answer == "" { // an episode is judged as it is played
					want = verify.Wrong
				}
				if v, err := verify.Grade(raw, ""); err != nil || v.Verdict != want {
					t.Errorf("%s, %s: %s: %+v, %v", f.Name, form, raw, v, err)
				}
			}
			if n != 2 {
				t.Errorf("%s: %d rows", f.Name, n)
			}
		}
	}
}

// TestShownTasks: every task is shown with its settings, its best constant answer and
// three problems, to programs; every fourth to people too and every eighth as chat, as
// problems are slower to make than to test.
func TestShownTasks(t *testing.T) {
	for i, f := range tasks.Families() {
		var text, chat, line, errs bytes.Buffer
		forms := map[string]*bytes.Buffer{"--json": &line}
		if i%4 == 0 {
			forms["--form=text"] = &text
		}
		if i%8 == 0 {
			forms["--form=chat"] = &chat
		}
		for form, out := range forms {
			if code := Main([]string{"rlzero", "tasks", "show", form, f.Name}, nil, out, &errs); code != 0 {
				t.Fatalf("%s: exit code %d: %s", f.Name, code, errs.String())
			}
		}
		var shown struct {
			Name, Summary, Doc string
			Settings           []tasks.Setting
			Curriculum         []struct {
				Name     string
				Levels   []float64
				Settings []string
			}
			Constant tasks.Constant `json:"best_constant"`
			Players  earned
			Samples  []verify.Problem
		}
		if err := json.Unmarshal(line.Bytes(), &shown); err != nil {
			t.Fatal(err)
		}
		if shown.Name != f.Name || len(shown.Samples) != 3 || len(shown.Curriculum) != len(f.Curriculum) {
			t.Errorf("%s: %+v", f.Name, shown)
		}
		for _, s := range shown.Settings {
			if s.About == "" || s.Accepted == "" || s.Value == nil || i%4 == 0 && !strings.Contains(text.String(), "\n"+s.Key+" ") {
				t.Errorf("%s: setting %+v", f.Name, s)
			}
		}
		if _, played := f.New().(tasks.Episodic); played {
			if shown.Players.Best != 1 || shown.Players.Random >= shown.Players.Shown || shown.Constant.Of != 0 {
				t.Errorf("%s: players %+v", f.Name, shown.Players)
			}
		} else if shown.Constant.Of == 0 || i%4 == 0 && !strings.Contains(text.String(), "\nBest constant answer, a baseline: ") {
			t.Errorf("%s: best constant answer %+v", f.Name, shown.Constant)
		}
		_, episodes := f.New().(tasks.Episodic) // which are shown turn by turn
		if i%8 == 0 && !episodes && (strings.Count(chat.String(), " system: ") != 3 || strings.Count(chat.String(), " => ") < 3) {
			t.Errorf("%s: chat form %s", f.Name, chat.String())
		}
	}
}

// kindOf is the task that a row of a mixture was drawn from.
func kindOf(line map[string]any) (kind string, there bool) {
	metadata, _ := line["metadata"].(map[string]any)
	kind, there = metadata["kind"].(string)
	return kind, there
}
