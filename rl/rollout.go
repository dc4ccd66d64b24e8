package rl

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/reward"
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
	return prompts.Step(s.task, s.recipe.Seed, random.Stream(purpose, stage), step, n)
}

// roller samples completions and judges them.
type roller struct {
	engine  *model.Engine
	tok     *text.Tokenizer
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
			return nil, fmt.Errorf("%w: prompt %q: %w", ErrInput, row.Question, err)
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
func (c completion) sequence(temperature float64) model.Sequence {
	ids := append(append(make([]int, 0, len(c.prompt)+len(c.IDs)), c.prompt...), c.IDs...)
	return model.Predict(ids, len(c.prompt), temperature)
}
