package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// Load reads a preset by its name, or a file, and applies overrides of the form
// path=value, such as stage.rl.steps=10 or stage.0.optimizer.lr=1e-4: a stage is
// meant by its name or by its index from 0. An override of model.path replaces
// the whole table model, dtype, kv_dtype and lora excepted, and one of task.data what belongs to
// a family. Keys of the file stay in force beside an overridden
// stage.NAME.algorithm.preset.
//
// Errors are ErrInvalid, and one for each thing that is wrong: with file, line
// and column, or the override, and with what is accepted.
func Load(name string, overrides []string) (*Recipe, error) {
	if p, ok := presets.Find(name); ok {
		return parse(name, p.Text, overrides, true)
	}
	text, err := files.Read(name, settings.MaxBytes)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		return nil, fmt.Errorf("%w: unknown recipe %q%s", ErrInvalid, name, settings.DidYouMean(name, presets.Names(), "rlzero recipes lists them all"))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return Parse(name, string(text), overrides)
}

// Parse reads a recipe from text; file is named in errors and, without folder
// and extension, is the default name.
func Parse(file, text string, overrides []string) (*Recipe, error) {
	return parse(file, text, overrides, false)
}

// parse is Parse; preset says that the text is a recipe of the program.
func parse(file, text string, overrides []string, preset bool) (*Recipe, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: %s is not UTF-8 text: is it a recipe?", ErrInvalid, file)
	}
	doc, err := settings.Parse(file, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d := decoder{doc, filepath.Dir(file), new(bool)}
	if preset {
		d.Fixed()
	}
	d.Homes(d.homes)
	d.base()
	for _, o := range overrides {
		d.override(o)
	}
	if d.Failed() == 0 {
		r := d.recipe()
		r.Name = cmp.Or(r.Name, strings.TrimSuffix(filepath.Base(file), ".toml"))
		if r.Name == "" || r.Name[0] == '.' || strings.ContainsAny(r.Name, "/\\") {
			d.Fail(settings.Path{"name"}, "name = %q is not accepted, since it becomes part of a folder's name; accepted: no / or \\, and no dot at the beginning", r.Name)
		}
		d.expectations(r)
		if d.Failed() == 0 {
			r.origin = doc
			return r, nil
		}
	}
	if *d.old {
		return nil, fmt.Errorf("%w (%w): %w", ErrInvalid, errFormer, d.Err())
	}
	return nil, fmt.Errorf("%w: %w", ErrInvalid, d.Err())
}

// OnData is a task of a data set alone, without a model and stages, with overrides of the
// keys of its table. Its split is "" where none is named. Errors are as those of Parse.
func OnData(data string, overrides []string) (Task, error) {
	doc, err := settings.Parse("", "")
	if err != nil {
		return Task{}, err
	}
	d := decoder{doc, ".", new(bool)}
	at := settings.Path{"task"}
	d.Tree()["task"] = map[string]any{"data": data}
	for _, o := range overrides {
		if !strings.HasPrefix(strings.TrimSpace(o), "task.") {
			return Task{}, fmt.Errorf("%w: --set %s: rows alone have no such key; accepted: the keys of the table task, such as task.prompt", ErrInvalid, o)
		}
		d.override(o)
	}
	r := defaults()
	r.Task.Split = ""
	if d.Failed() == 0 {
		d.task(&r.Task)
	}
	if d.Failed() == 0 && len(r.Task.Sources) > 0 {
		d.Fail(at.With("source"), "task.source: one data set is measured at a time")
	}
	if d.Failed() > 0 {
		return Task{}, fmt.Errorf("%w: %w", ErrInvalid, d.Err())
	}
	return r.Task, nil
}

