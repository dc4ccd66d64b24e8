package run

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/store"
)

// inBF16 keeps matrices, keys and values of a run as bf16.
var inBF16 = []string{"model.dtype=bf16", "model.kv_dtype=bf16"}

// inLoRA trains an adapter of some modules of a model in q8_0.
var inLoRA = []string{"model.dtype=q8_0", "model.lora.rank=3", `model.lora.modules=["q_proj", "v_proj", "down_proj"]`, `stage.rl.algorithm.penalty="kl_k3"`, "stage.rl.algorithm.beta=0.05"}

// TestStorageRuns: a run in bf16, and one that trains an adapter over a model in any
// storage, is as exact as one of a whole model in float32. It learns, its sampler and its
// trainer agree to the bit, a second one and one that goes on from any other checkpoint write
// the same bytes, and what it saved opens as it was trained.
func TestStorageRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains in every storage")
	}
	device, inGo := first(t), tester(t)
	float32s := map[gpu.Device]string{}
	for _, dev := range []gpu.Device{device, inGo} {
		dir := t.TempDir()
		trainOn(t, dev, dir, false, smallRun...)
		float32s[dev] = runFiles(t, dir)["metrics.jsonl"]
	}
	for name, c := range map[string]struct {
		dev     gpu.Device
		sets    []string
		dtype   hf.Dtype
		adapter bool
	}{
		"bf16":                                    {device, inBF16, hf.BF16, false},
		"adapter over q8_0":                       {device, inLoRA, hf.Q8, true},
		"adapter over f32, llama":                 {inGo, []string{"model.family=llama", "model.lora.rank=2"}, "", true},
		"bf16, qwen2":                             {inGo, slices.Concat(inBF16, []string{"model.family=qwen2"}), hf.BF16, false},
		"adapter over bf16, smollm3":              {inGo, slices.Concat(inBF16, []string{"model.family=smollm3", "model.kv_heads=1", "model.layers=4", "model.lora.rank=2", "model.lora.rslora=true"}), hf.BF16, true},
		"adapter over q4_0, gemma3, recompute":    {inGo, []string{"model.family=gemma3_text", "model.kv_heads=1", "model.dtype=q4_0", "model.lora.rank=4", "recompute_activations=true"}, hf.Q4, true},
		"adapter over f32, mistral with a window": {inGo, []string{"model.path=" + windowed(t, 4), "model.lora.rank=2"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			small := smallRun
			if strings.HasPrefix(c.sets[0], "model.path=") {
				small = slices.DeleteFunc(slices.Clone(smallRun), func(set string) bool { return strings.HasPrefix(set, "model.") })
			}
			base := exactRun(t, c.dev, slices.Concat(small, c.sets))
			if float32s[c.dev] == runFiles(t, base)["metrics.jsonl"] {
				t.Error("a run in float32 has the same metrics: nothing was kept otherwise")
			}
			found, err := store.FindModel(base, store.TakeLast)
			must(t, err)
			for _, asked := range []hf.Dtype{"", hf.F32} {
				m, err := cast.OpenModel(tester(t), found.Dir, "", asked, asked)
				if err != nil {
					t.Fatal(err)
				}
				if want := cmp.Or(asked, c.dtype); m.Config.Dtype != want {
					t.Errorf("opened with dtype %q: %q, want %q", asked, m.Config.Dtype, want)
				}
				if (m.AdapterTensors() != nil) != c.adapter {
					t.Errorf("opened with %d tensors of an adapter", len(m.AdapterTensors()))
				}
				m.Close()
			}
		})
	}
}

