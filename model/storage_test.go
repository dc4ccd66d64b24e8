package model

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// TestHostRoundsAsKernel: a model that was loaded and one that a step has rounded
// are the same.
func TestHostRoundsAsKernel(t *testing.T) {
	var x []float32
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x = append(x, math.Float32frombits(upper<<16|lower))
		}
	}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		p := &pool{dev: dev}
		defer p.free()
		src, dst := p.words("src", len(x)), p.words("dst", len(x)/2)
		if p.err != nil {
			t.Fatal(p.err)
		}
		if err := writeAll(write{src, f32Bytes(x)}); err != nil {
			t.Fatal(err)
		}
		runOps(t, dev, []gpu.Op{{Kernel: "round_bf16", Bind: []gpu.View{src, dst}, Params: []uint32{u(len(x))}, Size: [3]int{len(x), 1, 1}}})
		got := make([]byte, 2*len(x))
		if err := dst.Buffer.Read(0, got); err != nil {
			t.Fatal(err)
		}
		if want := bf16Bytes(x); !bytes.Equal(got, want) {
			for i := range x {
				if !bytes.Equal(got[2*i:2*i+2], want[2*i:2*i+2]) {
					t.Fatalf("%08x: the kernel has %x, the host %x", math.Float32bits(x[i]), got[2*i:2*i+2], want[2*i:2*i+2])
				}
			}
		}
	})
}

func runOps(t *testing.T, dev gpu.Device, ops []gpu.Op) {
	t.Helper()
	prog, err := dev.Record("test", ops)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Free()
	if err := dev.Submit(prog); err != nil {
		t.Fatal(err)
	}
	if err := dev.Wait(); err != nil {
		t.Fatal(err)
	}
}

