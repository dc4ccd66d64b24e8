package cast

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
)

// named are the changes that a refusal names.
func named(err error) []Set {
	var found []Set
	for line := range strings.Lines(strings.Join(hint.All(err), "\n")) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "--set "); ok {
			found = append(found, strings.Split(list, " --set "))
		}
	}
	return found
}

// TestRefusedWithChanges: a run that does not fit is refused with changes with each of
// which it does, and no change of a set could be left out.
func TestRefusedWithChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: plans hundreds of runs")
	}
	config := hf.Config{Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536,
		MaxPositions: 8192, NormEps: 0x1p-20, RopeTheta: 1e5, TieEmbeddings: true, InitStd: 0.02}
	b := blueprint{config: config, folder: "model"}
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 27, MaxAllocation: 1 << 31}
	try := func(set Set) (gpu.Plan, error) {
		t.Helper()
		r, err := recipe.Load("lora-math", append(Set{"model.path=model"}, set...))
		if err != nil {
			t.Fatal(err)
		}
		b := b.under(r)
		plan, err := b.plan(r, caps)
		if err != nil {
			t.Fatal(err)
		}
		return plan, b.refuse(r, plan, caps)
	}
	for _, base := range []Set{nil, {"model.lora.rank=0", "stage.rl.algorithm.preset=grpo_kl"}} {
		seen := map[string]bool{}
		caps.Memory = 1 << 40
		plan, err := try(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []int{95, 70, 45, 20} {
			caps.Memory = plan.Total() / 100 * share
			_, err := try(base)
			if !errors.Is(err, gpu.ErrOutOfMemory) {
				t.Fatalf("%d %%: %v", share, err)
			}
			found := named(err)
			if len(found) > 3 || len(found) == 0 && !strings.Contains(fmt.Sprint(hint.All(err)), "still needs") {
				t.Errorf("%d %%: %d changes, %v", share, len(found), hint.All(err))
			}
			for _, set := range found {
				seen[set.String()] = true
				if _, err := try(slices.Concat(base, set)); err != nil {
					t.Errorf("%d %%: does not fit with %s: %v", share, set, err)
				}
				for i, change := range set {
					less := slices.Delete(slices.Clone(set), i, i+1)
					if strings.HasPrefix(change, "model.lora") {
						continue // a storage beside it needs it
					}
					if _, err := try(slices.Concat(base, less)); err == nil {
						t.Errorf("%d %%: %s is too much: it fits without %s", share, set, change)
					}
				}
			}
		}
		if len(seen) < 5 {
			t.Errorf("%d sets of changes were named: %v", len(seen), seen)
		}
	}
}

// TestBindingsPlanned: lora-math as it is fits the bindings of lavapipe in the widths of
// published models; what does not is refused with changes with which it does, and they are
// those that cost time alone if such are enough.
func TestBindingsPlanned(t *testing.T) {
	caps := gpu.Caps{ID: "test", Memory: 1 << 40, MaxBinding: 1 << 27, MaxAllocation: 1 << 30}
	shapes := map[string]hf.Config{ // https://huggingface.co: config.json of each
		"SmolLM2-135M": {Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536},
		"Qwen2.5-0.5B": {Family: "qwen2", Vocab: 151936, Width: 896, Layers: 24, Heads: 14, KVHeads: 2, HeadDim: 64, MLP: 4864},
		"Llama-3.2-1B": {Family: "llama", Vocab: 128256, Width: 2048, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, MLP: 8192},
		"Gemma-3-1B":   {Family: "gemma3_text", Vocab: 262144, Width: 1152, Layers: 26, Heads: 4, KVHeads: 1, HeadDim: 256, MLP: 6912},
		"Qwen3-0.6B":   {Family: "qwen3", Vocab: 151936, Width: 1024, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, MLP: 3072},
	}
	for name, config := range shapes {
		config.MaxPositions, config.NormEps, config.RopeTheta, config.TieEmbeddings, config.InitStd = 8192, 0x1p-20, 1e5, true, 0.02
		try := func(preset string, set Set) error {
			r, err := recipe.Load(preset, append(Set{"model.path=model"}, set...))
			if err != nil {
				t.Fatal(err)
			}
			b := blueprint{config: config, folder: "model"}.under(r)
			plan, err := b.plan(r, caps)
			if err != nil {
				t.Fatal(err)
			}
			return b.refuse(r, plan, caps)
		}
		for _, preset := range []string{"lora-math", "lora-math-small"} {
			if err := try(preset, nil); err != nil {
				t.Errorf("%s, %s: %v", name, preset, err)
			}
		}
		wide := Set{"stage.rl.sampling.max_completion_tokens=3584", "sampler_sequences=1024", "stage.rl.prompts_per_step=128"}
		err := try("lora-math", wide)
		if !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "key cache in one piece") {
			t.Errorf("%s: sequences of 4096 tokens, 1024 at once: %v", name, err)
			continue
		}
		found := named(err)
		if len(found) == 0 || !strings.HasPrefix(found[0][0], "sampler_sequences=") {
			t.Errorf("%s: named are %v", name, found)
		}
		for _, set := range found {
			if err := try("lora-math", slices.Concat(wide, set)); err != nil {
				t.Errorf("%s: does not fit with %s: %v", name, set, err)
			}
		}
	}
}

// TestSkippedMoments: a stage that is skipped makes no update, so the plan has no room for what
// its optimizer would keep.
func TestSkippedMoments(t *testing.T) {
	for set, want := range map[string]string{"stage.warm-up.skip=false": "3 x f32", "stage.warm-up.skip=true": "1 x f32"} {
		r, err := recipe.Load("chain-sum-tiny", Set{set, "stage.warm-up.optimizer.rule=amsgrad", "stage.rl.optimizer.rule=sgd"})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Plan(r, "", gpu.Caps{ID: "test", MaxBinding: 1 << 27, MaxAllocation: 1 << 31, Memory: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fmt.Sprint(plan), want) {
			t.Errorf("%s: %v, want moments of %s", set, plan, want)
		}
	}
}
