package run

import (
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
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
)

// lengths are the keys of a stage that may change where a run continues: they say how long it is and
// when its schedule falls. The steps that are done keep what they had.
var lengths = []string{"steps", "max_sampled_tokens", "patience", "hold_steps", "decay_steps", "optimizer.decay_steps"}

// longer is a run that continues with other lengths than it had.
type longer struct {
	changes []recipe.Change // of its recipe
	own     *recipe.Recipe  // that it had
	before  string          // identity of that
}

// continuedFile has what has changed where a run continued: a list of receipt.Continuation.
const continuedFile = "continued.json"

// over is where the last stage of a run stood when it was over: the run may go on from there.
type over struct {
	Step    int    `json:"step"`    // of the stage
	Sampled int    `json:"sampled"` // tokens
	Stall   *stall `json:"stall,omitempty"`
}

// lengthOf finds the stage of a key that is a length; -1: the key is another.
func lengthOf(r *recipe.Recipe, key string) int {
	for i := range r.Stages {
		if of, ok := strings.CutPrefix(key, "stage."+r.Stages[i].Name+"."); ok && slices.Contains(lengths, of) {
			return i
		}
	}
	return -1
}

// continuations are those of a run's folder that led to a recipe, by its identity.
func continuations(dir, identity string) ([]receipt.Continuation, error) {
	file := filepath.Join(dir, continuedFile)
	var all, led []receipt.Continuation
	err := noted(file, &all)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	for _, c := range slices.Backward(all) {
		if c.To == identity { // one that leads nowhere was written and cut short
			led, identity = append(led, c), c.From
		}
	}
	slices.Reverse(led)
	return led, nil
}

// goesOn puts a run that continues with other lengths where it goes on: a finished run in its last
// stage. It refuses lengths of stages that are over.
func (r *run) goesOn(state *State, dir string) error {
	last := len(r.parts.Recipe.Stages) - 1
	if state.At.Stage > last && state.Recipe != r.want.Recipe {
		if state.Ended == nil {
			return hint.With(fmt.Errorf("%w: run %s is finished and cannot go on: its last checkpoint does not say where its last stage stood, as that stage was left out or another release of rlzero wrote it", lines.ErrInput, dir),
				"start a new run from its weights with --set model.path=%s", terminal.ShellWord(dir))
		}
		state.At.Stage, state.At.Step, state.Sampled, state.Stall, state.Began = last, state.Ended.Step, state.Ended.Sampled, state.Ended.Stall, true
	}
	if r.longer == nil {
		return nil
	}
	for _, c := range r.longer.changes {
		if lengthOf(r.parts.Recipe, c.Key) < state.At.Stage {
			return fmt.Errorf("%w: %s = %s comes too late: the stage is over, and had %s", lines.ErrInput, c.Key, c.To, c.From)
		}
	}
	return nil
}

// leavesSteps refuses a length of the stage in progress that ends it before where it is, or of a stage
// that is over one that ends it there.
func (r *run) leavesSteps() error {
	if r.stage == nil || r.longer == nil {
		return nil
	}
	done, most := r.state.At.Step, r.stage.Steps()
	for _, c := range r.longer.changes {
		if lengthOf(r.parts.Recipe, c.Key) == r.state.At.Stage && (most < done || most == done && r.state.Ended != nil) {
			return fmt.Errorf("%w: with %s = %s stage %s has %s, and %d are done; accepted: a length that leaves steps to do",
				lines.ErrInput, c.Key, c.To, r.parts.Recipe.Stages[r.state.At.Stage].Name, terminal.Count(most, "step", ""), done)
		}
	}
	if st := &r.parts.Recipe.Stages[r.state.At.Stage]; r.state.Ended != nil && r.stalled(st) {
		return hint.With(fmt.Errorf("%w: stage %s is over: accuracy has not risen above its best, %.1f %%, for %s", lines.ErrInput, st.Name, 100*r.state.Stall.Best, terminal.Count(st.Patience, "evaluation", "")),
			"to go on, add --set stage.%s.patience=%d", st.Name, 2*st.Patience)
	}
	return nil
}