// windowed is a folder with a mistral whose layers see so many tokens.
func windowed(t *testing.T, tokens int) string {
	t.Helper()
	base, dir := t.TempDir(), t.TempDir()
	trainIn(t, base, false, slices.Concat(quiet, []string{"model.family=mistral"})...)
	found, err := store.FindModel(base, store.TakeLast)
	must(t, err)
	for _, name := range []string{"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(found.Dir, name))
		must(t, err)
		if name == "config.json" {
			data = []byte(strings.Replace(string(data), `"sliding_window": null`, fmt.Sprintf(`"sliding_window": %d`, tokens), 1))
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	c, err := hf.ReadConfig(dir)
	must(t, err)
	if c.Window != tokens || slices.Contains(c.Sliding, false) {
		t.Fatalf("a window of %d in the layers %v", c.Window, c.Sliding)
	}
	return dir
}

// exactRun trains on a device and holds the run to its bits; it returns the run's folder.
func exactRun(t *testing.T, dev gpu.Device, sets []string) string {
	base := t.TempDir()
	trainOn(t, dev, base, false, sets...)
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
	trainOn(t, dev, other, false, slices.Concat(sets, []string{"micro_batch_tokens=103", "sampler_sequences=5", recomputed(sets)})...)
	if got := runFiles(t, other); got["metrics.jsonl"] != want["metrics.jsonl"] || got["completions.jsonl"] != want["completions.jsonl"] {
		t.Error("a run whose work is cut otherwise has other metrics or completions")
	}
	for keep := 0; keep <= len(checkpointDirs(t, base)); keep += 3 {
		dir := copyRun(t, base)
		for _, c := range checkpointDirs(t, dir)[keep:] {
			must(t, os.RemoveAll(c))
		}
		if keep == 0 { // killed before there was one
			must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
		}
		trainOn(t, dev, dir, true, sets...)
		sameRun(t, runFiles(t, dir), want)
	}
	return base
}

// TestOptimizerRulesRun: a run by another rule is as exact as one by AdamW, what the rule keeps is
// in its checkpoints, and no two rules or norms come to the same weights.
func TestOptimizerRulesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains by every rule")
	}
	seen := map[string]string{}
	for name, c := range map[string]struct {
		exact bool
		sets  []string
		kept  []string // before the names of tensors
	}{
		"adamw":    {false, nil, []string{"m.", "v."}},
		"adam":     {false, []string{"rule=adam", "weight_decay=0.1"}, []string{"m.", "v."}},
		"amsgrad":  {true, []string{"rule=amsgrad", "clip_by=largest", "clip_norm=1e-3"}, []string{"m.", "v.", "x."}},
		"sgd":      {false, []string{"rule=sgd", "lr=0.1"}, []string{"m."}},
		"by l1":    {false, []string{"rule=sgd", "lr=0.1", "clip_by=l1"}, []string{"m."}},
		"momentum": {true, []string{"rule=sgd", "lr=0.1", "momentum=0.9", "nesterov=true"}, []string{"m."}},
	} {
		t.Run(name, func(t *testing.T) {
			sets := slices.Clone(smallRun)
			for _, stage := range []string{"warm-up", "rl"} {
				for _, set := range c.sets {
					sets = append(sets, "stage."+stage+".optimizer."+set)
				}
			}
			base := t.TempDir()
			if c.exact {
				base = exactRun(t, tester(t), sets)
			} else {
				trainIn(t, base, false, sets...)
			}
			found, err := store.FindModel(base, store.TakeLast)
			must(t, err)
			moments, err := hf.OpenTensorFile(filepath.Join(found.Dir, "trainer", "optimizer.safetensors"))
			must(t, err)
			defer moments.Close()
			kept := map[string]bool{}
			for _, name := range moments.Names() {
				kept[name[:2]] = true
			}
			if got := slices.Sorted(maps.Keys(kept)); !slices.Equal(got, c.kept) {
				t.Errorf("the checkpoint keeps %v, want %v", got, c.kept)
			}
			weights, err := os.ReadFile(filepath.Join(found.Dir, "model.safetensors"))
			must(t, err)
			if other := seen[string(weights)]; other != "" {
				t.Errorf("the same weights as with %s", other)
			}
			seen[string(weights)] = name
		})
	}
}

// recomputed makes activations again in the backward pass where the run does not, and keeps
// them where it does.
func recomputed(sets []string) string {
	return fmt.Sprintf("recompute_activations=%v", !slices.Contains(sets, "recompute_activations=true"))
}
