package train

import (
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
)

// TestSeatCoins: where groups of a step are more than prompts_per_step, no random reward has the number of one of another
// step; elsewhere they are numbered one after the other.
func TestSeatCoins(t *testing.T) {
	plain := recipe.Stage{RL: recipe.RL{PromptsPerStep: 4, GroupSize: 3}}
	seated := plain
	seated.Seats = map[string]any{"second": recipe.PolicyModel}
	for name, d := range map[string]*drawer{"seats": {whole: &seated}, "propose": {whole: &plain, propose: &proposing{}}} {
		seen := map[uint64]bool{}
		for step := range 3 {
			place := d.coins(Position{Step: step}, 0)
			for i := range 5 * 12 {
				if seen[place(i, nil)] {
					t.Errorf("%s: number %d of step %d is given again", name, i, step)
				}
				seen[place(i, nil)] = true
			}
		}
	}
	if got := (&drawer{whole: &plain}).coins(Position{Step: 2}, 0)(5, nil); got != 29 {
		t.Errorf("the sixth completion of the third step has number %d, want 29", got)
	}
}
