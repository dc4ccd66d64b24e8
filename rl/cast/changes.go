package cast

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
)

// Set is changes of a recipe, of the form path=value, as --set takes them.
type Set []string

// String is the set as flags of a command line.
func (s Set) String() string {
	var words []string
	for _, set := range s {
		words = append(words, "--set "+terminal.ShellWord(set))
	}
	return strings.Join(words, " ")
}

// ModelOf are the changes with which another recipe trains the model of a recipe as that one does: whole or by an
// adapter, with its matrices in the same storage.
func ModelOf(r *recipe.Recipe) Set {
	s := Set{"model.path=" + r.Model.Path}
	if d := hf.Dtype(r.Model.Dtype); d != hf.F32 {
		s = append(s, "model.dtype="+string(d))
	}
	if a := adapterOf(r, ""); a != nil {
		s = append(s, describing(*a)...)
	}
	return s
}

// describing are the keys of an adapter that [model.lora] can describe.
func describing(a hf.AdapterConfig) Set {
	s := Set{fmt.Sprintf("model.lora.rank=%d", a.Rank), fmt.Sprintf("model.lora.alpha=%v", a.Alpha)}
	if a.RSLoRA {
		s = append(s, "model.lora.rslora=true")
	}
	if a.Targets != nil {
		s = append(s, describesModules(a.Targets))
	}
	return s
}

func describesModules(targets []string) string {
	return `model.lora.modules=["` + strings.Join(targets, `", "`) + `"]`
}

// ladder is what can be done about one thing, each rung in place of the one before it,
// from the smallest change to the largest.
type ladder []Set

// timeOnly is how many of the first ladders cost time and change no result.
const timeOnly = 3

// ladders are what would make a run smaller, the cheapest first: what costs time alone;
// keys and values that are rounded; matrices in fewer bits, or an adapter in place of the
// model; shorter completions, and fewer of them.
func ladders(r *recipe.Recipe) []ladder {
	now, least := sizesOf(r), *r
	least.SamplerSequences, least.MicroBatchTokens = 1, 1
	smallest := sizesOf(&least)
	all := []ladder{
		halved("sampler_sequences", now.engine.Sequences, smallest.engine.Sequences),
		halved("micro_batch_tokens", now.trainRows, smallest.trainRows),
		nil, nil, matrices(r), nil, nil,
	}
	if !r.Recompute {
		all[2] = ladder{{"recompute_activations=true"}}
	}
	if hf.Dtype(r.Model.KVDtype) != hf.BF16 {
		all[3] = ladder{{"model.kv_dtype=bf16"}}
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Kind != recipe.KindRL || st.Skip {
			continue
		}
		if r.Task.Demonstrator() == nil {
			all[5] = joined(all[5], halved("stage."+st.Name+".sampling.max_completion_tokens", st.Sampling.MaxCompletionTokens, 64))
		}
		all[6] = joined(all[6], halved("stage."+st.Name+".group_size", st.RL.GroupSize, 4))
		if st.Curriculum.Completions != "" { // groups have as many at most
			all[6] = joined(all[6], halved("stage."+st.Name+".curriculum.completions_most", st.Curriculum.CompletionsMost, 4))
		}
	}
	return all
}

// halved is a key set to half of what it is, to a quarter and so on, down to a least
// value.
func halved(key string, now, least int) ladder {
	var l ladder
	for now > least {
		now = max(least, now/2)
		l = append(l, Set{fmt.Sprintf("%s=%d", key, now)})
	}
	return l
}

// joined climbs two ladders at once; the shorter one stays at its last rung.
func joined(a, b ladder) ladder {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	var l ladder
	for i := range max(len(a), len(b)) {
		l = append(l, slices.Concat(a[min(i, len(a)-1)], b[min(i, len(b)-1)]))
	}
	return l
}

// matrices are the ways to keep a model that exists in less memory. One that is trained
// as a whole is trained by an adapter first: what an optimizer keeps is four times the
// matrices.
func matrices(r *recipe.Recipe) ladder {
	if r.Model.Path == "" {
		return nil
	}
	var l ladder
	var adapter Set
	if r.Model.LoRA.Rank == 0 {
		adapter = Set{"model.lora.rank=16"}
		l = append(l, adapter)
	}
	storages := []hf.Dtype{hf.F32, hf.BF16, hf.Q8, hf.Q4}
	for _, d := range storages[slices.Index(storages, hf.Dtype(r.Model.Dtype))+1:] {
		l = append(l, slices.Concat(adapter, Set{"model.dtype=" + string(d)}))
	}
	return l
}

