package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/rollout"
)

// constant draws the same tokens always, at no cost.
type constant struct{ segment rollout.Segment }

func (constant) MaxWeights() int   { return 1 << 20 }
func (constant) Load([]byte) error { return nil }
func (constant) Close()            {}

func (constant) Play(context.Context, []rollout.Request, uint64) ([][][]rollout.Segment, error) {
	return nil, errors.New("there is no world")
}

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
	c := constantOf(32 << 10)
	ask := fleetOf(b, c, c, 1)
	ask(1) // the worker joins, with a canary
	b.ResetTimer()
	ask(b.N)
}

// constantOf has results of so many bytes.
func constantOf(size int) constant {
	tokens := size / 12
	return constant{rollout.Segment{Author: rollout.Policy, IDs: make([]int, tokens), Logprob: make([]float32, tokens), Entropy: make([]float32, tokens), Stop: rollout.Length}}
}

// fleetOf has n workers that draw by an engine what c draws. ask draws items of one
// completion, all by the workers.
func fleetOf(b *testing.B, c constant, e Engine, n int) (ask func(items int)) {
	h, err := Open(Options{Listen: anyPort, Card: card})
	if err != nil {
		b.Fatal(err)
	}
	h.Serve([]byte("the spec"))
	items := 1
	f := fleet.New(h, fleet.Trainer{Sampler: own{c}, Seed: func(random.Key) uint64 { return 1 }, Version: func() int { return 0 },
		Weights: func() ([]byte, error) { return []byte("weights"), nil }, Vocab: vocab}, fleet.Options{Mode: fleet.Exact, Slots: func() int { return items }, Patience: time.Hour})
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			_ = Worker{Door: Door{URL: h.URL()}, Card: card, Open: func([]byte) (Engine, error) { return e, nil }}.Work(ctx)
		})
	}
	b.Cleanup(func() { stop(); running.Wait(); f.Close(); h.Close() })
	for h.Slots() < n {
		time.Sleep(10 * time.Millisecond)
	}
	tokens, stream := len(c.segment.IDs), 0
	return func(n int) {
		items = n + 1
		requests := make([]rollout.Request, n)
		for i := range requests {
			requests[i] = rollout.Request{Prompt: []int{1}, N: 1, Params: rollout.Params{MaxTokens: tokens}, Key: random.Key{Stream: uint32(stream)}}
			stream++
		}
		before := f.Counts()
		if _, err := f.Sample(b.Context(), requests); err != nil {
			b.Fatal(err)
		}
		if now := f.Counts(); now.Answered-before.Answered != n || now.DraftTokens > 0 {
			b.Errorf("%+v", now)
		}
	}
}

// BenchmarkSleepers is how much of their time workers work whose items take 2 s, with
// results of 32 KB, over NATS on loopback: the ideal time of a step divided by what it
// takes. Once is enough: go test -run '^$' -bench Sleepers -benchtime 1x ./rl/fleet/bus.
func BenchmarkSleepers(b *testing.B) {
	for _, n := range []int{8, 32, 128} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const each = 4 // items of a worker in a step
			draws := sleeper{constantOf(32 << 10), 2 * time.Second}
			ask := fleetOf(b, draws.constant, draws, n)
			ask(each * n) // all join, with a canary
			for b.Loop() {
				began := time.Now()
				ask(each * n)
				b.ReportMetric(each*draws.takes.Seconds()/time.Since(began).Seconds(), "efficiency")
			}
		})
	}
}

// sleeper takes its time for each item.
type sleeper struct {
	constant
	takes time.Duration
}

func (s sleeper) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	time.Sleep(s.takes)
	return s.constant.Sample(ctx, requests, seed)
}
