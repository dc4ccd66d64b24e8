package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// rowStage is what the stages have in common that learn from rows of data or from demonstrations.
type rowStage struct {
	Parts
	learner
	before before
	place  int // of the stage in the recipe
}

func newRowStage(p Parts, index int) (rowStage, error) {
	f, err := newFacts(p, index)
	if err != nil {
		return rowStage{}, err
	}
	who := p.Cast.Policy.Trainee
	if name := f.stage.Learner(); p.Recipe.Models[name].Fresh() {
		if who, err = p.Cast.Learner(name); err != nil {
			return rowStage{}, err
		}
	}
	return rowsFor(p, f, who, index)
}

// rowsFor is a stage in which someone learns from rows, by what formulas read of them.
func rowsFor(p Parts, f *facts, who *cast.Trainee, place int) (rowStage, error) {
	b, err := newBefore(f, p.Source)
	return rowStage{p, learner{facts: f, cast: p.Cast, who: who}, b, place}, err
}

// made are the rows of a step that the run has made. After them come as many of the task as are left.
func (s *rowStage) made(step int) (rows []verify.Problem, left int, err error) {
	n := s.stage.SFT.BatchSize
	if len(s.stage.Sources) == 0 {
		return nil, n, nil
	}
	rows = s.Rows.draw(s.stage, n, func(i int) *random.Rand {
		return random.At(s.Recipe.Seed, random.Stream(random.Rows, s.index), uint64(step)*uint64(n)+uint64(i))
	})
	if !s.stage.OfRows() {
		left = n - len(rows)
	}
	return rows, left, s.Rows.supplied(s.stage, s.place)
}

// drawRows are the rows of a step: those that the run has made, then those of the task's data.
func (s *rowStage) drawRows(step int) ([]verify.Problem, error) {
	made, left, err := s.made(step)
	if err != nil || left == 0 {
		return made, err
	}
	rows := prompts.Step(s.Source, s.Recipe.Seed, random.Stream(random.Draw, s.index), step, s.stage.SFT.BatchSize)[:left]
	return slices.Concat(made, rows), s.HeldOut.refuse(rows...)
}

// learn makes the update of a step from completions.
func (s *rowStage) learn(at Position, cs []Completion, lr float64) (*batch, measured, error) {
	v, err := s.rows(at, s.stage, cs)
	if err != nil {
		return nil, measured{}, err
	}
	b, m, err := s.once(v, lr, lr)
	if err == nil {
		err = s.afterStep(v.Step.Table, problemsOf(v.all()))
	}
	return b, m, err
}

// inRow says in which row of the data an error was found.
func (s *rowStage) inRow(row verify.Problem, err error) error {
	file := s.Source.Name()
	if row.File == record.MadeFile {
		file = row.File
	}
	return fmt.Errorf("stage %s: %s: line %d: %w", s.stage.Name, file, row.Line, err)
}

// written is a completion that stands in a row, with its prompt.
func written(row verify.Problem, l chat.Lesson, paid float64) Completion {
	v := rollout.View{IDs: l.IDs, Fresh: l.Fresh, Temperature: 1}
	for _, s := range l.Learned {
		v.Spans = append(v.Spans, rollout.Span(s))
	}
	return Completion{From: &rollout.Group{Problem: row}, View: v, Score: reward.Score{Reward: paid}}
}

// lessons are the messages or completions of rows.
func (s *rowStage) lessons(rows []verify.Problem) ([]Completion, error) {
	cs := make([]Completion, len(rows))
	for i, row := range rows {
		lesson, err := s.Prompts.Lesson(row)
		if err != nil {
			return nil, s.inRow(row, err)
		}
		cs[i] = written(row, lesson, 1)
		cs[i].Group = i
		if good, labelled, err := prompts.Label(row); err != nil {
			cs[i].Score = reward.Score{Reward: math.NaN(), NotScored: err.Error()}
		} else if labelled && !good {
			cs[i].Score.Reward = 0
		}
	}
	return cs, nil
}

// heldOutLoss is the mean negative log-prob of the learned tokens of a few held-out
// rows, nats per token.
func (s *imitation) heldOutLoss() (float64, error) {
	rows := s.HeldOut.Problems
	cs, err := s.lessons(rows[:min(len(rows), cast.ProbeProblems)])
	if err != nil {
		return 0, err
	}
	stats, err := s.who.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
	if err != nil {
		return 0, err
	}
	sum, tokens := 0.0, 0
	for _, st := range stats {
		for _, logprob := range st.Logprob {
			sum -= float64(logprob)
		}
		tokens += len(st.Logprob)
	}
	return sum / float64(tokens), nil
}
