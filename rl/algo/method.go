package algo

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/formula"
)

// Method is an algorithm as text: formulas, the numbers that they name, and what
// is measured beside them. A recipe names one and replaces what it wants.
type Method struct {
	Name    string `toml:"-"`
	About   string `toml:"about"`
	Paper   string `toml:"paper"`
	Differs string `toml:"differs"` // where other trainers do something else

	Parameters map[string]float64 `toml:"parameters"`
	Formulas   map[string]string  `toml:"formulas"` // by part
	Metrics    map[string]string  `toml:"metrics"`  // by name
	State      map[string]State   `toml:"state"`    // by name

	given      map[string]bool   // parameters that were put in place by With; nil: all count as such
	written    map[string]bool   // formulas that were put in place by With
	conditions map[string]string // on groups, by name, see Judging
}

// LibraryPart is a named formula that others may use: an advantage, a surrogate,
// a KL form, a correction, a filter, a normaliser, a preference loss.
type LibraryPart struct {
	Name       string             `toml:"-"` // with its arguments, if it takes any
	Kind       string             `toml:"-"` // the part that it is meant for: advantage, policy, penalty, weight, keep, loss, preference or ready
	Formula    string             `toml:"formula"`
	Paper      string             `toml:"paper"`
	Differs    string             `toml:"differs"`
	Parameters map[string]float64 `toml:"parameters"` // with their defaults
	Metrics    map[string]string  `toml:"metrics"`    // measured where the part is used
}

//go:embed presets
var presetFiles embed.FS

// presetTexts reads the methods and the library once. The files are part of the
// program, so a fault in them is one of the program.
var presetTexts = sync.OnceValue(func() (read struct {
	methods map[string]Method
	library []LibraryPart
}) {
	read.methods = map[string]Method{}
	each := func(folder string, do func(name, text string)) {
		entries, err := presetFiles.ReadDir(folder)
		if err != nil {
			panic(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				text, _ := presetFiles.ReadFile(path.Join(folder, e.Name()))
				do(strings.TrimSuffix(e.Name(), ".toml"), string(text))
			}
		}
	}
	each("presets", func(name, text string) {
		var m Method
		decode(name, text, &m)
		m.Name = name
		read.methods[name] = m
	})
	each("presets/parts", func(kind, text string) {
		var parts map[string]LibraryPart
		decode(kind, text, &parts)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			p := parts[name]
			p.Name, p.Kind = name, kind
			read.library = append(read.library, p)
		}
	})
	return read
})

func decode(name, text string, into any) {
	read, err := toml.Decode(text, into)
	if err == nil && len(read.Undecoded()) > 0 {
		err = fmt.Errorf("unknown key %s", read.Undecoded()[0])
	}
	if err != nil {
		panic(fmt.Errorf("presets %s: %w", name, err))
	}
}

// MethodNames lists the methods that there are by name, sorted.
func MethodNames() []string { return slices.Sorted(maps.Keys(presetTexts().methods)) }

// Library lists the named formulas, by kind and name.
func Library() []LibraryPart { return slices.Clone(presetTexts().library) }

// absentMethods are methods of other trainers that are no preset, with what to write.
var absentMethods = map[string]string{
	"reinforce++":          "write reinforce_pp",
	"reinforce++_baseline": "write reinforce_pp_baseline",
	"psr":                  "write w_reinforce with right_weight = 1 and wrong_weight = 0",
	"nsr":                  "write w_reinforce with right_weight = 0",
	"aot":                  "AOT sorts the margins of the batch, which no formula does; the preset dpo looks at each pair",
}

// ErrUnknownMethod is of a name that neither presets nor, as far as is known, other trainers have.
var ErrUnknownMethod = errors.New("is not known")

// LoadMethod gives a method by name, for the caller to change. The error of a name that other
// trainers have says what to write, that of any other name the names that there are.
func LoadMethod(name string) (Method, error) {
	m, ok := presetTexts().methods[name]
	if instead := absentMethods[name]; instead != "" {
		return Method{}, fmt.Errorf("there is no preset %s: %s", name, instead)
	}
	if !ok {
		return Method{}, fmt.Errorf("preset %q %w; accepted: %s", name, ErrUnknownMethod, strings.Join(MethodNames(), ", "))
	}
	m.Parameters, m.Formulas, m.Metrics, m.State = merged(m.Parameters, nil), merged(m.Formulas, nil), merged(m.Metrics, nil), merged(m.State, nil)
	return m, nil
}

