package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// imitation imitates the task's demonstrations, or the rows of its data (lessons.go), by
// a loss over the completions' tokens, the end token included.
//
// The rate is held after its ramp until a share until_valid of samples has the form of
// an answer, or for hold_steps; then it falls linearly for decay_steps.
type imitation struct {
	rowStage
	holdEnd int // step at which the rate began to fall; -1 while it is held
}

func newImitation(p Parts, index int) (Stage, error) {
	r, err := newRowStage(p, index)
	if err != nil {
		return nil, err
	}
	return &imitation{rowStage: r, holdEnd: -1}, nil
}

// Readable says whether the model can read the demonstrations of a recipe's stages, and what
// their second chances show.
func Readable(o *resolve.Opened, renderer *prompts.Renderer) error {
	r, source := o.Recipe, o.Source
	if err := prompted(r, source, renderer); err != nil {
		return err
	}
	for i := range r.Stages {
		if err := givesChances(r, &r.Stages[i], source, renderer); err != nil {
			return err
		}
		if st := &r.Stages[i]; st.Kind == recipe.KindSFT && !st.Skip && r.Task.Demonstrator() != nil {
			hinted, n := *r, 1
			if st.SFT.Show != "" { // all of some problems, so that a hint that cannot be is told now
				hinted.Stages, n = slices.Clone(r.Stages), cast.ProbeProblems
				hinted.Stages[i].SFT.ShowShare = 1
			}
			if _, err := demonstrations(&hinted, slices.Repeat([]prompts.Source{source}, n), prompts.HeldOut{}.Refuse, o.Episodes(renderer, r.Seed, nil), renderer, &hinted.Stages[i], i, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// imitationFile keeps an imitation's state in a checkpoint.
const imitationFile = "trainer/sft.json"

type imitationState struct {
	HoldEnd int `json:"hold_end"`
}

// Save implements cast.Keeper.
func (s *imitation) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{imitationFile: func(w io.Writer) error { return json.NewEncoder(w).Encode(imitationState{s.holdEnd}) }}
	states, err := s.learner.Save()
	maps.Copy(files, states)
	return files, err
}

// Load implements cast.Keeper.
func (s *imitation) Load(dir string) error {
	var state imitationState
	if err := readJSON(dir, imitationFile, &state); err != nil {
		return err
	}
	s.holdEnd = state.HoldEnd
	return s.learner.Load(dir)
}

func (s *imitation) Steps() int {
	if s.holdEnd >= 0 {
		return s.holdEnd + s.stage.SFT.DecaySteps
	}
	return s.stage.SFT.HoldSteps + s.stage.SFT.DecaySteps
}

func (s *imitation) Step(ctx context.Context, at Position) (*Event, error) {
	if at.Step >= s.Steps() {
		return nil, io.EOF
	}
	cfg, began := s.stage.SFT, time.Now()
	row := metrics.Row{}
	cs, err := s.shown(at, row)
	if err != nil {
		return nil, err
	}
	lr := s.stage.Optimizer.LR * s.rate(at.Step)
	b, m, err := s.learn(at, cs, lr)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	row["optim/lr"] = lr
	e := &Event{Tokens: m.tokens, Metrics: row}
	if b != nil {
		m.into(e.Metrics)
		e.Metrics["sft/loss"] = 0 - perToken(b.u.Table, "logp") // whatever the loss is
		e.Metrics["policy/entropy"] = perToken(b.u.Table, "entropy")
	}
	e.Timing = timesOf(e.Tokens, time.Since(began))
	done := at.Step + 1
	// Tests are not cut short by an interrupt: the step's update has been made.
	switch tested := done%cfg.TestEvery == 0; {
	case s.Recipe.Task.Demonstrator() == nil || s.who != s.Cast.Policy.Trainee:
		if s.holdEnd < 0 && done >= cfg.HoldSteps {
			s.holdEnd = done
		}
		if (tested || done == s.Steps()) && s.Recipe.Task.Demonstrator() == nil && !s.stage.OfRows() { // held-out rows are the task's
			var loss float64
			loss, err = s.heldOutLoss()
			e.Metrics["eval/loss"] = loss
			e.Notes = append(e.Notes, fmt.Sprintf("  step %d: held-out loss %.3f", done, loss))
		}
	case s.holdEnd < 0 && (tested || done >= cfg.HoldSteps):
		var share float64
		if share, err = s.probe(context.WithoutCancel(ctx), done); err == nil && (share >= cfg.UntilValid || done >= cfg.HoldSteps) {
			s.holdEnd = done
		}
		e.Metrics["eval/valid"] = share
	}
	return e, err
}

// shown are the completions that a step learns from: rows, then demonstrations of a task that has some.
// row gets what the curriculum tells about these.
func (s *rowStage) shown(at Position, row metrics.Row) ([]Completion, error) {
	if s.Recipe.Task.Demonstrator() == nil {
		rows, err := s.drawRows(at.Step)
		if err != nil {
			return nil, err
		}
		return s.lessons(rows)
	}
	made, left, err := s.made(at.Step)
	if err != nil {
		return nil, err
	}
	cs, err := s.lessons(made)
	if err != nil || left == 0 {
		return cs, err
	}
	sources, err := s.before.changed(at, s.stage, s.stage.SFT.BatchSize, row)
	if err != nil {
		return nil, err
	}
	more, err := demonstrations(s.Recipe, sources, s.HeldOut.refuse, s.Collector.Episodes, s.Prompts, s.stage, s.index, at.Step)
	if err != nil {
		return nil, err
	}
	for _, c := range more[:left] {
		c.Group = len(cs)
		cs = append(cs, c)
	}
	return cs, nil
}

// rate is the learning rate of a step, as a share of the full one.
func (s *imitation) rate(step int) float64 {
	rate := 1.0
	if ramp := s.stage.Optimizer.WarmupSteps; ramp > 0 {
		rate = math.Min(1, float64(step+1)/float64(ramp))
	}
	if s.holdEnd >= 0 {
		rate *= 1 - (1-s.stage.SFT.FinalLRShare)*float64(step-s.holdEnd)/float64(s.stage.SFT.DecaySteps)
	}
	return rate
}

// demonstrations are the sequences of a step of a stage, each of a problem of its source. refuse
// returns an error for a problem that must not be trained on; episodes are what the problems are
// played in.
func demonstrations(recipe *recipe.Recipe, sources []prompts.Source, refuse func(...verify.Problem) error, episodes *rollout.Episodes, renderer *prompts.Renderer, st *recipe.Stage, index, step int) ([]Completion, error) {
	n := len(sources)
	cs := make([]Completion, n)
	for i := range cs {
		t := demonstrating{recipe, st, episodes, renderer, recipe.Task.Demonstrator()}
		if own, is := prompts.TaskOf(sources[i]).(tasks.Demonstrator); is {
			t.demonstrator = own
		}
		r := random.At(recipe.Seed, random.Stream(random.Draw, index), uint64(step)*uint64(n)+uint64(i))
		row := sources[i].Draw(r)
		if err := refuse(row); err != nil {
			return nil, err
		}
		var err error
		if cs[i], err = t.show(row, r); err != nil {
			return nil, fmt.Errorf("stage %s: %w", t.stage.Name, err)
		}
		cs[i].Group = i
	}
	return cs, nil
}

// demonstrating makes what is imitated in a stage.
type demonstrating struct {
	recipe   *recipe.Recipe
	stage    *recipe.Stage
	episodes *rollout.Episodes
	renderer *prompts.Renderer

	demonstrator tasks.Demonstrator // of the problem, with the settings that it was drawn by; nil: it is played in turns
}

// show is a demonstration of a problem.
func (t demonstrating) show(row verify.Problem, r *random.Rand) (Completion, error) {
	if t.stage.Proposes() && r.Chance(t.stage.Propose.Share) {
		return t.proposal(row, r)
	}
	if w, asks := t.recipe.Task.Settings.(tasks.Asker); asks {
		if _, whom := w.Asks(); whom != nil && whom.Model == t.stage.Trains {
			question, answer, err := w.Lesson(r, row)
			if err != nil {
				return Completion{}, err
			}
			row.Question = question
			return demonstrated(t.renderer, row, "", answer)
		}
	}
	if e := t.recipe.Task.Episodic(); e != nil {
		player, asked := e.Shown(), ""
		if t.stage.SFT.Show != "" && r.Chance(t.stage.SFT.ShowShare) {
			player, asked = e.Best(), t.stage.SFT.Show
		}
		c, err := playedBy(e, player, t.renderer, t.recipe.Task.Episode.Turns, row, asked, r)
		return t.fits(row, asked, c, err)
	}
	next := func() (string, error) { return t.demonstrator.Demonstration(r, row) }
	right := func(text string) bool { return t.demonstrator.Verify(row, text, true).Verdict == verify.Right }
	text, err := next()
	if err != nil {
		return Completion{}, err
	}
	var calls says
	if t.stage.Trains == "" || t.recipe.Task.AskRoom(t.stage.Trains) == 0 { // who is asked answers at once
		if calls, err = callsShown(t.recipe.Task.Tools, t.renderer, row, r); err != nil {
			return Completion{}, err
		}
	}
	hints := t.stage.SFT.Show != "" && calls == nil && r.Chance(t.stage.SFT.ShowShare)
	found := false
	if calls != nil || hints {
		if text, found, err = rightOne(text, right, next); err != nil {
			return Completion{}, err
		}
	}
	switch {
	case found && hints:
		return t.hinted(row, text)
	case found:
		return playedBy(answeredBy(t.episodes.World, text), append(calls, text), t.renderer, t.episodes.Turns, row, "", r)
	}
	return demonstrated(t.renderer, row, "", text)
}

// proposal is a problem that is written, after what the policy is asked for one. The player of a task in turns plays
// its world for that.
func (t demonstrating) proposal(row verify.Problem, r *random.Rand) (Completion, error) {
	asked, err := askedFor(row, t.stage.Propose.Say)
	if err != nil {
		return Completion{}, err
	}
	poser := t.recipe.Task.Poser()
	var c Completion
	if e := t.recipe.Task.Episodic(); e != nil {
		c, err = playedBy(e, poser.Proposer(), t.renderer, t.recipe.Task.Episode.Turns, asked, "", r)
	} else {
		c, err = demonstrated(t.renderer, asked, "", poser.Proposer().Play([]world.Message{{Role: world.User, Text: asked.Question}}, r))
	}
	return t.fits(row, t.stage.Propose.Say, c, err)
}

// hinted is a demonstration after a hint.
func (t demonstrating) hinted(row verify.Problem, text string) (Completion, error) {
	c, err := demonstrated(t.renderer, row, t.stage.SFT.Show, text)
	return t.fits(row, t.stage.SFT.Show, c, err)
}

// fits refuses a demonstration whose prompt is too long with its hint; asked is "" where it has none.
func (t demonstrating) fits(row verify.Problem, asked string, c Completion, err error) (Completion, error) {
	if most := t.recipe.Task.MaxPromptTokens; err == nil && asked != "" && c.View.Spans[0].From > most {
		err = hint.With(fmt.Errorf("prompt %s: as it is asked it has %d tokens; accepted: at most task.max_prompt_tokens = %d", terminal.Quote(row.Question), c.View.Spans[0].From, most), "raise task.max_prompt_tokens")
	}
	return c, err
}

// rightTries is how many demonstrations of a problem with a hint are drawn until one is right:
// where one in eight is, as in countdown without aim, 2 in 10,000 hints are left out.
const rightTries = 64

// rightOne is the first that is right of a demonstration and the next ones. Where none is, it is
// the demonstration that was there.
func rightOne(first string, right func(string) bool, next func() (string, error)) (text string, found bool, err error) {
	text = first
	for n := 1; err == nil; n++ {
		if right(text) {
			return text, true, nil
		}
		if n == rightTries {
			return first, false, nil
		}
		text, err = next()
	}
	return "", false, err
}

// demonstrated is a problem, asked in another way unless that is "", with the completion that
// is to be learned.
func demonstrated(renderer *prompts.Renderer, row verify.Problem, asked, completion string) (Completion, error) {
	lesson, err := renderer.Shown(row, asked, completion)
	if err != nil {
		return Completion{}, &rollout.PromptError{Prompt: row.Question, Err: err}
	}
	return written(row, lesson, 1), nil
}

// perToken is the mean of a fact over the tokens of a table, summed in the order of the
// rows.
func perToken(t *formula.Table, fact string) float64 {
	c, _ := t.Column(fact)
	sum := 0.0
	for _, x := range c.V {
		sum += x / float64(len(c.V))
	}
	return sum
}

// probe is the share of samples, one for each of a few training problems, that have
// the form of an answer.
func (s *imitation) probe(ctx context.Context, step int) (float64, error) {
	rows := prompts.Step(s.Source, s.Recipe.Seed, random.Stream(random.Probe, s.index), 0, cast.ProbeProblems)
	params := rollout.Params{Temperature: 1, MaxTokens: s.Recipe.Task.TurnTokens()}
	groups, err := s.HeldOut.Collector.Collect(ctx, rows, 1, params, random.Key{Purpose: random.Probe, Stage: s.index, Step: step})
	if err != nil {
		return 0, err
	}
	return s.HeldOut.ValidShare(groups), nil
}

// optimizer are the settings of an update with a learning rate.
func optimizer(o recipe.Optimizer, lr float64) learn.Optimizer {
	return learn.Optimizer{
		Rule: learn.Rule(o.Rule), LR: lr, Beta1: o.Betas[0], Beta2: o.Betas[1], Eps: o.Eps, Momentum: o.Momentum, Dampening: o.Dampening, Nesterov: o.Nesterov,
		WeightDecay: o.WeightDecay, ClipNorm: o.ClipNorm, ClipBy: learn.Norm(o.ClipBy),
	}
}
