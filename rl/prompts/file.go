package prompts

import (
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// Open reads the problems of a file, to be judged by a verifier with options.
func Open(name, verifier string, options map[string]any) (Source, error) {
	f, sum, err := tasks.OpenFile(name, verifier, options)
	if err != nil {
		return nil, err
	}
	return file{f, sum}, nil
}

type file struct {
	*tasks.File
	sum string
}

func (f file) Hash() string { return f.sum }

func (f file) Draw(r *random.Rand) verify.Problem { return f.File.Draw(r, tasks.Train) }

func (f file) HeldOut(n int) ([]verify.Problem, error) {
	return tasks.HeldOutRows(f.File, min(n, f.File.HeldOut()))
}
