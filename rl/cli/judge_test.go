package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestJudge: the judges of a recipe are asked about rows and held against labels: a head comes to what eval
// says of its folder, and a judge that reads probabilities to a number in between. What is wrong is told
// with what is accepted.
func TestJudge(t *testing.T) {
	dir, rm, policy := t.TempDir(), headedFolder(t), fixtures.ChatModel(t)
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	rows := write("rows.jsonl", `{"question":"one?","answer":"1","completion":"1","label":true}
{"question":"one?","answer":"1","completion":"no <|im_end|>","label":false}
{"question":"two?","answer":"2","completion":"2","label":true}
{"question":"two?","answer":"2","completion":"Score: 10","label":false}
`)
	write("q.txt", "Is it right?\n{question} {completion}")
	mine := write("mine.toml", fmt.Sprintf(`model.path = %q
[models.rm]
path = %q
head = true
[models.reader]
path = %q
[task]
data = "rows.jsonl"
verifier = "exact"
max_prompt_tokens = 64
held_out = 0.5
[[stage]]
kind = "rl"
steps = 1
prompts_per_step = 1
group_size = 2
reward = "liked + says"
sampling = {max_completion_tokens = 4}
[[stage.verifier]]
name = "liked"
verifier = "judge"
options = {model = "rm", read = "head"}
[[stage.verifier]]
name = "says"
verifier = "judge"
options = {model = "reader", prompt = "q.txt", read = {yes = 1, no = 0}, context = 256}
`, policy, rm, policy))
	asked := func(args ...string) (out []struct {
		Judge              string
		Completions        int
		Not_scored, Unread int
		Agreement          map[string]float64
	}) {
		t.Helper()
		code, stdout, stderr := rlzero(t, append([]string{"judge", mine, "--in", rows, "--json", "--device", "ref"}, args...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		for _, text := range splitLines(stdout) {
			out = append(out, struct {
				Judge              string
				Completions        int
				Not_scored, Unread int
				Agreement          map[string]float64
			}{})
			if err := json.Unmarshal([]byte(text), &out[len(out)-1]); err != nil {
				t.Fatal(text, err)
			}
		}
		return out
	}
	all := asked()
	if len(all) != 2 || all[0].Judge != "liked" || all[1].Judge != "says" {
		t.Fatalf("%+v", all)
	}
	for _, r := range all {
		if r.Completions != 4 || r.Not_scored != 0 || r.Unread != 0 || r.Agreement["pairs_of"] != 2 || r.Agreement["alone_of"] != 4 {
			t.Errorf("%+v", r)
		}
	}
	plain := write("plain.jsonl", `{"question":"one?","completion":"1","label":true}
{"question":"one?","completion":"no","label":false}
`)
	code, stdout, stderr := rlzero(t, "eval", rm, "--data", plain, "--json", "--device", "ref")
	var figures map[string]any
	if err := json.Unmarshal([]byte(stdout), &figures); code != 0 || err != nil {
		t.Fatal(stderr, err)
	}
	if _, stdout, _ := rlzero(t, "judge", mine, "--in", plain, "--judge", "liked", "--json", "--device", "ref"); !strings.Contains(stdout, `"failed":[]`) {
		t.Errorf("%s", stdout)
	}
	rows = plain
	if one := asked("--judge", "liked"); len(one) != 1 || one[0].Agreement["pairs"] != figures["pairs"] || one[0].Agreement["alone"] != figures["alone"] {
		t.Errorf("%+v, and eval has %v", one, figures)
	}
	if code, out, _ := rlzero(t, "judge", mine, "--in", rows, "--judge", "says", "--device", "ref"); code != 0 || !strings.Contains(out, "says: reader asked about 2 completions") || !strings.Contains(out, "of right") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// The column that a stage imitates is none of the rows to ask about.
	if _, out, stderr := rlzero(t, "judge", mine, "--in", rows, "--set", "task.columns.completion=answer", "--judge", "says", "--device", "ref"); !strings.Contains(out, "says: reader asked about 2 completions") {
		t.Errorf("%s%s", out, stderr)
	}
	// A task that a judge judges is measured by it, and by nobody else.
	tasked := write("tasked.toml", fmt.Sprintf(`model.path = %q
[models.rm]
path = %q
head = true
[task]
data = "rows.jsonl"
verifier = "judge"
options = {model = "rm", read = "head"}
max_prompt_tokens = 64
held_out = 0.5
[[stage]]
kind = "rl"
steps = 1
sampling = {max_completion_tokens = 4, temperature = 0.01}
`, policy, rm))
	code, stdout, stderr = rlzero(t, "eval", policy, "--task", tasked, "--json", "--n", "2", "--k", "1", "--temperature", "0.5", "--device", "ref")
	var measured map[string]any
	if err := json.Unmarshal([]byte(stdout), &measured); code != 0 || err != nil {
		t.Fatal(stderr, err)
	}
	if mean, _ := measured["mean"].(float64); measured["n"] == 0.0 || measured["not_scored"] != 0.0 || mean < 0 || mean >= 1 {
		t.Errorf("%v", measured)
	}
	for _, c := range []struct{ args, want, hint string }{
		{"eval " + policy + " --data " + rows + " --verifier judge", "option model is missing", ""},
		{"judge " + mine, "mine.toml is no run, so it has no completions: give --in FILE", "--in rows.jsonl"},
		{"judge chain-sum-tiny --in " + rows, "recipe chain-sum-tiny has no judge", ""},
		{"judge " + mine + " --in " + rows + " --judge like", "has no judge like; accepted: liked, says", ""},
		{"judge " + mine + " --in " + mine, "--in: ", ""},
		{"judge " + mine + " --in " + rows + " --verifier nothing", "--verifier: unknown verifier", ""},
		{"judge nowhere.toml --in " + rows, "nowhere.toml", ""},
		{"audit " + rows + " --verifier judge", "option model is missing", ""},
		{"verify --verifier judge --in " + rows, "option model is missing", ""},
	} {
		args := strings.Fields(c.args)
		if args[0] == "judge" || args[0] == "eval" {
			args = append(args, "--device", "ref")
		}
		if code, _, stderr := rlzero(t, args...); code != exitUsage || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, c.hint) {
			t.Errorf("%s: exit code %d: %s", c.args, code, stderr)
		}
	}
	for _, args := range [][]string{{"audit", rows, "--verifier", "judge model=m read=head"}, {"eval", policy, "--data", rows, "--verifier", "judge model=m read=head", "--device", "ref"}} {
		if code, _, stderr := rlzero(t, args...); code != exitUsage || !strings.Contains(stderr, "the verifier judge asks a model") || !strings.Contains(stderr, "rlzero judge") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	code, _, stderr = rlzero(t, "judge", mine, "--in", rows, "--verifier", "judge model=m read=head", "--device", "ref")
	if code != exitUsage || !strings.Contains(stderr, "--verifier judge model=m read=head asks a model itself; accepted: a verifier that judges by itself") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
