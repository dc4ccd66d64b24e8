package train

import (
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestForeignPlaces: each solution of the rows has a place in the run of its own, in the step that takes it. By it a
// journal knows what a judge was asked about the solution.
func TestForeignPlaces(t *testing.T) {
	r := smallest(t)
	d := drawerOf(t, r, &spoken{})
	seen := map[random.Key]bool{}
	n := 0
	for step := range 3 {
		for try := range 2 {
			given := [][]int{{'a', 1, 2}}
			all := []chance{
				{from: 0, to: 3, numbers: []int{1}, start: rollout.Start{Problem: verify.Problem{Question: "a"}, Prompt: []int{'a'}}, given: given},
				{from: 3, to: 6, numbers: []int{0}, start: rollout.Start{Problem: verify.Problem{Question: "b"}, Prompt: []int{'b'}}, given: given},
			}
			groups, err := d.replacements(t.Context(), &Plan{At: Position{Step: step}, stage: &r.Stages[0]}, try, all, make([]Completion, 6))
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				for _, p := range g.Paths {
					key := g.Segments[p.Leaf].Drawn.Key
					if of, after := StepOf(key.Purpose, key.Step); key.Purpose != random.SecondChance || key.Stage != d.index || of != step || after || seen[key] {
						t.Errorf("step %d, try %d: %+v", step, try, key)
					}
					seen[key] = true
					n++
				}
			}
		}
	}
	if n != 12 {
		t.Errorf("%d solutions", n)
	}
}
