package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
)

// modelTurns is how often a step with a use of a model and one without are done in turns, at least.
const modelTurns = 40

// modelUse is a use of a second model, of the policy's size, in a step of reinforcement learning.
type modelUse struct {
	name   string
	models string // tables of the recipe
	before string // stages before the one that is measured, which are not done
	reward string
	judge  string // options of a verifier "judge" called says; "": there is none
	method string // keys of the stage's algorithm

	leaves   bool // the model is one of a folder, and is measured where it leaves the device beside where it stays
	left     bool // a step with it is not measured
	together bool // questions to its judge are, see ofModels.together
}

// modelUses are those whose price Models measures, after the step without any.
func modelUses() []modelUse {
	return []modelUse{
		{name: "no other model", reward: "random"},
		{name: "a teacher's log-probs", models: "[models.other]\ncopy = \"policy\"\n", reward: "random", method: "penalty = \"0.001*square(logp - other)/2\"\n"},
		{name: "a head as judge", models: "[models.other]\ncopy = \"policy\"\nhead = true\n", before: trainsHead, reward: "random + 0.001*says", judge: `read = "head"`},
		{name: "the probabilities of two answers", models: "[models.other]\ncopy = \"policy\"\n", reward: "random + 0.001*says", judge: asksTwo},
		{name: "a teacher that leaves", models: ofFolder("MODEL", "phase"), reward: "random", method: "penalty = \"0.001*square(logp - other)/2\"\n", leaves: true},
		// Weighed by next to nothing, so that both sides make the same updates but for roundings.
		{name: "influences of tokens", reward: "random", method: "advantage = \"a = reward - group_mean(reward); a*(1 + 1e-12*influence(reward))\"\n"},
	}
}

// ofFolder is a model of a folder that is on the device as resident says.
func ofFolder(path, resident string) string {
	return fmt.Sprintf("[models.other]\npath = %q\nresident = %q\n", filepath.ToSlash(path), resident)
}

// trainsHead is a stage that trains a head: without one before it, a head of zeros would be refused.
const trainsHead = "[[stage]]\nname = \"head\"\nkind = \"rl\"\ntrains = \"other\"\nsteps = 1\neval_every = 0\nreward = \"random\"\n[stage.algorithm]\npreset = \"pointwise\"\n"

// asksTwo are the options of a judge that reads the probabilities of two answers, which every task with numbers can write.
const asksTwo = `source = "{question}{completion}", read = {1 = 1, 2 = 0}`

// recipe is that of a preset with the use in its stage of a name.
func (u modelUse) recipe(preset *recipe.Recipe, stage string, set []string) (*recipe.Recipe, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "base = %q\n%s", preset.Name, u.models)
	for i := range preset.Stages {
		if preset.Stages[i].Name == stage {
			b.WriteString(u.before)
		}
		fmt.Fprintf(&b, "[[stage]]\nname = %q\n", preset.Stages[i].Name)
		if preset.Stages[i].Name != stage {
			b.WriteString("skip = true\n")
			continue
		}
		fmt.Fprintf(&b, "reward = %q\neval_every = 0\nsteps = 1000000\n", u.reward)
		if u.judge != "" {
			fmt.Fprintf(&b, "[[stage.verifier]]\nname = \"says\"\nverifier = \"judge\"\noptions = {model = \"other\", %s}\n", u.judge)
		}
		if u.method != "" {
			fmt.Fprintf(&b, "[stage.algorithm]\n%s", u.method)
		}
	}
	return recipe.Parse("bench models", b.String(), set)
}

