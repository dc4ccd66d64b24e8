package sample_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// free fails the test if an engine that has nothing to do holds pages or lists.
func free(t *testing.T, e *sample.Engine) {
	t.Helper()
	if err := e.Held(); err != nil {
		t.Error(err)
	}
}

// pageRequests are of every kind, longer than a page, and need four times the cache that
// scarce has; several begin alike.
func pageRequests() []sample.Request {
	reqs := draftRequests()
	head := slices.Concat(modeltest.Prompts(3, 60)...)[:70]
	for i := range reqs {
		reqs[i].MaxTokens = 20 + 7*i
		if i%3 == 0 {
			reqs[i].Prompt = slices.Concat(head, reqs[i].Prompt)
		}
		reqs[i].MaxTokens = min(reqs[i].MaxTokens, draftContext-len(reqs[i].Prompt))
	}
	return reqs
}

const scarce = 12 * sample.PageTokens

// TestSetBack: with a cache far too small for all requests at once, they come to the bits
// that each has alone, each token is told once, and all pages come back.
func TestSetBack(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		if gputest.Slow(dev) {
			return // pages are handed out in the same way
		}
		m := modeltest.SmallAs(t, dev, draftContext, hf.F32, hf.BF16)
		reqs := pageRequests()
		var want [][]sample.Completion
		for _, r := range reqs {
			want = append(want, modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 3, Context: draftContext}), []sample.Request{r})...)
		}
		sizes, most := []int{0, 1, 4, 100}, []int{0, 64}
		if dev.Caps().Kind != gpu.Reference && !gputest.Long() {
			sizes, most = []int{4}, []int{64} // pages are handed out in the same way
		}
		for _, prefixes := range sizes {
			for _, draws := range most {
				e := modeltest.EngineOf(t, m, sample.Options{Sequences: 12, Context: draftContext, CacheToken: scarce, StepRows: 64, Draws: draws, Prefixes: prefixes})
				told := make([][]sample.Completion, len(reqs))
				heard := slices.Clone(reqs)
				for i := range heard {
					told[i] = make([]sample.Completion, max(1, reqs[i].N))
					heard[i].Each = func(completion int, k sample.Token) {
						c := &told[i][completion]
						c.IDs, c.Logprob, c.Entropy = append(c.IDs, k.ID), append(c.Logprob, k.Logprob), append(c.Entropy, k.Entropy)
						c.Stop = k.Stop
					}
				}
				name := fmt.Sprintf("%d pages of prefixes, %d draws", prefixes, draws)
				modeltest.EqualAll(t, name, modeltest.Generate(t, e, heard), want)
				modeltest.EqualAll(t, name+", told", told, want)
				modeltest.EqualAll(t, name+", again", modeltest.Generate(t, e, reqs), want)
				free(t, e)
				s := e.State()
				if s.SetBack == 0 {
					t.Errorf("%s: nothing was set back: the cache is too large to tell", name)
				}
				if (s.FromCache > 0) != (prefixes > 0) || s.Kept > prefixes {
					t.Errorf("%s: %d prompt tokens from the cache, %d pages kept", name, s.FromCache, s.Kept)
				}
			}
		}
	})
}

// TestPrefixes: a prompt takes the pages of those that begin alike, and no others; the
// last token of a prompt is always computed.
func TestPrefixes(t *testing.T) {
	dev := gputest.Devices(t)[0]
	e := modeltest.EngineOf(t, modeltest.Small(t, dev, 256), sample.Options{Sequences: 2, Context: 256, Prefixes: 8})
	long := make([]int, 4*sample.PageTokens)
	for i := range long {
		long[i] = i % 61
	}
	other := slices.Clone(long)
	other[sample.PageTokens+1]++
	for _, c := range []struct {
		name   string
		prompt []int
		taken  int // pages
	}{
		{"the first", long, 0},
		{"the same", long, 3},
		{"longer", append(slices.Clone(long), 5), 4},
		{"another second page", other, 1},
		{"shorter than a page", long[:sample.PageTokens-1], 0},
		{"a page and a token", long[:sample.PageTokens+1], 1},
		{"the second page in front", long[sample.PageTokens:], 0},
	} {
		before := e.State().FromCache
		modeltest.Generate(t, e, []sample.Request{{Prompt: c.prompt, MaxTokens: 2}})
		if got := (e.State().FromCache - before) / sample.PageTokens; got != c.taken {
			t.Errorf("%s: %d pages taken, want %d", c.name, got, c.taken)
		}
	}
	free(t, e)
}

