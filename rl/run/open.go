package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/report"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
)

// open makes the models and the run folder, or continues the one that is there. What
// cannot be run leaves no folder behind.
func (r *run) open(o Options, opened *resolve.Opened) error {
	recipe := opened.Recipe
	text := []byte(recipe.Resolved())
	if o.Resume {
		var err error
		if text, err = resumable(o.Dir); err != nil {
			return err
		}
	}
	folder, err := folderOf(recipe)
	if err != nil {
		return err
	}
	if r.parts.Cast, err = cast.Open(recipe, folder, o.Device); err != nil {
		return err
	}
	if err := readable(opened, r.parts.Cast.Tokenizer()); err != nil {
		return err
	}
	if r.parts.HeldOut, err = train.NewHeldOut(recipe, opened.Source, r.parts.Cast); err != nil {
		return fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
	}
	for i := range recipe.Stages {
		if !recipe.Stages[i].Skip {
			if _, err := train.New(r.parts, i); err != nil {
				return fmt.Errorf("%w: %w", lines.ErrInput, err)
			}
		}
	}
	caps := o.Device.Caps()
	r.machine = report.Machine{Device: caps.Name, Driver: caps.Driver, Tier: string(caps.Tier), Numerics: caps.Numerics, Program: o.Version}
	r.want = fresh(caps)
	r.want.Recipe = identityOf(string(text))
	if r.state = r.want; r.parts.Cast.Folder != "" {
		if r.state.Model, err = receipt.OriginOf(r.parts.Cast.Folder); err != nil {
			return err
		}
	}
	return r.openFolder(o, text)
}

// openFolder creates the run folder with the text of its recipe, or continues it.
func (r *run) openFolder(o Options, text []byte) error {
	var err error
	if o.Resume {
		r.folder, err = store.Open(store.OS(), o.Dir)
	} else {
		r.folder, err = store.Create(store.OS(), o.Dir)
	}
	if err != nil {
		return err
	}
	r.folder.Keep(r.parts.Recipe.Checkpoint.Keep)
	if !o.Resume {
		if err := r.folder.WriteFile(recipe.File, text); err != nil {
			return err
		}
	}
	r.logs, err = openLogs(r.folder)
	display := newDisplay(o.Show)
	r.observers = []Observer{r.logs, display}
	if err != nil || !o.Resume {
		return err
	}
	ckpt, warnings, err := r.folder.Latest()
	for _, w := range warnings {
		display.show.Line("%s", w)
	}
	switch {
	case err != nil:
		return err
	case ckpt == nil:
		display.show.Line("no checkpoint yet: starting from the beginning")
	default:
		if err := r.restore(ckpt); err != nil {
			return err
		}
		display.show.Line("continuing after step %d from %s", r.state.At.Total, ckpt.Dir())
	}
	return r.folder.Rewind(ckpt)
}

// resumable reads the recipe of a run that is to be continued. A run that has
// checkpoints of which none is whole is refused, before anything is touched: it would
// start over and lose its logs.
func resumable(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, recipe.File))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	ckpt, damaged, err := store.Latest(store.OS(), dir)
	if err == nil && ckpt == nil && len(damaged) > 0 {
		err = hint.With(fmt.Errorf("%w: run %s cannot be continued: all its checkpoints are damaged. Nothing was changed.\n  %s",
			lines.ErrInput, dir, strings.Join(damaged, "\n  ")), "start a new run in another folder")
	}
	return text, err
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
		if strings.HasPrefix(line, "sha256 = ") && r.Task.Data == own.Task.Data {
			return hint.With(fmt.Errorf("%w: %s has changed since the run began", lines.ErrInput, r.Task.Data), "restore the file, or start a new run")
		}
		other := "nothing"
		if i < len(asked) {
			other = asked[i]
		}
		return hint.With(fmt.Errorf("%w: this is not the recipe of the run: %s has %q, the given recipe has %q", lines.ErrInput, file, line, other),
			"to continue with the run's own recipe: rlzero train --resume --run %s; or start a new run", terminal.ShellWord(dir))
	}
	return nil
}

// batchingKeys say how work is cut. They change no byte of what a run computes, so they
// may change between two parts of it: on a device with less memory, say.
var batchingKeys = []string{"micro_batch_tokens", "sampler_sequences"}

var batchingText = strings.Join(batchingKeys, " and ")

// identityOf hashes what a run is a function of in the text of a resolved recipe.
func identityOf(text string) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, " "); !slices.Contains(batchingKeys, key) {
			b.WriteString(line)
		}
	}
	return receipt.Sum(b.Bytes())
}

// folderOf is the Hugging Face folder behind a recipe's model.path; "": random weights.
func folderOf(r *recipe.Recipe) (string, error) {
	if r.Model.Path == "" {
		return "", nil
	}
	folder, _, err := store.FindModel(r.Model.Path)
	return folder, err
}

// Plan is the device memory that a run needs. It refuses what Train would refuse before
// it uses the device: a model without a tokenizer, prompts that are too long, problems
// that cannot be judged.
func Plan(o *resolve.Opened, caps gpu.Caps) (gpu.Plan, error) {
	folder, err := folderOf(o.Recipe)
	if err != nil {
		return gpu.Plan{}, err
	}
	tokenizer, err := cast.Tokenizer(o.Recipe, folder)
	if err != nil {
		return gpu.Plan{}, err
	}
	if err := readable(o, tokenizer); err != nil {
		return gpu.Plan{}, err
	}
	return cast.Plan(o.Recipe, folder, caps)
}

// readable says whether a tokenizer can read the task: its held-out problems, or all of
// a file's; and whether those of a file can be judged.
func readable(o *resolve.Opened, tokenizer rollout.Tokenizer) error {
	rows := o.Source.Rows()
	if rows == nil {
		var err error
		if rows, err = o.Source.HeldOut(o.Recipe.Task.EvalProblems); err != nil {
			return fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
		}
	} else if err := judgeable(o); err != nil {
		return err
	}
	for _, row := range rows {
		ids, err := tokenizer.Encode(row.Question)
		if err != nil {
			return fmt.Errorf("%w: %w", lines.ErrInput, &rollout.PromptError{Prompt: row.Question, Err: err})
		}
		if most := o.Recipe.Task.MaxPromptTokens; len(ids) > most {
			return hint.With(fmt.Errorf("%w: prompt %s has %d tokens, but [task] max_prompt_tokens is %d", lines.ErrInput, terminal.Quote(row.Question), len(ids), most), "raise max_prompt_tokens")
		}
	}
	return nil
}

// judgeable refuses a file of which most of the first rows lack what the verifier
// needs: any verifier judges an empty completion where it can judge at all.
func judgeable(o *resolve.Opened) error {
	const most = 100
	lacking, why := 0, ""
	rows := o.Source.Rows()
	rows = rows[:min(len(rows), most)]
	for _, row := range rows {
		if v := o.Source.Verify(row, "", true); v.Verdict == verify.NotScored {
			lacking, why = lacking+1, v.Reason
		}
	}
	if 2*lacking <= len(rows) {
		return nil
	}
	name, _ := o.Source.Grader()
	return fmt.Errorf("%w: %d of the first %d rows of %s cannot be judged by %s: %s", lines.ErrInput, lacking, len(rows), o.Source.Name(), name, why)
}
