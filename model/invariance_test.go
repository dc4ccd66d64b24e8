package model

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// small is a model with every quirk that could break the bits: padded head
// halves, padded width, grouped heads, q/k norm, odd vocabulary.
func small(t testing.TB, dev gpu.Device, positions int) *Model {
	return smallAs(t, dev, positions, hf.F32, hf.F32)
}

// smallAs is small in another storage.
func smallAs(t testing.TB, dev gpu.Device, positions int, dtype, kvDtype hf.Dtype) *Model {
	m, err := New(dev, smallConfig(dtype, kvDtype), 7, positions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func smallConfig(dtype, kvDtype hf.Dtype) hf.Config {
	return hf.Config{Family: "qwen3", Vocab: 61, Width: 36, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 18, MLP: 44,
		MaxPositions: 1024, NormEps: 1e-6, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.3,
		Dtype: dtype, KVDtype: kvDtype}
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

// invariancePrompts are 64 prompts, some of them longer than a length. 512 is longer
// than every prompt chunk and two of the attention's 256-key parts.
func invariancePrompts(longer int) [][]int {
	ps := prompts(64, 48)
	for i := range 2 {
		long := prompts(21*i+1, 120)
		for p := 21 * i; len(ps[p]) <= longer+i; {
			ps[p] = append(ps[p], long[len(long)-1]...)
		}
	}
	return ps
}

const (
	invarianceContext = 704
	invarianceTokens  = 5
)

// invarianceRequests ask for n completions of each prompt. The first of them is
// the same for every n.
func invarianceRequests(ps [][]int, n int) []Request {
	reqs := make([]Request, len(ps))
	for i, p := range ps {
		reqs[i] = Request{Prompt: p, N: n, MaxTokens: 1 + i%invarianceTokens, Stream: uint32(3 * i), Sampling: Sampling{Temperature: 0.9, Seed: 5}}
		if i%4 == 1 {
			reqs[i].Sampling.TopK, reqs[i].Sampling.TopP = 20, 0.9
		}
	}
	return reqs
}

// hashTokens hashes the ids of each prompt's completion and the bits of their
// log-probs and entropies.
func hashTokens(all []Completion) uint64 {
	h := fnv.New64a()
	for _, c := range all {
		for i, id := range c.IDs {
			fmt.Fprintf(h, "%d %08x %08x,", id, math.Float32bits(c.Logprob[i]), math.Float32bits(c.Entropy[i]))
		}
		fmt.Fprintln(h)
	}
	return h.Sum64()
}

// TestInvarianceHash: one hash of tokens, log-probs and entropies for any batch,
// prompt chunk, order of requests, state of the key/value pages and number of
// goroutines, and the trainer and the scorer compute the same bits again.
func TestInvarianceHash(t *testing.T) {
	for _, s := range []struct{ dtype, kvDtype hf.Dtype }{{hf.F32, hf.F32}, {hf.BF16, hf.F32}, {hf.F32, hf.BF16}, {hf.BF16, hf.BF16}} {
		t.Run(fmt.Sprintf("%s, keys and values %s", s.dtype, s.kvDtype), func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				if gputest.Slow(dev) && s.dtype != s.kvDtype {
					return // both in bf16 run the same kernels
				}
				invarianceHash(t, smallAs(t, dev, invarianceContext, s.dtype, s.kvDtype), gputest.Slow(dev))
			})
		})
	}
}

// TestAdapterInvarianceHash: the same with an adapter, over a model in each storage.
func TestAdapterInvarianceHash(t *testing.T) {
	for _, dtype := range []hf.Dtype{hf.F32, hf.BF16, hf.Q8, hf.Q4} {
		t.Run(string(dtype), func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				if gputest.Slow(dev) && dtype != hf.Q4 && !gputest.Long() {
					return // TestInvarianceHash has the other products
				}
				cfg := smallConfig(hf.F32, hf.F32)
				cfg.Width, cfg.HeadDim, cfg.MLP = 32, 16, 64 // whole blocks
				m, err := New(dev, cfg, 7, invarianceContext)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(m.Close)
				if dtype != hf.F32 {
					m = packed(t, m, dtype)
				}
				adapt(t, m, hf.AdapterConfig{Rank: 5, Alpha: 2})
				invarianceHash(t, m, !gputest.Long())
			})
		})
	}
}

