package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
)

// ResultFile has, in a run's folder, the results of its evaluations so far. Package run defines all
// of it; [Choice] is a part.
const ResultFile = "result.json"

// Choice says which model of a run is taken if nobody chooses one.
type Choice struct {
	Take string `json:"take"` // TakeLast or TakeBest
	Why  string `json:"why"`
}

// Models of a run.
const (
	TakeLast = "last" // its newest whole checkpoint
	TakeBest = "best" // that of the best evaluation on held-out problems
)

// Found is the result of resolving a MODEL argument.
type Found struct {
	Dir       string   // a Hugging Face folder, or a GGUF file
	Warnings  []string // about checkpoints that were passed over
	Note      string   // of a run: which model it is, and why; "": MODEL is no run
	OnHeldOut bool     // it was chosen by what it came to on the run's held-out problems
}

// FindModel finds the Hugging Face folder or the GGUF file that a MODEL argument names: such a
// folder or file, a checkpoint, or a run. For a run, which selects the model: TakeLast, TakeBest or
// a step. "" is the run's own Choice, or TakeLast if it has none.
func FindModel(path, which string) (Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		err = hint.With(fmt.Errorf("%w: model %s: %w", lines.ErrInput, path, err), "%s", meant(path))
		return Found{}, files.MaybeHub(err, path, files.HubModel, ".gguf")
	}
	found := Found{Dir: path}
	switch gguf := filepath.Ext(path) == ".gguf"; {
	case !info.IsDir() && !(gguf && info.Mode().IsRegular()):
		return Found{}, hint.With(fmt.Errorf("%w: model %s is a file", lines.ErrInput, path), accepted)
	case info.IsDir() && !isModel(path):
		found, err = modelOfRun(path, which)
		if errors.Is(err, ErrNotRun) {
			err = hint.With(fmt.Errorf("%w: model %s has no config.json and no checkpoints", lines.ErrInput, path), "%s", meant(path))
		}
		return found, err
	case which != "":
		return Found{}, hint.With(fmt.Errorf("%w: --checkpoint chooses a model of a run, and %s is no run folder", lines.ErrInput, path), "leave it out")
	}
	return found, nil
}

const accepted = "give a Hugging Face folder, a .gguf file, a run folder or a checkpoint folder"

// meant is what to give in place of a path where no model is.
func meant(path string) string {
	if near := NearModel(path); near != "" {
		return "did you mean " + near + "?"
	}
	return accepted
}

// NearModel is the model or run that may have been meant by a path where none is: the GGUF file of a
// folder that has one, else what lies beside it; "": there is none.
func NearModel(path string) string {
	if entries, err := os.ReadDir(path); err == nil {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) != ".gguf" })
		if len(entries) != 1 {
			return ""
		}
		return filepath.Join(path, entries[0].Name())
	}
	return files.Near(path, func(path string) bool {
		return filepath.Ext(path) == ".gguf" || isModel(path) || isRun(OS(), path) == nil
	})
}

// NearRun is the run beside a path where none is, which may have been meant; "": there is none.
func NearRun(path string) string {
	return files.Near(path, func(path string) bool { return isRun(OS(), path) == nil })
}

// isModel says whether a folder is a model, or an adapter that names one.
func isModel(dir string) bool {
	return slices.ContainsFunc([]string{"config.json", "adapter_config.json"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// modelOfRun is the model of a run.
func modelOfRun(run, which string) (Found, error) {
	own := choiceOf(run)
	take, why := own.Take, ": "+own.Why
	if which != "" {
		take, why = which, ""
	} else if own.Why == "" {
		why = ""
	}
	if take == TakeBest {
		best, err := BestModel(OS(), run)
		switch {
		case err == nil && best != nil:
			return Found{Dir: best.Dir(), Note: fmt.Sprintf("%s: the best model, from step %d%s", run, best.Step(), why), OnHeldOut: true}, nil
		case which != "" && err == nil:
			return Found{}, hint.With(fmt.Errorf("%w: run %s has kept no best model", lines.ErrInput, run), "--checkpoint last takes the newest; keep_best = true in [checkpoint], the default, keeps the best where a run evaluates")
		case which != "":
			return Found{}, fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		why = ", as the best is not available"
		if err != nil {
			why += fmt.Sprintf(": %v", err)
		}
	}
	if take != TakeBest && take != TakeLast {
		return modelOfStep(run, take)
	}
	ckpt, warnings, err := Latest(OS(), run)
	if err == nil && ckpt == nil {
		err = fmt.Errorf("%w: run %s has no complete checkpoint yet", lines.ErrInput, run)
	}
	if err != nil {
		return Found{Warnings: warnings}, err
	}
	return Found{Dir: ckpt.Dir(), Warnings: warnings, Note: fmt.Sprintf("%s: the last checkpoint, from step %d%s", run, ckpt.Step(), why)}, nil
}

// Results is the text of a run's [ResultFile].
func Results(run string) ([]byte, error) {
	const most = 1 << 20 // bytes: far more than there are
	return files.Read(filepath.Join(run, ResultFile), most)
}

// choiceOf is the run's own choice; the last where it has none.
func choiceOf(run string) Choice {
	var c Choice
	text, err := Results(run)
	if err != nil || json.Unmarshal(text, &c) != nil || c.Take != TakeBest && c.Take != TakeLast {
		return Choice{Take: TakeLast}
	}
	return c
}

// modelOfStep is the model of a step, a checkpoint or the best one.
func modelOfStep(run, which string) (Found, error) {
	checkpoints, err := listCheckpoints(OS(), run)
	if err != nil {
		return Found{}, fmt.Errorf("%w: %s: %w", ErrNotRun, run, err)
	}
	best, err := listBest(OS(), run)
	if err != nil {
		return Found{}, err
	}
	step, err := strconv.Atoi(which)
	var there []int
	for _, f := range slices.Concat(checkpoints, best) {
		if f.old {
			continue
		}
		if err == nil && f.step == step {
			c, err := load(OS(), f.dir)
			if err != nil {
				return Found{}, fmt.Errorf("%w: %s is incomplete or damaged: %w", lines.ErrInput, f.dir, err)
			}
			return Found{Dir: c.Dir(), Note: fmt.Sprintf("%s: the model of step %d", run, step)}, nil
		}
		there = append(there, f.step)
	}
	slices.Sort(there)
	steps := strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Compact(there)), " ", ", "), "[]")
	return Found{}, fmt.Errorf("%w: run %s has no model --checkpoint %s; accepted: %s, %s, and the steps %s", lines.ErrInput, run, which, TakeLast, TakeBest, steps)
}

// FindText is FindModel for those who need no weights: a folder that has a tokenizer or
// a chat template and no config.json will do.
func FindText(path string) (Found, error) {
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return Found{Dir: path}, nil
		}
	}
	return FindModel(path, "")
}
