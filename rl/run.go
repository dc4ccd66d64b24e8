package rl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/terminal"
)

// ErrInterrupted: the context was cancelled; a checkpoint was written.
var ErrInterrupted = errors.New("interrupted")

// recipeFile is the resolved recipe's name in a run folder.
const recipeFile = "recipe.toml"

// Options say where and how a recipe is run.
type Options struct {
	Recipe  *recipe.Recipe
	Dir     string // run folder
	Resume  bool   // continue the run in Dir
	Device  gpu.Device
	Show    io.Writer // progress, for people
	Version string    // of the program, for the record
}

// Train runs a recipe from its first stage to its last, or on from its newest
// checkpoint.
func Train(ctx context.Context, o Options) (*Summary, error) {
	began := time.Now()
	if o.Resume {
		if err := sameRecipe(o.Recipe, o.Dir); err != nil {
			return nil, err
		}
	}
	s, err := newSession(o.Recipe, o.Device, o.Show)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.openRun(o); err != nil {
		return nil, err
	}
	for s.state.Stage < len(s.recipe.Stages) {
		if st := &s.recipe.Stages[s.state.Stage]; !st.Skip {
			if err := s.runStage(ctx, st); err != nil {
				return nil, err
			}
		}
		s.state.Stage++
		s.state.Step, s.state.HoldEnd, s.state.Began = 0, -1, false
		if err := s.save(true); err != nil {
			return nil, err
		}
	}
	s.show.End()
	return s.finish(o, began)
}

// sameRecipe refuses to continue a run with another recipe than its own: the
// run would be a function of neither.
func sameRecipe(r *recipe.Recipe, dir string) error {
	file := filepath.Join(dir, recipeFile)
	own, err := recipe.Load(file, nil)
	if err != nil {
		return err
	}
	asked, has := strings.Split(r.Resolved(), "\n"), strings.Split(own.Resolved(), "\n")
	for i, line := range has {
		if i < len(asked) && asked[i] == line {
			continue
		}
		other := "nothing"
		if i < len(asked) {
			other = asked[i]
		}
		return fmt.Errorf("%w: the recipe is not that of the run: %s has %q, the one given %q: continue with rlzero train --resume --run %s alone, or start another run", ErrInput, file, line, other, terminal.ShellWord(dir))
	}
	return nil
}

// batchingKeys say how work is cut. They change no byte of what a run computes, so
// they may change while it lies still: on a device with less memory, say.
var batchingKeys = []string{"micro_batch_tokens", "sampler_sequences"}

// identityOf hashes what a run is a function of in the text of a resolved recipe.
func identityOf(text string) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, " "); !slices.Contains(batchingKeys, key) {
			b.WriteString(line)
		}
	}
	return sumOf(b.Bytes())
}

