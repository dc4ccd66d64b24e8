package cast

import (
	"errors"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestWholeTrees: a tree that no batch may hold is refused with the rows that it may take and the key
// that gives it as many, and accepted with that; a plain group of that size is computed in parts. What
// branches begin with is kept by the engine.
func TestWholeTrees(t *testing.T) {
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 30, MaxAllocation: 1 << 31, Memory: 1 << 40}
	plan := func(sets ...string) error {
		r, err := recipe.Load("countdown-tiny", sets)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Plan(r, "", caps)
		return err
	}
	tree := []string{"micro_batch_tokens=100", "stage.rl.tree.rounds=2"}
	err := plan(tree...)
	// 20 completions have 14 tokens each to predict, which is more than they have rows
	const want = "--set stage.rl.tree.rounds=2: stage.rl.tree: 20 completions of up to 14 tokens may take 280 rows of one backward pass, but micro_batch_tokens is 100, and no batch holds the tree"
	if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(strings.Join(hint.All(err), "\n"), "--set micro_batch_tokens=280") {
		t.Fatalf("%v, %q, want %s", err, hint.All(err), want)
	}
	if err := plan(append(tree, "micro_batch_tokens=280")...); err != nil {
		t.Errorf("with the rows that it may take: %v", err)
	}
	for set, want := range map[string]int{"stage.rl.tree.rounds=2": sample.EveryPage, "stage.rl.tree.rounds=0": 0} {
		r, err := recipe.Load("countdown-tiny", []string{set})
		if err != nil {
			t.Fatal(err)
		}
		if got := sizesOf(r).engine.Prefixes; got != want {
			t.Errorf("%s: the engine keeps %d prefixes, want %d", set, got, want)
		}
	}
	if err := plan("micro_batch_tokens=100", "stage.rl.group_size=20"); err != nil {
		t.Errorf("a plain group: %v", err)
	}
}