// Models measures what a second model of the policy's size costs a step of a preset, in turns with the step without
// it, and what asking a judge about all completions of a step together saves. from is as for [Step]. set changes keys of the preset, PATH=VALUE.
func Models(ctx context.Context, b Bench, preset, from string, set ...string) error {
	p, set, blocked, err := b.loaded(preset, from, set...)
	if err != nil {
		return err
	}
	of := slices.IndexFunc(p.Stages, func(st recipe.Stage) bool { return st.Kind == recipe.KindRL })
	if of < 0 {
		return fmt.Errorf("%w: recipe %s has no rl stage", lines.ErrInput, preset)
	}
	st := &p.Stages[of]
	o := ofModels{b, p, st.Name, set, fmt.Sprintf("%s, %d x %d", b.named(preset), st.PromptsPerStep, st.GroupSize)}
	var uses []modelUse
	for _, u := range modelUses()[1:] {
		u.left = b.leaves(o.what(u))
		if u.judge == asksTwo {
			u.together = !b.leaves(o.together())
		}
		if !u.left || u.together {
			uses = append(uses, u)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	if blocked {
		for _, u := range uses {
			if !u.left {
				b.skip("models", o.what(u), untrained(b.Dtype))
			}
			if u.together {
				b.skip("models", o.together(), untrained(b.Dtype))
			}
		}
		return nil
	}
	for _, u := range uses {
		if err := o.measure(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// ofModels is what Models measures.
type ofModels struct {
	Bench
	preset *recipe.Recipe
	stage  string   // the name of the one that is measured
	set    []string // what changes of the preset
	size   string   // of a step, with which the names of cases begin
}

// what is the name of a case.
func (o ofModels) what(u modelUse) string { return o.size + ", " + u.name }

// together is the name of the case in which a judge is asked about all completions of a step.
func (o ofModels) together() string { return o.size + ", questions together" }

// open opens the stage with a use. It returns what closes all of it too.
func (o ofModels) open(u modelUse) (*loop, func(), error) {
	r, err := u.recipe(o.preset, o.stage, o.set)
	if err != nil {
		return nil, nil, err
	}
	opened, err := resolve.Open(r, o.Told)
	if err != nil {
		return nil, nil, err
	}
	l, err := openLoop(o.Bench, opened, slices.IndexFunc(r.Stages, func(st recipe.Stage) bool { return st.Name == o.stage }))
	if err != nil {
		opened.Close()
		return nil, nil, err
	}
	return l, func() { l.close(); opened.Close() }, nil
}

// measure measures a use beside the step without one. Both begin anew, for the policies learn, and what they write gets
// longer or shorter.
func (o ofModels) measure(ctx context.Context, u modelUse) error {
	if u.leaves {
		return o.leaving(ctx, u)
	}
	l, closed, err := o.open(u)
	if err != nil {
		return err
	}
	defer closed()
	if !u.left {
		plain, closed, err := o.open(modelUses()[0])
		if err != nil {
			return err
		}
		err = l.against(ctx, o.Bench, plain, o.what(u), "without", "")
		closed()
		if err != nil {
			return err
		}
	}
	if !u.together {
		return nil
	}
	return l.together(ctx, o.Bench, o.together())
}

// leaving measures a step whose teacher leaves the device outside of its phase beside one whose teacher stays, and says how
// long it takes to come back.
func (o ofModels) leaving(ctx context.Context, u modelUse) error {
	if o.preset.Model.Path == "" {
		o.skip("models", o.what(u), "what leaves comes back from a folder: give one with --from")
		return nil
	}
	found, err := store.FindModel(o.preset.Model.Path, "") // of a run, the model that it offers
	if err != nil {
		return err
	}
	open := func(resident string) (*loop, func(), error) {
		u.models = ofFolder(found.Dir, resident)
		return o.open(u)
	}
	stays, closed, err := open("always")
	if err != nil {
		return err
	}
	defer closed()
	leaves, closed, err := open("phase")
	if err != nil {
		return err
	}
	defer closed()
	back, err := leaves.comesBack()
	if err != nil {
		return err
	}
	return leaves.against(ctx, o.Bench, stays, o.what(u), "where it stays", fmt.Sprintf("it comes back in %.3g s", back))
}

// comesBack is how many seconds longer a teacher takes to score two tokens after another phase than after its own.
func (l *loop) comesBack() (float64, error) {
	views := []rollout.View{{IDs: []int{0, 1, 0}, Spans: []rollout.Span{{From: 1, To: 3}}, Temperature: 1}}
	score := func() error { _, err := l.cast.Supply("other", views); return err }
	away := func() error { _, err := l.cast.Policy.Forward(views); return err }
	if err := errors.Join(score(), away()); err != nil { // the first ones compile
		return 0, err
	}
	var longer []float64
	for range modelTurns {
		if err := away(); err != nil {
			return 0, err
		}
		times, err := inTurns(1, 0, score, score)
		if err != nil {
			return 0, err
		}
		longer = append(longer, times[0][0]-times[1][0])
	}
	return median(longer), nil
}

// against measures a step beside another one, which baseline names.
func (l *loop) against(ctx context.Context, b Bench, plain *loop, what, baseline, detail string) error {
	step := func(l *loop) func() error {
		return func() error { _, err := l.step(ctx); return err }
	}
	if err := errors.Join(step(plain)(), step(l)()); err != nil { // the first ones compile
		return err
	}
	times, err := inTurns(modelTurns, 0, step(l), step(plain))
	if err != nil {
		return err
	}
	r := result(b.Device, "models", what, median(times[0]), "s")
	r.inTurnsWith(baseline, times[0], times[1])
	r.Detail = detail
	b.Emit(r)
	return nil
}

// inTurnsWith is what a result was measured in turns with.
func (r *Result) inTurnsWith(baseline string, own, other []float64) {
	ratios := make([]float64, len(own))
	for i := range ratios {
		ratios[i] = own[i] / other[i]
	}
	r.Baseline, r.BaselineValue, r.Turns = baseline, median(other), len(ratios)
	r.Ratio, r.RatioLow, r.RatioHigh = median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)
}

// onesAndTwos is a text of its own for each number, of words that every task with numbers can write.
func onesAndTwos(i int) string {
	return strings.NewReplacer("0", " 1", "1", " 2").Replace(fmt.Sprintf("%08b", i))
}

// together measures a judge that is asked about all completions of a step at once beside one that is asked about one
// after the other. Random weights write what is no text: then the questions are about ones and twos.
func (l *loop) together(ctx context.Context, b Bench, what string) error {
	e, err := l.step(ctx)
	if err != nil {
		return err
	}
	p := &panel.Panel{Models: l.cast.Judge, Off: true}
	j := l.judges[0]
	run := func(groups ...rollout.Group) error { _, err := p.Judge(ctx, j.Judge, groups); return err }
	asks := func(text func(i int) string) (groups, apart []rollout.Group, asked int, err error) {
		for i := range e.Completions {
			c := &e.Completions[i]
			if c.Sample == 0 {
				groups = append(groups, rollout.Group{Problem: c.From.Problem})
			}
			of, path := &groups[len(groups)-1], rollout.Path{Text: text(i)}
			of.Paths = append(of.Paths, path)
			apart = append(apart, rollout.Group{Problem: c.From.Problem, Paths: []rollout.Path{path}})
		}
		err = run(groups...)
		return groups, apart, p.Take().Questions, err
	}
	detail := ""
	groups, apart, asked, err := asks(func(i int) string { return e.Completions[i].Path().Text })
	if err == nil && asked < len(apart)/2 {
		detail = " about ones and twos, as random weights write no text"
		groups, apart, asked, err = asks(onesAndTwos)
	}
	if err != nil {
		return err
	}
	times, err := inTurns(modelTurns/2, 0, func() error { return run(groups...) }, func() error {
		for i := range apart {
			if err := run(apart[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r := result(b.Device, "models", what, median(times[0]), "s")
	r.inTurnsWith("one by one", times[0], times[1])
	r.Detail = fmt.Sprintf("%d questions%s", asked, detail)
	b.Emit(r)
	return nil
}
