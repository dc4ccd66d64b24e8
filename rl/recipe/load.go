package recipe

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
)

//go:embed presets/*.toml
var presets embed.FS

// Names lists the presets, sorted.
func Names() []string {
	entries, err := presets.ReadDir("presets")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Source is the text of a preset.
func Source(name string) (string, error) {
	if !slices.Contains(Names(), name) {
		return "", fmt.Errorf("%w: no preset is called %q%s; rlzero recipes lists them", ErrInvalid, name, DidYouMean(name, Names()))
	}
	text, err := presets.ReadFile("presets/" + name + ".toml")
	return string(text), err
}

// Load reads a preset by its name, or a file, and applies overrides of the form
// path=value, such as stage.rl.steps=10 or stage.0.optimizer.lr=1e-4: a stage is
// meant by its name or by its index from 0. An override of model.path replaces
// the whole table model, dtype and kv_dtype excepted, and one of task.data what belongs to
// a family. Keys of the file stay in force beside an overridden
// stage.NAME.algorithm.preset.
//
// Errors are ErrInvalid, and one for each thing that is wrong: with file, line
// and column, or the override, and with what is accepted.
func Load(name string, overrides []string) (*Recipe, error) {
	if slices.Contains(Names(), name) {
		text, err := Source(name)
		if err != nil {
			return nil, err
		}
		return Parse(name, text, overrides)
	}
	text, err := files.Read(name, MaxBytes)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		_, err = Source(name)
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return Parse(name, string(text), overrides)
}

// Parse reads a recipe from text; file is named in errors and, without folder
// and extension, is the default name.
func Parse(file, text string, overrides []string) (*Recipe, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: %s is not UTF-8 text: is it a recipe?", ErrInvalid, file)
	}
	d, err := newDecoder(file, text)
	if err != nil {
		return nil, err
	}
	for _, o := range overrides {
		d.override(o)
	}
	if len(d.faults) > 0 {
		return nil, d.err()
	}
	r := d.recipe()
	r.Name = cmpOr(r.Name, strings.TrimSuffix(filepath.Base(file), ".toml"))
	if r.Name == "" || r.Name[0] == '.' || strings.ContainsAny(r.Name, "/\\") {
		d.fail(path{"name"}, "name = %s is not accepted: it becomes part of a folder's name: no / or \\, and no dot in front", show(r.Name))
	}
	if len(d.faults) > 0 {
		return nil, d.err()
	}
	r.origin = d
	return r, nil
}

func cmpOr(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// Faults collects what is wrong with the keys of a recipe that was loaded, for
// checks that need what the recipe names: data files, scripts, rewards.
type Faults struct{ d decoder }

// Faults returns an empty collection for the recipe.
func (r *Recipe) Faults() *Faults {
	if r.origin == nil {
		return &Faults{}
	}
	return &Faults{decoder{src: r.origin.src, tree: r.origin.tree, sets: r.origin.sets}}
}

// Fail records that a key's value is not accepted. The key is written with the
// index of its stage, as in task.data or stage.1.reward.
func (f *Faults) Fail(key, format string, args ...any) {
	p := path(strings.Split(key, "."))
	f.d.fail(p, "%s: %s", f.d.name(p), fmt.Sprintf(format, args...))
}

// Err returns the collected faults as one error, which is ErrInvalid; nil: there
// are none.
func (f *Faults) Err() error {
	if len(f.d.faults) == 0 {
		return nil
	}
	return f.d.err()
}
