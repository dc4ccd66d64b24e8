package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/watch"
)

// part is one of the things that a run is made of. Parts are opened in their order, and closed
// in reverse.
type part struct {
	name  string
	needs string // parts that are opened before it, with spaces between
	open  func(*opening) error
	close func(*run) // nil: there is nothing to close
}

// stageParts are what stages are made of. They leave no folder.
var stageParts = []part{
	{"models", "", (*opening).models, func(r *run) { r.parts.Cast.Close() }},
	{"prompts", "models", (*opening).prompts, nil},
	{"workers", "models", (*opening).workers, nil},
	{"collectors", "models prompts workers", (*opening).collectors, nil},
}

// folderParts are the run's folder, and what writes to it. What cannot be run is refused before the
// folder is made.
var folderParts = []part{
	{"recipe", "", (*opening).recipe, nil},
	{"schedule", "recipe", (*opening).schedule, nil},
	{"folder", "models recipe schedule", (*opening).makeFolder, func(r *run) { r.folder.Close() }},
	{"logs", "folder", (*opening).logs, func(r *run) { r.logs.close() }},
	{"observers", "prompts workers logs", (*opening).observers, func(r *run) { r.display.show.End() }},
	{"state", "models folder observers", (*opening).state, nil},
	{"calls", "state", (*opening).openCalls, func(r *run) { r.calls.close() }},
}

// opening is a run that is being opened, with what only its opening needs.
type opening struct {
	*run
	Options
	text     []byte            // of recipe.toml
	repeated []byte            // the schedule of the run that is repeated
	origin   *receipt.Origin   // of the model that the run starts from
	found    *store.Checkpoint // that it continues from; nil: it starts
	damaged  []string          // checkpoints that are newer, and why they are passed over
}

// open opens parts of the run. What it opened is closed by close, also after an error.
func (r *run) open(o Options, parts ...part) error {
	opening := &opening{run: r, Options: o}
	r.parts.Recipe = o.Opened.Recipe
	for _, p := range parts {
		if err := p.open(opening); err != nil {
			return err
		}
		if p.close != nil {
			r.closers = append(r.closers, p.close)
		}
	}
	return nil
}

// close closes what was opened, the last first.
func (r *run) close() {
	for _, c := range slices.Backward(r.closers) {
		c(r)
	}
	r.closers = nil
}

// models opens the models of the recipe.
func (o *opening) models() error {
	found, err := modelOf(o.Opened.Recipe, o.Resume)
	if err != nil {
		return err
	}
	full, notes, err := Members(o.Opened.Recipe)
	if err != nil {
		return err
	}
	if !o.Resume {
		o.parts.Notes = slices.Concat(startOf(found), notes)
	}
	o.parts.Source, o.parts.Record = o.Opened.Source, train.NewRecord(o.Opened.Recipe)
	if o.parts.Cast, err = cast.Open(full, found.Dir, o.Device); err == nil {
		o.parts.Cast.Reach(full, o.Ask, &o.calls)
	}
	return err
}

// prompts makes what writes problems as the policy reads them, and refuses data that it cannot read.
func (o *opening) prompts() error {
	full, c := o.Opened.Recipe, o.parts.Cast
	var err error
	if o.parts.Prompts, err = prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, resolve.Style(full)); err != nil {
		return err
	}
	notes, err := readable(o.Opened, o.parts.Prompts)
	o.parts.Notes = slices.Concat(o.parts.Notes, notes, o.Opened.Notes, train.Lagging(full))
	if err != nil {
		return err
	}
	return nil
}

