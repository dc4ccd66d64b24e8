package model

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// TestBranchBits: the completions of a group have the bits that each has alone, though
// they share rows as long as they are equal; some end on the way, some stay together
// to the end, and all pages and lists come back.
func TestBranchBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, kv := range []hf.Dtype{hf.F32, hf.BF16} {
			m := smallAs(t, dev, 96, hf.F32, kv)
			m.Config.EOS = []int{3, 17}
			n := 8
			if gputest.Slow(dev) {
				n = 4
			}
			const tokens = 40 // more than a page
			var grouped, single []Request
			for i, p := range prompts(3, 40) {
				r := Request{Prompt: p, N: n, MaxTokens: tokens, Stream: uint32(10 * i), Sampling: Sampling{Temperature: []float64{0.25, 0.1, 0}[i], Seed: 4}}
				grouped = append(grouped, r)
				for j := range n {
					one := r
					one.N, one.Stream = 1, r.Stream+uint32(j)
					single = append(single, one)
				}
			}
			e, err := m.NewEngine(EngineOptions{Sequences: 20, Context: 96})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			want := generateAll(t, e, single)
			got, rows := stepByStep(t, e, grouped)
			if hashTokens(got) != hashTokens(want) {
				t.Errorf("keys and values %s: other bits than alone%s", kv, firstOther(got, want))
			}
			drawn := 0
			for _, c := range got {
				drawn += len(c.IDs)
			}
			if 4*rows > 3*drawn {
				t.Errorf("%d rows for %d tokens: hardly any is shared", rows, drawn)
			}
			if len(e.cache.freePages) != e.cache.pages || len(e.cache.freeLists) != 2*e.opt.Sequences {
				t.Errorf("%d of %d pages are free, %d of %d lists", len(e.cache.freePages), e.cache.pages, len(e.cache.freeLists), 2*e.opt.Sequences)
			}
		}
	})
}

// stepByStep is what an engine's loop does, and the rows of completions on the way.
func stepByStep(t *testing.T, e *Engine, reqs []Request) (all []Completion, rows int) {
	t.Helper()
	rest(e)
	var groups []*group
	for _, r := range reqs {
		g, err := e.admit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	e.waiting = groups
	for e.start(); len(e.active) > 0; e.start() {
		for _, g := range e.active {
			if g.read == len(g.req.Prompt) {
				rows += len(g.branches)
			}
		}
		if err := e.step(); err != nil {
			t.Fatal(err)
		}
		e.retire()
	}
	for _, g := range groups {
		if err := <-g.done; err != nil {
			t.Fatal(err)
		}
		all = append(all, g.completions()...)
	}
	return all, rows
}