// base lays the text over the preset that it begins from.
func (d decoder) base() {
	at := settings.Path{"base"}
	name, _ := d.Tree()["base"].(string)
	if name == "" { // what is no text is refused when the key is decoded
		return
	}
	p, ok := presets.Find(name)
	if !ok {
		d.Fail(at, "base = %q is not a recipe of the program%s", name, settings.DidYouMean(name, presets.Names(), "rlzero recipes lists them all"))
		return
	}
	below, err := settings.Parse(name, p.Text)
	if err != nil {
		d.Fail(at, "base = %q: %v", name, err)
		return
	}
	if deeper, _ := below.Tree()["base"].(string); deeper != "" {
		d.Fail(at, "base = %q has a base itself, %s; accepted: a recipe without a base", name, deeper)
		return
	}
	delete(below.Tree(), "expect") // what another recipe should show
	if model, _ := d.Tree()["model"].(map[string]any); model["path"] != nil {
		keepOf(Model{Path: "x"}, below.Tree()["model"])
	}
	d.Over(below, func(at []string, table map[string]any) bool {
		name := strings.Join(at, ".")
		if len(at) == 2 && at[0] == "models" {
			name = "models.NAME"
		}
		return slices.ContainsFunc(kindKeys[name], func(key string) bool { return table[key] != nil })
	})
	d.Tree()["base"] = ""
}

// keepOf deletes the keys of a table that do not go with what will stand there.
func keepOf(of settings.Variant, table any) {
	keys, _ := table.(map[string]any)
	for _, f := range settings.Fields(of) {
		if !f.Of(of.Variant()) {
			delete(keys, f.Key)
		}
	}
}

// kindKeys are the keys that say what a table is. One that has such a key does not go on from
// that of the base. The path of a model stands in place of a model to make, as in an override.
var kindKeys = map[string][]string{"model": {"family"}, "models.NAME": modelKinds, "task": {"name", "data", "source", "world"}, "stage.algorithm": {"preset"}}

// override applies PATH=VALUE. One of model.path stands in place of a model to make,
// one of the path of a model in place of a copy, one of task.data in place of a family, one of task.verifier or task.starlark in place of the
// file's verifier with its options.
func (d decoder) override(text string) {
	p := d.Override(text)
	if len(p) == 3 && p[0] == "models" && slices.Contains(modelKinds, p[2]) {
		models, _ := d.Tree()["models"].(map[string]any)
		table, _ := models[p[1]].(map[string]any)
		for _, f := range settings.Fields(&Member{}) {
			if !f.Of(p[2]) && !d.Overridden(settings.Path{p[0], p[1], f.Key}) {
				delete(table, f.Key)
			}
		}
	}
	if len(p) != 2 {
		return
	}
	table, _ := d.Tree()[p[0]].(map[string]any)
	onRows := Task{Data: "x"}
	if table["tool"] != nil {
		onRows.Tools = []Tool{{}}
	}
	if table["world"] != nil {
		onRows.World.Command = []string{"x"}
	}
	if of := map[string]settings.Variant{"model.path": Model{Path: "x"}, "task.data": onRows}[d.Name(p)]; of != nil {
		keepOf(of, table)
	}
	judges := map[string][]string{"task.verifier": {"options", "starlark"}, "task.starlark": {"options", "verifier"}}
	for _, key := range judges[d.Name(p)] { // those of another verifier, unless an override has said them
		if table, _ := d.Tree()[p[0]].(map[string]any); !d.Overridden(settings.Path{p[0], key}) {
			delete(table, key)
		}
	}
}

// Faults collects what is wrong with the keys of a recipe that was loaded, for
// checks that need what the recipe names: data files, scripts, rewards.
type Faults struct{ doc *settings.Document }

// Faults returns an empty collection for the recipe.
func (r *Recipe) Faults() *Faults {
	if r.origin == nil {
		return &Faults{&settings.Document{}}
	}
	return &Faults{r.origin.Again()}
}

// Fail records that a key's value is not accepted. The key is written with the
// indices of its stage and verifier, as in task.data or stage.1.reward.
func (f *Faults) Fail(key, format string, args ...any) {
	p := settings.Path(strings.Split(key, "."))
	f.doc.Fail(p, "%s: %w", f.doc.Name(p), fmt.Errorf(format, args...))
}

// Err returns the collected faults as one error, which is ErrInvalid; nil: there
// are none.
func (f *Faults) Err() error {
	if f.doc.Failed() == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, f.doc.Err())
}
