package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/verify"
)

// writtenRun is a run folder as a device would leave it: the rl stage's problems
// of the first steps, each answered by its reference and by something else.
func writtenRun(t *testing.T, preset string, change func(line *record.Completion)) string {
	t.Helper()
	r, err := recipe.Load(preset, []string{"stage.rl.prompts_per_step=4"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "recipe.toml"), []byte(r.Resolved()), 0o644); err != nil {
		t.Fatal(err)
	}
	stage := 0
	for i, st := range r.Stages {
		if st.Kind == recipe.KindRL {
			stage = i
		}
	}
	var out bytes.Buffer
	for step := range 3 {
		for group, row := range prompts.Step(prompts.Of(r.Task.Settings), r.Seed, random.Stream(random.Draw, stage), step, 4) {
			for sample, text := range []string{"=" + strings.TrimPrefix(row.Answer, "="), row.Answer, "1+1=2"} {
				v := r.Task.Settings.Verify(row, text, true)
				line := record.Completion{Step: 501 + step, Stage: "rl", PromptID: row.ID, Group: group, Sample: sample, Prompt: row.Question,
					Text: text, Reward: &v.Score, Verdict: v.Verdict, Stop: "eos"}
				change(&line)
				raw, err := json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
				out.Write(append(raw, '\n'))
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "completions.jsonl"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRun: the problems of a run are drawn again, what was stored comes out
// again, and what was changed since is found.
func TestRun(t *testing.T) {
	for _, preset := range []string{"countdown-tiny", "chain-sum-tiny"} {
		r, err := Run(writtenRun(t, preset, func(*record.Completion) {}), Options{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if r.Samples != 36 || r.Stored.N != 36 || r.Problems() != nil || len(r.Pairs) != 1 || r.Pairs[0].Graders[0].mean() == 0 {
			t.Errorf("%s: %d samples, stored %+v, %q, %+v", preset, r.Samples, r.Stored, r.Problems(), r.Pairs[0].Graders)
		}
		// "=11" is the right total without a working.
		if differ := r.Pairs[0].Disagreed; preset == "chain-sum-tiny" && differ != 12 || preset == "countdown-tiny" && differ != 0 {
			t.Errorf("%s: %d disagreements about the form", preset, differ)
		}
	}
	changed := writtenRun(t, "countdown-tiny", func(line *record.Completion) {
		switch {
		case line.Step == 502 && line.Sample == 2:
			line.Verdict = verify.Right
		case line.Step == 503 && line.Group == 1:
			line.PromptID = "1,2>3"
		case line.Step == 503 && line.Group == 2:
			line.Stop = "length"
		case line.Step == 503 && line.Group == 3:
			line.Group = 4
		}
	})
	r, err := Run(changed, Options{Limit: 2, Against: "task:countdown extract=none"})
	if err != nil {
		t.Fatal(err)
	}
	// 4 verdicts changed; of 3 that were cut off one had been right.
	if r.Samples != 30 || r.Lost.N != 6 || len(r.Lost.Examples) != 2 || r.Stored.Differ != 4+1 || r.Pairs[0].Disagreed != 1 {
		t.Errorf("%d samples, lost %+v, stored %+v, %d disagreements", r.Samples, r.Lost, r.Stored, r.Pairs[0].Disagreed)
	}
	if len(r.Problems()) != 2 {
		t.Errorf("%q", r.Problems())
	}
	if _, err := Run(t.TempDir(), Options{}); err == nil {
		t.Error("a folder without a run is audited")
	}
}

// TestRedrawGroups: a group that stands before one of a made row, or beyond the prompts of its step, is refused.
func TestRedrawGroups(t *testing.T) {
	r, err := recipe.Load("chain-sum-tiny", []string{"stage.rl.prompts_per_step=4", `stage.rl.make=[{rows = "asked", row = {question = "{question}"}}]`, `stage.rl.source=[{rows = "asked", share = 0.5}]`})
	if err != nil {
		t.Fatal(err)
	}
	d := &Redraw{recipe: r, source: prompts.Of(r.Task.Settings), began: map[string]int{}, made: map[string]verify.Problem{"asked/1": {ID: "asked/1", Question: "1:"}}}
	line := func(group int) error {
		_, _, err := d.Row(record.Completion{Step: 9, Stage: "rl", PromptID: "asked/1", Prompt: "1:", Group: group})
		return err
	}
	if err := line(1); err != nil {
		t.Fatal(err)
	}
	for _, group := range []int{-1, 0, 1, 6} {
		_, _, err := d.Row(record.Completion{Step: 9, Stage: "rl", PromptID: "x", Prompt: "x", Group: group})
		if err == nil || !strings.Contains(err.Error(), "the group is out of range") {
			t.Errorf("group %d: %v", group, err)
		}
	}
}

// TestFile: lines as verify --in takes them, with what they may store.
func TestFile(t *testing.T) {
	const input = `{"question":"3+4","answer":"7","completion":"7","verdict":"right","score":1}
{"question":"3+5","answer":"8","completion":"9","verdict":"right","reward":1}
{"question":"3+6","answer":"9","completion":"9","verdict":"perhaps"}
{"verifier":"gsm8k","answer":"7","completion":"it is 7"}
{"verifier":"task:gcd","task":{"question":"gcd?","answer":"4"},"completion":"<answer>4</answer>","extract":"announced"}
{"verifier":"json_schema","schema":{"type":"object"},"completion":"{}"}
`
	r, err := File("lines", strings.NewReader(input), Options{Verifier: "number", Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range r.Pairs {
		for _, g := range p.Graders {
			names = append(names, g.Name)
		}
	}
	want := "number, math, gsm8k, gsm8k extract=flexible, task:gcd extract=announced, task:gcd extract=last_line, json_schema"
	if got := strings.Join(names, ", "); got != want || r.Samples != 6 || r.Stored.N != 2 || r.Stored.Differ != 1 || r.Pairs[1].Disagreed != 1 {
		t.Errorf("%s; %+v", got, r.Stored)
	}
	for _, o := range []Options{{}, {Verifier: "numbr"}, {Verifier: "number", Against: "numbr"}, {Verifier: "number", Against: "math strict"}} {
		if _, err := File("lines", strings.NewReader(input), o); !errors.Is(err, lines.ErrInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestJudgesTold: a verifier of a stage that asks a model is not audited, and the report says so.
func TestJudgesTold(t *testing.T) {
	r := &recipe.Recipe{Stages: []recipe.Stage{{Name: "rl"}}}
	r.Stages[0].Verifiers = []reward.Verifier{{Name: "form", Verifier: "format", Options: map[string]any{"pattern": "x"}},
		{Name: "good", Verifier: "judge", Options: map[string]any{"model": "m", "source": "{completion}", "read": "head"}}}
	parts, judges, err := stageParts(r)
	if err != nil || len(parts["rl"]) != 1 || len(judges) != 1 || judges[0] != "good of stage rl" {
		t.Fatalf("%v, %q (%v)", parts, judges, err)
	}
	report := &Report{Judges: judges}
	var text, lines bytes.Buffer
	if err := errors.Join(report.Text(&text), report.JSON(&lines)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "not audited: good of stage rl asks a model; rlzero judge asks it again\n") || !strings.Contains(lines.String(), `{"kind":"judge","verifier":"good of stage rl"}`) {
		t.Errorf("%s\n%s", &text, &lines)
	}
}
