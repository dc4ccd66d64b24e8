package rl

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/verify"
)

// completion is one answer to a prompt with everything known about it. It is
// not changed after its rollout.
type completion struct {
	model.Completion
	group, sample int
	row           verify.Problem
	prompt        []int
	text          string // without the end token
	verdict       verify.Verdict
	verdicts      []verify.Verdict // of the stage's own verifiers
}

// seedOf is the sampler's seed for one step of a purpose.
func (s *session) seedOf(purpose random.Purpose, stage, step int) uint64 {
	return random.At(s.recipe.Seed, random.Stream(purpose, stage), uint64(step)).Uint64()
}

// problems draws the n problems of a step.
func (s *session) problems(purpose random.Purpose, stage, step, n int) []verify.Problem {
	return problemsOf(s.recipe, purpose, stage, step, n)
}

// problemsOf draws the n problems of a step of a recipe: an audit draws them
// again.
func problemsOf(r *recipe.Recipe, purpose random.Purpose, stage, step, n int) []verify.Problem {
	rows := make([]verify.Problem, n)
	for i := range rows {
		at := random.At(r.Seed, random.Stream(purpose, stage), uint64(step)*uint64(n)+uint64(i))
		rows[i] = r.Task.Settings.Draw(at, tasks.Train)
	}
	return rows
}

// roller samples completions and judges them.
type roller struct {
	engine  *model.Engine
	tok     *model.Tokenizer
	verdict func(row verify.Problem, text string, ended bool) verify.Verdict
	form    func(row verify.Problem, text string, ended bool) bool // nil: every completion has the right form
}

// rollout samples n completions of every row and judges them, in order: all of
// row 0, all of row 1, ... The verifiers that a program declares judge them too;
// nil: it is the task's verdict alone.
func (s *roller) rollout(ctx context.Context, rows []verify.Problem, n, maxTokens int, sampling model.Sampling, program *reward.Program) ([]completion, error) {
	reqs := make([]model.Request, len(rows))
	for i, row := range rows {
		ids, err := s.tok.Encode(row.Question)
		if err != nil {
			return nil, fmt.Errorf("%w: prompt %s: %w", ErrInput, terminal.Quote(row.Question), err)
		}
		reqs[i] = model.Request{Prompt: ids, N: n, MaxTokens: maxTokens, Sampling: sampling, Stream: uint32(i * n)}
	}
	all, err := s.engine.GenerateAll(ctx, reqs)
	if err != nil {
		return nil, err
	}
	var out []completion
	for i, group := range all {
		for j, c := range group {
			out = append(out, completion{Completion: c, group: i, sample: j, row: rows[i], prompt: reqs[i].Prompt})
		}
	}
	return out, s.judgeAll(ctx, out, program)
}

// judgeAll judges completions side by side: a verdict may take some ten
// milliseconds, where it runs a program. Each is a function of its completion
// alone, so that nothing depends on which is done first.
func (s *roller) judgeAll(ctx context.Context, cs []completion, program *reward.Program) error {
	var work sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(cs)) {
		work.Go(func() {
			for i := range next {
				cs[i] = s.judge(cs[i], program)
			}
		})
	}
	var err error
	for i := range cs {
		if err = ctx.Err(); err != nil {
			break
		}
		next <- i
	}
	close(next)
	work.Wait()
	return err
}

// judge reads and verifies a completion.
func (s *roller) judge(c completion, program *reward.Program) completion {
	ids := c.IDs
	ended := c.Stop == "eos"
	if ended {
		ids = ids[:len(ids)-1]
	}
	c.text = s.tok.Decode(ids)
	c.verdict = verify.Guard(func() verify.Verdict { return s.verdict(c.row, c.text, ended) })
	if program != nil {
		c.verdicts = program.Judge(c.row, c.text)
	}
	return c
}

// valid says whether a completion has the form of an answer.
func (s *roller) valid(c completion) bool {
	return s.form == nil || s.form(c.row, c.text, c.Stop == "eos")
}

// sequence is the completion with its prompt, as the trainer takes it.
func (c completion) sequence() model.Sequence {
	ids := append(append(make([]int, 0, len(c.prompt)+len(c.IDs)), c.prompt...), c.IDs...)
	return model.Sequence{IDs: ids, From: len(c.prompt)}
}
