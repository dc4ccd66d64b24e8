package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// segments are the numbers of tokens of a completion's segments, before the method cuts them
// further: of its turns, where the task is played in turns, and of the nodes of a tree.
func (x subject) segments(c *Completion) []int {
	switch {
	case x.turns:
		return c.View.Lengths()
	case x.nodes:
		return nodeLengths(c)
	}
	return []int{c.View.Tokens()}
}

// ofTurns is a number of each turn; name is what follows the point in the name of the fact.
func ofTurns(value func(t *rollout.Turn, name string) (float64, string)) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, fact string) (formula.Column, error) {
		_, name, _ := strings.Cut(fact, ".")
		c := formula.Column{Level: formula.Segment, Why: map[int]string{}}
		for i := range x.cs {
			for _, s := range x.cs[i].From.Turns(x.cs[i].Sample) {
				v, why := math.NaN(), "the world failed in this turn, or did not see it"
				if s.Turn != nil {
					v, why = value(s.Turn, name)
				}
				if c.V = append(c.V, v); math.IsNaN(v) {
					c.Why[len(c.V)-1] = why
				}
			}
		}
		return c, nil
	}
}

// situations are those in which the turns are taken.
func situations(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Segment, Why: map[int]string{}}
	for i := range x.cs {
		for _, s := range x.cs[i].From.Situations(x.cs[i].Sample) {
			if c.Text = append(c.Text, s.Text); s.Why != "" {
				c.Why[len(c.Text)-1] = s.Why
			}
		}
	}
	return c, nil
}

// lastTurns tells which turns are the last ones of their episodes.
func lastTurns(x subject, _ string) (formula.Column, error) {
	c := formula.Column{Level: formula.Segment}
	for i := range x.cs {
		turns := len(x.cs[i].View.Spans)
		for t := range turns {
			c.V = append(c.V, holds(t == turns-1))
		}
	}
	return c, nil
}

// turnMetrics describe episodes; of completions without turns there are none, and of those without
// tools none about calls.
func turnMetrics(cs []Completion, row metrics.Row) {
	n, turns, read, out, prompt, contexts := 0.0, 0, 0, 0, 0, 0
	logprob, tokens := 0.0, 0 // of right ones
	tools, calls, failed := false, 0.0, 0.0
	lost := map[string]float64{} // episodes by the tool that failed in them
	for i := range cs {
		c := &cs[i]
		own := c.From.Turns(c.Sample)
		if v := c.Verdict(); v.Verdict == verify.NotScored && !c.Origin.Foreign {
			if tool, broke := strings.CutPrefix(v.Rule, rollout.ToolRule); broke {
				lost[tool]++
			}
		}
		if c.Origin.Foreign || own[0].Turn == nil {
			continue
		}
		for _, s := range own {
			if s.Turn == nil {
				continue
			}
			if made, there := s.Turn.Facts[world.FactCalls]; there {
				tools, calls, failed = true, calls+made, failed+s.Turn.Facts[world.FactFailed]
			}
		}
		n++
		turns += len(c.View.Spans)
		contexts += 1 + len(c.View.Fresh)
		read += c.View.Read()
		prompt += c.View.Prompt()
		if c.Verdict().Verdict == verify.Right {
			for _, l := range c.View.Logprob {
				logprob += float64(l)
			}
			tokens += len(c.View.Logprob)
		}
		if c.View.Limit == rollout.OutOfTurns {
			out++
		}
	}
	for tool, n := range lost {
		row["rollout/not_scored/"+tool] = n
	}
	if n == 0 {
		return
	}
	row["rollout/turns_mean"], row["rollout/read_mean"], row["rollout/out_of_turns_share"] = float64(turns)/n, float64(read)/n, float64(out)/n
	row["rollout/prompt_tokens"] = float64(prompt) / n
	if tokens > 0 {
		row["rollout/right_logprob"] = logprob / float64(tokens)
	}
	if float64(contexts) > n {
		row["rollout/contexts_mean"] = float64(contexts) / n
	}
	if tools {
		row["rollout/calls_mean"] = calls / n
	}
	if calls > 0 {
		row["rollout/calls_failed_share"] = failed / calls
	}
}

// playedBy is an episode to imitate, as a player shows it: its turns are learned. The player reads the problem as it
// is; who imitates it may be asked in another way, unless that is "". All that is random in it comes from r.
func playedBy(w world.World, player world.Player, renderer *prompts.Renderer, turns int, row verify.Problem, asked string, r *random.Rand) (Completion, error) {
	p, err := world.Play(context.Background(), w, player, row, turns, r, r)
	if err != nil {
		return Completion{}, err
	}
	lesson, err := renderer.Played(row, asked, p)
	if err != nil {
		return Completion{}, &rollout.PromptError{Prompt: row.Question, Err: err}
	}
	return written(row, lesson, 1), nil
}

// says plays an episode by a list of turns.
type says []string

// Play implements [world.Player].
func (s says) Play(history []world.Message, _ *random.Rand) string {
	n := 0
	for _, m := range history {
		if m.Role == world.Assistant {
			n++
		}
	}
	return s[min(n, len(s)-1)]
}

// callsShown are the calls of a demonstration, each a turn; nil: it calls no tool.
func callsShown(tools []recipe.Tool, renderer *prompts.Renderer, row verify.Problem, r *random.Rand) (calls says, err error) {
	for _, t := range tools {
		if t.Shown == "" || !r.Chance(t.ShownShare) {
			continue
		}
		text, err := prompts.Filled(row, t.Shown)
		if err == nil {
			text, err = renderer.Called(t.Spec(), text)
		}
		if err != nil {
			return nil, fmt.Errorf("tool %s: shown: %w", t.Name, err)
		}
		calls = append(calls, text)
	}
	return calls, nil
}

// answeredBy is a world whose tools that ask models are told a text: demonstrations are made before there are models.
func answeredBy(w world.World, text string) world.World {
	tooled, is := w.(world.Tooled)
	if !is {
		return w
	}
	tooled.Tools = slices.Clone(tooled.Tools)
	for i, t := range tooled.Tools {
		tooled.Tools[i] = world.Changed(t, func(t world.Tool) world.Tool {
			if q, asks := t.(tools.Questioner); asks {
				return q.Answered(func(context.Context, string) ([]tools.Said, error, error) {
					return []tools.Said{{Text: text, Ended: true}}, nil, nil
				})
			}
			return t
		})
	}
	return tooled
}

// situationsOf are those in which the turns of playedOf are taken.
func (f *facts) situationsOf(c *Completion) []rollout.Situation {
	if !f.recipe.Task.Played() {
		return nil
	}
	return c.From.Situations(c.Sample)
}

// playedOf are the turns of a completion that is an episode; nil: it is one answer.
func (f *facts) playedOf(c *Completion) []*rollout.Segment {
	if !f.recipe.Task.Played() {
		return nil
	}
	return c.From.Turns(c.Sample)
}
