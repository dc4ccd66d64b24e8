package report

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
)

// write makes a run folder of the given files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const metricsFile = `{"step":1,"stage":"warm-up","sft/loss":2.5,"policy/entropy":null}
{"step":2,"stage":"warm-up","sft/loss":1.5}

{"step":2,"stage":"warm-up","eval/pass@1":0.25,"eval/pass@8":0.8,"eval/greedy":0.5,"eval/valid":0.9}
{"step":3,"stage":"grpo","reward/mean":0.3,"eval/pass@1":0.3}
{"step":4,"stage":"grpo","reward/mean":0.4,"tags":["a"]}
{"step":4,"stage":"grpo","eval/pass@1":0.6,"eval/pass@8":0.9}
`

func TestRead(t *testing.T) {
	preset, err := recipe.Load("countdown-blind", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(write(t, map[string]string{
		"metrics.jsonl": metricsFile,
		"timing.jsonl":  `{"step":3,"stage":"grpo","rollout/tokens_per_s":1200}` + "\n" + `{"step":4,"sta` + "\n",
		"evaluations.jsonl": `{"step":2,"stage":"warm-up","prompt":"p","completion":"c","verdict":"wrong","reason":"no"}
{"step":4,"stage":"grpo","prompt":"p","completion":"d","verdict":"right","reason":"yes"}` + "\n",
		"recipe.toml": preset.Resolved(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "countdown-blind" || r.Recipe != preset.Resolved() || r.Plan["rl"] != (Plan{200, 10}) || r.Finished || len(r.Metrics) != 4 || len(r.Timing) != 1 || len(r.Evaluations) != 2 {
		t.Fatalf("%+v", r)
	}
	if !math.IsNaN(r.Metrics[0].Values["policy/entropy"]) {
		t.Error("null is not NaN")
	}
	first, last := r.Evaluations[0], r.Evaluations[1]
	if first.Step != 2 || first.PassAt[1] != 0.25 || first.PassAt[8] != 0.8 || first.Greedy != 0.5 || first.Valid != 0.9 || first.Samples[0].Completion != "c" {
		t.Errorf("after the warm-up: %+v", first)
	}
	if last.Step != 4 || last.PassAt[1] != 0.6 || !math.IsNaN(last.Greedy) || last.Samples[0].Verdict != "right" {
		t.Errorf("after RL: %+v", last)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "timing.jsonl: line 2") {
		t.Errorf("notes %q, want one on the torn line", r.Notes)
	}
	html, _ := check(t, r)
	if !strings.Contains(html, "timing.jsonl: line 2") {
		t.Error("the page does not say what was left out")
	}
}

// TestReadInProgress: a run that is training has no receipt, and a last line that is
// not yet whole.
func TestReadInProgress(t *testing.T) {
	r, err := Read(write(t, map[string]string{
		"metrics.jsonl": metricsFile + `{"step":5,"stage":"grpo","rew`,
		"completions.jsonl": `{"step":3,"stage":"grpo","group":0,"prompt":"p","completion":"a","reward":1,"verdict":"right","reason":"","advantage":0}
{"step":4,"stage":"grpo","group":0,"prompt":"p","completion":"a","reward":1,"verdict":"right","reason":"","advantage":0}
{"step":4,"stage":"grpo","group":1,"prompt":"q","completion":"b","reward":0,"verdict":"wrong","reason":"","advantage":-1}
{"step":4,"stage":"grpo","group":1,"prompt":"q","completion":"c","reward":null,"verdict":"not_scored","reason":"","advantage":null}
{"step":4,"stage":"grpo","group":1,"prompt":"q","completion":"d","reward":1,"verdict":"right","reason":"","advantage":1}
{"step":4,"sta`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished || len(r.Metrics) != 4 || len(r.Notes) > 0 {
		t.Errorf("finished %v, %d steps, notes %q; want false, 4, none", r.Finished, len(r.Metrics), r.Notes)
	}
	if len(r.Groups) != 2 || r.Groups[0].Step != 3 || r.Groups[1].Prompt != "q" || len(r.Groups[1].Completions) != 3 || !math.IsNaN(r.Groups[1].Completions[1].Reward) {
		t.Errorf("groups %+v, want the only one of step 3 and the mixed one of step 4", r.Groups)
	}
	if html, _ := check(t, r); !strings.Contains(html, "unfinished: grpo, step 2") {
		t.Error("the page does not say where the run stands")
	}
}

// TestReadReceipt: a finished run names its machine.
func TestReadReceipt(t *testing.T) {
	r, err := Read(write(t, map[string]string{"metrics.jsonl": metricsFile, "receipt.json": `{"program":"v1","device":"d","driver":"e","tier":"TL","numerics":4,"logs":[]}`}))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Machine{"d", "e", "TL", 4, "v1"}); !r.Finished || r.Machine != want {
		t.Errorf("finished %v, machine %+v; want %+v", r.Finished, r.Machine, want)
	}
}

// TestReadBeforeTraining: a model that exists is measured before its first step, and
// compared with that.
func TestReadBeforeTraining(t *testing.T) {
	const start = `{"step":0,"stage":"rl","eval/pass@1":0.25}` + "\n"
	samples := map[string]string{"metrics.jsonl": start, "evaluations.jsonl": `{"step":0,"stage":"rl","prompt":"p","completion":"c","verdict":"wrong","reason":""}` + "\n"}
	r, err := Read(write(t, samples))
	if err != nil {
		t.Fatal(err)
	}
	if page, _ := check(t, r); !strings.Contains(page, "unfinished: no step done") || !strings.Contains(page, "Held-out accuracy before training: <b>25.0 %") {
		t.Error("the page of a run that has not trained does not say so")
	}
	samples["metrics.jsonl"] += `{"step":1,"stage":"rl","reward/mean":0.3}
{"step":2,"stage":"rl","reward/mean":0.4}
{"step":2,"stage":"rl","eval/pass@1":0.5}
`
	if r, err = Read(write(t, samples)); err != nil {
		t.Fatal(err)
	}
	if s := r.stages(); len(s) != 1 || s[0] != (stage{"rl", 0, 2, true}) {
		t.Errorf("stages %+v, want one of steps 1 and 2", s)
	}
	if before, after := r.beforeAfter(); len(r.Evaluations) != 2 || before.at(1) != 0.25 || after.at(1) != 0.5 || len(before.Samples) != 1 {
		t.Errorf("evaluations %+v, want that before the first step and that after the last", r.Evaluations)
	}
	if page, _ := check(t, r); !strings.Contains(strings.Join(strings.Fields(readable(page)), " "), "+25.0 points of pass@1 between the start and the newest evaluation") {
		t.Error("the page does not compare with the start")
	}
}

func TestReadMetricsAlone(t *testing.T) {
	r, err := Read(write(t, map[string]string{"metrics.jsonl": metricsFile}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) > 0 {
		t.Errorf("a missing optional file is noted: %q", r.Notes)
	}
	check(t, r)
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(write(t, nil)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Errorf("no metrics: %v", err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n", "metrics.jsonl holds no step"},
		{"torn", metricsFile + `{"step":5,` + "\n", "metrics.jsonl: line 8: not a JSON object"},
		{"no step", `{"stage":"rl"}` + "\n", `metrics.jsonl: line 1: no "step"`},
		{"text for a step", `{"step":"1"}` + "\n", "metrics.jsonl: line 1: not a JSON object with a whole step"},
	} {
		if _, err := Read(write(t, map[string]string{"metrics.jsonl": c.text})); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
