package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// originFile says in a run folder what model the run started from, before there is a
// checkpoint that does.
const originFile = "origin.json"

// originOf hashes the model that the run starts from; nil: random weights.
func (r *run) originOf() (*receipt.Origin, error) {
	if r.parts.Cast.Folder == "" {
		return nil, nil
	}
	return receipt.OriginOf(r.parts.Cast.Folder)
}

// sameOrigin refuses to start the run in a folder again from another model than it started from:
// model.path may lead to a run that has gone on, or to a folder that was changed.
func (r *run) sameOrigin(dir string) (*receipt.Origin, error) {
	now, err := r.originOf()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, originFile)
	var then *receipt.Origin
	err = noted(file, &then)
	if errors.Is(err, os.ErrNotExist) { // it was killed before its first step
		return now, nil
	}
	if err == nil && then == nil {
		err = fmt.Errorf("%s: found null; accepted: an object", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return now, unchanged(then, now, dir)
}

// mostNoted bounds what a run notes of itself in a file, in bytes: far more than the hashes of all files of its models.
const mostNoted = 64 << 20

// noted reads it. Errors name the file.
func noted(file string, into any) error {
	text, err := files.Read(file, mostNoted)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// sameBase refuses to continue a run that trains an adapter over another model than it started from,
// which no checkpoint has.
func (r *run) sameBase(then *receipt.Origin, dir string) error {
	if then == nil || r.parts.Recipe.Model.LoRA.Rank == 0 {
		return nil
	}
	now, err := r.originOf()
	if err != nil {
		return err
	}
	return unchanged(then, now, dir)
}

// unchanged refuses a model that is not the one that a run started from.
func unchanged(then, now *receipt.Origin, dir string) error {
	if now != nil && slices.Equal(then.Files, now.Files) {
		return nil
	}
	what := "which has changed since"
	switch {
	case now == nil:
	case now.Folder != then.Folder:
		what = "in whose place is now that in " + now.Folder
	default:
		if i := slices.IndexFunc(then.Files, func(f receipt.Hash) bool { return !slices.Contains(now.Files, f) }); i >= 0 {
			what = "whose " + then.Files[i].Name + " has changed since"
		}
	}
	return hint.With(fmt.Errorf("%w: run %s started from the model in %s, %s: the run would not come to the same bytes", lines.ErrInput, dir, then.Folder, what),
		"restore the model, or start a new run in another folder")
}

// origins are what models of [models], and an adapter that training goes on with, were read from, by their names.
type origins map[string][]*receipt.Origin

// modelsFile says so in a run folder, before there is a checkpoint that does.
const modelsFile = "models.json"

// originsOf hashes them; nil: there are none.
func originsOf(c *cast.Cast) (origins, error) {
	var out origins
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		for _, from := range c.Sources[name] {
			origin, err := receipt.OriginOf(from)
			if err != nil {
				return nil, fmt.Errorf("models.%s: %w", name, err)
			}
			if out == nil {
				out = origins{}
			}
			out[name] = append(out[name], origin)
		}
	}
	return out, nil
}

// originsIn are those that the run in a folder began with; nil: it does not say.
func originsIn(dir string) (then origins, err error) {
	file := filepath.Join(dir, modelsFile)
	err = noted(file, &then)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && then == nil {
		err = fmt.Errorf("%s: found null; accepted: an object", file)
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if err == nil && slices.Contains(then[name], nil) {
			err = fmt.Errorf("%s: %s has null; accepted: a list of objects", file, terminal.Quote(name))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return then, nil
}

// unchanged refuses models that are not those that a run began with.
func (then origins) unchanged(now origins, r *recipe.Recipe, dir string) error {
	faults := r.Faults()
	for _, name := range slices.Sorted(maps.Keys(then)) {
		same := slices.EqualFunc(then[name], now[name], func(a, b *receipt.Origin) bool { return slices.Equal(a.Files, b.Files) })
		if !same {
			path, key := r.Models[name].Path, "models."+name+".path"
			if name == recipe.PolicyModel { // the adapter that it began with
				path, key = r.Model.Path, "model.path"
			}
			err := fmt.Errorf("%s has changed since run %s began: the run would not come to the same bytes", path, dir)
			faults.Fail(key, "%w", hint.With(err, "restore the model, or start a new run in another folder"))
		}
	}
	return faults.Err()
}

// sameRecipe refuses a recipe that is not that of a run.
func sameRecipe(r *recipe.Recipe, dir string) error {
	_, changes, err := changesOf(r, dir)
	if err == nil && len(changes) > 0 {
		err = refuse(r, changes[0], dir)
	}
	return err
}

// longerRecipe refuses to continue a run with another recipe than its own, but for the lengths of its
// schedules: it would be a function of neither.
func longerRecipe(r *recipe.Recipe, dir string) (*longer, error) {
	own, changes, err := changesOf(r, dir)
	if err != nil || changes == nil {
		return nil, err
	}
	for _, c := range changes {
		if lengthOf(r, c.Key) < 0 {
			return nil, refuse(r, c, dir)
		}
	}
	return &longer{changes: changes, own: own}, nil
}

// changesOf are the keys in which a recipe differs from a run's own.
func changesOf(r *recipe.Recipe, dir string) (own *recipe.Recipe, changes []recipe.Change, err error) {
	if own, err = recipe.Load(filepath.Join(dir, recipe.File), nil); err == nil {
		changes, err = recipe.Changes(own, r)
	}
	return own, changes, err
}

// refuse is the error about a key that has another value than in the recipe of a run.
func refuse(r *recipe.Recipe, c recipe.Change, dir string) error {
	if strings.HasSuffix(c.Key, "sha256") && c.From != "" && c.To != "" {
		return hint.With(fmt.Errorf("%w: %s has changed since the run began", lines.ErrInput, cmp.Or(r.Task.Data, "a source of [task]")), "restore the file, or start a new run")
	}
	said := func(value string) string {
		if value == "" {
			return "no " + c.Key
		}
		return fmt.Sprintf("%q", c.Key+" = "+value)
	}
	return hint.With(fmt.Errorf("%w: this is not the recipe of the run: %s has %s, the given recipe has %s", lines.ErrInput, filepath.Join(dir, recipe.File), said(c.From), said(c.To)),
		"to continue with the run's own recipe: rlzero train --resume --run %s, where --set may change the lengths of stages (%s); for another recipe from its weights on, start a new run with --set model.path=%[1]s", terminal.ShellWord(dir), strings.Join(lengths, ", "))
}

// freeKeys change no byte of what a run computes, so they may change between two parts of it: how
// work is cut, on a device with less memory, say, and whether the best model is kept. But where a
// group of completions is cut itself, micro_batch_tokens is a part of the recipe like
// any other (see [cast.Divided]).
func freeKeys(r *recipe.Recipe) []string {
	if len(cast.Divided(r)) > 0 {
		return []string{"sampler_sequences", "keep_best"}
	}
	return []string{"sampler_sequences", "keep_best", "micro_batch_tokens"}
}

// identityOf hashes what a run is a function of in the text of a resolved recipe.
func identityOf(r *recipe.Recipe, text string) string {
	var b bytes.Buffer
	keys := freeKeys(r)
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, " "); !slices.Contains(keys, key) {
			b.WriteString(line)
		}
	}
	return receipt.Sum(b.Bytes())
}

// unsaved refuses to start a run over whose folder of checkpoints is empty, though its metrics
// go on after the first one.
func unsaved(r *recipe.Recipe, dir string) error {
	checkpoints := filepath.Join(dir, "checkpoints")
	if held, err := os.ReadDir(checkpoints); err == nil && len(held) > 0 { // set aside, or not finished
		return nil
	}
	file, first := filepath.Join(dir, record.MetricsFile), &r.Stages[0]
	err := record.Raw(file, func(_ int, line []byte) error {
		step, stage, ok := record.Head(line)
		if every := first.CheckpointEvery; !ok || stage == first.Name && (every == 0 || step <= every) {
			return nil
		}
		return hint.With(fmt.Errorf("%w: run %s cannot be continued: its checkpoints are gone. This line is of step %d in stage %s, after the first checkpoint was written. Nothing was changed",
			lines.ErrInput, dir, step, stage), "restore the folder %s, or start a new run in another folder", terminal.ShellWord(checkpoints))
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
