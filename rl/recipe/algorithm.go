package recipe

import (
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
)

// Algorithm is the method of a stage as text: a published one by its name, of which the
// recipe may replace any parameter and any formula. In a recipe that was loaded, Values
// has everything in force, so that the text says all that is computed.
type Algorithm struct {
	// a published method (rlzero algorithms lists them), which the other keys of the table change; "":
	// none, and the formula policy is needed
	Preset string `toml:"preset" default:"grpo" default_sft:"sft" default_preference:"dpo"`

	// a number replaces a parameter of the method, text a formula of it, such as clip_high = 0.3 or
	// advantage = "rloo"; rlzero algorithms show NAME lists them, rlzero formulas explains the
	// language
	Values map[string]any `toml:",rest"`

	// numbers that the next step sees, by name: {start = 0, next = "formula"}, and by = "row" or
	// "row.NAME" for one number for each prompt or value; such as {kl_mean = {start = 0, next =
	// "0.9*kl_mean + 0.1*step_mean(sum(old - ref))"}}
	State map[string]any `toml:"state"`

	// your own metrics: formulas with one value for the run, by a name that begins with my/; such as
	// {"my/long" = "step_max(tokens)"}
	Metrics map[string]any `toml:"metrics"`

	// accept a method that learns nothing from the synthetic groups on which it is tried when the recipe
	// is read; otherwise it is refused
	AsWritten bool `toml:"as_written"`
}

// method is what the values say. Parameters for which loose is true may be read by no
// formula.
func (a Algorithm) method(base algo.Method, loose func(name string) bool) algo.Method {
	parameters, beside, formulas, metrics := map[string]float64{}, map[string]float64{}, map[string]string{}, map[string]string{}
	for name, value := range a.Values {
		switch v := value.(type) {
		case float64:
			if loose(name) {
				beside[name] = v
			} else {
				parameters[name] = v
			}
		case string:
			formulas[name] = v
		}
	}
	for name, value := range a.Metrics {
		metrics[name], _ = value.(string)
	}
	if len(a.State) > 0 {
		base.State = maps.Clone(base.State)
		if base.State == nil {
			base.State = map[string]algo.State{}
		}
		maps.Copy(base.State, a.states())
	}
	return base.With(parameters, formulas, metrics).Beside(beside)
}

// states are the states as the method takes them. What is no table and no number has been
// refused.
func (a Algorithm) states() map[string]algo.State {
	states := map[string]algo.State{}
	for name, value := range a.State {
		t, _ := value.(map[string]any)
		var s algo.State
		switch start := t["start"].(type) {
		case int64:
			s.Start = float64(start)
		case float64:
			s.Start = start
		}
		s.Next, _ = t["next"].(string)
		s.By, _ = t["by"].(string)
		states[name] = s
	}
	return states
}

// Compiled is the method of a stage of a recipe that was loaded, over the facts that
// the stage supplies.
func (s *Stage) Compiled() (*algo.Algorithm, error) {
	return s.method().Judging(s.conditions()).Compile(s.facts())
}

// method is what a stage of a recipe that was loaded computes.
func (s *Stage) method() algo.Method {
	base := algo.Method{Name: s.Algorithm.Preset}
	if s.Kind == KindMake {
		base.Formulas = map[string]string{"loss": "0"} // nothing is learned; the metrics of every method are there
	}
	return s.Algorithm.method(base, func(string) bool { return true })
}

// Reading is what a stage that samples or compares computes, for people: in a line, and formula
// by formula. Of other stages it is nothing.
func (s *Stage) Reading() (line string, formulas []string, err error) {
	if s.Kind != KindRL && s.Kind != KindPreference {
		return "", nil, nil
	}
	method, err := s.Compiled()
	if err != nil {
		return "", nil, err
	}
	beside := s.Beside()
	if line = "method: " + s.Algorithm.Preset; s.Algorithm.Preset == "" {
		line = "method: formulas of the recipe"
	} else if n := method.Method.Changes() + len(beside); n > 0 {
		line += ", " + terminal.Count(n, "change", "")
	}
	lessons, err := s.Lessons()
	return line, slices.Concat(strings.Split(method.Text(), "\n"), beside, lessons), err
}