// invarianceHash takes, if it is to be brief, fewer prompts and leaves out what kernels do
// not change.
func invarianceHash(t *testing.T, m *Model, brief bool) {
	ps := invariancePrompts(512)
	if brief {
		ps = invariancePrompts(256)[:8]
		ps[0] = ps[0][:258] // of two parts
	}
	var want []Completion
	same := func(name string, got []Completion) {
		t.Helper()
		if want == nil {
			want = got
		}
		if a, b := hashTokens(got), hashTokens(want); a != b {
			t.Errorf("%s: hash %x, want %x%s", name, a, b, firstOther(got, want))
		}
	}
	engine := func(batch, chunk int) *Engine {
		e, err := m.NewEngine(EngineOptions{Sequences: batch, Context: invarianceContext, StepRows: batch + chunk, PromptRows: chunk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e
	}
	one := invarianceRequests(ps, 1)
	e := engine(64, 512)
	same("batch 64, chunk 512, fresh pages", generateAll(t, e, one))
	if !brief { // pages are handed out, and passes put together, in the same way
		same("batch 64, chunk 512, used pages, 8 goroutines", generateEach(t, e, one, 8))
	}
	same("batch 1, chunk 512, 1 goroutine", generateEach(t, engine(1, 512), one, 1))
	same("batch 3, chunk 7", generateAll(t, engine(3, 7), one))
	same("batch 16, chunk 64, shared pages", generateAll(t, engine(16, 64), invarianceRequests(ps, 3)))
	same("trainer, cut batches", train(t, m, ps, want, invarianceContext))
	if !brief { // its passes are the trainer's
		same("scorer, one batch", score(t, m, ps, want, 4000))
	}
}

// firstOther tells where two lists of completions begin to differ.
func firstOther(got, want []Completion) string {
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

// generateAll hands over all requests at once and returns the first completion
// of each.
func generateAll(t *testing.T, e *Engine, reqs []Request) []Completion {
	t.Helper()
	all, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Completion, len(all))
	for i, cs := range all {
		out[i] = cs[0]
	}
	return out
}

// generateEach hands over the requests one by one in random order from several
// goroutines.
func generateEach(t *testing.T, e *Engine, reqs []Request, goroutines int) []Completion {
	t.Helper()
	order := make(chan int, len(reqs))
	for _, i := range rand.Perm(len(reqs)) {
		order <- i
	}
	close(order)
	out, errs := make([]Completion, len(reqs)), make([]error, goroutines)
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

// train and score compute the statistics of given completions.
func train(t *testing.T, m *Model, ps [][]int, of []Completion, rows int) []Completion {
	t.Helper()
	tr, err := m.NewTrainer(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	stats, err := tr.Forward(sequences(ps, of))
	return restated(t, of, stats, err)
}

func score(t *testing.T, m *Model, ps [][]int, of []Completion, rows int) []Completion {
	t.Helper()
	sc, err := m.NewScorer(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	stats, err := sc.Score(sequences(ps, of))
	return restated(t, of, stats, err)
}

func sequences(ps [][]int, of []Completion) []Sequence {
	seqs := make([]Sequence, len(ps))
	for i, p := range ps {
		seqs[i] = Predict(slices.Concat(p, of[i].IDs), len(p), 0.9)
	}
	return seqs
}

func restated(t *testing.T, of []Completion, stats []TokenStats, err error) []Completion {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Completion, len(of))
	for i, s := range stats {
		out[i] = Completion{IDs: of[i].IDs, Logprob: s.Logprob, Entropy: s.Entropy}
	}
	return out
}

// TestGradientBits: the gradient has the same bits however the batch is cut.
func TestGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			m := small(t, dev, 128)
			n, passes := 20, []func(*testing.T, *Trainer, []Sequence){twoPasses, onePass}
			if gputest.Slow(dev) {
				n, passes = 8, passes[1:]
			}
			var seqs []Sequence
			for _, p := range prompts(n, 40) {
				p = append(p, 3, 4, 5)
				seqs = append(seqs, Predict(p, max(1, len(p)/3), 1))
			}
			seqs[3].Spans = []Span{{2, 4}, {4, 4}, {6, 7}}                             // tokens between two turns are read, not learnt
			seqs = slices.Concat(seqs[:7], relatives(1, 5), relatives(2, 6), seqs[7:]) // with 64 predicted tokens each
			var want []float32
			for _, rows := range []int{2000, 130, 64} {
				for _, pass := range passes {
					got := flatGradient(t, m, seqs, rows, pass)
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
			}
		})
	}
}

// narrow is a device whose bindings are smaller.
type narrow struct {
	gpu.Device
	maxBinding int
}

func (n narrow) Caps() gpu.Caps {
	c := n.Device.Caps()
	c.MaxBinding = n.maxBinding
	return c
}

// TestSlabGradientBits: the gradient has the same bits whether the vocabulary's
// table fits one binding or is cut into slabs. One slab has 2048 rows, one 452.
func TestSlabGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			cfg := smallConfig(hf.F32, hf.F32)
			cfg.Vocab = 2500
			var seqs []Sequence
			for _, p := range prompts(3, 20) {
				seqs = append(seqs, Predict(append(p, 2300, 4, 2499), 1, 1))
			}
			whole, cut := modelOn(t, dev, cfg), modelOn(t, narrow{dev, 2048 * newDims(cfg).ld * 4}, cfg)
			if n := len(cut.layout.head); n != 2 || len(whole.layout.head) != 1 {
				t.Fatalf("the table is cut into %d slabs, the test wants 2", n)
			}
			copyTensors(t, cut, whole) // a slab has a random stream of its own
			want, got := flatGradient(t, whole, seqs, 100, twoPasses), flatGradient(t, cut, seqs, 100, twoPasses)
			for i := range want {
				if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
					t.Fatalf("element %d is %v in slabs, %v in one table", i, got[i], want[i])
				}
			}
		})
	}
}