// lengthen writes down that the run goes on with other lengths. From then on its recipe has them.
func (r *run) lengthen(text []byte) error {
	if r.longer == nil {
		return nil
	}
	c := receipt.Continuation{Step: r.state.At.Total, Stage: r.parts.Recipe.Stages[r.state.At.Stage].Name, From: r.longer.before, To: r.want.Recipe}
	for _, change := range r.longer.changes {
		c.Changes = append(c.Changes, receipt.Changed{Key: change.Key, From: change.From, To: change.To})
	}
	r.continued = append(r.continued, c)
	list, err := json.MarshalIndent(r.continued, "", "  ")
	if err != nil {
		return err
	}
	if err := r.folder.WriteFile(continuedFile, append(list, '\n')); err != nil {
		return err
	}
	return r.folder.WriteFile(recipe.File, text)
}

// tellLonger says what the run goes on with, and whether it has the bytes of a run that had the whole
// length from the beginning.
func (r *run) tellLonger() error {
	if r.longer == nil {
		return nil
	}
	for _, c := range r.longer.changes {
		r.display.show.Line("going on with %s = %s, which was %s; the optimizer keeps its state", c.Key, c.To, c.From)
	}
	i, done := r.state.At.Stage, r.state.At.Step
	st, was := &r.parts.Recipe.Stages[i], &r.longer.own.Stages[i]
	reasons, err := onLength(st)
	if st.Patience > 0 && was.Patience == 0 {
		reasons = append(reasons, "evaluations were not counted without patience")
	}
	if st.Patience > 0 && done == was.RL.Steps && done < st.RL.Steps && done%st.EvalEvery == 0 {
		reasons = append(reasons, fmt.Sprintf("patience would have counted an evaluation after step %d", done))
	}
	switch {
	case err != nil:
		return err
	case reasons == nil || done == 0:
		r.display.show.Line("each step from here on has the bytes of a run that had this length from the beginning")
	default:
		r.display.show.Line("! a run that had this length from the beginning would differ: %s; the %s before had the old length", strings.Join(reasons, ", "), terminal.Count(done, "step", ""))
		if st.Kind != recipe.KindSFT {
			r.display.show.Line("  learning rate: %.3g in the last step, %.3g in the next", was.LearningRate(done-1), st.LearningRate(done))
		}
	}
	return nil
}

// onLength are the reasons for which what a stage does in a step depends on its length.
func onLength(st *recipe.Stage) (reasons []string, err error) {
	if st.Kind == recipe.KindSFT {
		return []string{"the learning rate falls over decay_steps"}, nil
	}
	if kind := st.Optimizer.Schedule; kind != "constant" && kind != "inverse_sqrt" {
		reasons = append(reasons, fmt.Sprintf("schedule = %q depends on the number of steps", kind))
	}
	if st.Lag > 0 {
		reasons = append(reasons, fmt.Sprintf("with lag = %d the next steps would have been drawn already", st.Lag))
	}
	reads, err := st.Reads()
	if err != nil {
		return nil, err
	}
	if st.Kind != recipe.KindRL {
		for _, fact := range []string{"steps", "progress"} {
			if slices.Contains(reads, fact) {
				reasons = append(reasons, "its formulas read "+fact)
			}
		}
		return reasons, nil
	}
	before, err := st.Before()
	if err != nil {
		return nil, err
	}
	program, err := st.Program()
	if err != nil {
		return nil, err
	}
	reads = append(reads, before.Needs()...)
	for _, fact := range []string{"steps", "progress"} {
		if slices.Contains(reads, fact) || program.Needs(fact) {
			reasons = append(reasons, "its formulas read "+fact)
		}
	}
	return reasons, nil
}
