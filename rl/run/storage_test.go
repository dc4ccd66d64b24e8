package run

import (
	"cmp"
	"os"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/store"
)

// inBF16 keeps matrices, keys and values of a run as bf16.
var inBF16 = []string{"model.dtype=bf16", "model.kv_dtype=bf16"}

// inLoRA trains an adapter of some modules of a bf16 model.
var inLoRA = []string{"model.dtype=bf16", "model.lora.rank=3", `model.lora.modules=["q_proj", "v_proj", "down_proj"]`, "stage.rl.algorithm.penalty=kl_k3", "stage.rl.algorithm.beta=0.05"}

// TestStorageRuns: a run in bf16, and one that trains an adapter, is as exact as one of
// a whole model in float32. It learns, its sampler and its trainer agree to the bit, a
// second one and one that goes on from any other checkpoint write the same bytes, and
// what it saved opens as it was trained.
func TestStorageRuns(t *testing.T) {
	plain := t.TempDir()
	trainIn(t, plain, false, smallRun...)
	for name, storage := range map[string][]string{"bf16": inBF16, "adapter": inLoRA} {
		t.Run(name, func(t *testing.T) {
			base := exactRun(t, slices.Concat(smallRun, storage))
			if runFiles(t, plain)["metrics.jsonl"] == runFiles(t, base)["metrics.jsonl"] {
				t.Error("a run in float32 has the same metrics: nothing was kept otherwise")
			}
			folder, _, err := store.FindModel(base)
			must(t, err)
			for _, asked := range []model.Dtype{"", model.F32} {
				m, err := cast.OpenModel(tester(t), folder, "", asked, asked)
				if err != nil {
					t.Fatal(err)
				}
				if want := cmp.Or(asked, model.BF16); m.Config.Dtype != want {
					t.Errorf("opened with dtype %q: %q, want %q", asked, m.Config.Dtype, want)
				}
				if (m.AdapterTensors() != nil) != (name == "adapter") {
					t.Errorf("opened with %d tensors of an adapter", len(m.AdapterTensors()))
				}
				m.Close()
			}
		})
	}
}

// exactRun trains and holds the run to its bits; it returns the run's folder.
func exactRun(t *testing.T, sets []string) string {
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
	other := t.TempDir()
	trainIn(t, other, false, slices.Concat(sets, []string{"micro_batch_tokens=103", "sampler_sequences=5", "recompute_activations=true"})...)
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
	return base
}
