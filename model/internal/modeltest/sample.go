package modeltest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
)

// EngineOf is an engine that is closed when the test ends.
func EngineOf(t *testing.T, m *model.Model, o sample.Options) *sample.Engine {
	t.Helper()
	e, err := sample.NewEngine(m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// Generate hands over all requests at once and returns their completions.
func Generate(t *testing.T, e *sample.Engine, reqs []sample.Request) [][]sample.Completion {
	t.Helper()
	out, err := e.GenerateAll(t.Context(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// EqualAll fails the test at the first completion that is not what it has to be.
func EqualAll(t *testing.T, name string, got, want [][]sample.Completion) {
	t.Helper()
	for i := range want {
		for j, w := range want[i] {
			if at, what := got[i][j].FirstDifference(w); what != "" {
				t.Fatalf("%s: request %d, completion %d: %s of token %d differs: %+v, want %+v", name, i, j, what, at, got[i][j], w)
			}
		}
	}
}

// Requests ask for n completions of each prompt. The first of them is
// the same for every n.
func Requests(ps [][]int, n int) []sample.Request {
	reqs := make([]sample.Request, len(ps))
	for i, p := range ps {
		reqs[i] = sample.Request{Prompt: p, N: n, MaxTokens: 1 + i%5, Stream: uint32(3 * i), Sampling: sample.Settings{Temperature: 0.9, Seed: 5}}
		if i%4 == 1 {
			reqs[i].Sampling.TopK, reqs[i].Sampling.TopP = 20, 0.9
		}
	}
	return reqs
}

// HashTokens hashes the ids of each prompt's completion and the bits of their
// log-probs and entropies.
func HashTokens(all []sample.Completion) uint64 {
	h := fnv.New64a()
	for _, c := range all {
		for i, id := range c.IDs {
			fmt.Fprintf(h, "%d %08x %08x,", id, math.Float32bits(c.Logprob[i]), math.Float32bits(c.Entropy[i]))
		}
		fmt.Fprintln(h)
	}
	return h.Sum64()
}

// FirstOther tells where two lists of completions begin to differ.
func FirstOther(got, want []sample.Completion) string {
	for i, w := range want {
		g := got[i]
		for j := range w.IDs {
			if j >= len(g.IDs) || g.IDs[j] != w.IDs[j] || math.Float32bits(g.Logprob[j]) != math.Float32bits(w.Logprob[j]) || math.Float32bits(g.Entropy[j]) != math.Float32bits(w.Entropy[j]) {
				return fmt.Sprintf("; prompt %d, token %d: %+v, want %+v", i, j, g, w)
			}
		}
	}
	return "; more tokens than wanted"
}

// GenerateFirst hands over all requests at once and returns the first completion
// of each.
func GenerateFirst(t *testing.T, e *sample.Engine, reqs []sample.Request) []sample.Completion {
	t.Helper()
	all, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]sample.Completion, len(all))
	for i, cs := range all {
		out[i] = cs[0]
	}
	return out
}

// Completions are what a model comes to after the prompts of Completed, one each.
func Completions(t *testing.T, m *model.Model) []sample.Completion {
	t.Helper()
	e, err := sample.NewEngine(m, sample.Options{Sequences: 8, Context: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return GenerateFirst(t, e, Requests(Completed(m.Device()), 1))
}

// Completed are the prompts of completions.
func Completed(dev gpu.Device) [][]int {
	if gputest.Slow(dev) {
		return Prompts(6, 40)
	}
	return Prompts(16, 40)
}
