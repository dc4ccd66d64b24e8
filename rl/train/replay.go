package train

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
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
	Version int           // updates of the policy before it was sampled
	Paths   []storedPath  // of the group, all of them
	Greedy  reward.Number // reward of the prompt's most likely completion, if the method reads it
	Why     string        // there is none
}

// storedPath is a completion of a stored group.
type storedPath struct {
	Sample int // its number in the group
	Reward reward.Number
	Held   map[string][]reward.Number // what the method computed of it once, by part
}

// figuresOf and numbersIn turn numbers into those of a checkpoint and back.
func figuresOf(values []float64) []reward.Number {
	out := make([]reward.Number, len(values))
	for i, x := range values {
		out[i] = reward.Number(x)
	}
	return out
}

func numbersIn(values []reward.Number) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = float64(x)
	}
	return out
}

// age removes what is too old for weights of a version.
func (r *replay) age(version, most int) {
	r.groups = slices.DeleteFunc(r.groups, func(g stored) bool { return version-g.Version > most })
}

// replayed is how many groups of a step of a stage come from a replay that has so many.
func replayed(st *recipe.Stage, groups int) int {
	n := int(math.Round(st.Replay.Share * float64(st.RL.PromptsPerStep)))
	return max(0, min(n, groups, st.RL.PromptsPerStep-1))
}

// again are the completions of n stored groups, the places of which order begins with, as a step
// takes them after so many groups of its own; and what the method computed of each.
func (r *replay) again(order []int, n, firstGroup, version int) (cs []Completion, ages []int, held []map[string][]float64) {
	chosen := slices.Clone(order[:n])
	slices.Sort(chosen)
	for k, i := range chosen {
		g := &r.groups[i]
		for _, p := range g.Paths {
			c := Completion{From: &g.Group, Group: firstGroup + k, Sample: p.Sample, Score: reward.Score{Reward: float64(p.Reward)},
				Greedy: reward.Score{Reward: float64(g.Greedy), NotScored: g.Why}, Origin: Origin{Replayed: true}}
			c.View = viewOf(c.From, c.Sample, c.Group, &c.Origin)
			cs, ages = append(cs, c), append(ages, version-g.Version)
			parts := map[string][]float64{}
			for part, values := range p.Held {
				parts[part] = numbersIn(values)
			}
			held = append(held, parts)
		}
	}
	return cs, ages, held
}

// keep stores the groups of a step for which the condition holds and from which something was
// learnt. A group with a second chance is not stored.
func (r *replay) keep(v *Valued) error {
	if r.store == nil {
		return nil
	}
	holds, err := r.store.On(v.Step.Table).At("replay/store", formula.Group)
	if err != nil {
		return fmt.Errorf("stage %s: %w", v.stage.Name, err)
	}
	cs := v.Completions
	for from := 0; from < len(cs); {
		to, learnt, fresh := from, false, true
		for ; to < len(cs) && cs[to].Group == cs[from].Group; to++ {
			learnt, fresh = learnt || v.Step.Keep[to], fresh && cs[to].Origin.fresh()
		}
		if holds.V[cs[from].Group] == 1 && learnt && fresh {
			greedy := cs[from].Greedy
			g := stored{Group: *cs[from].From, Version: v.Version, Greedy: reward.Number(greedy.Reward), Why: greedy.NotScored}
			for i := from; i < to; i++ {
				p := storedPath{cs[i].Sample, reward.Number(cs[i].Score.Reward), map[string][]reward.Number{}}
				for part, values := range v.Step.Held(i) {
					p.Held[part] = figuresOf(values)
				}
				g.Paths = append(g.Paths, p)
			}
			r.groups = append(r.groups, g)
		}
		from = to
	}
	if over := len(r.groups) - v.stage.Replay.Size; over > 0 {
		r.groups = slices.Delete(r.groups, 0, over)
	}
	return nil
}

// Save implements cast.Keeper.
func (r *replay) Save() (map[string]func(io.Writer) error, error) {
	if r.store == nil {
		return nil, nil
	}
	return map[string]func(io.Writer) error{replayFile: func(w io.Writer) error { return json.NewEncoder(w).Encode(r.groups) }}, nil
}

// Load implements cast.Keeper.
func (r *replay) Load(dir string) error {
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
