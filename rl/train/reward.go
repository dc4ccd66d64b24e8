package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// score gives each completion of a draw its reward. place numbers its random rewards.
func (s *reinforcement) score(at Position, cs []Completion, place func(i int) uint64) error {
	b := reward.Batch{Step: at.Step + 1, Steps: s.stage.RL.Steps, MaxTokens: s.stage.Sampling.MaxCompletionTokens}
	for i := range cs {
		c := &cs[i]
		coin := 0.0
		if random.At(s.Recipe.Seed, random.Stream(random.Reward, s.index), place(i)).Chance(0.5) {
			coin = 1
		}
		b.Completions = append(b.Completions, reward.Completion{
			Group: c.Group, Row: c.From.Problem, Text: c.Path().Text, IDs: c.View.Drawn(), PromptTokens: c.View.Prompt(),
			Ended: c.View.Stop == rollout.EOS || c.View.Stop == rollout.Text, Truncated: c.View.Stop == rollout.Length,
			MeanLogprob: mean(cast.Widen(c.View.Logprob)), Logprob: c.View.Logprob, Entropy: c.View.Entropy, Random: coin, Task: c.Verdict(), Verdicts: c.Path().Verdicts[1:],
		})
	}
	b.Vocabulary = s.Cast.Policy.Model.Config.Vocab
	if s.program.Needs("old_uniform_logp") {
		stats, err := s.Cast.Policy.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
		if err != nil {
			return err
		}
		for i := range stats {
			b.Completions[i].UniformLogp = stats[i].MeanLogprob
		}
	}
	var err error
	if b.Asked, err = s.ask(cs); err != nil {
		return err
	}
	scores, err := s.program.Score(b)
	if err != nil {
		return fmt.Errorf("step %d: stage %s: reward: %w", at.Step+1, s.stage.Name, err)
	}
	for i := range cs {
		cs[i].Reward, cs[i].NotScored, cs[i].Terms = scores.Reward[i], scores.Why[i], nil
		for _, t := range scores.Terms {
			cs[i].Terms = append(cs[i].Terms, Term{t.Name, t.Values[i]})
		}
	}
	return nil
}

// coins numbers the random rewards of a draw: those of draws in place of refused groups
// stand behind 2^32.
func (s *reinforcement) coins(at Position, try int) func(i int) uint64 {
	n := s.before.whole.RL.PromptsPerStep * s.before.whole.RL.GroupSize
	return func(i int) uint64 {
		if try == 0 {
			return uint64(at.Step*n + i)
		}
		return uint64(at.Step*maxTries+try)<<32 | uint64(i)
	}
}

// ask has models score the texts that the reward asks about.
func (s *reinforcement) ask(cs []Completion) (map[string]reward.Answers, error) {
	out := map[string]reward.Answers{}
	for _, a := range s.program.Asks() {
		texts, lacks := make([]cast.Text, len(cs)), make([]string, len(cs))
		for i := range cs {
			c := &cs[i]
			texts[i].Text, lacks[i] = a.Text(c.From.Problem)
			switch texts[i].Behind = c.View.IDs; {
			case a.After == "prompt":
				texts[i].Behind = c.View.IDs[:c.View.Prompt()]
			case c.View.Stop == rollout.EOS:
				texts[i].Behind = c.View.IDs[:len(c.View.IDs)-1]
			}
		}
		logprobs, why, err := s.Cast.ScoreOf(a.Model, texts)
		if err != nil {
			return nil, err
		}
		values := make([]float64, len(logprobs))
		for i, of := range logprobs {
			if why[i] == "" {
				values[i] = a.Of(of)
			}
		}
		for i, lack := range lacks {
			if lack != "" {
				why[i] = lack
			}
		}
		out[a.Column] = reward.Answers{Values: values, Why: why}
	}
	return out, nil
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// ErrNotScored: a step had more completions without a score than its stage accepts.
var ErrNotScored = errors.New("too many completions are not scored")

// enoughScored refuses a step that would learn from too few of its completions: what
// failed is the verifier or the data, not the model. Those that the reward leaves out
// itself do not count, unless nothing else is left.
func (s *reinforcement) enoughScored(at Position, cs []Completion) error {
	u := unscoredOf(cs)
	left := u.why[reward.LeftOut]
	if n := len(cs); u.count < n && float64(u.count-left) <= s.stage.RL.MaxNotScored*float64(n-left) {
		return nil
	}
	limit := fmt.Sprintf("but max_not_scored is %v", s.stage.RL.MaxNotScored)
	if s.stage.RL.MaxNotScored == 1 {
		limit = "and a step learns from those that do"
	}
	return fmt.Errorf("%w: %d of the %d completions in step %d of stage %s have no score, %s; the reason of %d of them: %s",
		ErrNotScored, u.count, len(cs), at.Step+1, s.stage.Name, limit, u.why[u.commonest], u.commonest)
}

// unscored counts the completions of a step without a reward.
type unscored struct {
	count     int
	why       map[string]int // completions by reason
	commonest string         // reason; the first of several as common
}

func unscoredOf(cs []Completion) unscored {
	u := unscored{why: map[string]int{}}
	for i := range cs {
		if why := cs[i].NotScored; math.IsNaN(cs[i].Reward) {
			u.count++
			if u.why[why]++; u.why[why] > u.why[u.commonest] {
				u.commonest = why
			}
		}
	}
	return u
}