// TestPanelGradientBits: the gradient has the same bits in however many dispatches
// long sums are added up.
func TestPanelGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		for _, dtype := range []hf.Dtype{hf.F32, hf.BF16} {
			t.Run(fmt.Sprint(dev.Caps().ID, " ", dev.Caps().Tier, " ", dtype), func(t *testing.T) {
				cfg := smallConfig(dtype, hf.F32)
				cfg.Vocab, cfg.MLP = 200, 60
				m := modelOn(t, dev, cfg)
				n, panels := 12, []int{0, 64, 128}
				if gputest.Slow(dev) {
					n, panels = 6, panels[:2]
				}
				var seqs []Sequence
				for _, p := range prompts(n, 40) {
					seqs = append(seqs, Predict(append(p, 199, 4, 5), 1, 1))
				}
				var want []float32
				for _, panel := range panels {
					tr := trainerOf(t, m, 1000)
					tr.progs.panel = panel
					twoPasses(t, tr, seqs)
					got := gradientOf(t, tr)
					if want == nil {
						want = got
					}
					for i := range want {
						if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
							t.Fatalf("panels of %d products: element %d is %v, is %v without", panel, i, got[i], want[i])
						}
					}
				}
			})
		}
	}
}

// modelOn is a model with random weights for 64 positions.
func modelOn(t *testing.T, dev gpu.Device, cfg hf.Config) *Model {
	t.Helper()
	m, err := New(dev, cfg, 7, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// copyTensors gives a model the weights of another whose table is cut otherwise.
func copyTensors(t *testing.T, to, from *Model) {
	t.Helper()
	tensors := map[string]hf.NamedTensor{}
	for _, n := range from.Tensors() {
		tensors[n.Name] = n
	}
	err := to.layout.writePieces(to.params, func(p piece, from, n int) ([]float32, error) {
		data, err := tensors[p.name].Data()
		_, cols := p.size()
		return data[from*cols:][:n*cols], err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func flatGradient(t *testing.T, m *Model, seqs []Sequence, rows int, pass func(*testing.T, *Trainer, []Sequence), options ...TrainerOption) []float32 {
	t.Helper()
	tr := trainerOf(t, m, rows, options...)
	pass(t, tr, seqs)
	return gradientOf(t, tr)
}

func trainerOf(t *testing.T, m *Model, rows int, options ...TrainerOption) *Trainer {
	t.Helper()
	tr, err := m.NewTrainer(rows, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	if tr.value != nil { // zeros at first
		rng := rand.New(rand.NewPCG(5, 6))
		change(t, tr.value.tensors, tr.value.values, func(_ piece, data []float32) {
			for i := range data {
				data[i] = float32(0.3 * rng.NormFloat64())
			}
		})
	}
	return tr
}

// someWeights differ by sequence and token.
func someWeights(seqs []Sequence) []TokenWeights {
	return tokenWeights(seqs, func(i, j int) (a, b, c float64) { return float64(i%5) - 2, 0.1 * float64(j%3), 0.05 })
}

// valued adds weights of values.
func valued(weights []TokenWeights) []TokenWeights {
	for i := range weights {
		w := &weights[i]
		for j := range w.Logprob {
			w.Value = append(w.Value, 0.1*float64((i+2*j)%5-2))
		}
	}
	return weights
}

func twoPasses(t *testing.T, tr *Trainer, seqs []Sequence) {
	t.Helper()
	if _, err := tr.Forward(seqs); err != nil {
		t.Fatal(err)
	}
	weights := someWeights(seqs)
	if tr.value != nil {
		weights = valued(weights)
	}
	if err := tr.Backward(weights); err != nil {
		t.Fatal(err)
	}
}

// onePass goes batch by batch.
func onePass(t *testing.T, tr *Trainer, seqs []Sequence) {
	t.Helper()
	weights := someWeights(seqs)
	err := tr.Accumulate(seqs, func(first int, stats []TokenStats) ([]TokenWeights, error) {
		return weights[first : first+len(stats)], nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func gradientOf(t *testing.T, tr *Trainer) []float32 {
	t.Helper()
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
