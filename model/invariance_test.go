package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

// invariancePrompts are 64 prompts, some of them longer than a length. 512 is longer
// than every prompt chunk and two of the attention's 256-key parts.
func invariancePrompts(longer int) [][]int {
	ps := modeltest.Prompts(64, 48)
	for i := range 2 {
		long := modeltest.Prompts(21*i+1, 120)
		for p := 21 * i; len(ps[p]) <= longer+i; {
			ps[p] = append(ps[p], long[len(long)-1]...)
		}
	}
	return ps
}

const invarianceContext = 704

// TestInvarianceHash: one hash of tokens, log-probs and entropies for any batch,
// prompt chunk, order of requests, state of the key/value pages and number of
// goroutines, and the trainer and the scorer compute the same bits again.
func TestInvarianceHash(t *testing.T) {
	for _, s := range []struct{ dtype, kvDtype hf.Dtype }{{hf.F32, hf.F32}, {hf.BF16, hf.F32}, {hf.F32, hf.BF16}, {hf.BF16, hf.BF16}} {
		t.Run(fmt.Sprintf("%s, keys and values %s", s.dtype, s.kvDtype), func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				brief := gputest.Slow(dev) || testing.Short()
				if brief && s.dtype != s.kvDtype {
					return // both in bf16 run the same kernels
				}
				invarianceHash(t, modeltest.SmallAs(t, dev, invarianceContext, s.dtype, s.kvDtype), brief)
			})
		})
	}
}

// TestAdapterInvarianceHash: the same with an adapter, over a model in each storage.
func TestAdapterInvarianceHash(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes seconds for each device")
	}
	for _, dtype := range []hf.Dtype{hf.F32, hf.BF16, hf.Q8, hf.Q4} {
		t.Run(string(dtype), func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				if gputest.Slow(dev) && dtype != hf.Q4 && !gputest.Long() {
					return // TestInvarianceHash has the other products
				}
				cfg := modeltest.SmallConfig(hf.F32, hf.F32)
				cfg.Width, cfg.HeadDim, cfg.MLP = 32, 16, 64 // whole blocks
				m, err := model.New(dev, cfg, 7, invarianceContext)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(m.Close)
				if dtype != hf.F32 {
					m = modeltest.Packed(t, m, dtype)
				}
				modeltest.Adapt(t, m, hf.AdapterConfig{Rank: 5, Alpha: 2})
				invarianceHash(t, m, !gputest.Long())
			})
		})
	}
}

// invarianceHash takes, if it is to be brief, fewer prompts and leaves out what kernels do
// not change.
func invarianceHash(t *testing.T, m *model.Model, brief bool) {
	ps := invariancePrompts(512)
	if brief {
		ps = invariancePrompts(256)[:8]
		ps[0] = ps[0][:258] // of two parts
	}
	var want []sample.Completion
	same := func(name string, got []sample.Completion) {
		t.Helper()
		if want == nil {
			want = got
		}
		if a, b := modeltest.HashTokens(got), modeltest.HashTokens(want); a != b {
			t.Errorf("%s: hash %x, want %x%s", name, a, b, modeltest.FirstOther(got, want))
		}
	}
	engine := func(batch, chunk int) *sample.Engine {
		e, err := sample.NewEngine(m, sample.Options{Sequences: batch, Context: invarianceContext, StepRows: batch + chunk, PromptRows: chunk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e
	}
	one := modeltest.Requests(ps, 1)
	e := engine(64, 512)
	same("batch 64, chunk 512, fresh pages", modeltest.GenerateFirst(t, e, one))
	if !brief { // pages are handed out, and passes put together, in the same way
		same("batch 64, chunk 512, used pages, 8 goroutines", generateEach(t, e, one, 8))
	}
	same("batch 1, chunk 512, 1 goroutine", generateEach(t, engine(1, 512), one, 1))
	same("batch 3, chunk 7", modeltest.GenerateFirst(t, engine(3, 7), one))
	same("batch 16, chunk 64, shared pages", modeltest.GenerateFirst(t, engine(16, 64), modeltest.Requests(ps, 3)))
	same("trainer, cut batches", modeltest.Train(t, m, ps, want, invarianceContext))
	if !brief { // its passes are the trainer's
		same("scorer, one batch", modeltest.Score(t, m, ps, want, 4000))
	}
}

// generateEach hands over the requests one by one in random order from several
// goroutines.
func generateEach(t *testing.T, e *sample.Engine, reqs []sample.Request, goroutines int) []sample.Completion {
	t.Helper()
	order := make(chan int, len(reqs))
	for _, i := range rand.Perm(len(reqs)) {
		order <- i
	}
	close(order)
	out, errs := make([]sample.Completion, len(reqs)), make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range order {
				cs, err := e.Generate(context.Background(), reqs[i])
				if err != nil {
					errs[g] = err
					return
				}
				out[i] = cs[0]
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}
