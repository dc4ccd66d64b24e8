package model

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// small is a model with every quirk that could break the bits: padded head
// halves, padded width, grouped heads, q/k norm, odd vocabulary.
func small(t testing.TB, dev gpu.Device, positions int) *Model {
	cfg := Config{Family: "qwen3", Vocab: 61, Width: 36, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 18, MLP: 44,
		MaxPositions: 1024, NormEps: 1e-6, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.3}
	m, err := New(dev, cfg, 7, positions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func prompts(n, longest int) [][]int {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]int, n)
	for i := range out {
		out[i] = make([]int, 1+rng.IntN(longest))
		for j := range out[i] {
			out[i][j] = rng.IntN(61)
		}
	}
	return out
}

// hashTokens hashes ids and the bits of their log-probs and entropies.
func hashTokens(all [][]Completion) uint64 {
	h := fnv.New64a()
	for _, cs := range all {
		for _, c := range cs {
			for i, id := range c.IDs {
				fmt.Fprintf(h, "%d %08x %08x,", id, math.Float32bits(c.Logprob[i]), math.Float32bits(c.Entropy[i]))
			}
			fmt.Fprintln(h)
		}
	}
	return h.Sum64()
}

// TestSamplerBits: a completion's tokens, log-probs and entropies have the same
// bits for any batch, prompt chunk, and order of requests, and the trainer and
// the scorer compute the same bits again.
func TestSamplerBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			const n, tokens = 12, 9
			m := small(t, dev, 128)
			ps := prompts(n, 70)
			var first uint64
			var all [][]Completion
			for i, o := range []EngineOptions{
				{Sequences: 3, Context: 100, PromptRows: 7},
				{Sequences: 36, Context: 100, StepRows: 600, PromptRows: 512},
				{Sequences: 9, Context: 128, StepRows: 64},
			} {
				got := generate(t, m, o, ps, tokens)
				if i == 0 {
					first, all = hashTokens(got), got
				} else if h := hashTokens(got); h != first {
					t.Errorf("options %+v: hash %x, want %x", o, h, first)
				}
			}
			sameAsTrainer(t, m, ps, all)
		})
	}
}

func generate(t *testing.T, m *Model, o EngineOptions, ps [][]int, tokens int) [][]Completion {
	t.Helper()
	e, err := m.NewEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	reqs := make([]Request, len(ps))
	for i, p := range ps {
		reqs[i] = Request{Prompt: p, N: 3, MaxTokens: tokens, Stream: uint32(3 * i), Sampling: Sampling{Temperature: 0.9, Seed: 5}}
		if i%3 == 1 {
			reqs[i].Sampling.TopK, reqs[i].Sampling.TopP = 20, 0.9
		}
	}
	out, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameAsTrainer(t *testing.T, m *Model, ps [][]int, all [][]Completion) {
	t.Helper()
	var seqs []Sequence
	var want []Completion
	for i, cs := range all {
		for _, c := range cs {
			seqs = append(seqs, Sequence{IDs: append(append([]int(nil), ps[i]...), c.IDs...), From: len(ps[i])})
			want = append(want, c)
		}
	}
	for _, rows := range []int{100, 4000} {
		tr, err := m.NewTrainer(rows)
		if err != nil {
			t.Fatal(err)
		}
		trained, err := tr.Forward(seqs, 0.9)
		tr.Close()
		if err != nil {
			t.Fatal(err)
		}
		sc, err := m.NewScorer(rows)
		if err != nil {
			t.Fatal(err)
		}
		scored, err := sc.Score(seqs, 0.9)
		sc.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range want {
			for j := range c.IDs {
				a, b, s := c.Logprob[j], trained[i].Logprob[j], scored[i].Logprob[j]
				if math.Float32bits(a) != math.Float32bits(b) || math.Float32bits(a) != math.Float32bits(s) {
					t.Fatalf("rows %d, sequence %d, token %d: sampler %v, trainer %v, scorer %v", rows, i, j, a, b, s)
				}
				if math.Float32bits(c.Entropy[j]) != math.Float32bits(trained[i].Entropy[j]) {
					t.Fatalf("rows %d, sequence %d, token %d: entropy differs", rows, i, j)
				}
			}
		}
	}
}

// TestGradientBits: the gradient has the same bits however the batch is cut.
func TestGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			m := small(t, dev, 128)
			var seqs []Sequence
			for _, p := range prompts(20, 40) {
				p = append(p, 3, 4, 5)
				seqs = append(seqs, Sequence{IDs: p, From: max(1, len(p)/3)})
			}
			var want []float32
			for _, rows := range []int{2000, 130, 43} {
				got := flatGradient(t, m, seqs, rows)
				if want == nil {
					want = got
					continue
				}
				for i := range want {
					if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
						t.Fatalf("batches of %d rows: element %d is %v, was %v", rows, i, got[i], want[i])
					}
				}
			}
		})
	}
}

func flatGradient(t *testing.T, m *Model, seqs []Sequence, rows int) []float32 {
	t.Helper()
	tr, err := m.NewTrainer(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if _, err := tr.Forward(seqs, 1); err != nil {
		t.Fatal(err)
	}
	err = tr.Backward(tokenWeights(seqs, func(i, j int) (a, b, c float64) { return float64(i%5) - 2, 0.1 * float64(j%3), 0.05 }))
	if err != nil {
		t.Fatal(err)
	}
	grads, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	for _, g := range grads {
		data, err := g.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}
