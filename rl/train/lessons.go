package train

import (
	"fmt"

	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// lessons are the rows of a step as sequences: their messages or completions.
func (s *imitation) lessons(step int) ([]rollout.View, error) {
	rows := prompts.Step(s.Source, s.Recipe.Seed, random.Stream(random.Draw, s.index), step, s.stage.SFT.BatchSize)
	if err := s.HeldOut.refuse(rows...); err != nil {
		return nil, err
	}
	return s.lessonsOf(rows)
}

func (s *imitation) lessonsOf(rows []verify.Problem) ([]rollout.View, error) {
	views := make([]rollout.View, len(rows))
	for i, row := range rows {
		lesson, err := s.Prompts.Lesson(row)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %s: line %d: %w", s.stage.Name, s.Source.Name(), row.Line, err)
		}
		views[i] = viewOf(lesson)
	}
	return views, nil
}

// heldOutLoss is the mean negative log-prob of the learned tokens of a few held-out
// rows, nats per token.
func (s *imitation) heldOutLoss() (float64, error) {
	rows := s.HeldOut.Problems
	views, err := s.lessonsOf(rows[:min(len(rows), cast.ProbeProblems)])
	if err != nil {
		return 0, err
	}
	stats, err := s.Cast.Policy.Forward(views)
	if err != nil {
		return 0, err
	}
	sum, tokens := 0.0, 0
	for _, st := range stats {
		for _, logprob := range st.Logprob {
			sum -= float64(logprob)
		}
		tokens += len(st.Logprob)
	}
	return sum / float64(tokens), nil
}