// With is the method with some parameters, formulas and metrics put in place of its own
// or beside them. A formula may take the place of a parameter and a number that of a
// formula, a named one too.
func (m Method) With(parameters map[string]float64, formulas, metrics map[string]string) Method {
	m.Formulas = merged(m.Formulas, formulas)
	m.Metrics = merged(m.Metrics, metrics)
	m.given, m.written = merged(m.given, nil), merged(m.written, nil)
	for name := range formulas {
		m.written[name] = true
	}
	own := map[string]float64{}
	for name, value := range parameters {
		_, part := m.Formulas[name]
		_, trainers := defaultParts[name]
		if part || trainers || slices.ContainsFunc(presetTexts().library, func(p LibraryPart) bool { return p.Name == name }) {
			m.Formulas[name] = strconv.FormatFloat(value, 'g', -1, 64)
			continue
		}
		own[name], m.given[name] = value, true
	}
	m.Parameters = merged(m.Parameters, own)
	for name := range formulas {
		delete(m.Parameters, name)
	}
	return m
}

// Beside is the method with parameters put in place of its own, those that no formula
// reads in the end left out.
func (m Method) Beside(parameters map[string]float64) Method {
	given := merged(m.given, nil)
	m = m.With(parameters, nil, nil)
	m.given = given
	return m
}

// Judging is the method with formulas that stand beside it, by name, such as conditions on groups: the
// parts and parameters that they read are in force too. What is wrong with one [Method.Drawn] and
// [Method.Tree] say.
func (m Method) Judging(conditions map[string]string) Method {
	m.conditions = conditions
	return m
}

func merged[V any](first, second map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, first)
	maps.Copy(out, second)
	return out
}

// Parts that mean something to the trainer, and what they are if nothing is said.
const (
	keepPart      = "keep"
	advantagePart = "advantage"
	lossPart      = "loss"
	segmentsPart  = "segments" // whatever the method: one segment for each turn
)

// TurnsCut is a value of segments, and of where the nodes of a tree begin, that has no formula: what is
// cut no further. A completion that is no episode is one turn.
const TurnsCut = "turns"

var defaultParts = map[string]string{
	keepPart: "true", "weight": "1", "penalty": "0",
	lossPart: "token_mean(weight*policy + penalty)",
}

// general are metrics of every method whose facts are there. Those that name no value
// of an update are of the step, before keep; the others are of an update.
var general = map[string]string{
	"reward/mean":            "step_mean(reward)",
	"reward/std":             "step_std(reward)",
	"reward/group_std":       "prompts_mean(group_std(reward))",
	"groups/uniform_share":   "prompts_mean(group_std(reward) == 0)",
	"groups/all_right_share": "prompts_mean(group_count(right(task)) == group_size)",
	"groups/all_wrong_share": "prompts_mean(group_count(right(task)) == 0)",
	"rollout/not_scored":     "step_count(not scored(reward))",
	"policy/ratio_mean":      "update_token_mean(ratio)",
	"policy/update_kl":       "update_token_mean(-log_ratio)",
	"policy/kl_ref":          "update_token_mean(k3)",
	"policy/entropy":         "update_token_mean(entropy)",
	"policy/mismatch_kl":     "update_token_mean(expm1(logp - old) - (logp - old))",
	"policy/compared":        "update_token_count(scored(logp - old))",
	"policy/equal":           "update_token_count(logp == old)",
}

