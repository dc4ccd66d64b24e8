package sample_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

// TestRounded: numbers of rows up to 8 stay, others become the next multiple of 8.
func TestRounded(t *testing.T) {
	for n := range 100 {
		if got := sample.Rounded(n); n <= 8 && got != n || n > 8 && (got%8 != 0 || got < n || got >= n+8) {
			t.Errorf("%d becomes %d", n, got)
		}
	}
}

// TestFewPrograms: while the numbers of completions and of their branches fall, the programs
// of steps have multiples of 8 rows and draws, or fewer than 8, and the completions are those
// of an engine that takes two at a time.
func TestFewPrograms(t *testing.T) {
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	var reqs []sample.Request
	for i, p := range modeltest.Prompts(10, 9) {
		reqs = append(reqs, sample.Request{Prompt: p, N: 2, MaxTokens: 2 + 3*i, Stream: uint32(2 * i), Sampling: sample.Settings{Temperature: 0.8, Seed: 3}, Ends: []int{}})
	}
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 20, Context: draftContext, Guides: true})
	modeltest.EqualAll(t, "without a guide", modeltest.Generate(t, e, reqs), modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: draftContext}), reqs))
	for i := range reqs {
		reqs[i].Guide = thirds{}
	}
	modeltest.EqualAll(t, "with one", modeltest.Generate(t, e, reqs), modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: draftContext, Guides: true}), reqs))
	var rows []int
	for _, key := range e.Programs() {
		var T, R int
		if n, err := fmt.Sscanf(key, "step %d %d", &T, &R); n != 2 || err != nil {
			t.Fatalf("program %q: %v", key, err)
		}
		if T != sample.Rounded(T) || R != sample.Rounded(R) {
			t.Errorf("program %q", key)
		}
		rows = append(rows, T)
	}
	if !slices.Contains(rows, 16) || !slices.Contains(rows, 2) {
		t.Errorf("steps of %v rows: none was filled up, or none was short", rows)
	}
}

// TestFullCache: where no page is free a step is not filled up, and the completions are those
// of an engine with room.
func TestFullCache(t *testing.T) {
	const n = 9
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	var reqs []sample.Request
	for i, p := range modeltest.Prompts(n, 9) {
		reqs = append(reqs, sample.Request{Prompt: p, MaxTokens: 20, Stream: uint32(i), Sampling: sample.Settings{Temperature: 0.8, Seed: 3}, Ends: []int{}})
	}
	// A page for each prompt, and one for each completion.
	full := modeltest.EngineOf(t, m, sample.Options{Sequences: n, Context: draftContext, CacheToken: 2 * n * sample.PageTokens})
	modeltest.EqualAll(t, "full", modeltest.Generate(t, full, reqs), modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: draftContext}), reqs))
	if !slices.ContainsFunc(full.Programs(), func(key string) bool { return strings.HasPrefix(key, "step 9 16 ") }) {
		t.Errorf("programs %q: in no step all pages were taken", full.Programs())
	}
}

// TestGather: requests that come while the loop gathers are begun in the same step, and it
// gathers once for each time that there is work after there was none.
func TestGather(t *testing.T) {
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	var e *sample.Engine
	var more sync.WaitGroup
	request := func(i int) {
		r := sample.Request{Prompt: modeltest.Prompts(2, 9)[i], MaxTokens: 5, Sampling: sample.Settings{Temperature: 1, Seed: uint64(i)}, Ends: []int{}}
		if _, err := e.Generate(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	gathered := 0
	e = modeltest.EngineOf(t, m, sample.Options{Sequences: 4, Context: draftContext, Gather: func() {
		gathered++
		more.Go(func() { request(1) })
		for e.State().Waiting < 2 {
			runtime.Gosched()
		}
	}})
	for turn := 1; turn <= 2; turn++ {
		request(0)
		more.Wait()
		for e.State().Active > 0 { // it is told at the beginning of a step that there is none
			runtime.Gosched()
		}
		if s := e.State(); s.Steps != 5*turn || s.Tokens != 10*turn || gathered != turn {
			t.Errorf("turn %d: %d tokens in %d steps, gathered %d times; want %d, %d and %d", turn, s.Tokens, s.Steps, gathered, 10*turn, 5*turn, turn)
		}
	}
}

// TestCancelledBeforePhase: a request that is cancelled ends while others use the scratch that the engine waits for, and
// the next one is answered after them.
func TestCancelledBeforePhase(t *testing.T) {
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	scratch, err := model.NewScratch(m.Device(), []int{1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scratch.Close)
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: draftContext, Phase: scratch.Phase("sampling")})
	other := scratch.Phase("other")
	if err := other.Enter(); err != nil {
		t.Fatal(err)
	}
	r := sample.Request{Prompt: modeltest.Prompts(1, 9)[0], MaxTokens: 3, Ends: []int{}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Generate(gone, r); !errors.Is(err, context.Canceled) {
		t.Errorf("one request: %v", err)
	}
	if _, err := e.GenerateAll(gone, []sample.Request{r, r}); !errors.Is(err, context.Canceled) {
		t.Errorf("two requests: %v", err)
	}
	other.Leave()
	if all, err := e.Generate(t.Context(), r); err != nil || len(all[0].IDs) != 3 {
		t.Errorf("%v, %v", all, err)
	}
	if err := e.Held(); err != nil {
		t.Error(err)
	}
}
