package train

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// replayFile keeps the stored groups in a checkpoint.
const replayFile = "trainer/replay.json"

// replay are groups of earlier steps, the oldest first.
type replay struct {
	store  *formula.Program // condition on what is stored; nil: there is no replay
	groups []stored
}

// stored is a group that may take part again.
type stored struct {
	Group   rollout.Group
	Version int          // updates of the policy before it was sampled
	Paths   []storedPath // of the group, all of them
	Greedy  figure       // reward of the prompt's most likely completion, if the method reads it
	Why     string       // there is none
}

// storedPath is a completion of a stored group.
type storedPath struct {
	Sample int // its number in the group
	Reward figure
	Held   map[string][]figure // what the method computed of it once, by part
}

// figuresOf and numbersIn turn numbers into figures and back.
func figuresOf(values []float64) []figure {
	out := make([]figure, len(values))
	for i, x := range values {
		out[i] = figure(x)
	}
	return out
}

func numbersIn(values []figure) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = float64(x)
	}
	return out
}

// figure is a number that JSON may lack: null is NaN.
type figure float64

// MarshalJSON implements json.Marshaler.
func (f figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *figure) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = figure(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// ageReplay removes what is too old.
func (s *reinforcement) ageReplay() {
	now, most := s.Cast.Policy.Version(), s.stage.Replay.MaxAge
	s.replay.groups = slices.DeleteFunc(s.replay.groups, func(g stored) bool { return now-g.Version > most })
}

// replayed is how many groups of a step come from the store.
func (s *reinforcement) replayed() int {
	if s.replay.store == nil {
		return 0
	}
	n := int(math.Round(s.stage.Replay.Share * float64(s.stage.RL.PromptsPerStep)))
	return min(n, len(s.replay.groups), s.stage.RL.PromptsPerStep-1)
}

// again are the completions of n stored groups, chosen at random, as a step takes them.
func (s *reinforcement) again(at Position, n, firstGroup int) ([]Completion, error) {
	if n == 0 {
		return nil, nil
	}
	order := random.At(s.Recipe.Seed, random.Stream(random.Replay, s.index), uint64(at.Step)).Shuffled(len(s.replay.groups))[:n]
	slices.Sort(order)
	var cs []Completion
	for k, i := range order {
		g := &s.replay.groups[i]
		s.aside.greedy[&g.Group] = graded{float64(g.Greedy), g.Why}
		for j := range g.Paths {
			p := &g.Paths[j]
			view := g.Group.View(p.Sample)
			view.Group = firstGroup + k + 1
			cs = append(cs, Completion{From: &g.Group, Group: firstGroup + k, Sample: p.Sample, View: view, Score: reward.Score{Reward: float64(p.Reward)}, Advantage: math.NaN(),
				Origin: Origin{Age: s.Cast.Policy.Version() - g.Version, Stored: p}})
		}
	}
	which := make([]*Completion, len(cs))
	for i := range cs {
		which[i] = &cs[i]
	}
	stats, err := s.Cast.Policy.Forward(viewsOf(which))
	for i := range stats {
		cs[i].Origin.Start = &Start{stats[i].Logprob, stats[i].Entropy}
	}
	return cs, err
}

// held is what the method computed of stored completions, by their number in the step.
func held(cs []Completion) map[int]map[string][]float64 {
	out := map[int]map[string][]float64{}
	for i := range cs {
		p := cs[i].Origin.Stored
		if p == nil {
			continue
		}
		out[i] = map[string][]float64{}
		for part, values := range p.Held {
			out[i][part] = numbersIn(values)
		}
	}
	return out
}

// keepForReplay stores the groups of a step for which the condition holds and from which
// something was learnt. A group with a second chance is not stored.
func (s *reinforcement) keepForReplay(step *algo.StepValues, cs []Completion, version int) error {
	if s.replay.store == nil {
		return nil
	}
	holds, err := s.replay.store.On(step.Table).At("replay/store", formula.Group)
	if err != nil {
		return fmt.Errorf("stage %s: %w", s.stage.Name, err)
	}
	for from := 0; from < len(cs); {
		to, learnt, fresh := from, false, true
		for ; to < len(cs) && cs[to].Group == cs[from].Group; to++ {
			learnt, fresh = learnt || step.Keep[to], fresh && cs[to].Origin.fresh()
		}
		if holds.V[cs[from].Group] == 1 && learnt && fresh {
			greedy := s.aside.greedy[cs[from].From]
			g := stored{Group: *cs[from].From, Version: version, Greedy: figure(greedy.reward), Why: greedy.why}
			for i := from; i < to; i++ {
				p := storedPath{cs[i].Sample, figure(cs[i].Reward), map[string][]figure{}}
				for part, values := range step.Held(i) {
					p.Held[part] = figuresOf(values)
				}
				g.Paths = append(g.Paths, p)
			}
			s.replay.groups = append(s.replay.groups, g)
		}
		from = to
	}
	if over := len(s.replay.groups) - s.stage.Replay.Size; over > 0 {
		s.replay.groups = slices.Delete(s.replay.groups, 0, over)
	}
	return nil
}

// save adds the stored groups to a checkpoint.
func (r *replay) save(files map[string]func(io.Writer) error) {
	if r.store != nil {
		maps.Copy(files, map[string]func(io.Writer) error{replayFile: func(w io.Writer) error { return json.NewEncoder(w).Encode(r.groups) }})
	}
}

// load reads them.
func (r *replay) load(dir string) error {
	if r.store == nil {
		return nil
	}
	r.groups = nil
	if err := readJSON(dir, replayFile, &r.groups); err != nil {
		return err
	}
	for i := range r.groups {
		g := &r.groups[i]
		unscore(&g.Group)
		for _, p := range g.Paths {
			if p.Sample < 0 || p.Sample >= len(g.Group.Paths) {
				return fmt.Errorf("%s: group %d has a reward of sample %d; accepted: 0 to %d", replayFile, i+1, p.Sample, len(g.Group.Paths)-1)
			}
		}
		if len(g.Paths) == 0 {
			return fmt.Errorf("%s: group %d has no rewards", replayFile, i+1)
		}
	}
	return nil
}

// unscore gives the verdicts of a group that was read from a checkpoint the score that JSON
// has as null.
func unscore(g *rollout.Group) {
	for _, p := range g.Paths {
		for i := range p.Verdicts {
			if p.Verdicts[i].Verdict == verify.NotScored {
				p.Verdicts[i].Score = math.NaN()
			}
		}
	}
}