// ofFresh are those that leave out what was not sampled afresh, where a stage tells. Sampler
// and trainer are compared where they had the same weights.
var ofFresh = map[string]string{
	"reward/mean":            "step_mean(reward, fresh)",
	"reward/std":             "step_std(reward, fresh)",
	"reward/group_std":       "prompts_mean(group_std(reward), group_max(replayed) == 0)",
	"groups/uniform_share":   "prompts_mean(group_std(reward) == 0, group_max(replayed) == 0)",
	"groups/all_right_share": "prompts_mean(group_count(right(task)) == group_size, group_max(replayed) == 0)",
	"groups/all_wrong_share": "prompts_mean(group_count(right(task)) == 0, group_max(replayed) == 0)",
	"rollout/not_scored":     "step_count(not scored(reward), not replayed)",
	"policy/mismatch_kl":     "update_token_mean(expm1(logp - old) - (logp - old), fresh and age == 0)",
	"policy/compared":        "update_token_count(scored(logp), fresh and age == 0)",
	"policy/equal":           "update_token_count(logp == old, fresh and age == 0)",
}

// ofModel are those of a model that the method asks.
func ofModel(name string) map[string]string {
	return map[string]string{
		name + "/logp": "update_token_mean(" + name + ")",
		name + "/kl":   "update_token_mean(expm1(" + name + " - logp) - (" + name + " - logp))",
	}
}

// free are facts that a metric may read although the method does not: a run has them
// anyway.
var free = []string{"reward", "task", "logp", "old", "start", "entropy", "fresh", "replayed", "age"}

// Algorithm is a method that has been read and checked over the facts that there
// are. It is safe for concurrent use.
type Algorithm struct {
	Method  Method
	program *formula.Program
	metrics []string // sorted
	clips   []string // written parts whose clips are counted, sorted
	facts   []formula.Fact
	movers  []mover                     // of states
	judges  map[string]*formula.Program // formulas that stand beside it
	local   bool
	why     string
}

// compile is [Method.Compile] without what was compiled before.
func (m Method) compile(facts []formula.Fact) (*Algorithm, error) {
	if m.Formulas[segmentsPart] == TurnsCut {
		m.Formulas = merged(m.Formulas, nil)
		delete(m.Formulas, segmentsPart)
	}
	movers, err := m.movers(facts)
	if err != nil {
		return nil, err
	}
	judges := map[string]*formula.Program{}
	for name, condition := range m.conditions {
		if program, err := m.beside(map[string]string{name: condition}, facts); err == nil {
			judges[name] = program
		}
	}
	facts = slices.Concat(facts, m.stateFacts(""))
	text := m.text(facts)
	if err := m.unsaid(text, facts); err != nil {
		return nil, err
	}
	program, err := formula.Compile(text, facts)
	if err != nil {
		return nil, err
	}
	a := &Algorithm{Method: m, facts: facts, movers: movers, judges: judges}
	text.Parts, a.metrics = m.measured(text, program, facts)
	if a.program, err = formula.Compile(text, facts); err != nil {
		return nil, err
	}
	a.clips = slices.DeleteFunc(a.program.Clips(lossPart), func(part string) bool { return !m.written[part] })
	a.local, a.why = a.program.Local(lossPart)
	return a, a.check()
}

// text is the method's formulas, over facts.
func (m Method) text(facts []formula.Fact) formula.Text {
	have := map[string]bool{}
	for _, f := range slices.Concat(formula.Structure(), facts) {
		have[f.Name] = true
	}
	text := formula.Text{Parts: merged(defaultParts, m.Formulas), Parameters: m.Parameters, Library: map[string]string{}, Numbers: map[string]float64{}, Constant: []string{"weight"}, Held: heldParts}
	for name := range text.Parts {
		if have[name] {
			delete(text.Parts, name) // it is given
		}
	}
	if have["A"] {
		delete(text.Parts, advantagePart)
	} else if _, made := text.Parts[advantagePart]; made || have[advantagePart] {
		text.Parts["A"] = advantagePart
	}
	for _, p := range presetTexts().library {
		if !have[p.Name] { // else it is given
			text.Library[p.Name] = p.Formula
		}
		maps.Copy(text.Numbers, p.Parameters)
	}
	return text
}

