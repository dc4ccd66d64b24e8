package reward

import (
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
)

const ofPlayed = "; with a task that is played in turns"

// turns are facts about episodes. The segments of a reward are the turns.
var turns = []fact{
	of("turns", "turns", "turns that the policy took in the episode"+ofPlayed, func(c *Completion) float64 { return float64(len(c.Turns)) }),
	of("read_tokens", "tokens", "tokens that it read between its turns"+ofPlayed, func(c *Completion) float64 { return float64(c.View.Read()) }),
	of("contexts", "contexts", "contexts that it read: one, and one more for each time that it began anew"+ofPlayed, func(c *Completion) float64 { return float64(1 + len(c.View.Fresh)) }),
	{
		formula.Fact{Name: "out_of_turns", Level: formula.Completion, Condition: true, Meaning: "the episode was not over when its turns were used up" + ofPlayed},
		ofEach(func(c *Completion) float64 { return holds(c.View.Limit == rollout.OutOfTurns) }),
	},
	{
		formula.Fact{Name: "turn_reward", Level: formula.Segment, Meaning: "what the world pays for a turn" + ofPlayed},
		func(b *batch, _ formula.Call) formula.Column {
			return b.ofTurns(func(t *rollout.Turn) (float64, string) { return t.Reward, "" })
		},
	},
	{
		formula.Fact{Name: "state", Level: formula.Segment, Text: true, Meaning: "the situation in which a turn is taken, as the world calls it: equal texts in a group are equal situations; for == and same_mean" + ofPlayed},
		func(b *batch, _ formula.Call) formula.Column {
			c := formula.Column{Level: formula.Segment, Why: map[int]string{}}
			for i := range b.Completions {
				for _, s := range b.Completions[i].Situations {
					if c.Text = append(c.Text, s.Text); s.Why != "" {
						c.Why[len(c.Text)-1] = s.Why
					}
				}
			}
			return c
		},
	},
	{
		formula.Fact{Name: "summary", Level: formula.Segment, Condition: true, Meaning: "the turn is a summary, with which the context begins anew: the world did not see it. It counts among turns" + ofPlayed},
		func(b *batch, _ formula.Call) formula.Column {
			return b.ofTurns(func(t *rollout.Turn) (float64, string) { return holds(t.Sums), "" })
		},
	},
	{formula.Fact{Name: "turn.*", Level: formula.Segment, Meaning: "a number that the world tells about a turn, such as turn.left; no value where it does not, nor of a summary" + ofPlayed}, nil},
}

// ofTurns is a number of each turn.
func (b *batch) ofTurns(value func(t *rollout.Turn) (float64, string)) formula.Column {
	c := formula.Column{Level: formula.Segment, Why: map[int]string{}}
	for i := range b.Completions {
		for _, s := range b.Completions[i].Turns {
			v, why := math.NaN(), "the world failed in this turn, or did not see it"
			if s.Turn != nil {
				v, why = value(s.Turn)
			}
			if c.V = append(c.V, v); math.IsNaN(v) {
				c.Why[len(c.V)-1] = why
			}
		}
	}
	return c
}

// Turns are the facts of the formula that are of episodes; of a task without turns no run can
// supply them.
func (p *Program) Turns() []string {
	var out []string
	for _, name := range p.formula.Needs(append([]string{rewardPart}, p.named...)...) {
		if family, _, many := strings.Cut(name, "."); many && family == "turn" || slices.ContainsFunc(turns, func(f fact) bool { return f.Name == name }) {
			out = append(out, name)
		}
	}
	return out
}

// turnNumber is a number that the world tells about each turn.
func (b *batch) turnNumber(name string) formula.Column {
	return b.ofTurns(func(t *rollout.Turn) (float64, string) { return t.Number(name) })
}
