package cast

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model"
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
	config := model.Config{Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536,
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