// give overwrites the parameters of a model with those of another one, which may
// be kept otherwise.
func give(t *testing.T, to, from *Model) {
	t.Helper()
	values := map[string][]float32{}
	for _, p := range from.Tensors() {
		var err error
		if values[p.Name], err = p.Data(); err != nil {
			t.Fatal(err)
		}
	}
	err := to.layout.writePieces(to.params, func(p piece, from, n int) ([]float32, error) {
		_, cols := p.size()
		return values[p.name][from*cols : (from+n)*cols], nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRoundedWeights: a bf16 model computes what an f32 one with the rounded
// weights does, frozen or not: tokens, log-probs, entropies and gradients have the
// same bits.
func TestRoundedWeights(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		trained := smallAs(t, dev, 64, hf.BF16, hf.F32)
		frozen, err := NewFrozen(dev, trained.Config, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer frozen.Close()
		if err := frozen.CopyFrom(trained); err != nil {
			t.Fatal(err)
		}
		plain := small(t, dev, 64)
		before := completions(t, plain)
		give(t, plain, frozen)
		want := completions(t, plain)
		if hashTokens(before) == hashTokens(want) {
			t.Fatal("rounding the weights changed nothing: this test can show nothing")
		}
		for name, m := range map[string]*Model{"trained": trained, "frozen": frozen} {
			if got := completions(t, m); hashTokens(got) != hashTokens(want) {
				t.Errorf("%s: other completions than with rounded weights in f32%s", name, firstOther(got, want))
			}
		}
		seqs := gradientSequences(dev)
		if !equalFloats(flatGradient(t, trained, seqs, 130, twoPasses), flatGradient(t, plain, seqs, 130, twoPasses)) {
			t.Error("the gradient is not that of the rounded weights")
		}
		if _, err := frozen.NewTrainer(64); err == nil {
			t.Error("a frozen model is trained")
		}
		if err := trained.CopyFrom(frozen); err == nil {
			t.Error("a model takes its float32 parameters from a frozen one that has none")
		}
	})
}

func completions(t *testing.T, m *Model) []Completion {
	t.Helper()
	e, err := m.NewEngine(EngineOptions{Sequences: 8, Context: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return generateAll(t, e, invarianceRequests(completed(m.Device()), 1))
}

// completed are the prompts of completions.
func completed(dev gpu.Device) [][]int {
	if gputest.Slow(dev) {
		return prompts(6, 40)
	}
	return prompts(16, 40)
}

func gradientSequences(dev gpu.Device) []Sequence {
	n := 12
	if gputest.Slow(dev) {
		n = 6
	}
	var seqs []Sequence
	for _, p := range prompts(n, 40) {
		p = append(p, 3, 4, 5)
		seqs = append(seqs, Predict(p, max(1, len(p)/3), 1))
	}
	return seqs
}

func equalFloats(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestRoundedKeys: with keys and values in bf16 statistics and gradient are those
// of a float32 model whose keys and values are rounded in place after the
// rotation: what is rounded counts in the forward pass, and the gradient goes
// through the rounding as it is.
func TestRoundedKeys(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		seqs := gradientSequences(dev)
		gradient := func(m *Model, forward func(*Trainer) []TokenStats) ([]float32, []TokenStats) {
			tr, err := m.NewTrainer(400)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			stats := forward(tr)
			ws := tokenWeights(seqs, func(i, j int) (a, b, c float64) { return float64(i%5) - 2, 0.1 * float64(j%3), 0.05 })
			if err := tr.Backward(ws); err != nil {
				t.Fatal(err)
			}
			return gradientOf(t, tr), stats
		}
		plain := func(tr *Trainer) []TokenStats {
			stats, err := tr.Forward(seqs)
			if err != nil {
				t.Fatal(err)
			}
			return stats
		}
		got, gotStats := gradient(smallAs(t, dev, 64, hf.F32, hf.BF16), plain)
		without, _ := gradient(small(t, dev, 64), plain)
		want, wantStats := gradient(small(t, dev, 64), func(tr *Trainer) []TokenStats { return forwardRounding(t, tr, seqs) })
		if !equalFloats(got, want) {
			t.Error("the gradient is not that of rounded keys and values")
		}
		if equalFloats(without, want) {
			t.Error("rounding changed nothing: this test can show nothing")
		}
		for i := range wantStats {
			if !equalFloats(gotStats[i].Logprob, wantStats[i].Logprob) || !equalFloats(gotStats[i].Entropy, wantStats[i].Entropy) {
				t.Fatalf("sequence %d: other statistics than with rounded keys and values", i)
			}
		}
	})
}

// forwardRounding is Trainer.Forward of one batch with keys and values rounded to
// bf16 where they lie.
func forwardRounding(t *testing.T, tr *Trainer, seqs []Sequence) []TokenStats {
	t.Helper()
	batches, err := pack(seqs, capacity{rows: tr.ws.maxRows, positions: tr.m.maxPos})
	if err != nil || len(batches) != 1 {
		t.Fatal(len(batches), err)
	}
	b := batches[0]
	tr.batches, tr.resident = batches, true
	if err := tr.ws.upload(b, tr.m.layout.window); err != nil {
		t.Fatal(err)
	}
	d := tr.m.layout.dims
	n := b.T * d.kv * d.hdp
	half := tr.pool.words("rounded", n/2)
	var r, rounding recorder
	tr.m.recordScores(&r, tr.ws, b.T, b.R)
	for _, op := range r.ops {
		rounding.ops = append(rounding.ops, op)
		if op.Kernel == "qk_rope" {
			for _, x := range op.Bind[5:7] {
				rounding.op("round_bf16", n, 1, []gpu.View{x, half}, u(n))
				rounding.op("expand_bf16", n, 1, []gpu.View{half, x}, u(n))
			}
		}
	}
	runOps(t, tr.m.dev, rounding.ops)
	stats, err := tr.ws.readStats(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// TestStepRoundsAgain: after an update the passes read the new weights, rounded
// once, and what is saved are the float32 ones.
func TestStepRoundsAgain(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := smallAs(t, dev, 64, hf.BF16, hf.BF16)
		before := completions(t, m)
		tr, err := m.NewTrainer(400)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		seqs := gradientSequences(dev)
		if _, err := tr.Forward(seqs); err != nil {
			t.Fatal(err)
		}
		if err := tr.Backward(tokenWeights(seqs, func(i, j int) (a, b, c float64) { return -1, 0, 0 })); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(Optimizer{LR: 1.0 / 1024, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
			t.Fatal(err)
		}
		after := completions(t, m)
		if hashTokens(after) == hashTokens(before) {
			t.Error("an update changed nothing")
		}
		again := smallAs(t, dev, 64, hf.BF16, hf.BF16)
		give(t, again, m)
		if got := completions(t, again); hashTokens(got) != hashTokens(after) {
			t.Errorf("a model with the saved parameters samples otherwise%s", firstOther(got, after))
		}
		exact := 0
		for _, p := range m.Tensors() {
			data, err := p.Data()
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range data {
				if math.Float32bits(x)&0xffff == 0 {
					exact++
				}
			}
		}
		if total := m.layout.count(); exact > total/10 {
			t.Errorf("%d of %d saved parameters are bf16: they should be those that the optimizer keeps", exact, total)
		}
	})
}

// counting counts the bytes of the buffers that are made, and the programs that are
// submitted.
type counting struct {
	gpu.Device
	bytes     int
	submitted int
}

func (c *counting) NewBuffer(label string, size int) (gpu.Buffer, error) {
	c.bytes += size
	return c.Device.NewBuffer(label, size)
}

func (c *counting) Submit(p gpu.Program) error {
	c.submitted++
	return c.Device.Submit(p)
}

// TestPlanIsWhatIsTaken: the plan of a run counts what its parts allocate, in
// every storage.
func TestPlanIsWhatIsTaken(t *testing.T) {
	dev := gputest.Devices(t)[0]
	engine := EngineOptions{Sequences: 8, Context: 64}
	total := map[hf.Dtype]int{}
	for _, dtype := range []hf.Dtype{hf.F32, hf.BF16} {
		for _, kvDtype := range []hf.Dtype{hf.F32, hf.BF16} {
			for _, train := range []int{0, 100} {
				cfg := smallConfig(dtype, kvDtype)
				use := Use{Positions: 64, TrainRows: train, ValueHead: train > 0, Reference: train > 0, Average: train > 0, Engine: &engine}
				plan, err := Plan(cfg, buffersOnly(dev), use)
				if err != nil {
					t.Fatal(err)
				}
				taken := takenBy(t, dev, cfg, use)
				// Neither has the few words that the optimizer sums up in.
				if d := taken - plan.Total(); d < 0 || d > 1024 {
					t.Errorf("%s, %s, %d rows: %d bytes are taken, the plan has %d\n%s", dtype, kvDtype, train, taken, plan.Total(), plan)
				}
				if train == 0 && kvDtype == hf.F32 {
					total[dtype] = plan.Items[0].Bytes
				}
			}
		}
	}
	// The small model's vectors, and what rounds chunks up, stay as they are.
	if total[hf.BF16] > total[hf.F32]*6/10 {
		t.Errorf("frozen parameters take %d bytes in f32 and %d in bf16", total[hf.F32], total[hf.BF16])
	}
}

// buffersOnly is a device whose driver takes no memory of the plan's.
func buffersOnly(dev gpu.Device) gpu.Caps {
	c := dev.Caps()
	c.Kind = gpu.Discrete
	return c
}

// TestPlanOfAdapters: likewise for adapters over blocks.
func TestPlanOfAdapters(t *testing.T) {
	dev := gputest.Devices(t)[0]
	for _, dtype := range []hf.Dtype{hf.BF16, hf.Q8, hf.Q4} {
		cfg := hf.Config{Family: "qwen2", Vocab: 61, Width: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 64,
			MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3, Dtype: dtype}
		use := Use{Positions: 64, TrainRows: 100, Adapter: &hf.AdapterConfig{Rank: 4, Alpha: 2}, ValueHead: true, Reference: true, Average: true, Engine: &EngineOptions{Sequences: 8, Context: 64}}
		plan, err := Plan(cfg, buffersOnly(dev), use)
		if err != nil {
			t.Fatal(err)
		}
		if d := takenBy(t, dev, cfg, use) - plan.Total(); d < 0 || d > 1024 {
			t.Errorf("%s: %d bytes more are taken than planned\n%s", dtype, d, plan)
		}
	}
}

func takenBy(t *testing.T, dev gpu.Device, cfg hf.Config, use Use) int {
	t.Helper()
	c := &counting{Device: dev}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var m *Model
	var err error
	if use.TrainRows == 0 || use.Adapter != nil {
		m, err = NewFrozen(c, cfg, use.Positions)
	} else {
		m, err = New(c, cfg, 1, use.Positions)
	}
	ok(err)
	defer m.Close()
	if use.Adapter != nil {
		ok(m.AddAdapter(*use.Adapter, 1))
	}
	if use.TrainRows > 0 {
		tr, err := m.NewTrainer(use.TrainRows, ValueHead)
		ok(err)
		defer tr.Close()
		ref := m
		if use.Adapter == nil {
			ref, err = NewFrozen(c, cfg, use.Positions)
			ok(err)
			defer ref.Close()
		}
		s, err := ref.NewScorer(use.TrainRows)
		ok(err)
		defer s.Close()
	}
	if use.Average {
		average, err := m.NewAverage()
		ok(err)
		defer average.Close()
		s, err := average.NewScorer(use.TrainRows)
		ok(err)
		defer s.Close()
	}
	e, err := m.NewEngine(*use.Engine)
	ok(err)
	defer e.Close()
	return c.bytes
}
