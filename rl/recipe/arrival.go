package recipe

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/settings"
)

// Arrives says whether a stage learns from groups in the order in which they come.
func (s *Stage) Arrives() bool { return s.Order == "arrival" }

// Arrives says whether a stage of the recipe does.
func (r *Recipe) Arrives() bool {
	return slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Arrives() && !s.Skip })
}

// arrival refuses what does not go with an order by arrival: a lag of 0, and what is sampled
// after completions by the weights that drew them. Those may be gone when a group comes.
func (d decoder) arrival(s *Stage, at settings.Path) {
	if !s.Arrives() {
		return
	}
	reads, err := s.Reads()
	if err != nil { // told by others
		return
	}
	fail := func(format string, args ...any) {
		p := at.With("order")
		d.Fail(p, "%s = \"arrival\" %s", d.Name(p), fmt.Sprintf(format, args...))
	}
	if s.Lag == 0 {
		fail("needs a lag of 1 or more: with lag = 0 a step can learn from no groups but its own")
	}
	for _, other := range []struct {
		key  string
		used bool
	}{
		{"[stage.refill]", s.Refill.Tries > 0}, {"[stage.second_chance]", s.SecondChance.When != ""}, {"[stage.replay]", s.Replay.Store != ""},
		{"numbers.prompts_per_step", s.Numbers.PromptsPerStep != ""}, {"formulas that read greedy_reward", slices.Contains(reads, "greedy_reward")},
	} {
		if other.used {
			fail("does not go with %s: accepted with order = \"drawn\"", other.key)
		}
	}
}
