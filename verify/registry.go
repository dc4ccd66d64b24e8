package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
)

// Entry describes a verifier by name.
type Entry struct {
	Name    string // as written in recipes: "countdown", "task:chain_sum"
	Summary string // one line, for "rlzero verifiers"
	Doc     string // the rules, options and row fields, for "rlzero verifiers show NAME"
	// New makes the verifier from options, a JSON object ("{}" for the
	// defaults). Use [DecodeOptions] to read them.
	New func(options json.RawMessage) (Verifier, error)
	// Paths are the options that name a file or a folder, each with its default;
	// "" is none. A recipe makes them absolute.
	Paths map[string]string
	// Script is the option that names a file of the user's own code; "" for none. The option
	// source holds its text instead: a complete recipe has it, so that it needs no file.
	Script string
}

// Complete are options of the entry with the text of a script in place of its file, of which
// the name stays. Options without a script stay as they are.
func (e Entry) Complete(options map[string]any) (map[string]any, error) {
	file, _ := options[e.Script].(string)
	if text, _ := options["source"].(string); e.Script == "" || file == "" || text != "" {
		return options, nil
	}
	text, err := ReadScript(file)
	if err != nil {
		return nil, err
	}
	options = maps.Clone(options)
	options[e.Script], options["source"] = filepath.Base(file), text
	return options, nil
}

// MaxScriptBytes bounds a script.
const MaxScriptBytes = 64 << 10

// ReadScript reads a script from a file.
func ReadScript(file string) (string, error) {
	text, err := files.Read(filepath.FromSlash(file), MaxScriptBytes)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is not UTF-8 text", file)
	}
	return string(text), err
}

var registry = map[string]Entry{}

// Register adds a verifier. It panics when the name is empty or taken: call it
// from an init function.
func Register(e Entry) {
	if _, taken := registry[e.Name]; taken || e.Name == "" {
		panic(fmt.Sprintf("verify: the verifier name %q is empty or registered twice", e.Name))
	}
	registry[e.Name] = e
}

// Entries are all registered verifiers, ordered by name.
func Entries() []Entry {
	var all []Entry
	for _, e := range registry {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup finds a verifier by name; the error's hint has the nearest name.
func Lookup(name string) (Entry, error) {
	if e, ok := registry[name]; ok {
		return e, nil
	}
	return Entry{}, hint.Unknown("verifier", name, slices.Sorted(maps.Keys(registry)), "rlzero verifiers")
}

// New makes the named verifier. Options are its settings as a recipe gives
// them; nil means the defaults. An unknown option or a value out of its range
// is an error.
func New(name string, options map[string]any) (Verifier, error) {
	e, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = map[string]any{}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("options of verifier %q: %w", name, err)
	}
	v, err := e.New(raw)
	if err != nil {
		return nil, fmt.Errorf("verifier %q: %w", name, err)
	}
	return v, nil
}

// Parse reads what people write for a verifier: its name, "NAME key=value key=value" with
// options, whose values are JSON or else plain words, or the file of a script of their own:
// judge.star for starlark, judge.py for code:python.
func Parse(text string) (name string, options map[string]any, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", nil, errors.New("a verifier has a name, such as number or \"math extract=strict\"")
	}
	if len(words) == 1 || !strings.Contains(words[1], "=") { // names of files may have spaces
		switch filepath.Ext(text) {
		case ".star":
			return "starlark", map[string]any{"file": text}, nil
		case ".py":
			return "code:python", map[string]any{"reward": text}, nil
		}
	}
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		if !found || key == "" {
			return "", nil, fmt.Errorf("%q after the verifier %s is not an option; accepted: key=value", word, words[0])
		}
		if options == nil {
			options = map[string]any{}
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		options[key] = v
	}
	return words[0], options, nil
}

// DecodeOptions reads options into dst, a pointer to a struct that holds the
// defaults, with the tags of package settings. It refuses options that the struct
// does not have and values that its tags do not accept.
func DecodeOptions(options json.RawMessage, dst any) error {
	return settings.DecodeJSON(options, dst)
}

// oneOf checks an option that has a fixed set of values.
func oneOf(option, found string, accepted ...string) error {
	if slices.Contains(accepted, found) {
		return nil
	}
	return fmt.Errorf("option %s is %q; accepted: %q", option, shown(found), accepted)
}
