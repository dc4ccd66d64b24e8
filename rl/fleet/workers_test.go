package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

const vocab = 50

// paper is a model on paper: each token is a hash of the weights, of the tokens before it
// and of the random numbers.
type paper struct{ weights string }

func (p *paper) MaxWeights() int { return 20 }

func (p *paper) Load(weights []byte) error {
	p.weights = string(weights)
	return nil
}

func (p *paper) Sample(_ context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		for j := range r.N {
			s := rollout.Segment{Author: rollout.Policy, Stop: rollout.Length, Drawn: r.Drawn("policy", 0, j)}
			for len(s.IDs) < r.Params.MaxTokens && s.Stop == rollout.Length {
				h := fnv.New64a()
				fmt.Fprint(h, p.weights, r.Params.Temperature, seed, r.Key.Stream+uint32(j), r.Prompt, s.IDs)
				x := h.Sum64()
				s.IDs = append(s.IDs, int(x%vocab))
				s.Logprob, s.Entropy = append(s.Logprob, -float32(x>>40)/(1<<20)), append(s.Entropy, float32(x>>50))
				if x%vocab == 0 {
					s.Stop = rollout.EOS
				}
			}
			out[i] = append(out[i], s)
		}
	}
	return out, nil
}

// Play plays the world on paper.
func (p *paper) Play(ctx context.Context, requests []rollout.Request, seed uint64) ([][][]rollout.Segment, error) {
	world := onPaper(func(k random.Key, of random.Purpose) *random.Rand { return k.DiceBy(seed, of) })
	return world.Ahead(ctx, seeded{p, seed}, requests)
}

// trainer is a run whose weights change with its version.
type trainer struct {
	version int
	slow    time.Duration // that a request takes
}

func (tr *trainer) weights() ([]byte, error) { return fmt.Append(nil, "weights ", tr.version), nil }

// Sample draws with the trainer's own device. Paper takes no drafts: they change nothing.
func (tr *trainer) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	time.Sleep(tr.slow * time.Duration(len(requests)))
	w, _ := tr.weights()
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		one, _ := (&paper{string(w)}).Sample(ctx, []rollout.Request{r}, r.Key.Seed(7))
		for j := range one[0] {
			one[0][j].Drawn.Version = tr.version
		}
		out[i] = one[0]
	}
	return out, nil
}

func (tr *trainer) asTrainer() Trainer {
	return Trainer{Sampler: tr, Seed: func(k random.Key) uint64 { return k.Seed(7) }, Version: func() int { return tr.version }, Weights: tr.weights, Role: "policy", Vocab: vocab}
}

// requestsOf are those of a step: prompts of several lengths, drawn alike.
func requestsOf(step, prompts int) []rollout.Request {
	out := make([]rollout.Request, prompts)
	for i := range out {
		key := random.Key{Purpose: random.Sample, Step: step, Stream: uint32(4 * i)}
		out[i] = rollout.Request{Prompt: slices.Repeat([]int{i % vocab}, 1+i%3), N: 1 + i%4, Params: rollout.Params{Temperature: 0.9, MaxTokens: 12}, Key: key}
	}
	return out
}

// fixed is a number of workers that does not change.
func fixed(n int) func() int { return func() int { return n } }

type carrier interface {
	TrainerSide
	WorkerSide
}

// worker is what a worker does instead of [Work], or with another engine.
type worker func(ctx context.Context, c carrier, name string) error

func honest(ctx context.Context, c carrier, name string) error { return Work(ctx, c, name, &paper{}) }

// lying changes what paper draws, in one item of every.
func lying(every int, lie func(*rollout.Segment)) worker {
	return func(ctx context.Context, c carrier, name string) error {
		return Work(ctx, c, name, &liar{every: every, lie: lie})
	}
}

type liar struct {
	paper
	every, items int
	lie          func(*rollout.Segment)
}

func (l *liar) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	out, err := l.paper.Sample(ctx, requests, seed)
	if l.items++; l.items%l.every == 0 {
		l.lie(&out[len(out)-1][0])
	}
	return out, err
}

func wrongToken(s *rollout.Segment)   { s.IDs[len(s.IDs)/2] = (s.IDs[len(s.IDs)/2] + 1) % vocab }
func wrongLogprob(s *rollout.Segment) { flipBit(&s.Logprob[0]) }
func wrongEntropy(s *rollout.Segment) { flipBit(&s.Entropy[len(s.IDs)-1]) }
func flipBit(x *float32)              { *x = math.Float32frombits(math.Float32bits(*x) ^ 1) }

// oldWeights never loads a second policy.
type oldWeights struct{ paper }

func (o *oldWeights) Load(w []byte) error {
	if o.weights == "" {
		return o.paper.Load(w)
	}
	return nil
}

// choosing draws by other random numbers than it is told, as one that keeps what is rewarded most.
func choosing(ctx context.Context, c carrier, name string) error {
	return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
		if r[0].Key.Stream < canaryStream {
			seed++
		}
		return p.Sample(ctx, r, seed)
	}))
}

// killed ends after a few items, with one in its hands.
func killed(ctx context.Context, c carrier, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
		if n++; n > 2 {
			return nil, errors.New("killed")
		}
		return p.Sample(ctx, r, seed)
	}))
}

// hanging takes an item and never answers.
func hanging(ctx context.Context, c carrier, name string) error {
	if _, err := c.Take(ctx, name); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

type hook struct {
	paper
	do func([]rollout.Request, uint64, *paper) ([][]rollout.Segment, error)
}

func (h *hook) Sample(_ context.Context, r []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	return h.do(r, seed, &h.paper)
}

func engineFunc(do func([]rollout.Request, uint64, *paper) ([][]rollout.Segment, error)) Engine {
	return &hook{do: do}
}

// garbling sends what make makes of its results.
func garbling(garble func(result []byte) []byte) worker {
	return func(ctx context.Context, c carrier, name string) error {
		return Work(ctx, garbler{c, garble}, name, &paper{})
	}
}

type garbler struct {
	carrier
	garble func([]byte) []byte
}

func (g garbler) Deliver(ctx context.Context, worker string, result []byte) error {
	return g.carrier.Deliver(ctx, worker, g.garble(result))
}

// stuttering delivers everything three times, and once more as the first item's.
func stuttering(ctx context.Context, c carrier, name string) error {
	var first []byte
	return Work(ctx, garbler{c, func(result []byte) []byte {
		if first == nil {
			first = result
		}
		for _, again := range [][]byte{result, first, result} {
			_ = c.Deliver(ctx, name, again)
		}
		return result
	}}, name, &paper{})
}

// runOf goes through steps of a run with workers and compares every step with the
// trainer's own. Workers begin with every other step while the trainer learns, as with a lag.
// Time is a bubble's: it passes when all wait. It returns what happened.
func runOf(t *testing.T, o Options, steps int, workers ...worker) (counts Counts, notes []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		o.Slots, o.Note = fixed(len(workers)), func(text string) { notes = append(notes, text) }
		f := New(m, tr.asTrainer(), o)
		for i, w := range workers {
			go w(t.Context(), m, fmt.Sprint("worker ", i)) // its error is of no interest
		}
		for step := range steps {
			tr.version = step
			requests := requestsOf(step, 40)
			if step%2 == 1 {
				if err := f.Begin(t.Context(), requests); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
			}
			got, err := f.Sample(t.Context(), requests)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := tr.Sample(t.Context(), requests)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("step %d is not what one machine draws", step)
			}
		}
		f.Close()
		m.Close()
		counts = f.Counts()
	})
	return counts, notes
}