// measured adds the metrics to the parts of a method: its own, those of every method,
// and those of the named formulas that it uses, over the facts that there are.
func (m Method) measured(text formula.Text, program *formula.Program, facts []formula.Fact) (parts map[string]string, metrics []string) {
	beside, used := merged(general, nil), program.Parts()
	if slices.ContainsFunc(facts, func(f formula.Fact) bool { return f.Name == "fresh" }) {
		maps.Copy(beside, ofFresh)
	}
	for _, f := range facts {
		if f.Model {
			maps.Copy(beside, ofModel(f.Name))
		}
	}
	learnt := program.Uses(keepPart, advantagePart, lossPart)
	for _, p := range presetTexts().library {
		// A name that the method gives another meaning counts where it is learnt by.
		if _, own := m.Formulas[p.Name]; slices.Contains(used, p.Name) && (!own || slices.Contains(learnt, p.Name)) {
			maps.Copy(beside, p.Metrics)
		}
	}
	text.Parts = merged(text.Parts, m.Metrics)
	metrics = slices.Collect(maps.Keys(m.Metrics))
	lacks := lacking(program, facts)
	maps.DeleteFunc(beside, func(name, _ string) bool { _, own := m.Metrics[name]; return own })
	all := text
	all.Parts = merged(text.Parts, beside)
	reads := all.Reader()
	maps.DeleteFunc(beside, func(name, _ string) bool { return slices.ContainsFunc(reads(name), lacks) })
	all.Parts = merged(text.Parts, beside)
	_, err := formula.Compile(all, facts)
	for _, name := range slices.Sorted(maps.Keys(beside)) {
		if err != nil { // of some: a part that was replaced may have another level than a metric of it takes
			one := text
			one.Parts = merged(text.Parts, map[string]string{name: beside[name]})
			if _, err := formula.Compile(one, facts); err != nil {
				continue
			}
		}
		text.Parts[name] = beside[name]
		metrics = append(metrics, name)
	}
	slices.Sort(metrics)
	return text.Parts, metrics
}

// lacking tells which names are facts that a metric cannot read: a metric makes no run
// compute another fact than the method does.
func lacking(program *formula.Program, facts []formula.Fact) func(name string) bool {
	lacks := map[string]bool{"A": true}
	for _, f := range Facts() {
		lacks[f.Name] = true
	}
	for _, f := range facts {
		if lacks[f.Name] = true; slices.Contains(free, f.Name) || f.Name == "A" {
			lacks[f.Name] = false
		}
	}
	for _, name := range slices.Concat(program.Needs(), program.Parts()) {
		lacks[name] = false
	}
	return func(name string) bool { return lacks[name] }
}

// main are the parts that a run evaluates beside metrics and states.
func (a *Algorithm) main() []string {
	main := []string{keepPart, advantagePart, lossPart}
	reads := slices.ContainsFunc(slices.Concat(main, a.metrics), func(name string) bool { return a.program.OfSegments(name) != "" })
	for _, m := range a.movers {
		reads = reads || slices.ContainsFunc(m.names, func(name string) bool { return m.program.OfSegments(statePart(name)) != "" })
	}
	if reads {
		main = append(main, segmentsPart)
	}
	return main
}

// check holds the parts that mean something to the trainer against what they have
// to be.
func (a *Algorithm) check() error {
	var faults []error
	fail := func(part, format string, args ...any) {
		faults = append(faults, &formula.Error{Part: part, Text: fmt.Sprintf(format, args...)})
	}
	if level, _, _ := a.program.Level(lossPart); level != formula.Run {
		fail(lossPart, "one value for each %s where one value for the run is wanted; write token_mean(...) or another normaliser around it", level)
	}
	for _, name := range a.metrics {
		if level, _, _ := a.program.Level(name); level != formula.Run {
			fail(name, "one value for each %s where one value for the run is wanted; write step_token_mean(...), step_mean(...), update_mean(...) or another statistic around it", level)
		}
	}
	for _, name := range []string{keepPart, advantagePart} {
		level, condition, ok := a.program.Level(name)
		switch {
		case !ok:
		case a.program.Now(name):
			fail(name, "it is computed once, after sampling, and cannot read %s, a value of now: write old, old_entropy or old_value for the values at sampling, or a weight", strings.Join(a.readsNow(name), ", "))
		case a.program.OfUpdate(name):
			fail(name, "it is computed once, after sampling, before there is an update: write step_mean(...) or another statistic over the step. %s", a.program.UpdateWord(name))
		case level == formula.Segment:
			fail(name, "one value for each segment; accepted: for each completion or token; own*(...) is the value of a segment at each of its tokens")
		case name == keepPart && !condition:
			fail(name, "a number where a condition is wanted; write a comparison, such as group_std(reward) > 0")
		}
	}
	if _, _, ok := a.program.Level(segmentsPart); ok {
		if wrong := cutFault(a.program, segmentsPart); wrong != "" {
			fail(segmentsPart, "%s", wrong)
		}
	}
	used := a.numbersRead()
	for _, name := range slices.Sorted(maps.Keys(a.Method.Parameters)) {
		if (a.Method.given == nil || a.Method.given[name]) && !slices.Contains(used, name) {
			fail(name, "no formula in force reads this parameter%s", settings.DidYouMean(name, used, "those that are read: "+strings.Join(used, ", ")))
		}
	}
	return errors.Join(faults...)
}

