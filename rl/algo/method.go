package algo

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

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
}

// LibraryPart is a named formula that others may use: an advantage, a surrogate,
// a KL form, a correction, a filter, a preference loss.
type LibraryPart struct {
	Name       string             `toml:"-"` // with its arguments, if it takes any
	Kind       string             `toml:"-"` // the part that it is meant for: advantage, policy, penalty, weight, keep, preference or ready
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

// LoadMethod gives a method by name, for the caller to change.
func LoadMethod(name string) (Method, error) {
	m, ok := presetTexts().methods[name]
	if !ok {
		return Method{}, fmt.Errorf("preset %q is not known; accepted: %s", name, strings.Join(MethodNames(), ", "))
	}
	return m.With(nil, nil, nil), nil
}

// With is the method with some parameters, formulas and metrics put in place of
// its own or beside them.
func (m Method) With(parameters map[string]float64, formulas, metrics map[string]string) Method {
	m.Parameters = merged(m.Parameters, parameters)
	m.Formulas = merged(m.Formulas, formulas)
	m.Metrics = merged(m.Metrics, metrics)
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
)

var defaultParts = map[string]string{
	keepPart: "true", "weight": "1", "penalty": "0",
	lossPart: "token_mean(weight*policy + penalty)",
}

// general are metrics of every method whose facts are there.
var general = map[string]string{
	"policy/ratio_mean":  "batch_token_mean(ratio)",
	"policy/update_kl":   "batch_token_mean(-log_ratio)",
	"policy/kl_ref":      "batch_token_mean(k3)",
	"policy/entropy":     "batch_token_mean(entropy)",
	"policy/mismatch_kl": "batch_token_mean(expm1(logp - old) - (logp - old))",
}

// Algorithm is a method that has been read and checked over the facts that there
// are. It is safe for concurrent use.
type Algorithm struct {
	Method  Method
	program *formula.Program
	metrics []string // sorted
	local   bool
	why     string
}

// Compile reads and checks a method over facts. The error joins all faults, each
// with its place.
func (m Method) Compile(facts []formula.Fact) (*Algorithm, error) {
	have := map[string]bool{}
	for _, f := range slices.Concat(formula.Structure(), facts) {
		have[f.Name] = true
	}
	text := formula.Text{Parts: merged(defaultParts, m.Formulas), Parameters: m.Parameters, Library: map[string]string{}, Numbers: map[string]float64{}, Constant: []string{"weight"}}
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
		text.Library[p.Name] = p.Formula
		maps.Copy(text.Numbers, p.Parameters)
	}
	program, err := formula.Compile(text, facts)
	if err != nil {
		return nil, err
	}
	// The metrics of the parts that are used, over the facts that there are.
	text.Parts = merged(text.Parts, m.Metrics)
	a := &Algorithm{Method: m}
	for name := range m.Metrics {
		a.metrics = append(a.metrics, name)
	}
	used := program.Parts()
	there := map[string]bool{"logp": true, "old": true, "entropy": true} // a metric makes no run compute another fact
	for _, fact := range program.Needs() {
		there[fact] = true
	}
	for _, f := range formula.Structure() {
		there[f.Name] = true
	}
	beside := merged(general, nil)
	for _, p := range presetTexts().library {
		if slices.Contains(used, p.Name) {
			maps.Copy(beside, p.Metrics)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(beside)) {
		if _, own := m.Metrics[name]; own {
			continue
		}
		one := text
		one.Parts = merged(text.Parts, map[string]string{name: beside[name]})
		p, err := formula.Compile(one, facts)
		if err == nil && !slices.ContainsFunc(p.Needs(name), func(fact string) bool { return !there[fact] }) {
			text = one
			a.metrics = append(a.metrics, name)
		}
	}
	slices.Sort(a.metrics)
	if a.program, err = formula.Compile(text, facts); err != nil {
		return nil, err
	}
	a.local, a.why = a.program.Local(lossPart)
	return a, a.check()
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
			fail(name, "one value for each %s where one value for the run is wanted; write batch_token_mean(...), batch_mean(...) or another statistic around it", level)
		}
	}
	for _, name := range []string{keepPart, advantagePart} {
		level, condition, ok := a.program.Level(name)
		switch {
		case !ok:
		case a.program.Now(name):
			fail(name, "it is computed once, after sampling, and cannot read values of now: write old, old_entropy, old_value for those of sampling, or a weight")
		case level == formula.Segment:
			fail(name, "one value for each segment; accepted: for each completion or token")
		case name == keepPart && !condition:
			fail(name, "a number where a condition is wanted; write a comparison, such as group_std(reward) > 0")
		}
	}
	used := a.program.Parameters()
	for _, name := range slices.Sorted(maps.Keys(a.Method.Parameters)) {
		if !slices.Contains(used, name) {
			fail(name, "no formula in force reads this parameter; those that are read: %s", strings.Join(used, ", "))
		}
	}
	return errors.Join(faults...)
}

// Needs are the facts that the method reads, metrics included, sorted.
func (a *Algorithm) Needs() []string { return a.program.Needs() }

// Local tells whether the derivatives of the loss are found completion by
// completion, so that an update may be trained in parts; if not, why.
func (a *Algorithm) Local() (bool, string) { return a.local, a.why }

// Metrics are the names of what is measured, sorted.
func (a *Algorithm) Metrics() []string { return slices.Clone(a.metrics) }

// Parameters are the numbers in force, by name: those that a formula reads.
func (a *Algorithm) Parameters() map[string]float64 {
	out := map[string]float64{}
	for _, p := range presetTexts().library {
		maps.Copy(out, p.Parameters)
	}
	maps.Copy(out, a.Method.Parameters)
	used := a.program.Parameters()
	maps.DeleteFunc(out, func(name string, _ float64) bool { return !slices.Contains(used, name) })
	return out
}

// Formulas are the parts in force, metrics left out, those that others read first.
func (a *Algorithm) Formulas() []namedFormula {
	var out []namedFormula
	for _, p := range a.program.Reading() {
		if !slices.Contains(a.metrics, p[0]) {
			out = append(out, namedFormula{p[0], p[1]})
		}
	}
	return out
}

// namedFormula is a part or a metric and its text.
type namedFormula struct{ Name, Formula string }
