package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// score gives each completion of a draw its reward. place numbers its random rewards.
func (s *reinforcement) score(at Position, cs []Completion, place func(i int) uint64) error {
	b := reward.Batch{Step: at.Step + 1, Steps: s.stage.RL.Steps, MaxTokens: s.stage.Sampling.MaxCompletionTokens}
	for i := range cs {
		c, coin := &cs[i], 0.0
		if random.At(s.Recipe.Seed, random.Stream(random.Reward, s.index), place(i)).Chance(0.5) {
			coin = 1
		}
		b.Completions = append(b.Completions, reward.Completion{Group: c.Group, Row: c.From.Problem, Path: c.Path(), View: c.View, Random: coin})
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
	if err := s.ask(b.Completions); err != nil {
		return err
	}
	scores, err := s.program.Score(b)
	if err != nil {
		return fmt.Errorf("step %d: stage %s: reward: %w", at.Step+1, s.stage.Name, err)
	}
	for i := range cs {
		cs[i].Score = scores[i]
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

// ask has models score the texts that the reward asks about, and notes what they say in the
// completions.
func (s *reinforcement) ask(cs []reward.Completion) error {
	for _, a := range s.program.Asks() {
		var texts []cast.Text
		for i := range cs {
			texts = append(texts, s.asked(a, &cs[i]))
		}
		scored, err := s.Cast.ScoreOf(a.Model, texts)
		if err != nil {
			return err
		}
		var groups [][]int // completions with log-probs, by prompt
		place := map[int]int{}
		for i, t := range scored {
			if cs[i].Asked == nil {
				cs[i].Asked = map[string]reward.Answer{}
			}
			cs[i].Asked[a.Column] = reward.Answer{Why: t.Why}
			if t.Why != "" {
				continue
			}
			at, seen := place[cs[i].Group]
			if !seen {
				at = len(groups)
				place[cs[i].Group] = at
				groups = append(groups, nil)
			}
			groups[at] = append(groups[at], i)
		}
		for _, group := range groups {
			logprobs := make([][]float64, len(group))
			for k, i := range group {
				logprobs[k] = scored[i].Logprobs
			}
			for k, x := range a.Of(logprobs) {
				cs[group[k]].Asked[a.Column] = reward.Answer{Value: x}
			}
		}
	}
	return nil
}

// asked is the text that the reward asks about, and what it stands behind.
func (s *reinforcement) asked(a reward.Ask, c *reward.Completion) cast.Text {
	v := c.View
	if a.After == "nothing" {
		ends := s.Cast.Policy.Model.Config.EOS // a model may have none, which ScoreOf tells
		return cast.Text{Behind: ends[:min(1, len(ends))], IDs: v.IDs[v.Prompt():]}
	}
	var t cast.Text
	switch t.Text, t.Lack = a.Text(c.Row); {
	case a.After == "prompt":
		t.Behind = v.IDs[:v.Prompt()]
	case v.Stop == rollout.EOS:
		t.Behind = v.IDs[:len(v.IDs)-1]
	default:
		t.Behind = v.IDs
	}
	return t
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
