package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// TestLengthsDiffer: where a recipe expects shorter or longer completions, what it imitates first has
// right answers of several lengths. Of one length alone, a reward for brevity is the same for every right
// answer, and the run that of the plain reward.
func TestLengthsDiffer(t *testing.T) {
	for _, p := range presets.All() {
		if !slices.ContainsFunc(p.Expects, func(e presets.Expect) bool { return e.Metric == "rollout/length_mean" }) {
			continue
		}
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := r.Task.Demonstrator()
		if _, episodes := d.(tasks.Episodic); d == nil || episodes {
			continue
		}
		draw, lengths := random.At(1, 0, 0), map[int]int{}
		for range 400 {
			row := d.Draw(draw, tasks.Train)
			text, err := d.Demonstration(draw, row)
			if err != nil {
				t.Fatal(err)
			}
			if d.Verify(row, text, true).Verdict == verify.Right {
				lengths[strings.Count(text, "=")]++
			}
		}
		if len(lengths) < 2 {
			t.Errorf("%s: right demonstrations have %v steps", p.Name, lengths)
		}
	}
}