// openRun creates the run folder, or continues the one that is there.
func (s *session) openRun(o Options) error {
	text := []byte(s.recipe.Resolved())
	var err error
	if o.Resume {
		if text, err = os.ReadFile(filepath.Join(o.Dir, recipeFile)); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	s.identity = identityOf(string(text))
	if o.Resume {
		s.run, err = store.Open(store.OS(), o.Dir)
	} else if err = s.begin(); err == nil { // what cannot be read leaves no folder behind
		s.run, err = store.Create(store.OS(), o.Dir)
	}
	if err != nil {
		return err
	}
	s.run.Keep(s.recipe.Checkpoint.Keep)
	if !o.Resume {
		if err := s.run.WriteFile(recipeFile, text); err != nil {
			return err
		}
	}
	if s.logs, err = openLogs(s.run); err != nil {
		return err
	}
	if o.Resume {
		return s.restore()
	}
	return nil
}

func (s *session) runStage(ctx context.Context, st *recipe.Stage) error {
	s.since, s.tokens = time.Time{}, 0
	if !s.state.Began {
		if err := s.trainer.ResetOptimizer(); err != nil {
			return err
		}
		if s.frozen != nil {
			if err := s.frozen.CopyFrom(s.model); err != nil {
				return err
			}
		}
		s.state.Began = true
	}
	var err error
	switch st.Kind {
	case recipe.KindSFT:
		err = s.trainSFT(ctx, st)
	case recipe.KindRL:
		err = s.trainRL(ctx, st)
	}
	if err == nil {
		s.show.End()
		err = s.closingEvaluation(ctx, st)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return s.interrupt()
	}
	return err
}

// interrupt ends a cancelled run where it stands: between two steps. What may be
// cut short, a step's rollout and the evaluation after a stage, has changed
// nothing yet.
func (s *session) interrupt() error {
	s.show.End()
	if s.saved != s.state.Total {
		if err := s.save(false); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w after step %d", ErrInterrupted, s.state.Total)
}

// closingEvaluation measures the model on all held-out problems after a stage.
func (s *session) closingEvaluation(ctx context.Context, st *recipe.Stage) error {
	sampling := model.Sampling{Temperature: 1, Seed: s.seedOf(random.HeldOut, s.state.Stage, math.MaxInt)}
	ev, err := s.evaluate(ctx, s.heldOut, s.recipe.Task.EvalSamples, s.maxCompletion(st), s.passKs(), sampling, true)
	if err != nil {
		return err
	}
	s.lastEval = ev.PassAt[1]
	row := ev.metrics()
	row["eval/greedy"] = ev.Greedy
	if err := s.logs.metrics.Append(s.state.Total, st.Name, row); err != nil {
		return err
	}
	if err := s.logEvaluation(st, ev); err != nil {
		return err
	}
	s.show.Line("after %s: pass@1 %.1f %%  pass@%d %.1f %%  greedy %.1f %%  right form %.1f %%  (%d held-out problems)",
		st.Name, 100*ev.PassAt[1], s.recipe.Task.EvalSamples, 100*ev.PassAt[s.recipe.Task.EvalSamples], 100*ev.Greedy, 100*ev.Valid, len(s.heldOut))
	return nil
}

// checkHeldOut measures pass@1 on some held-out problems during a stage.
func (s *session) checkHeldOut(ctx context.Context, st *recipe.Stage, row metrics.Row) error {
	began := time.Now()
	rows := s.heldOut[:min(len(s.heldOut), st.EvalProblems)]
	sampling := model.Sampling{Temperature: 1, Seed: s.seedOf(random.HeldOut, s.state.Stage, s.state.Step)}
	// Not cut short by an interrupt: the step's update has been made.
	ev, err := s.evaluate(context.WithoutCancel(ctx), rows, s.recipe.Task.EvalSamples, s.maxCompletion(st), s.passKs(), sampling, false)
	if err != nil {
		return err
	}
	for name, v := range ev.metrics() {
		row[name] = v
	}
	s.lastEval = ev.PassAt[1]
	s.phase("time/eval_s", time.Since(began))
	return nil
}

func (s *session) passKs() []int {
	if n := s.recipe.Task.EvalSamples; n > 1 {
		return []int{1, n}
	}
	return []int{1}
}

func (s *session) maxCompletion(st *recipe.Stage) int {
	return s.recipe.MaxCompletion(st)
}

// endStep records a step and, when it is time or the run is interrupted, a
// checkpoint.
func (s *session) endStep(ctx context.Context, st *recipe.Stage, row metrics.Row) error {
	s.state.Total++
	if err := s.logs.metrics.Append(s.state.Total, st.Name, row); err != nil {
		return err
	}
	if err := s.logs.timing.Append(s.state.Total, st.Name, s.timing); err != nil {
		return err
	}
	s.timing = metrics.Row{}
	if every := st.CheckpointEvery; every > 0 && s.state.Step%every == 0 {
		if err := s.save(false); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return s.interrupt()
	}
	return nil
}

func adamw(o recipe.Optimizer, lr float64) model.AdamW {
	return model.AdamW{LR: lr, Beta1: o.Betas[0], Beta2: o.Betas[1], Eps: o.Eps, WeightDecay: o.WeightDecay, ClipNorm: o.ClipNorm}
}

func samplingOf(s recipe.Sampling) model.Sampling {
	return model.Sampling{Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP}
}