// modelNames are those of the models of the recipe.
func (s *Stage) modelNames() []string {
	var names []string
	for _, m := range s.models {
		names = append(names, m.Name)
	}
	return names
}

// headNames are those of the models of the recipe that have a head.
func (s *Stage) headNames() []string {
	var names []string
	for _, m := range s.models {
		if m.Head {
			names = append(names, m.Name)
		}
	}
	return names
}

// facts are what formulas of the stage may read.
func (s *Stage) facts() []formula.Fact {
	var models []formula.Fact
	for _, m := range s.models {
		if !m.Head {
			models = append(models, algo.ModelFact(m.Name))
			continue
		}
		models = append(models, algo.HeadFact(m.Name), algo.ValueFact(m.Name))
		if m.Name == s.Learner() {
			models = append(models, algo.ScoreFact())
		}
	}
	if s.Kind == KindPreference {
		models = append(models, algo.LabelFact())
	}
	if !s.Draws() {
		return append(algo.RowFacts(), models...)
	}
	facts := slices.Concat(algo.RunFacts(), models, algo.AngleFacts(s.modelNames()...), algo.PathFacts(s.modelNames()...))
	if s.stale() {
		facts = append(facts, algo.StaleFacts()...)
	}
	if s.played {
		facts = append(facts, algo.TurnFacts()...)
	}
	if s.Grows() {
		facts = append(facts, algo.TreeFacts()...)
	}
	steps := s.StepJudges()
	for _, v := range s.Verifiers {
		facts = append(facts, formula.Fact{Name: v.Name, Level: formula.Completion, Meaning: "score of the verifier"},
			formula.Fact{Name: v.Name + ".*", Level: formula.Completion, Meaning: "a number of its verdict"})
		if fact := v.Name + algo.StepFact; steps[fact] != nil {
			facts = append(facts, algo.StepsFact(fact))
		}
	}
	return facts
}

// algorithm reads the table over its preset and writes out what is in force.
func (d decoder) algorithm(s *Stage, t map[string]any, at settings.Path) {
	at = at.With("algorithm")
	value, there := t["algorithm"]
	table, ok := value.(map[string]any)
	switch {
	case !s.Learns():
		if there {
			d.Fail(at, "%s is a table of stages that learn; this one is of kind %s", d.Name(at), s.Kind)
		}
		return
	case there && !ok:
		d.WrongType(at, value, "a table [stage.algorithm]")
		return
	}
	before := d.Failed()
	d.former(table, at)
	if d.Failed() == before {
		d.Decode(&s.Algorithm, table, at)
	}
	for name, value := range s.Algorithm.Values {
		if x, number := value.(float64); number && math.IsNaN(x) {
			d.Fail(at.With(name), "%s = nan is not accepted; accepted: a number, inf, -inf", d.Name(at.With(name)))
		}
	}
	d.metrics(s.Algorithm.Metrics, at.With("metrics"))
	d.states(s.Algorithm.State, at.With("state"))
	if d.Failed() > before {
		return
	}
	base, err := algo.Method{}, error(nil)
	if preset := s.Algorithm.Preset; preset != "" {
		if base, err = algo.LoadMethod(preset); err != nil {
			known, p := algo.MethodNames(), at.With("preset")
			if !errors.Is(err, algo.ErrUnknownMethod) { // the error says what to write
				d.Fail(p, "%s: %v", d.Name(p), err)
				return
			}
			d.Fail(p, "%s = %q is not known%s", d.Name(p), preset, settings.DidYouMean(preset, known, "accepted: "+strings.Join(known, ", ")))
			return
		}
	}
	// What the file says may have no use any more beside an override of a formula.
	overridden := slices.ContainsFunc([]string{"algorithm", "tree", "second_chance", "replay", "make"}, func(key string) bool {
		return d.OverriddenIn(at[:len(at)-1].With(key))
	})
	loose := func(name string) bool { return overridden && !d.Overridden(at.With(name)) }
	compiled := d.compile(s, s.Algorithm.method(base, loose).Judging(s.conditions()), table, at, loose)
	if compiled == nil {
		return
	}
	if own, is := table["advantage"].(string); is && own != base.Formulas["advantage"] && !s.Algorithm.AsWritten && !compiled.ReadsAdvantage() {
		p := at.With("advantage")
		d.Fail(p, "%s would do nothing: no formula in force reads A; remove it, or write as_written = true if that is meant", d.Name(p))
		return
	}
	s.Algorithm.write(compiled.Resolved())
}

