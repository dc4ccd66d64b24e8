package recipe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
)

// Players that a world brings, as [stage.seats] names them.
const (
	BestPlayer   = "best"
	RandomPlayer = "random"
)

// Seats are the seats of the task's world; nil: it has one.
func (t Task) Seats() []string {
	if w, can := t.Settings.(world.Seated); can {
		return w.Seats()
	}
	return nil
}

// Sits says whether several seats of the stage's task are played, each by who the stage says.
func (s *Stage) Sits() bool { return len(s.Seats) > 0 }

// SeatBy are those who play a seat: policy, best, random, or models of [models]. Of several one is drawn for each
// problem.
func (s *Stage) SeatBy(seat string) []string {
	switch by := s.Seats[seat].(type) {
	case string:
		return []string{by}
	case []any:
		var pool []string
		for _, one := range by {
			if name, text := one.(string); text {
				pool = append(pool, name)
			}
		}
		return pool
	}
	return []string{PolicyModel}
}

// Pooled says whether a seat of the stage is played by one of several.
func (s *Stage) Pooled() bool {
	for _, by := range s.Seats {
		if pool, list := by.([]any); list && len(pool) > 1 {
			return true
		}
	}
	return false
}

// Learned are the seats of a task that the policy plays in the stage.
func (s *Stage) Learned(t Task) []string {
	return slices.DeleteFunc(slices.Clone(t.Seats()), func(seat string) bool { return !slices.Equal(s.SeatBy(seat), []string{PolicyModel}) })
}

// seatedBy are the models that play seats of a stage.
func (s *Stage) seatedBy() []string {
	var out []string
	for _, seat := range slices.Sorted(maps.Keys(s.Seats)) {
		for _, by := range s.SeatBy(seat) {
			if !s.Skip && !slices.Contains([]string{PolicyModel, BestPlayer, RandomPlayer}, by) {
				out = append(out, by)
			}
		}
	}
	return out
}

// Seats are the keys of the seats that a model plays.
func (r *Recipe) Seats(model string) (keys []string) {
	for i := range r.Stages {
		s := &r.Stages[i]
		for _, seat := range slices.Sorted(maps.Keys(s.Seats)) {
			if !s.Skip && slices.Contains(s.SeatBy(seat), model) {
				keys = append(keys, fmt.Sprintf("stage.%d.seats.%s", i, seat))
			}
		}
	}
	return keys
}

// seats checks who plays what.
func (d decoder) seats(r *Recipe, s *Stage, at settings.Path) {
	if !s.Sits() {
		return
	}
	p, known := at.With("seats"), r.Task.Seats()
	if known == nil {
		d.Fail(p, "%s needs a task with several seats, and %s has none; accepted: the tasks %s", d.Name(p), r.Task.label(), strings.Join(tasks.Seated(), ", "))
		return
	}
	for _, seat := range slices.Sorted(maps.Keys(s.Seats)) {
		q := p.With(seat)
		if !slices.Contains(known, seat) {
			d.Fail(q, "task %s has no seat %q%s", r.Task.label(), seat, settings.DidYouMean(seat, known, ""))
			continue
		}
		pool, several := s.Seats[seat].([]any)
		if !several {
			pool = []any{s.Seats[seat]}
		}
		if len(pool) == 0 {
			d.Fail(q, "%s = [] leaves nobody to play it; accepted: policy, best, random, or a model of [models], or several but policy", d.Name(q))
		}
		for _, one := range pool {
			by, text := one.(string)
			if !text {
				d.Fail(q, "%s = %v is no name; accepted: policy, best, random, or a model of [models], or several but policy", d.Name(q), one)
			} else if several && by == PolicyModel {
				d.Fail(q, "%s: a seat is learned in every game or in none; accepted in a list: best, random, models of [models]", d.Name(q))
			} else if err := r.player(s, by); err != nil {
				d.Fail(q, "%s = %q: %w", d.Name(q), by, err)
			}
		}
	}
	if len(s.Learned(r.Task)) == 0 {
		d.Fail(p, "%s leaves the policy no seat, so nothing would be learned; accepted: policy in at least one of %s", d.Name(p), strings.Join(known, ", "))
	}
	reads, err := s.Reads()
	if before, wrong := s.Before(); wrong == nil {
		reads = append(reads, before.Needs()...)
	}
	mixed := func(fact string) bool { return len(s.Learned(r.Task)) > 1 && slices.Contains(reads, fact) }
	for _, other := range []struct {
		given     bool
		key, says string
	}{
		{s.SecondChance.When != "", "second_chance.when", "which would replace the turns of one seat"},
		{s.Refill.Tries > 0, "refill.tries", "which counts groups, of which a game has one for each seat"},
		{s.Replay.Store != "", "replay.store", "which counts groups, of which a game has one for each seat"},
		{s.Grows(), "tree.rounds", "whose branches would change what the other seat read"},
		{s.Curriculum.Completions != "", "curriculum.completions", "which gives prompts groups of other sizes"},
		{err == nil && slices.Contains(reads, "greedy_reward"), "greedy_reward", "which is that of one answer to a prompt"},
		{mixed("solved"), "solved", "in which a prompt would have the mean score of all seats that the policy plays"},
		{mixed("last_solved"), "last_solved", "in which a prompt would have the mean score of all seats that the policy plays"},
		{s.Best.Every > 0, "best.every", "which compares answers to prompts"},
	} {
		if other.given {
			d.Fail(p, "%s does not go with %s, %s", d.Name(p), other.key, other.says)
		}
	}
}

// player is an error if nobody of a name can play a seat.
func (r *Recipe) player(s *Stage, by string) error {
	m, known := r.Models[by]
	accepted := append([]string{PolicyModel, BestPlayer, RandomPlayer}, r.ModelNames()...)
	switch {
	case slices.Contains(accepted[:3], by):
		return nil
	case by == ReferenceModel:
		return errors.New("the reference is asked for log-probs; give a model that plays a name of its own, with copy = \"policy\" or path")
	case !known:
		return hint.With(fmt.Errorf("nobody of this name plays%s", settings.DidYouMean(by, accepted, "")), "an earlier policy is a table [models.%s] with copy = \"policy\" and renew, or with path", "past")
	case m.Logits != "":
		return errors.New("it is a sum of logits, and one model plays a seat; accepted: a model with path, copy or weights")
	case m.Head:
		return errors.New("a model with a head scores, and does not play; accepted: one without head")
	case m.Prompt != "":
		return errors.New("who plays reads what its seat reads; take prompt out of [models." + by + "]")
	case s.Teaches(by):
		return errors.New("it learns in this stage, from the policy's seats; accepted: policy, or a model that does not learn here")
	}
	return nil
}