// workers puts what draws the completions in place of the policy's own engine, if there is something.
func (o *opening) workers() error {
	if o.Workers == nil {
		return nil
	}
	full, c := o.Opened.Recipe, o.parts.Cast
	faults := full.Faults()
	for i := range full.Stages {
		st := &full.Stages[i]
		if !st.Skip && full.Models[st.Learner()].Logits != "" {
			faults.Fail(fmt.Sprintf("stage.%d.trains", i), "%s is a sum of logits, and workers have the policy alone; accepted: a run without workers", st.Learner())
		}
		if by := st.FilteredBy(); by != "" {
			faults.Fail(fmt.Sprintf("stage.%d.sampling.filter_by", i), "filters act on the distribution of %s, and workers have the policy alone; accepted: a run without workers", by)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	note := func(text string) { o.display.show.Line("%s", text) }
	workers, err := o.Workers(full, c, note)
	if err != nil {
		return err
	}
	c.Sampler = &gain{own: c.Own, workers: workers, recipe: full}
	c.Panel, _ = workers.(rollout.Panel)
	return nil
}

// collectors makes what draws completions: one for training, one for evaluations.
func (o *opening) collectors() error {
	p := &o.parts
	drawing, err := train.NewCollector(o.Opened, p.Cast, p.Prompts, o.calls.of)
	if err == nil {
		p.Collector = drawing
		measuring := *drawing
		p.HeldOut, err = train.NewHeldOut(p.Recipe, p.Source, &measuring)
	}
	if err == nil && p.Recipe.MakesRows() {
		p.Rows = train.NewRows(p.Recipe, p.Prompts, p.HeldOut)
	}
	if err != nil {
		return fmt.Errorf("%w: [task] %w", lines.ErrInput, err)
	}
	return nil
}

// recipe reads the text of the recipe, which says with the device what run this is.
func (o *opening) recipe() error {
	o.text = []byte(o.parts.Recipe.Resolved())
	o.want = NewState(o.Device.Caps())
	o.want.Recipe = identityOf(o.parts.Recipe, string(o.text))
	if !o.Resume {
		return nil
	}
	text, err := files.Read(filepath.Join(o.Dir, recipe.File), settings.MaxBytes)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	before := identityOf(o.parts.Recipe, string(text))
	if o.longer == nil {
		o.text, o.want.Recipe = text, before
	} else {
		o.longer.before = before
	}
	o.continued, err = continuations(o.Dir, before)
	return err
}

// schedule reads which groups the steps take, if that is known.
func (o *opening) schedule() (err error) {
	if o.repeated, err = o.readSchedule(o.Options); err != nil {
		return err
	}
	if o.Workers == nil && o.parts.Schedule == nil && o.parts.Recipe.Arrives() {
		o.parts.Notes = append(o.parts.Notes, "order = \"arrival\" changes nothing without --workers: one device draws groups in their order")
	}
	return nil
}

// makeFolder creates the run folder with the text of its recipe, or finds the one that is there.
func (o *opening) makeFolder() (err error) {
	if o.Resume {
		return o.findFolder()
	}
	o.origin, err = o.originOf() // what cannot be read leaves no folder
	if o.Replay != "" {
		o.origin, err = o.sameOrigin(o.Replay)
	}
	if err == nil {
		err = o.others(o.Replay)
	}
	if err != nil {
		return err
	}
	if o.folder, err = store.Create(store.OS(), o.Dir); err != nil {
		return err
	}
	if o.Replay != "" {
		err = o.folder.WriteFile(replayFile, o.repeated)
	}
	if err == nil && o.Replay != "" && o.parts.Recipe.Remembers() {
		err = o.copyCalls(o.Replay)
	}
	if err == nil {
		err = o.folder.WriteFile(recipe.File, o.text) // from now on the run can be resumed
	}
	if err != nil {
		o.folder.Close()
	}
	return err
}

// others hashes the other models of the run, and refuses those that are not what the run in a folder
// began with; "": none.
func (o *opening) others(dir string) (err error) {
	var then origins
	if o.origins, err = originsOf(o.parts.Cast); err == nil && dir != "" {
		then, err = originsIn(dir)
	}
	if err != nil {
		return err
	}
	return then.unchanged(o.origins, o.parts.Recipe, dir)
}

// findFolder finds a run folder and its newest whole checkpoint. A run that has checkpoints of which
// none is whole, or that has lost them, is refused: it would start over and lose its logs.
func (o *opening) findFolder() (err error) {
	if o.folder, err = store.Open(store.OS(), o.Dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			o.folder.Close()
		}
	}()
	if o.found, o.damaged, err = o.folder.Latest(); err == nil {
		err = o.others(o.Dir)
	}
	if err != nil || o.found != nil {
		return err
	}
	if len(o.damaged) > 0 {
		return hint.With(fmt.Errorf("%w: run %s cannot be continued: all its checkpoints are damaged. Nothing was changed.\n  %s",
			lines.ErrInput, o.Dir, strings.Join(o.damaged, "\n  ")), "start a new run in another folder")
	}
	if o.longer != nil {
		return hint.With(fmt.Errorf("%w: run %s has no checkpoint yet, so %s = %s would change what it began with", lines.ErrInput, o.Dir, o.longer.changes[0].Key, o.longer.changes[0].To),
			"continue it as it began, or start a new run in another folder")
	}
	if o.origin, err = o.sameOrigin(o.Dir); err != nil {
		return err
	}
	return unsaved(o.parts.Recipe, o.Dir)
}

// logs opens the logs.
func (o *opening) logs() (err error) {
	o.folder.Keep(o.parts.Recipe.Checkpoint.Keep)
	o.run.logs, err = openLogs(o.folder, o.parts.Recipe, o.run.parts.Prompts.Pieces)
	if err != nil {
		o.run.logs.close()
	}
	return err
}

// observers are told what happens: the logs, the display, and what the options ask for.
func (o *opening) observers() error {
	r := o.run
	r.display = newDisplay(o.Show, o.Verbose)
	r.standing = &standing{keep: r.parts.Recipe.Checkpoint.KeepBest, folder: r.folder, policy: r.parts.Cast.Policy, made: r.parts.Cast.Made, stages: r.parts.Recipe.Stages}
	r.observers = []observer{
		r.logs, &tokens{r.logs.tokens, r.parts.Recipe, r.parts.Prompts.Decode},
		&aloud{recipe: r.parts.Recipe, display: r.display}, r.display, &alerts{watch.New(r.parts.Recipe.Trains()), r.logs.alerts, r.display, r.folder.Dir()}, r.standing,
	}
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
	if c := r.parts.Cast.Policy.Model.Config; o.origin != nil {
		r.display.show.Line("matrices of the model are kept in %s, keys and values in %s", cmp.Or(string(c.Dtype), "f32"), cmp.Or(string(c.KVDtype), "f32"))
	}
	return nil
}

// state puts the run at its beginning, or where its checkpoint is.
func (o *opening) state() error {
	for _, w := range o.damaged {
		o.display.show.Line("%s", w)
	}
	switch {
	case !o.Resume:
		return o.start(o.origin)
	case o.found == nil:
		o.display.show.Line("no checkpoint yet: starting from the beginning")
		if err := errors.Join(o.folder.Rewind(nil), o.folder.RemoveFile(store.ResultFile)); err != nil {
			return err
		}
		return o.start(o.origin)
	}
	r := o.run
	if err := r.restore(o.found); err != nil {
		return err
	}
	r.display.show.Line("continuing after step %d from %s", r.state.At.Total, o.found.Dir())
	if err := r.tellLonger(); err != nil {
		return err
	}
	if r.state.At.Stage < len(r.parts.Recipe.Stages) { // a receipt is of a run that ended
		if err := r.folder.RemoveFile(receipt.File); err != nil {
			return err
		}
	}
	if err := r.lengthen(o.text); err != nil {
		return err
	}
	if err := r.folder.Rewind(o.found); err != nil {
		return err
	}
	if err := r.readRows(); err != nil {
		return err
	}
	if err := r.standing.resume(o.Dir, r.state.At.Total); err != nil {
		return err
	}
	return r.recall(filepath.Join(o.Dir, "metrics.jsonl"))
}

// start puts the run at its beginning.
func (r *run) start(origin *receipt.Origin) error {
	r.state = r.want
	r.state.Model = origin
	if origin != nil {
		if err := r.note(originFile, origin); err != nil {
			return err
		}
	}
	if r.origins != nil {
		return r.note(modelsFile, r.origins)
	}
	return nil
}

// note writes what the run began with.
func (r *run) note(file string, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return r.folder.WriteFile(file, append(text, '\n'))
}
