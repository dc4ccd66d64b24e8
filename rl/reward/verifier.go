package reward

import (
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/script"
)

const maxVerifiers = 16

// The comments above the fields of this file are what recipes say of their keys.
//
//go:embed verifier.go
var source embed.FS

func init() { settings.Comments[Verifier](source) }

// Verifier is a [[stage.verifier]] of a recipe: a name for the expression, and
// what it stands for: an entry of package verify's registry with its options, or
// a function that the user wrote in Starlark.
type Verifier struct {
	// name of the verifier in the reward
	Name string `toml:"name"`

	// the verifier; rlzero verifiers lists them
	Verifier string `toml:"verifier" of:"verifier"`

	// options of the verifier; rlzero verifiers show NAME lists them
	Options map[string]any `toml:"options" of:"verifier"`

	// a file with a function reward(row, completion) in Starlark, in place of a verifier; with source, its
	// name in messages
	Starlark string `toml:"starlark" of:"script"`

	// text of the script, instead of a file; the recipe of a run has it
	Source string `toml:"source" of:"script"`

	// smallest and largest score of the script; default: [0, 1]
	Range [2]float64 `toml:"range" of:"script" range:"(-inf,inf)"`
}

// Scripted says whether it is written in Starlark.
func (d Verifier) Scripted() bool { return d.Starlark != "" || d.Source != "" }

// Variant says which keys it has: options go with a verifier, a range and the source
// with a script.
func (d Verifier) Variant() string {
	if d.Scripted() {
		return "script"
	}
	return "verifier"
}

// nameShape is that of names of verifiers.
var nameShape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// taken says what already goes by a name; "" if nothing does, or a function, which
// is called and so told apart.
func taken(name string) string {
	what := formula.Taken(name)
	is := func(f formula.Fact) bool { return f.Name == name }
	switch {
	case what != "" && what != "a function":
		return what
	case name == taskTerm:
		return "the task's verdict"
	case name == rewardPart:
		return "the reward itself"
	case slices.ContainsFunc(formula.Structure(), is), slices.ContainsFunc(Facts(), is):
		return "a fact"
	case slices.ContainsFunc(parts, func(p Part) bool { return strings.HasPrefix(p.Name+"(", name+"(") }):
		return "a named formula"
	}
	return ""
}

// build makes the i-th verifier; names are those that are taken already.
func (d Verifier) build(i int, names []string) (verify.Verifier, Errors) {
	var faults Errors
	fail := func(key, format string, args ...any) *Error {
		err := fmt.Errorf(format, args...)
		e := &Error{Verifier: i, Key: key, Text: err.Error(), Of: errors.Unwrap(err)}
		faults = append(faults, e)
		return e
	}
	switch what := taken(d.Name); {
	case d.Name == "":
		fail("name", "a verifier needs a name, which the expression uses")
	case !nameShape.MatchString(d.Name):
		fail("name", "name = %q is not accepted; accepted: lower-case letters, digits and _, a letter first, at most 32", d.Name)
	case what != "":
		fail("name", "name = %q is %s; choose another one", d.Name, what)
	case slices.Contains(names, d.Name):
		fail("name", "two verifiers are called %q; give each its own name", d.Name)
	}
	switch {
	case d.Verifier != "" && d.Scripted():
		fail("verifier", "verifier and starlark cannot be set together: remove one of them")
	case d.Verifier == "" && !d.Scripted():
		fail("verifier", "it does not say what to check: give verifier = \"NAME\" (rlzero verifiers lists them) or starlark = \"FILE\"")
	case d.Scripted() && d.Options != nil:
		fail("options", "options go with verifier, not with starlark")
	case d.Scripted():
		v, err := d.script()
		if err != nil {
			fail("starlark", "%w", err)
		}
		return v, faults
	case d.Range != [2]float64{}:
		fail("range", "range goes with starlark; a verifier scores from 0 to 1")
	default:
		return d.registered(fail), faults
	}
	return nil, faults
}

// script is the verifier of a script.
func (d Verifier) script() (verify.Verifier, error) {
	s := script.Script{File: d.Starlark, Source: d.Source, Low: d.Range[0], High: d.Range[1]}
	if s.File == "" {
		s.File = d.Name + ".star"
	}
	if s.Low == 0 && s.High == 0 {
		s.High = 1
	}
	return script.New(s)
}

func (d Verifier) registered(fail func(key, format string, args ...any) *Error) verify.Verifier {
	if _, err := verify.Lookup(d.Verifier); err != nil {
		e := fail("verifier", "verifier = %q is not known", d.Verifier)
		e.Unknown = d.Verifier
		for _, entry := range verify.Entries() {
			e.Known = append(e.Known, entry.Name)
		}
		return nil
	}
	v, err := verify.New(d.Verifier, d.Options)
	if err != nil {
		fail("options", "%w", err)
		return nil
	}
	return v
}
