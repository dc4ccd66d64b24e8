package run

import (
	"os"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/store"
)

// inBF16 keeps matrices, keys and values of a run as bf16.
var inBF16 = []string{"model.dtype=bf16", "model.kv_dtype=bf16"}

// TestBF16Run: a run in bf16 is as exact as one in float32. It learns, its sampler
// and its trainer agree to the bit, a second one and one that goes on from any
// other checkpoint write the same bytes, and what it saved opens as it was trained.
func TestBF16Run(t *testing.T) {
	sets := slices.Concat(smallRun, inBF16)
	base := t.TempDir()
	trainIn(t, base, false, sets...)
	want := runFiles(t, base)
	rows := metricRows(t, base, "policy/ratio_first")
	if len(rows) != 4 {
		t.Fatalf("%d steps of reinforcement learning, want 4", len(rows))
	}
	for _, row := range rows {
		if row["policy/mismatch_kl"] != 0.0 || row["policy/ratio_first"] != 1.0 {
			t.Errorf("step %v: policy/mismatch_kl %v, policy/ratio_first %v; want exactly 0 and 1", row["step"], row["policy/mismatch_kl"], row["policy/ratio_first"])
		}
		if g, _ := row["policy/grad_norm"].(float64); g == 0 {
			t.Errorf("step %v learned nothing: the test shows nothing", row["step"])
		}
	}
	plain := t.TempDir()
	trainIn(t, plain, false, smallRun...)
	if runFiles(t, plain)["metrics.jsonl"] == want["metrics.jsonl"] {
		t.Error("a run in float32 has the same metrics: nothing was kept in bf16")
	}

	other := t.TempDir()
	trainIn(t, other, false, slices.Concat(sets, []string{"micro_batch_tokens=103", "sampler_sequences=5"})...)
	if got := runFiles(t, other); got["metrics.jsonl"] != want["metrics.jsonl"] || got["completions.jsonl"] != want["completions.jsonl"] {
		t.Error("a run whose work is cut otherwise has other metrics or completions")
	}
	for keep := 0; keep <= len(checkpointDirs(t, base)); keep += 3 {
		dir := copyRun(t, base)
		for _, c := range checkpointDirs(t, dir)[keep:] {
			must(t, os.RemoveAll(c))
		}
		trainIn(t, dir, true, sets...)
		sameRun(t, runFiles(t, dir), want)
	}

	for _, c := range []struct{ asked, want model.Dtype }{{"", model.BF16}, {model.F32, model.F32}} {
		folder, _, err := store.FindModel(base)
		must(t, err)
		m, err := cast.OpenModel(tester(t), folder, c.asked, c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if m.Config.Dtype != c.want || m.Config.KVDtype != c.want {
			t.Errorf("opened with dtype %q: %q, keys and values %q, want %q", c.asked, m.Config.Dtype, m.Config.KVDtype, c.want)
		}
		m.Close()
	}
}
