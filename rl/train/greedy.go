package train

import (
	"context"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// greedyFact is the reward of a prompt's most likely completion.
const greedyFact = "greedy_reward"

// graded is a reward, or why there is none.
type graded struct {
	reward float64 // NaN: none
	why    string
}

// aside is what a step samples beside its completions.
type aside struct {
	greedy   map[*rollout.Group]graded
	replaced []Completion // by a second chance
	second   int          // groups that got one
	tokens   int          // sampled for what is no completion of the step
}

func newAside() *aside { return &aside{greedy: map[*rollout.Group]graded{}} }

// sampleGreedy draws the most likely completion of each problem, if the method reads its
// reward. Each is a group of its own to the reward.
func (s *reinforcement) sampleGreedy(ctx context.Context, at Position, try int, problems []verify.Problem, groups []rollout.Group) error {
	if !slices.Contains(s.reads, greedyFact) {
		return nil
	}
	key := random.Key{Purpose: random.Greedy, Stage: s.index, Step: at.Step*maxTries + try}
	params := StepParams(s.stage)
	params.Temperature, params.TopK, params.TopP, params.MinP = 0, 0, 0, 0
	drawn, err := s.HeldOut.Collector.Collect(ctx, problems, 1, params, key, s.program.Verifiers()...)
	if err != nil {
		return err
	}
	cs := completionsOf(drawn)
	for i := range cs {
		cs[i].View.Temperature = 1 // log-probs are of the model's own distribution
	}
	place := s.coins(at, try)
	if err := s.score(at, cs, func(i int) uint64 { return 1<<63 | place(i) }); err != nil {
		return err
	}
	for i := range cs {
		s.aside.greedy[&groups[i]] = graded{cs[i].Reward, cs[i].NotScored}
	}
	s.aside.tokens += int(tokensOf(cs))
	return nil
}