// TestAborts: requests that are cancelled at any moment, waiting or in flight, leave no
// page and no list, and change nothing of the others.
func TestAborts(t *testing.T) {
	dev := gputest.Devices(t)
	m := modeltest.SmallAs(t, dev[len(dev)-1], draftContext, hf.F32, hf.F32) // in plain Go
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 8, Context: draftContext, CacheToken: scarce, StepRows: 64, Prefixes: 4})
	reqs := pageRequests()
	for i := range reqs {
		reqs[i].MaxTokens = 1 + reqs[i].MaxTokens/4
	}
	want := modeltest.Generate(t, e, reqs)
	n := 200
	if gputest.Long() {
		n = 10_000
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var waiting sync.WaitGroup
	aborted := 0
	for i := range n {
		r, expected := reqs[i%len(reqs)], want[i%len(reqs)]
		ctx, cancel := context.WithCancel(t.Context())
		at := rng.IntN(6) // tokens after which it is cancelled; 5: hardly ever
		if at < 5 {
			aborted++
		}
		r.Each = func(int, sample.Token) {
			if at--; at == 0 {
				cancel()
			}
		}
		if at == 0 {
			cancel()
		}
		waiting.Go(func() {
			defer cancel()
			got, err := e.Generate(ctx, r)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			for j := range got {
				if at, what := got[j].FirstDifference(expected[j]); what != "" {
					t.Errorf("request %d, completion %d: %s of token %d differs", i, j, what, at)
				}
			}
		})
		if i%16 == 15 {
			waiting.Wait()
		}
	}
	waiting.Wait()
	if aborted < n/2 {
		t.Errorf("%d of %d were aborted", aborted, n)
	}
	modeltest.Generate(t, e, reqs[:1]) // the loop has ended what was cancelled
	free(t, e)
}

// TestWaitingAbort: a request that is cancelled while it waits ends at once, and not when
// there would be room for it.
func TestWaitingAbort(t *testing.T) {
	dev := gputest.Devices(t)
	e := modeltest.EngineOf(t, modeltest.Small(t, dev[len(dev)-1], 64), sample.Options{Sequences: 1, Context: 64})
	ctx, cancel := context.WithCancel(t.Context())
	var waits <-chan error
	for _, c := range []context.Context{t.Context(), ctx} {
		var err error
		if waits, err = e.Wait(c, sample.Request{Prompt: []int{1}, MaxTokens: 5}); err != nil {
			t.Fatal(err)
		}
	}
	e.Start()
	cancel()
	active := e.Start()
	select {
	case err := <-waits:
		if err != context.Canceled || active != 1 {
			t.Errorf("%v, %d are active", err, active)
		}
	default:
		t.Error("it still waits")
	}
}

