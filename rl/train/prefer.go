package train

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/verify"
)

// preference learns from rows of data which completions are better: from pairs, which are
// groups of two, or from completions that are good or bad, which are groups of one.
type preference struct{ rowStage }

func newPreference(p Parts, index int) (Stage, error) {
	l, err := newRowStage(p, index)
	if n := len(p.HeldOut.Problems); err == nil && n < 2 && !l.stage.OfRows() && slices.Contains(l.method.Needs(), "mismatched") {
		err = l.blamed(fmt.Errorf("%w: too few held-out rows: the method reads mismatched, a prompt with the completion of another row, when it is tested too; found %d, accepted: at least 2", lines.ErrInput, n))
		err = hint.With(err, "raise task.eval_problems, or hold out more rows with task.held_out")
	}
	return &preference{l}, err
}

func (s *preference) Steps() int { return s.stage.RL.Steps }

func (s *preference) Step(_ context.Context, at Position) (*Event, error) {
	if at.Step >= s.Steps() {
		return nil, io.EOF
	}
	began := time.Now()
	rows, err := s.drawRows(at.Step)
	if err != nil {
		return nil, err
	}
	cs, err := s.choices(rows)
	if err != nil {
		return nil, err
	}
	lr := s.stage.LearningRate(at.Step)
	b, m, err := s.learn(at, cs, lr)
	if err == nil && at.Step == 0 && b != nil && m.norm == 0 {
		err = s.nothing()
	}
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	e := &Event{Tokens: m.tokens, Metrics: metrics.Row{"optim/lr": lr}}
	if b != nil {
		m.into(e.Metrics)
		e.Metrics["policy/loss"] = m.loss
	}
	e.Timing = timesOf(e.Tokens, time.Since(began))
	if done := at.Step + 1; (done%s.stage.SFT.TestEvery == 0 || done == s.Steps()) && !s.stage.OfRows() { // held-out rows are the task's
		return e, s.test(at, e)
	}
	return e, nil
}

// nothing refuses a method that finds nothing to learn in the rows.
func (s *preference) nothing() error {
	err := s.blamed(fmt.Errorf("%w: the loss has the derivative 0 for every token of the step's rows", lines.ErrInput))
	return hint.With(err, "a loss that compares two completions of a prompt, as dpo does, needs rows with chosen and rejected; for rows with a completion and its label take preset = \"kto\"")
}

// choices are the completions of rows, a group for each row. Those of a group share their
// prompt.
func (s *rowStage) choices(rows []verify.Problem) ([]Completion, error) {
	var cs []Completion
	for i, row := range rows {
		choices, err := s.Prompts.Choices(row)
		if err != nil {
			return nil, s.inRow(row, err)
		}
		if slices.Contains(s.reads, "label") && choices[0].Labels == nil {
			err := s.inRow(row, fmt.Errorf("%w: the row has no steps with labels, which the loss reads", lines.ErrInput))
			return nil, hint.With(err, "give each row \"steps\", a list of texts, and \"labels\", true or false for each")
		}
		for j, choice := range choices {
			c := written(row, choice.Lesson, choice.Reward)
			c.Group, c.Sample, c.View.Group, c.Labels = i, j, i+1, choice.Labels
			cs = append(cs, c)
		}
	}
	return cs, nil
}

// test adds to an event what the method measures on a few held-out rows, with the weights
// after the step.
func (s *preference) test(at Position, e *Event) error {
	rows := s.HeldOut.Problems
	cs, err := s.choices(rows[:min(len(rows), cast.ProbeProblems)])
	if err != nil {
		return err
	}
	m, err := s.measure(at, cs)
	if err != nil || m.metrics == nil { // keep leaves nothing to measure
		return err
	}
	for _, name := range [][2]string{{"preference/accuracy", "eval/preference_accuracy"}, {"preference/margin", "eval/preference_margin"}} {
		if v, there := m.metrics[name[0]]; there {
			e.Metrics[name[1]] = v
		}
	}
	e.Metrics["eval/preference_loss"] = m.loss
	note := fmt.Sprintf("  step %d: held-out loss %.3f", at.Step+1, m.loss)
	if share, there := m.metrics["preference/accuracy"]; there {
		note += fmt.Sprintf(", %.0f %% of the pairs in the right order", 100*share)
	}
	e.Notes = append(e.Notes, note)
	return nil
}

// measure is what the method measures on completions without an update.
func (s *preference) measure(at Position, cs []Completion) (measured, error) {
	v, err := s.rows(at, s.stage, cs)
	if err != nil {
		return measured{}, err
	}
	b, err := s.whole(v)
	if err != nil || b == nil {
		return measured{}, err
	}
	views, err := b.views()
	if err != nil {
		return measured{}, err
	}
	stats, err := s.Cast.Policy.Forward(views)
	if err != nil {
		return measured{}, err
	}
	if err := b.addNow(b.u.Table, b.members, stats); err != nil {
		return measured{}, err
	}
	return measureOf(b.u)
}
