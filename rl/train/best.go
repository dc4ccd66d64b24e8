package train

import (
	"context"
	"math"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/student"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
)

// contest replaces the best policy so far by the policy if its greedy answers to new training problems
// are better by a paired t-test (arXiv 1803.08475, algorithm 1). Every so many steps there is one.
func (s *reinforcement) contest(ctx context.Context, at Position, row metrics.Row) error {
	keys := s.whole.Best
	if keys.Every == 0 || (at.Step+1)%keys.Every != 0 {
		return nil
	}
	problems := prompts.Step(s.planner.source, s.planner.recipe.Seed, random.Stream(random.Contest, s.index), at.Step, keys.Problems)
	p := Plan{At: at, stage: s.whole}
	var sides [2][]Completion
	var err error
	for i, by := range []int{contestNow, contestBest} {
		sampler := s.drawer.collector.Sampler
		if by == contestBest {
			sampler = s.drawer.models.Best()
		}
		key := random.Key{Purpose: random.Contest, Stage: s.index, Step: 2*at.Step + by}
		place := func(k int, _ *Completion) uint64 { return uint64(2*at.Step+by)<<32 | uint64(k) }
		if sides[i], err = s.drawer.greedy(ctx, &p, sampler, key, problems, place); err != nil {
			return err
		}
	}
	var gains []float64
	for i := range sides[0] {
		if d := sides[0][i].Score.Reward - sides[1][i].Score.Reward; !math.IsNaN(d) {
			gains = append(gains, d)
		}
	}
	mean, chance := paired(gains)
	row["best/gain"], row["best/replaced"] = mean, 0
	if chance >= keys.Level {
		return nil
	}
	row["best/replaced"] = 1
	return s.drawer.models.Crown()
}

const (
	contestNow  = 0
	contestBest = 1
)

// paired is the mean of differences, and the chance of one as large or larger if they are no gain: of
// Student's t, one-sided. 1: it is not above 0, or there are too few.
func paired(gains []float64) (mean, chance float64) {
	n := float64(len(gains))
	if n < 2 {
		return 0, 1
	}
	for _, d := range gains {
		mean += d / n
	}
	squares := 0.0
	for _, d := range gains {
		squares += (d - mean) * (d - mean)
	}
	switch {
	case mean <= 0:
		return mean, 1
	case squares == 0: // all gain the same
		return mean, 0
	}
	return mean, student.Tail(mean/math.Sqrt(squares/(n-1)/n), n-1)
}
