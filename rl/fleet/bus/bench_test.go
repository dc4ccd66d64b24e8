package bus

import (
	"context"
	"testing"
	"time"

	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// constant draws the same tokens always, at no cost.
type constant struct{ segment rollout.Segment }

func (constant) MaxWeights() int   { return 1 << 20 }
func (constant) Load([]byte) error { return nil }
func (constant) Close()            {}

func (c constant) Sample(_ context.Context, requests []rollout.Request, _ uint64) ([][]rollout.Segment, error) {
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		s := c.segment
		s.IDs, s.Logprob, s.Entropy = s.IDs[:r.Params.MaxTokens], s.Logprob[:r.Params.MaxTokens], s.Entropy[:r.Params.MaxTokens]
		out[i] = []rollout.Segment{s}
	}
	return out, nil
}

// own is the same as the trainer's sampler.
type own struct{ constant }

func (o own) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	return o.constant.Sample(ctx, requests, 0)
}

// BenchmarkItem is what an item with a result of 32 KB costs over NATS on loopback, the
// drawing apart: offered, taken, delivered, decoded and hashed.
func BenchmarkItem(b *testing.B) {
	const tokens = 32 << 10 / 12
	c := constant{rollout.Segment{Author: rollout.Policy, IDs: make([]int, tokens), Logprob: make([]float32, tokens), Entropy: make([]float32, tokens), Stop: rollout.Length}}
	h, err := Open(Options{Listen: anyPort, Card: card})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	h.Serve([]byte("the spec"))
	f := fleet.New(h, fleet.Trainer{Sampler: own{c}, Seed: func(random.Key) uint64 { return 1 }, Version: func() int { return 0 },
		Weights: func() ([]byte, error) { return []byte("weights"), nil }, Vocab: vocab}, fleet.Options{Mode: fleet.Exact, Slots: func() int { return b.N + 1 }, Patience: time.Hour})
	defer f.Close()
	w := Worker{Door: Door{URL: h.URL()}, Card: card, Open: func([]byte) (Engine, error) { return c, nil }}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.Work(ctx) }()
	defer func() { stop(); <-ended }()
	ask := func(n int) {
		requests := make([]rollout.Request, n)
		for i := range requests {
			requests[i] = rollout.Request{Prompt: []int{1}, N: 1, Params: rollout.Params{MaxTokens: tokens}, Key: random.Key{Stream: uint32(i)}}
		}
		if _, err := f.Sample(b.Context(), requests); err != nil {
			b.Fatal(err)
		}
	}
	ask(1) // the worker joins, with a canary
	b.ResetTimer()
	ask(b.N)
	if n := f.Counts(); n.Answered != b.N+1 || n.DraftTokens > 0 {
		b.Errorf("%+v", n)
	}
}