// fitting finds the cheapest changes with which a run fits the memory of a device, at
// most so many. They stand on the first of the recipe's ladders, at most so many of them:
// a set that climbs a cheaper ladder alone comes before one that climbs a dearer one, and
// no set is another one with something added. Each was planned.
func (b blueprint) fitting(r *recipe.Recipe, caps gpu.Caps, climbed, most int) []Set {
	all, known := ladders(r)[:climbed], map[string]*gpu.Plan{} // nil: a model may have widths that are no whole blocks
	planned := func(s Set) *gpu.Plan {
		if _, there := known[s.String()]; !there {
			known[s.String()] = nil
			if plan, err := b.changed(r, s, caps); err == nil {
				known[s.String()] = &plan
			}
		}
		return known[s.String()]
	}
	fits := func(s Set) bool { p := planned(s); return p != nil && p.Fits(caps) == nil }
	now := planned(nil)
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(s Set) bool { return !helps(now, planned(s), caps) })
	}
	var masks []uint
	for m := uint(1); m < 1<<len(all); m++ {
		masks = append(masks, m)
	}
	slices.SortStableFunc(masks, func(x, y uint) int { // by the dearest ladder, then by their number
		if c := bits.Len(x) - bits.Len(y); c != 0 {
			return c
		}
		return bits.OnesCount(x) - bits.OnesCount(y)
	})
	var found []Set
	var done []uint
	for _, m := range masks {
		if slices.ContainsFunc(done, func(d uint) bool { return m&d == d }) {
			continue
		}
		var below Set // the last rungs of all ladders but the dearest
		empty := false
		for i, l := range all[:bits.Len(m)] {
			if m>>i&1 == 0 {
				continue
			}
			empty = empty || len(l) == 0
			if i+1 < bits.Len(m) && !empty {
				below = append(below, l[len(l)-1]...)
			}
		}
		dearest := all[bits.Len(m)-1]
		if empty || !fits(slices.Concat(below, dearest[len(dearest)-1])) {
			continue
		}
		rung := slices.IndexFunc(dearest, func(s Set) bool { return fits(slices.Concat(below, s)) })
		found, done = append(found, slices.Concat(below, dearest[rung])), append(done, m)
		if len(found) == most {
			break
		}
	}
	return found
}

// helps tells whether a plan is closer to a device than another one, in what the other one
// has too much of: a phase may have to shrink for another one to count. The plan of what cannot be planned is nil.
func helps(now, then *gpu.Plan, caps gpu.Caps) bool {
	switch {
	case now == nil || then == nil:
		return false
	case then.Apart() < now.Apart():
		return true
	}
	return now.Bound.Bytes > caps.MaxBinding && then.Bound.Bytes < now.Bound.Bytes ||
		now.Buffer.Bytes > caps.MaxAllocation && then.Buffer.Bytes < now.Buffer.Bytes
}

// changed is the plan of a recipe with changes.
func (b blueprint) changed(r *recipe.Recipe, s Set, caps gpu.Caps) (gpu.Plan, error) {
	changed, err := recipe.Parse(r.Name, r.Resolved(), s)
	if err != nil {
		return gpu.Plan{}, err
	}
	then := b.under(changed)
	return then.plan(changed, caps)
}

// everything is the last rung of every ladder.
func everything(r *recipe.Recipe) (s Set) {
	for _, l := range ladders(r) {
		if len(l) > 0 {
			s = append(s, l[len(l)-1]...)
		}
	}
	return s
}

// refuse is nil for a plan that fits a device. Else the error names the three cheapest
// changes of the recipe with which it would.
func (b blueprint) refuse(r *recipe.Recipe, plan gpu.Plan, caps gpu.Caps) error {
	err := plan.Fits(caps)
	if err == nil {
		return nil
	}
	const named = 3 // a longer list would not help to choose
	if found := b.fitting(r, caps, len(ladders(r)), named); len(found) > 0 {
		var text strings.Builder
		for _, s := range found {
			fmt.Fprintf(&text, "\n   %s", s)
		}
		return hint.With(err, "any of these lines makes it fit, the cheapest first:%s", text.String())
	}
	set := everything(r)
	if least, failed := b.changed(r, set, caps); failed == nil {
		return hint.With(err, "use a smaller model or a device with more memory: with %s the run still needs %s", set, gpu.FormatBytes(least.Total()))
	}
	return hint.With(err, "use a smaller model or a device with more memory")
}

// Afford plans a recipe that trains a model of the given config. beside has those of the models of [models] that have a
// path, by name, in the storages in which they are kept. If the plan does not fit the device, it finds the cheapest changes
// that cost only time and make it fit; ok is false if there are none.
func Afford(r *recipe.Recipe, c hf.Config, beside map[string]hf.Config, caps gpu.Caps) (set Set, plan gpu.Plan, ok bool, err error) {
	b := blueprint{config: c, folders: map[string]folderOf{}}.under(r)
	for name, config := range beside {
		b.folders[name] = folderOf{config: config}
	}
	plan, err = b.plan(r, caps)
	if err != nil || plan.Fits(caps) == nil {
		return nil, plan, err == nil, err
	}
	found := b.fitting(r, caps, timeOnly, 1)
	if len(found) == 0 {
		return nil, plan, false, nil
	}
	plan, err = b.changed(r, found[0], caps)
	return found[0], plan, err == nil, err
}