var metricName = regexp.MustCompile(`^my/[a-z][a-z0-9_]*$`)

// metrics checks names and types.
func (d decoder) metrics(metrics map[string]any, at settings.Path) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		p := at.With(name)
		if _, text := metrics[name].(string); !text {
			d.WrongType(p, metrics[name], "a formula in quotes")
		} else if !metricName.MatchString(name) {
			d.Fail(p, "%s: the name of a metric is not accepted; accepted: my/ and lower-case letters, digits and _, such as my/long_share", d.Name(p))
		}
	}
}

// states checks the shape of states.
func (d decoder) states(states map[string]any, at settings.Path) {
	for _, name := range slices.Sorted(maps.Keys(states)) {
		t, ok := states[name].(map[string]any)
		if !ok {
			d.WrongType(at.With(name), states[name], `a table such as {start = 0, next = "formula"}`)
			continue
		}
		var s struct {
			Start float64 `toml:"start"`
			Next  string  `toml:"next"`
			By    string  `toml:"by"`
		}
		d.Decode(&s, t, at.With(name))
		if _, given := t["next"]; !given {
			d.Fail(at.With(name), "%s has no next: the formula of the number that the next step sees", d.Name(at.With(name)))
		}
	}
}

// write puts everything in force into the values.
func (a *Algorithm) write(m algo.Method) {
	a.Values = map[string]any{}
	for name, value := range m.Parameters {
		a.Values[name] = value
	}
	for name, text := range m.Formulas {
		a.Values[name] = text
	}
	for name, s := range m.State {
		if a.State == nil {
			a.State = map[string]any{}
		}
		state := map[string]any{"start": s.Start, "next": s.Next}
		if s.By != "" {
			state["by"] = s.By
		}
		a.State[name] = state
	}
}

// pairAtLeast is what group_size may be where a group of one teaches nothing.
const pairAtLeast = "at least 2, since the advantage compares the completions of one prompt: a single one has the advantage 0"

