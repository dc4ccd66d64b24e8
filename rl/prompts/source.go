package prompts

import (
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// Source is where problems come from: [Of] a procedural task, or a file that
// [Open] reads.
type Source interface {
	// Name is the task's name or the file's.
	Name() string
	// Hash is the SHA-256 of the file in hexadecimal digits. It is "" for a
	// procedural task, whose name and settings say everything.
	Hash() string
	// Draw returns a random training problem.
	Draw(r *random.Rand) verify.Problem
	// HeldOut returns the first n different held-out problems, in an order that
	// never changes. A file that has fewer returns all of them; a procedural task
	// returns an error.
	HeldOut(n int) ([]verify.Problem, error)
	// Training returns the problems that Draw chooses from. Of a procedural task they are the
	// first n different ones of a seed, all alike; the error says that it has fewer.
	Training(seed uint64, n int) ([]Candidate, error)
	// Changed is a procedural task with some settings put in place of its own.
	Changed(settings map[string]float64) (Source, error)
	// Rows returns every problem of a file, by the source's own split. Both are nil for
	// a procedural task, whose problems are not listed anywhere.
	Rows() (train, heldOut []verify.Problem)
	// Counts says in words how many problems there are to train on and held out; "" for
	// a procedural task.
	Counts() string
	// Verify judges a completion without its end token; ended says that the model
	// ended it, rather than the length limit.
	Verify(row verify.Problem, completion string, ended bool) verify.Verdict
	// Grader returns the name of the verifier that Verify uses, and its options.
	Grader() (name string, options map[string]any)
}

// Candidate is a problem that may be drawn.
type Candidate struct {
	Row    verify.Problem
	Likely float64 // relative to the others
}

// Step draws the n training problems of a step, counted from 0. Problem i is
// element step·n + i of the stream.
func Step(s Source, seed, stream uint64, step, n int) []verify.Problem {
	rows := make([]verify.Problem, n)
	for i := range rows {
		rows[i] = s.Draw(random.At(seed, stream, uint64(step)*uint64(n)+uint64(i)))
	}
	return rows
}

// Of returns the problems of a procedural task whose settings are valid.
func Of(t tasks.Task) Source { return procedural{t} }

// TaskOf is the procedural task whose problems a source has; nil: they are those of a file.
func TaskOf(s Source) tasks.Task {
	p, _ := s.(procedural)
	return p.Task
}

type procedural struct{ tasks.Task }

func (p procedural) Hash() string { return "" }

func (p procedural) Draw(r *random.Rand) verify.Problem { return p.Task.Draw(r, tasks.Train) }

func (p procedural) HeldOut(n int) ([]verify.Problem, error) { return tasks.HeldOutRows(p.Task, n) }

func (p procedural) Training(seed uint64, n int) ([]Candidate, error) {
	rows, err := tasks.Rows(p.Task, tasks.Train, seed, n)
	var out []Candidate
	for _, row := range rows {
		out = append(out, Candidate{row, 1})
	}
	return out, err
}

func (p procedural) Changed(settings map[string]float64) (Source, error) {
	family, err := tasks.Lookup(p.Name())
	if err != nil {
		return nil, err
	}
	t, err := family.Changed(p.Task, settings)
	if err != nil {
		return nil, err
	}
	return procedural{t}, nil
}

func (p procedural) Rows() (train, heldOut []verify.Problem) { return nil, nil }

func (p procedural) Counts() string { return "" }

func (p procedural) Grader() (string, map[string]any) { return "task:" + p.Name(), nil }
