package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
)

// ErrInterrupted: the context was cancelled. There is a checkpoint of the last step
// that is done, if one is.
var ErrInterrupted = errors.New("interrupted")

// Options say where and how a recipe is run.
type Options struct {
	Opened  *resolve.Opened // the recipe, with what it names
	Dir     string          // run folder
	Resume  bool            // continue the run in Dir
	Fixed   bool            // Resume takes no other lengths of stages than the run has
	Replay  string          // run folder whose schedule a new run follows as far as it goes; "": none
	Device  gpu.Device
	Show    io.Writer // progress, for people
	Verbose bool      // show every formula before the first step
	Version string    // of the program, for the record

	// Report, if not nil, makes the report of a run folder, an HTML file. It is called
	// after each evaluation, and when the run ends or is interrupted.
	Report func(dir string) ([]byte, error)
	// Workers, if not nil, makes what draws the completions in place of the policy's own
	// engine, and, where it is a rollout.Panel, judges them. note tells people something; it
	// may be called while completions are drawn.
	Workers func(r *recipe.Recipe, c *cast.Cast, note func(text string)) (rollout.Sampler, error)
	// Ask asks judges behind addresses; nil: a run that has some goes as far as its calls do.
	Ask panel.Ask
}

// run is a run in progress.
type run struct {
	parts     train.Parts
	folder    *store.Run
	logs      *logs
	display   *display
	standing  *standing
	observers []observer // of all events, in this order
	state     State
	origins   origins                // of its models of [models]; nil: there are none
	want      State                  // what a checkpoint has to agree with
	stage     train.Stage            // in progress
	saved     int                    // steps of the newest checkpoint
	longer    *longer                // than it was meant to be; nil: it is as long as its recipe says
	continued []receipt.Continuation // where it continued with other lengths
	calls     calls                  // of tools that are not pure
	closers   []func(*run)           // of the parts that were opened, in that order
}

// Train runs a recipe from its first stage to its last, or on from its newest
// checkpoint.
func Train(ctx context.Context, o Options) (*Summary, error) {
	summary, err := trainAll(ctx, o)
	if _, failed := os.Stat(filepath.Join(o.Dir, recipe.File)); failed == nil && store.Full(err) {
		err = hint.With(err, "to continue once there is room: rlzero train --resume --run %s", terminal.ShellWord(o.Dir))
	}
	return summary, err
}

// trainAll is Train without what is said about a full disk.
func trainAll(ctx context.Context, o Options) (*Summary, error) {
	began := time.Now()
	var more *longer
	if o.Resume {
		var err error
		if o.Fixed {
			err = sameRecipe(o.Opened.Recipe, o.Dir)
		} else {
			more, err = longerRecipe(o.Opened.Recipe, o.Dir)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Replay != "" {
		if err := repeats(o.Opened.Recipe, o.Replay); err != nil {
			return nil, err
		}
	}
	r := &run{longer: more}
	defer r.close()
	if err := r.open(o, slices.Concat(stageParts, folderParts)...); err != nil {
		return nil, err
	}
	stages := o.Opened.Recipe.Stages
	for ; r.state.At.Stage < len(stages); r.next() {
		if st := &stages[r.state.At.Stage]; !st.Skip {
			if err := r.runStage(ctx, st); err != nil {
				return nil, r.back(err)
			}
		}
		if err := r.save(true); err != nil {
			return nil, err
		}
	}
	return r.finish(o.Version, o.Device.Caps(), began)
}

// next goes to the stage after.
func (r *run) next() {
	r.state.leave()
	r.stage = nil
}

// runStage does the steps of a stage and the evaluation after it.
func (r *run) runStage(ctx context.Context, st *recipe.Stage) error {
	err := r.steps(ctx, st)
	if err == nil && st.Kind != recipe.KindMake { // after which the policy is what it was
		err = r.measure(ctx, train.AfterStage, "after "+st.Name)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return r.interrupt()
	}
	return err
}

// steps does what is left of a stage.
func (r *run) steps(ctx context.Context, st *recipe.Stage) error {
	if err := r.begin(ctx, st); err != nil {
		return err
	}
	for most := st.MaxSampledTokens; most == 0 || r.state.Sampled < most; {
		if r.stalled(st) {
			r.display.show.Line("stage %s ends after step %d: accuracy has not risen above its best, %.1f %%, for %s (patience)", st.Name, r.state.At.Step, 100*r.state.Stall.Best, terminal.Count(st.Patience, "evaluation", ""))
			return nil
		}
		e, err := r.stage.Step(ctx, r.state.At)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, train.ErrNotScored):
			return r.stop(e, st, err)
		case err != nil:
			return err
		}
		r.state.At.Step++
		r.state.At.Total++
		r.state.Sampled += int(e.Metrics.Sampled())
		if st.Patience > 0 && e.HeldOut != nil {
			r.state.Stall = r.state.Stall.heard(e.HeldOut.Mean)
		}
		if err := r.parts.Cast.Renew(r.state.At.Step); err != nil {
			return err
		}
		if err := r.tell(event{Kind: stepped, Stage: st.Name, At: r.state.At, Steps: r.stage.Steps(), Event: e}); err != nil {
			return err
		}
		if every := st.CheckpointEvery; every > 0 && r.state.At.Step%every == 0 {
			if err := r.save(false); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return r.interrupt()
		}
	}
	return nil
}

