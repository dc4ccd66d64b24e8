package run

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const preferText = `model.path = %q
[checkpoint]
keep = 100
[task]
data = "rows.jsonl"
columns = {chosen = "right", rejected = "wrong"}
[[stage]]
kind = "preference"
steps = 12
batch_size = 4
max_tokens = 64
test_every = 6
checkpoint_every = 4
[stage.algorithm]
state = {usual = {start = 0, next = "0.9*usual + 0.1*prompts_mean(beta*apart(gain))"}}
metrics = {"my/usual" = "usual"}
[stage.optimizer]
lr = 1e-3
warmup_steps = 2
`

// TestPreference: pairs in a file of one's own columns teach which answer is better, also
// where it was not trained on; the run samples nothing and, cut after a checkpoint, comes to
// the same bytes.
func TestPreference(t *testing.T) {
	start := chatModel(t)
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 80 {
		fmt.Fprintf(&rows, `{"prompt":"say %[1]d","right":"%[1]d","wrong":"no"}`+"\n", i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	base := filepath.Join(t.TempDir(), "run")
	shown, err := chatRun(t, base, start, data, preferText, false)
	must(t, err)
	if strings.Count(shown, "held-out loss ") != 2 || !strings.Contains(shown, "\nmethod: dpo, 1 change; --verbose shows the formulas\n") || strings.Contains(shown, "pair = ") {
		t.Errorf("held-out loss or method are not shown:\n%s", shown)
	}
	all := linesOf(t, filepath.Join(base, "metrics.jsonl"))
	first, last := all[0], all[len(all)-1]
	if len(all) != 12 || first["policy/loss"] != math.Ln2 || first["preference/margin"] != 0.0 || first["preference/accuracy"] != 0.0 {
		t.Errorf("%d steps; the first: %v", len(all), first)
	}
	if last["eval/preference_accuracy"] != 1.0 || last["eval/preference_loss"].(float64) >= all[5]["eval/preference_loss"].(float64) || last["eval/preference_margin"].(float64) <= 0 {
		t.Errorf("the last step: %v", last)
	}
	for _, name := range []string{"reward/mean", "rollout/tokens", "policy/compared", "policy/kl_ref", "eval/pass@1"} {
		if _, there := last[name]; there {
			t.Errorf("%s is measured, although nothing was sampled", name)
		}
	}
	if last["my/usual"].(float64) <= 0 {
		t.Errorf("the state of the method stays at %v", last["my/usual"])
	}
	cut := copyRun(t, base)
	for _, c := range checkpointDirs(t, cut)[1:] {
		must(t, os.RemoveAll(c))
	}
	_, err = chatRun(t, cut, start, data, preferText, true)
	must(t, err)
	sameRun(t, runFiles(t, cut), runFiles(t, base))

	must(t, os.WriteFile(data, []byte(rows.String()+`{"prompt":"say","right":"yes","wrong":"yes"}`), 0o644))
	_, err = chatRun(t, filepath.Join(t.TempDir(), "run"), start, data, preferText, false)
	if want := "rows.jsonl: line 81: chosen and rejected are the same"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestPreferenceAdapter: the reference of a run with an adapter is the model without it, and
// micro-batches change nothing.
func TestPreferenceAdapter(t *testing.T) {
	start := chatModel(t)
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"prompt":"say %[1]d","right":"%[1]d","wrong":"no"}`+"\n", i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	var weights [2][]byte
	for i, micro := range []string{"micro_batch_tokens = 8192\n", "micro_batch_tokens = 128\n"} {
		text := micro + strings.Replace(strings.Replace(preferText, "[checkpoint]", "[model.lora]\nrank = 2\n[checkpoint]", 1), "steps = 12", "steps = 3", 1)
		dir := filepath.Join(t.TempDir(), "run")
		_, err := chatRun(t, dir, start, data, text, false)
		must(t, err)
		all := linesOf(t, filepath.Join(dir, "metrics.jsonl"))
		if all[0]["policy/loss"] != math.Ln2 || all[2]["policy/loss"].(float64) >= math.Ln2 {
			t.Errorf("losses %v", all)
		}
		dirs := checkpointDirs(t, dir)
		weights[i], err = os.ReadFile(filepath.Join(dirs[len(dirs)-1], "adapter_model.safetensors"))
		must(t, err)
	}
	if !bytes.Equal(weights[0], weights[1]) {
		t.Error("micro_batch_tokens changes the weights")
	}
}