// TestTold: the log-probs of a prompt are those of the scorer, and the most likely tokens
// are those of all tokens sorted, with the log-probs that they have when they are drawn.
func TestTold(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.Small(t, dev, 128)
		e := modeltest.EngineOf(t, m, sample.Options{Sequences: 4, Context: 128, StepRows: 32, PromptRows: 8, Prefixes: 4})
		scorer, err := m.NewScorer(128)
		if err != nil {
			t.Fatal(err)
		}
		defer scorer.Close()
		prompt := slices.Concat(modeltest.Prompts(4, 40)...)[:41]
		temperatures := []float64{0, 0.7}
		if gputest.Slow(dev) {
			temperatures = temperatures[1:]
		}
		for _, temperature := range temperatures {
			for range len(temperatures) { // prompts that are scored take no pages of others
				var scored []sample.Token
				drawn := make([][]sample.Token, 3)
				r := sample.Request{Prompt: prompt, N: 3, MaxTokens: 5, Sampling: sample.Settings{Temperature: temperature, TopK: 9, Seed: 2}, Top: 4, ScorePrompt: true}
				r.Each = func(completion int, k sample.Token) {
					if completion < 0 {
						scored = append(scored, k)
					} else {
						drawn[completion] = append(drawn[completion], k)
					}
				}
				got := modeltest.Generate(t, e, []sample.Request{r})[0]
				one := max(temperature, 1)
				if temperature > 0 {
					one = temperature
				}
				check := func(name string, ids []int, told []sample.Token, first int) {
					t.Helper()
					stats, err := scorer.Score([]seq.Sequence{seq.Predict(ids, first, one)})
					if err != nil {
						t.Fatal(err)
					}
					if len(told) != len(ids)-first {
						t.Fatalf("%s: told of %d tokens, want %d", name, len(told), len(ids)-first)
					}
					for i, k := range told {
						if k.ID != ids[first+i] || math.Float32bits(k.Logprob) != math.Float32bits(stats[0].Logprob[i]) || math.Float32bits(k.Entropy) != math.Float32bits(stats[0].Entropy[i]) {
							t.Fatalf("%s: token %d: %+v, want %d %v %v", name, i, k, ids[first+i], stats[0].Logprob[i], stats[0].Entropy[i])
						}
						if i < 3 && !gputest.Slow(dev) {
							topIs(t, scorer, m.Config.Vocab, ids[:first+i], one, k)
						}
					}
				}
				check("prompt", prompt, scored, 1)
				for i, c := range got {
					check(fmt.Sprint("completion ", i), slices.Concat(prompt, c.IDs), drawn[i], len(prompt))
				}
			}
		}
		free(t, e)
	})
}

// topIs holds the most likely tokens against the log-probs of all.
func topIs(t *testing.T, s *model.Scorer, vocab int, before []int, temperature float64, k sample.Token) {
	t.Helper()
	var seqs []seq.Sequence
	for id := range vocab {
		seqs = append(seqs, seq.Predict(append(slices.Clone(before), id), len(before), temperature))
		seqs[id].Group = 1
	}
	stats, err := s.Score(seqs)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int, len(stats))
	for id := range ids {
		ids[id] = id
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		if stats[a].Logprob[0] > stats[b].Logprob[0] {
			return -1
		}
		return 1
	})
	for i, a := range k.Top {
		if a.ID != ids[i] && stats[a.ID].Logprob[0] != stats[ids[i]].Logprob[0] || math.Float32bits(a.Logprob) != math.Float32bits(stats[a.ID].Logprob[0]) {
			t.Fatalf("after %v, place %d: %+v, want %d with %v", before, i, a, ids[i], stats[ids[i]].Logprob[0])
		}
	}
	if len(k.Top) != 4 {
		t.Fatalf("%d most likely tokens, want 4", len(k.Top))
	}
}

// TestScoreAlone: a prompt may be scored without a completion.
func TestScoreAlone(t *testing.T) {
	dev := gputest.Devices(t)
	m := modeltest.Small(t, dev[len(dev)-1], 64)
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: 64})
	told := 0
	got := modeltest.Generate(t, e, []sample.Request{{Prompt: modeltest.Prompts(1, 40)[0], N: 2, ScorePrompt: true, Each: func(completion int, _ sample.Token) {
		if completion < 0 {
			told++
		}
	}}})
	if n := len(modeltest.Prompts(1, 40)[0]); told != n-1 || len(got[0]) != 2 || len(got[0][0].IDs) != 0 || got[0][0].Stop != "length" {
		t.Errorf("%d tokens told of %d, %+v", told, n, got)
	}
	full := modeltest.EngineOf(t, m, sample.Options{Sequences: 8, Context: 64, CacheToken: 64}) // the prompt's pages and no more
	if got := modeltest.Generate(t, full, []sample.Request{{Prompt: modeltest.Prompts(1, 64)[0], N: 8, ScorePrompt: true, Each: func(int, sample.Token) {}}}); len(got[0]) != 8 {
		t.Errorf("a cache of the prompt alone: %+v", got)
	}
	for _, r := range []sample.Request{{Prompt: []int{1}}, {Prompt: []int{1}, ScorePrompt: true}} {
		if err := e.Admits(r); err == nil {
			t.Errorf("%+v is admitted", r)
		}
	}
}