// compile checks a method over what a stage supplies; nil: it is refused.
func (d decoder) compile(s *Stage, m algo.Method, table map[string]any, at settings.Path, loose func(name string) bool) *algo.Algorithm {
	before := d.Failed()
	a, err := m.Compile(s.facts())
	if err != nil {
		d.unsupplied(s, m, at)
		if d.Failed() == before {
			d.formulaFaults(err, table, at)
		}
		return nil
	}
	for _, name := range a.Idle() {
		if _, own := table[name]; own && !loose(name) {
			p := at.With(name)
			if i := slices.IndexFunc(s.facts(), func(f formula.Fact) bool { return f.Name == name }); i >= 0 {
				d.Fail(p, "%s: %s is a fact (%s), which no formula can replace; choose another name", d.Name(p), name, s.facts()[i].Meaning)
				continue
			}
			d.Fail(p, "%s would do nothing: no formula in force reads it%s", d.Name(p), settings.DidYouMean(name, []string{"keep", "advantage", "policy", "weight", "penalty", "loss"}, ""))
		}
	}
	if !a.Learns() {
		p := at.With("loss")
		for _, name := range []string{"policy", "preset"} {
			if _, own := table[p[len(p)-1]]; !own {
				p = at.With(name)
			}
		}
		d.Fail(p, "%s: the loss reads none of logp, entropy, uniform_logp and value, so it has no gradient; write one that does, such as policy = \"reinforce\"", d.Name(p))
	}
	if needs := a.Needs(); s.Optimizer.ValueLR > 0 && !slices.Contains(needs, "value") && !slices.Contains(needs, "score") {
		p := settings.Path(at[:len(at)-1]).With("optimizer").With("value_lr")
		d.Fail(p, "%s = %v would do nothing: no formula in force reads value, so there is no value head", d.Name(p), s.Optimizer.ValueLR)
	}
	if s.Best.Every > 0 && !slices.Contains(a.Needs(), "greedy_reward") {
		p := settings.Path(at[:len(at)-1]).With("best").With("every")
		d.Fail(p, "%s = %d would do nothing: no formula in force reads greedy_reward", d.Name(p), s.Best.Every)
	}
	if own := stageDefaults(s.Kind).Best; s.Best.Every == 0 && s.Best != own {
		p := settings.Path(at[:len(at)-1]).With("best")
		d.Fail(p, "%s does nothing without every: the steps between two tests, such as every = 10", d.Name(p))
	}
	if _, over := a.KeepReads(); s.Refill.Tries > 0 && over != "" {
		p := settings.Path(at[:len(at)-1]).With("refill").With("tries")
		d.Fail(p, "%s = %d does not go with the method's keep, which has to judge each group by itself: %s", d.Name(p), s.Refill.Tries, over)
	}
	if reads := a.HeldReads(); s.Replay.Store != "" && slices.Contains(reads, "replayed") {
		part := "advantage"
		if !strings.Contains(m.Formulas["advantage"], "replayed") && strings.Contains(m.Formulas["keep"], "replayed") {
			part = "keep"
		}
		p := at.With(part)
		d.Fail(p, "%s reads replayed, but advantage and keep of a group are computed once, when it is sampled, and replayed is false then; write the branch in policy, weight or loss", d.Name(p))
	}
	if d.Failed() == before && s.GroupSize == 1 && !a.Teaches(s.GroupSize) {
		p := settings.Path(at[:len(at)-1]).With("group_size")
		d.Fail(p, "%s = 1 is out of range; accepted: %s", d.Name(p), pairAtLeast)
	}
	if d.Failed() > before {
		return nil
	}
	return a
}

// unsupplied records which facts a method reads that exist, but not in this stage.
func (d decoder) unsupplied(s *Stage, m algo.Method, at settings.Path) {
	find := func(facts []formula.Fact, name string) int {
		name, _, _ = strings.Cut(name, "(")
		family, _, _ := strings.Cut(name, ".")
		return slices.IndexFunc(facts, func(f formula.Fact) bool { return f.Name == name || f.Name == family+".*" })
	}
	own := slices.Concat(formula.Structure(), s.facts())
	known := s.facts()
	for _, f := range algo.Facts() {
		if !slices.ContainsFunc(own, func(o formula.Fact) bool { return o.Name == f.Name }) {
			known = append(known, f)
		}
	}
	a, err := m.Compile(known)
	if err != nil {
		return
	}
	for _, name := range a.Reads() {
		if find(own, name) < 0 {
			f := known[find(known, name)]
			d.Fail(at, "%s reads %s (%s), which this stage does not supply; replace the formulas that name it: rlzero algorithms lists the methods that can train", d.Name(at), name, f.Meaning)
		}
	}
}

// formulaFaults records what the checker of formulas found, each at the key that holds
// the formula, or at the preset.
func (d decoder) formulaFaults(err error, table map[string]any, at settings.Path) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			d.formulaFaults(err, table, at)
		}
		return
	}
	var fault *formula.Error
	if !errors.As(err, &fault) {
		d.Fail(at, "%s: %v", d.Name(at), err)
		return
	}
	p := at.With("preset")
	for name := range table {
		if plain, _, _ := strings.Cut(name, "("); plain == fault.Part || name == fault.Part {
			p = at.With(name)
		}
	}
	if name, state := strings.CutPrefix(fault.Part, "state/"); state {
		p = at.With("state").With(name)
	}
	if metrics, ok := table["metrics"].(map[string]any); ok && metrics[fault.Part] != nil {
		p = at.With("metrics").With(fault.Part)
	}
	if p[len(p)-1] == "preset" {
		d.Fail(p, "%s: %v", d.Name(p), fault)
		return
	}
	inside := *fault
	inside.Part = ""
	d.Fail(p, "%s: %v", d.Name(p), &inside)
}