// Needs are the facts that the method reads, metrics and states included, sorted.
func (a *Algorithm) Needs() []string { return a.needs(a.program.Needs()) }

// needs adds what the states read.
func (a *Algorithm) needs(needs []string) []string {
	for _, m := range a.movers {
		for _, name := range m.names {
			needs = append(needs, m.program.Needs(statePart(name))...)
		}
	}
	needs = slices.DeleteFunc(needs, func(name string) bool { _, state := a.Method.State[name]; return state })
	slices.Sort(needs)
	return slices.Compact(needs)
}

// Reads are the facts that the method reads, those of the metrics of every method left out,
// sorted.
func (a *Algorithm) Reads() []string { return a.needs(a.program.Needs(a.read()...)) }

// read are the parts of the method, the metrics of every method left out.
func (a *Algorithm) read() []string {
	parts := slices.Sorted(maps.Keys(a.Method.Metrics))
	for _, name := range a.main() {
		if _, _, there := a.program.Level(name); there {
			parts = append(parts, name)
		}
	}
	return parts
}

// Bare is the first place where the method has no value where a fact has none, see [formula.Program.Bare].
func (a *Algorithm) Bare(fact, guard string) string {
	for _, part := range a.read() {
		if at := a.program.Bare(part, fact, guard); at != "" {
			return at
		}
	}
	for _, m := range a.movers {
		for _, name := range m.names {
			if at := m.program.Bare(statePart(name), fact, guard); at != "" {
				return at
			}
		}
	}
	return ""
}

// numbersRead are the parameters that formulas read.
func (a *Algorithm) numbersRead() []string {
	read := a.program.Parameters()
	for _, m := range a.movers {
		read = append(read, m.program.Parameters()...)
	}
	for _, program := range a.judges {
		read = append(read, program.Parameters()...)
	}
	slices.Sort(read)
	return slices.Compact(read)
}

