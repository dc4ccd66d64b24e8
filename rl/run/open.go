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

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/watch"
	"github.com/rlzero/rlzero/verify"
)

// open makes the models and the run folder, or continues the one that is there. What
// cannot be run leaves no folder behind.
func (r *run) open(o Options) error {
	full := o.Opened.Recipe
	text := []byte(full.Resolved())
	if o.Resume {
		var err error
		if text, err = files.Read(filepath.Join(o.Dir, recipe.File), settings.MaxBytes); err != nil {
			return fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
	}
	if err := r.prepare(o); err != nil {
		return err
	}
	caps := o.Device.Caps()
	r.want = NewState(caps)
	r.want.Recipe = identityOf(full, string(text))
	return r.openFolder(o, text)
}

// prepare makes the parts of the stages: the models, and what they read.
func (r *run) prepare(o Options) error {
	opened, full := o.Opened, o.Opened.Recipe
	r.parts = train.Parts{Recipe: full, Source: opened.Source, Record: train.NewRecord(full)}
	folder, err := folderOf(full)
	if err != nil {
		return err
	}
	if r.parts.Cast, err = cast.Open(full, folder, o.Device); err != nil {
		return err
	}
	if r.parts.Prompts, err = prompts.NewRenderer(r.parts.Cast.Tokenizer(), r.parts.Cast.Policy.Model.Config.EOS, resolve.Style(full)); err != nil {
		return err
	}
	if r.parts.Notes, err = readable(opened, r.parts.Prompts); err != nil {
		return err
	}
	r.parts.Notes = append(r.parts.Notes, train.Lagging(full)...)
	if o.Workers != nil {
		note := func(text string) { r.display.show.Line("%s", text) }
		workers, err := o.Workers(full, r.parts.Cast, note)
		if err != nil {
			return err
		}
		r.parts.Cast.Sampler = &gain{own: r.parts.Cast.Own, workers: workers, recipe: full}
		r.parts.Cast.Panel, _ = workers.(rollout.Panel)
	}
	if r.parts.Collector, err = train.NewCollector(full, opened.Source, r.parts.Cast, r.parts.Prompts); err != nil {
		return fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
	}
	measuring := *r.parts.Collector
	if r.parts.HeldOut, err = train.NewHeldOut(full, opened.Source, &measuring); err != nil {
		return fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
	}
	return nil
}

// openFolder creates the run folder with the text of its recipe, or continues it.
func (r *run) openFolder(o Options, text []byte) error {
	schedule, err := r.schedule(o)
	if err != nil {
		return err
	}
	if o.Workers == nil && r.parts.Schedule == nil && r.parts.Recipe.Arrives() {
		r.parts.Notes = append(r.parts.Notes, "order = \"arrival\" changes nothing without --workers: one device draws groups in their order")
	}
	if o.Resume {
		return r.continueFolder(o)
	}
	origin, err := r.origin() // what cannot be read leaves no folder behind
	if o.Replay != "" {
		origin, err = r.sameOrigin(o.Replay)
	}
	if err != nil {
		return err
	}
	if r.folder, err = store.Create(store.OS(), o.Dir); err != nil {
		return err
	}
	if o.Replay != "" {
		if err := r.folder.WriteFile(replayFile, schedule); err != nil {
			return err
		}
	}
	if err := r.folder.WriteFile(recipe.File, text); err != nil { // from now on the run can be resumed
		return err
	}
	if err := r.observe(o); err != nil {
		return err
	}
	return r.start(origin)
}

// continueFolder continues the run in a folder from its newest whole checkpoint, or
// from the start where it has none. A run that has checkpoints of which none is whole, or
// that has lost them, is refused: it would start over and lose its logs.
func (r *run) continueFolder(o Options) error {
	var err error
	if r.folder, err = store.Open(store.OS(), o.Dir); err != nil {
		return err
	}
	ckpt, damaged, err := r.folder.Latest()
	if err != nil {
		return err
	}
	if ckpt == nil && len(damaged) > 0 {
		return hint.With(fmt.Errorf("%w: run %s cannot be continued: all its checkpoints are damaged. Nothing was changed.\n  %s",
			lines.ErrInput, o.Dir, strings.Join(damaged, "\n  ")), "start a new run in another folder")
	}
	var origin *receipt.Origin
	if ckpt == nil {
		if origin, err = r.sameOrigin(o.Dir); err != nil {
			return err
		}
		if err := unsaved(r.parts.Recipe, o.Dir); err != nil {
			return err
		}
	}
	if err := r.observe(o); err != nil {
		return err
	}
	for _, w := range damaged {
		r.display.show.Line("%s", w)
	}
	if ckpt == nil {
		r.display.show.Line("no checkpoint yet: starting from the beginning")
		if err := r.folder.Rewind(nil); err != nil {
			return err
		}
		return r.start(origin)
	}
	if err := r.restore(ckpt); err != nil {
		return err
	}
	r.display.show.Line("continuing after step %d from %s", r.state.At.Total, ckpt.Dir())
	if r.state.At.Stage < len(r.parts.Recipe.Stages) { // a receipt is of a run that ended
		if err := r.folder.RemoveFile(receipt.File); err != nil {
			return err
		}
	}
	if err := r.folder.Rewind(ckpt); err != nil {
		return err
	}
	return r.recall(filepath.Join(o.Dir, record.MetricsFile))
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

// observe opens the logs and the display.
func (r *run) observe(o Options) error {
	r.folder.Keep(r.parts.Recipe.Checkpoint.Keep)
	r.display = newDisplay(o.Show)
	var err error
	r.logs, err = openLogs(r.folder, r.parts.Recipe.Arrives())
	if err != nil {
		return err
	}
	r.observers = []observer{r.logs, &tokens{r.logs.tokens, r.parts.Recipe, r.parts.Prompts.Decode}, r.display, &alerts{watch.New(), r.logs.alerts, r.display}}
	if g, ok := r.parts.Cast.Sampler.(*gain); ok {
		g.display = r.display
		r.observers = append(r.observers, g)
	}
	if o.Report != nil {
		r.observers = append(r.observers, &reporter{o.Report, r.folder, r.display})
	}
	for _, note := range r.parts.Notes {
		r.display.show.Line("%s", note)
	}
	return nil
}

// originFile says in a run folder what model the run started from, before there is a
// checkpoint that does.
const originFile = "origin.json"

// origin hashes the model that the run starts from; nil: random weights.
func (r *run) origin() (*receipt.Origin, error) {
	if r.parts.Cast.Folder == "" {
		return nil, nil
	}
	return receipt.OriginOf(r.parts.Cast.Folder)
}

// start puts the run at its beginning.
func (r *run) start(origin *receipt.Origin) error {
	r.state = r.want
	r.state.Model = origin
	if origin == nil {
		return nil
	}
	text, err := json.MarshalIndent(origin, "", "  ")
	if err != nil {
		return err
	}
	return r.folder.WriteFile(originFile, append(text, '\n'))
}

// sameOrigin refuses to start the run in a folder again from another model than it started from:
// model.path may lead to a run that has gone on, or to a folder that was changed.
func (r *run) sameOrigin(dir string) (*receipt.Origin, error) {
	now, err := r.origin()
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

// batchingKeys say how work is cut. They change no byte of what a run computes, so they
// may change between two parts of it: on a device with less memory, say. But where a
// group of completions is cut itself, micro_batch_tokens is a part of the recipe like
// any other (see [cast.Divided]).
func batchingKeys(r *recipe.Recipe) []string {
	if len(cast.Divided(r)) > 0 {
		return []string{"sampler_sequences"}
	}
	return []string{"sampler_sequences", "micro_batch_tokens"}
}

// identityOf hashes what a run is a function of in the text of a resolved recipe.
func identityOf(r *recipe.Recipe, text string) string {
	var b bytes.Buffer
	keys := batchingKeys(r)
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, " "); !slices.Contains(keys, key) {
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
	return folder, hint.With(err, "name another model with --set model.path=FOLDER")
}

// Plan is the device memory that a run needs. It refuses what Train would refuse before
// it uses the device: a model without a tokenizer, prompts that are too long, problems
// that cannot be judged. A plan that does not fit comes with gpu.ErrOutOfMemory. notes are
// what a run says before its first step, and a line for each stage where
// micro_batch_tokens changes the results.
func Plan(o *resolve.Opened, caps gpu.Caps) (plan gpu.Plan, notes []string, err error) {
	folder, err := folderOf(o.Recipe)
	if err != nil {
		return plan, nil, err
	}
	tokenizer, eos, err := cast.Tokenizer(o.Recipe, folder)
	if err != nil {
		return plan, nil, err
	}
	renderer, err := prompts.NewRenderer(tokenizer, eos, resolve.Style(o.Recipe))
	if err != nil {
		return plan, nil, err
	}
	if notes, err = readable(o, renderer); err != nil {
		return plan, nil, err
	}
	plan, err = cast.Plan(o.Recipe, folder, caps)
	return plan, slices.Concat(notes, train.Lagging(o.Recipe), cast.Divided(o.Recipe)), err
}

// readable says whether a model can read the task: its held-out problems, or all of a
// file's; and whether those of a file can be judged. notes are for people: what the chat
// template was found to do, and what is read and not learned.
func readable(o *resolve.Opened, renderer *prompts.Renderer) (notes []string, err error) {
	training, heldOut := o.Source.Rows()
	rows := slices.Concat(training, heldOut)
	if rows == nil {
		if rows, err = o.Source.HeldOut(o.Recipe.Task.EvalProblems); err != nil {
			return nil, fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
		}
	} else if err := judgeable(o); o.Recipe.Samples() && err != nil {
		return nil, err
	}
	if err := train.Readable(o.Recipe, o.Source, renderer); err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	notes, err = renderer.Check(o.Source.Name(), rows, limitsOf(o.Recipe))
	if summary := renderer.Summary(); summary != "" {
		notes = slices.Insert(notes, 0, summary)
	}
	return notes, err
}

// limitsOf is what the stages of a recipe have room for.
func limitsOf(r *recipe.Recipe) (l prompts.Limits) {
	if r.Samples() {
		l.Prompt = r.Task.MaxPromptTokens
	}
	for i := range r.Stages {
		room := map[string]*int{recipe.KindSFT: &l.Lesson, recipe.KindPreference: &l.Choice}
		if st := &r.Stages[i]; room[st.Kind] != nil && !st.Skip && r.Task.Demonstrator() == nil && (*room[st.Kind] == 0 || st.SFT.MaxTokens < *room[st.Kind]) {
			*room[st.Kind] = st.SFT.MaxTokens
		}
	}
	return l
}

// judgeable refuses a file of which most of the first rows lack what the verifier
// needs: any verifier judges an empty completion where it can judge at all.
func judgeable(o *resolve.Opened) error {
	const most = 100
	lacking, why := 0, ""
	training, heldOut := o.Source.Rows()
	rows := slices.Concat(training, heldOut)
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
