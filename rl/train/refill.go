package train

import (
	"context"

	"github.com/rlzero/rlzero/internal/random"
)

// gathered is what a step sampled.
type gathered struct {
	cs      []Completion // of the step
	refused []Completion // of groups that keep refused and that are no part of it
	stored  int          // groups of a replay that are part of it
}

// gather samples the groups of a step, of which stored ones come from the replay. With
// [stage.refill] others are drawn in place of those that keep refuses, for so many tries; after
// them the step does without. If every group is refused, those of the first draw are the step.
func (s *reinforcement) gather(ctx context.Context, at Position, stored int) (gathered, error) {
	wanted := s.stage.RL.PromptsPerStep - stored
	first, err := s.collect(ctx, at, 0, wanted)
	if err != nil || s.stage.Refill.Tries == 0 {
		return gathered{cs: first, stored: stored}, err
	}
	var chosen, refused []Completion
	groups := 0
	for pending, try := first, 0; ; {
		kept, err := s.accepted(at, pending)
		if err != nil {
			return gathered{}, err
		}
		for i := range pending {
			if c := pending[i]; kept[c.Group] {
				chosen = append(chosen, c)
				if c.Sample == 0 {
					groups++
				}
			} else {
				refused = append(refused, c)
			}
		}
		if try++; groups == wanted || try > s.stage.Refill.Tries {
			break
		}
		if pending, err = s.collect(ctx, at, try, wanted-groups); err != nil {
			return gathered{}, err
		}
	}
	if groups == 0 {
		chosen, refused = refused[:len(first)], refused[len(first):]
	}
	return gathered{numbered(chosen, 0), numbered(refused, groupsOf(chosen)), stored}, nil
}

// accepted tells which groups have something that keep accepts.
func (s *reinforcement) accepted(at Position, cs []Completion) (map[int]bool, error) {
	facts, _ := s.method.KeepReads()
	t, err := s.table(at, cs, facts)
	if err != nil {
		return nil, err
	}
	kept, err := s.method.Keeps(t)
	if err != nil {
		return nil, s.blamed(err)
	}
	groups := map[int]bool{}
	for i := range cs {
		groups[cs[i].Group] = groups[cs[i].Group] || kept[i]
	}
	return groups, nil
}

// numbered gives groups their places in the step, in the order in which they stand.
func numbered(cs []Completion, from int) []Completion {
	for i := range cs {
		if i > 0 && cs[i].Sample == 0 {
			from++
		}
		cs[i].Group, cs[i].View.Group = from, from+1
	}
	return cs
}

// groupsOf is the number of groups.
func groupsOf(cs []Completion) int {
	n := 0
	for i := range cs {
		if cs[i].Sample == 0 {
			n++
		}
	}
	return n
}

// maxTries is above what a recipe can ask for.
const maxTries = 65

// streams are the problems and the completions of a try of a step: of the step itself, or of
// a refill.
func (s *reinforcement) streams(at Position, try int) (draw uint64, sample random.Key) {
	if try == 0 {
		return random.Stream(random.Draw, s.index), random.Key{Purpose: random.Sample, Stage: s.index, Step: at.Step}
	}
	return random.Stream(random.Refill, s.index), random.Key{Purpose: random.Refill, Stage: s.index, Step: at.Step*maxTries + try}
}

// tokensOf is how many tokens the policy wrote.
func tokensOf(cs []Completion) float64 {
	n := 0
	for i := range cs {
		if !cs[i].Origin.Foreign {
			n += cs[i].View.Tokens()
		}
	}
	return float64(n)
}