// stalled says whether the accuracy of the stage in progress has not risen for as long as its patience lasts.
func (r *run) stalled(st *recipe.Stage) bool {
	return st.Patience > 0 && r.state.Stall != nil && r.state.Stall.Since >= st.Patience
}

// begin does the opening work of a stage, once.
func (r *run) begin(ctx context.Context, st *recipe.Stage) error {
	var err error
	var notes []string
	if r.stage == nil {
		if r.stage, err = train.New(r.parts, r.state.At.Stage); err != nil {
			return err
		}
	}
	if !r.state.Began {
		if r.parts.Cast.Folder != "" && r.stage.Steps() > 0 && r.first() {
			if err := r.measure(ctx, 0, "before "+st.Name); err != nil {
				return err
			}
		}
		if err := r.parts.Cast.Begin(r.parts.Recipe, r.state.At.Stage); err != nil {
			return err
		}
		if notes, err = train.Fooled(ctx, r.parts, r.state.At.Stage); err != nil {
			return err
		}
		r.state.Began = true
	}
	r.parts.Cast.FilterBy(st.FilteredBy())
	line, formulas, err := st.Reading()
	if err != nil {
		return err
	}
	return r.tell(event{Kind: began, Stage: st.Name, At: r.state.At, Steps: r.stage.Steps(), Event: &train.Event{Notes: append(r.display.method(line, formulas), notes...)}})
}

// first says whether no stage came before the one in progress.
func (r *run) first() bool {
	for _, st := range r.parts.Recipe.Stages[:r.state.At.Stage] {
		if !st.Skip {
			return false
		}
	}
	return true
}

// measure evaluates the policy on all held-out problems, unless nothing can judge
// completions. step tells the evaluations of a stage apart.
func (r *run) measure(ctx context.Context, step int, when string) error {
	if !r.parts.Recipe.Samples() {
		return nil
	}
	if err := r.tell(event{Kind: measuring}); err != nil {
		return err
	}
	at := r.state.At
	result, err := r.parts.HeldOut.Measure(ctx, at.Stage, step, len(r.parts.HeldOut.Problems), true)
	if err != nil {
		return err
	}
	return r.tell(event{Kind: measured, Stage: r.parts.Recipe.Stages[at.Stage].Name, At: at, When: when, Result: result, Event: &train.Event{Metrics: closingMetrics(result)}})
}

// stop ends a run whose step had too few scores, with a checkpoint of the step before.
// The completions go to the log after it, for people to look at: a resumed run cuts
// them off.
func (r *run) stop(e *train.Event, st *recipe.Stage, cause error) error {
	if err := r.checkpoint(); err != nil {
		return err
	}
	at := r.state.At
	at.Total += 1 + e.Ahead
	if err := r.tell(event{Kind: refused, Stage: st.Name, At: at, Event: e}); err != nil {
		return err
	}
	again := "if the recipe, a script or the data is the cause, start a new run"
	if r.state.At.Total > 0 {
		again += " with --set model.path=" + terminal.ShellWord(r.folder.Dir())
	}
	err := fmt.Errorf("%w; these completions are the last lines of %s", cause, record.CompletionsFile)
	err = hint.With(err, "if this machine is the cause (no Python, an unreadable database), fix it and continue with --resume")
	if len(r.parts.Recipe.Judges()) > 0 {
		err = hint.With(err, "if it is a judge, rlzero judge %s --failed shows answers that cannot be read", terminal.ShellWord(r.folder.Dir()))
	}
	for _, name := range r.unanswered(e, st) {
		m := r.parts.Recipe.Models[name]
		err = hint.With(err, "if the server of %s is gone, start it again at %s and continue with --resume", name, m.Address())
	}
	return hint.With(err, "%s", again)
}

// unanswered are the models behind addresses that judges of a stage have asked about the completions of a step, and that
// did not answer, sorted.
func (r *run) unanswered(e *train.Event, st *recipe.Stage) []string {
	models := map[string]bool{}
	for i := range e.Completions {
		for k, verdict := range e.Completions[i].Path().Verdicts {
			name := r.parts.Recipe.Task.JudgedBy() // the first is that of the task
			if k > 0 {
				name, _ = st.Verifiers[k-1].Options["model"].(string)
			}
			missing := slices.ContainsFunc(verdict.Opinions, func(o verify.Opinion) bool { return o.Missing })
			if missing && r.parts.Recipe.Models[name].URL != "" {
				models[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(models))
}

// interrupt ends a cancelled run where it stands: between two steps. What may be cut
// short, a step's rollout and the evaluation after a stage, has changed nothing yet.
func (r *run) interrupt() error {
	if err := r.checkpoint(); err != nil {
		return err
	}
	if err := r.tell(event{Kind: ended}); err != nil {
		return err
	}
	return fmt.Errorf("%w after step %d", ErrInterrupted, r.state.At.Total)
}

// closingMetrics are those of an evaluation of all held-out problems.
func closingMetrics(r *eval.Result) map[string]float64 {
	row := r.Metrics()
	row["eval/greedy"] = r.Greedy
	return row
}