// inForce are the parts that some parts, the states and the conditions are made of.
func (a *Algorithm) inForce(parts ...string) []string {
	used := a.program.Uses(parts...)
	for _, m := range a.movers {
		for _, name := range m.names {
			used = append(used, m.program.Uses(statePart(name))...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.judges)) {
		used = append(used, a.judges[name].Uses(name)...)
	}
	return used
}

// Local tells whether the derivatives of the loss are found completion by
// completion, so that an update may be trained in parts; if not, why.
func (a *Algorithm) Local() (bool, string) { return a.local, a.why }

// Metrics are the names of what is measured, sorted: metrics, and the share of what is clipped in each
// part of the loss that a recipe writes itself. Presets say what their own clips mean.
func (a *Algorithm) Metrics() []string {
	names := slices.Clone(a.metrics)
	for _, part := range a.clips {
		names = append(names, clipArea+part)
	}
	slices.Sort(names)
	return names
}

// clipArea stands before the name of a part in the name of the share that its clips bound.
const clipArea = "clip/"

// Parameters are the numbers in force, by name: those that a formula reads.
func (a *Algorithm) Parameters() map[string]float64 {
	out := map[string]float64{}
	for _, p := range presetTexts().library {
		maps.Copy(out, p.Parameters)
	}
	maps.Copy(out, a.Method.Parameters)
	used := a.numbersRead()
	maps.DeleteFunc(out, func(name string, _ float64) bool { return !slices.Contains(used, name) })
	return out
}

// reading are name and formula of all parts, in the order in which they are computed.
func (a *Algorithm) reading() [][2]string {
	all := a.program.Reading()
	add := func(parts [][2]string) {
		for _, p := range parts {
			beside := strings.Contains(p[0], "/") // a state or a condition
			if !beside && !slices.ContainsFunc(all, func(q [2]string) bool { return q[0] == p[0] }) {
				all = append(all, p)
			}
		}
	}
	for _, m := range a.movers {
		add(m.program.Reading())
	}
	for _, name := range slices.Sorted(maps.Keys(a.judges)) {
		add(a.judges[name].Reading())
	}
	return all
}

// Formulas are the parts in force, in the order in which they are computed: what keep, advantage,
// loss and segments are made of. Metrics are left out.
func (a *Algorithm) Formulas() []namedFormula {
	used := a.inForce(a.main()...)
	var out []namedFormula
	for _, p := range a.reading() {
		if slices.Contains(used, plainName(p[0])) {
			out = append(out, namedFormula{p[0], p[1]})
		}
	}
	return out
}

// namedFormula is a part or a metric and its text.
type namedFormula struct{ Name, Formula string }

// plainName is the name of a part without its arguments.
func plainName(key string) string {
	name, _, _ := strings.Cut(key, "(")
	return strings.TrimSpace(name)
}

// Text is what is computed, as lines for people: the numbers, and the formulas in
// force, in the order in which they are computed.
func (a *Algorithm) Text() string {
	var lines []string
	numbers := a.Parameters()
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		lines = append(lines, fmt.Sprintf("%s = %v", name, numbers[name]))
	}
	if len(lines) > 0 {
		lines = []string{strings.Join(lines, ", ")}
	}
	for _, f := range a.Formulas() {
		lines = append(lines, f.Name+" = "+strings.ReplaceAll(f.Formula, "\n", "\n    "))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Method.State)) {
		s := a.Method.State[name]
		line := fmt.Sprintf("%s = %v at first, then %s", name, s.Start, strings.ReplaceAll(strings.TrimSpace(s.Next), "\n", "\n    "))
		if s.By != "" {
			line += ", by " + s.By
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Changes is how many numbers, formulas and states of a resolved method are neither those of the
// preset of its name nor those of the named formulas.
func (m Method) Changes() int {
	preset := presetTexts().methods[m.Name]
	numbers, formulas := map[string]float64{}, maps.Clone(defaultParts)
	for _, p := range presetTexts().library {
		maps.Copy(numbers, p.Parameters)
		formulas[p.Name] = p.Formula
	}
	maps.Copy(numbers, preset.Parameters)
	maps.Copy(formulas, preset.Formulas)
	return changed(m.Parameters, numbers) + changed(m.Formulas, formulas) + changed(m.State, preset.State)
}

// changed counts the names that known has otherwise or not at all.
func changed[V comparable](own, known map[string]V) (n int) {
	for name, value := range own {
		if old, there := known[name]; !there || old != value {
			n++
		}
	}
	return n
}

// Idle are the formulas of the method that nothing reads, sorted.
func (a *Algorithm) Idle() []string {
	used := a.inForce(slices.Concat(a.main(), a.metrics)...)
	var idle []string
	for _, name := range slices.Sorted(maps.Keys(a.Method.Formulas)) {
		if !slices.Contains(used, plainName(name)) {
			idle = append(idle, name)
		}
	}
	return idle
}

// Resolved is the method with every number and formula in force written out: it comes
// to the same whatever presets and named formulas say later.
func (a *Algorithm) Resolved() Method {
	m := a.Method
	m.Parameters, m.Formulas = a.Parameters(), map[string]string{}
	used := a.inForce(slices.AppendSeq(a.main(), maps.Keys(m.Metrics))...)
	for _, p := range a.reading() {
		name := plainName(p[0])
		if _, metric := m.Metrics[name]; slices.Contains(used, name) && !metric && name != "A" {
			m.Formulas[p[0]] = p[1]
		}
	}
	return m
}
