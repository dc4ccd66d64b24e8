package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) { // it was killed before its first step
		return now, nil
	}
	var then *receipt.Origin
	if err == nil {
		err = json.Unmarshal(text, &then)
	}
	if err == nil && then == nil {
		err = errors.New("found null; accepted: an object")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
	}
	if now == nil || !slices.Equal(then.Files, now.Files) {
		return nil, hint.With(fmt.Errorf("%w: run %s started from the model in %s, which has changed since: the run would not come to the same bytes",
			lines.ErrInput, dir, then.Folder), "restore the model, or start a new run in another folder")
	}
	return now, nil
}

// sameRecipe refuses to continue a run with another recipe than its own: the run would
// be a function of neither.
func sameRecipe(r *recipe.Recipe, dir string) error {
	file := filepath.Join(dir, recipe.File)
	own, err := recipe.Load(file, nil)
	if err != nil {
		return err
	}
	asked, has := strings.Split(r.Resolved(), "\n"), strings.Split(own.Resolved(), "\n")
	for i, line := range has {
		if i < len(asked) && asked[i] == line {
			continue
		}
		if strings.HasPrefix(line, "sha256 = ") && r.Task.Data == own.Task.Data && r.Task.FromData() {
			return hint.With(fmt.Errorf("%w: %s has changed since the run began", lines.ErrInput, cmp.Or(r.Task.Data, "a source of [task]")), "restore the file, or start a new run")
		}
		other := "nothing"
		if i < len(asked) {
			other = asked[i]
		}
		return hint.With(fmt.Errorf("%w: this is not the recipe of the run: %s has %q, the given recipe has %q", lines.ErrInput, file, line, other),
			"to continue with the run's own recipe: rlzero train --resume --run %s; for another recipe from its weights on, start a new run with --set model.path=%[1]s", terminal.ShellWord(dir))
	}
	return nil
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
		return hint.With(fmt.Errorf("%w: run %s cannot be continued: its checkpoints are gone. The line is of step %d in stage %s, after the first one was written. Nothing was changed",
			lines.ErrInput, dir, step, stage), "restore the folder %s, or start a new run in another folder", terminal.ShellWord(checkpoints))
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
