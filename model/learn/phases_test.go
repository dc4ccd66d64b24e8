package learn_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// TestPhases: engines, trainers, scorers and a model that leaves, which take turns in a scratch, have the bits of those with
// memory of their own, in any order, where another phase has filled all of it with NaN, and between a forward pass and its
// backward pass. So do what heads say, states, influences and norms of gradients.
func TestPhases(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		half := modeltest.Quirk{Name: "qwen3 in bf16", Config: modeltest.SmallConfig(hf.BF16, hf.BF16)}
		for i, q := range append(modeltest.QuirkModels(), half) {
			if !q.Typical && (testing.Short() || gputest.Slow(dev)) {
				continue
			}
			t.Run(q.Name, func(t *testing.T) {
				p := phased{t: t, dev: dev, seqs: modeltest.GradientSequences(dev), cfg: q.Config, adapter: q.Adapter, options: []learn.Option{learn.Influence}}
				if i%2 == 0 {
					p.options = append(p.options, learn.ValueHead, learn.Recompute)
				}
				p.folder = p.written()
				free := []string{"draw", "score", "other", "write", "head", "other head", "states", "other states", "influence", "norm"} // no gradient waits yet
				want := p.run(nil, slices.Concat(free, []string{"forward", "backward", "accumulate"})...)
				var poisoned []string
				for _, pass := range slices.Concat(free, []string{"forward", "backward", "other head", "score", "accumulate"}) {
					poisoned = append(poisoned, "poison", pass)
				}
				same := func(about string, order []string) {
					t.Helper()
					got := p.run(p.scratch(), order...)
					for name, bits := range want {
						if !slices.Equal(got[name], bits) || len(bits) == 0 {
							t.Errorf("%s the bits of %s are others: %q", about, name, order)
						}
					}
				}
				same("after a phase that left NaN", poisoned)
				rng := rand.New(rand.NewPCG(uint64(i), 5))
				rng.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
				same("in another order", slices.Concat(free, []string{"forward", "draw", "other", "write", "head", "backward", "other head", "score", "accumulate", "draw"}))
			})
		}
	})
}

// phased runs passes of a policy and of another model.
type phased struct {
	t       *testing.T
	dev     gpu.Device
	seqs    []seq.Sequence
	cfg     hf.Config
	adapter *hf.AdapterConfig // nil: none
	options []learn.Option
	folder  string // of the other model
}

// written is a folder of a model.
func (p phased) written() string {
	p.t.Helper()
	cfg := p.cfg
	cfg.Dtype = hf.F32
	m, err := model.New(p.dev, cfg, 8, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	defer m.Close()
	files, err := hf.FolderFiles(cfg, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return modeltest.WriteFolder(p.t, files, "model.safetensors", m.Tensors())
}

// other opens the model of the folder, which leaves a scratch whenever another phase is entered.
func (p phased) other(s *model.Scratch) *model.Model {
	p.t.Helper()
	m, err := model.Load(p.dev, p.folder, model.LoadOptions{Positions: 64, Dtype: p.cfg.Dtype, KVDtype: p.cfg.KVDtype, Frozen: true, Phase: s.Phase("model other")})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(m.Close)
	return m
}

// phasedRows and phasedEngine are the sizes of what takes turns.
const phasedRows = 400

func phasedEngine(phase *model.Phase) sample.Options {
	return sample.Options{Sequences: 4, Context: 64, Prefixes: sample.EveryPage, Phase: phase}
}

func (p phased) model(seed uint64) *model.Model {
	p.t.Helper()
	if p.adapter == nil {
		m, err := model.New(p.dev, p.cfg, seed, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(m.Close)
		return m
	}
	m, err := model.NewFrozen(p.dev, p.cfg, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(m.Close)
	if err = m.Initialize(seed); err == nil {
		err = m.AddAdapter(*p.adapter, seed+100)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// scratch is as large as the phases need in blocks of a size in which not all of one has room.
func (p phased) scratch() *model.Scratch {
	s, err := device.NewScratch(p.dev, p.blocks())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(s.Close)
	return s
}

func (p phased) blocks() []int {
	sizes := make([]int, 12)
	for i := range sizes {
		sizes[i] = 1 << 20
	}
	return sizes
}

// poisoner is a phase that fills a scratch with NaN.
func (p phased) poisoner(s *model.Scratch) (poison func()) {
	phase := s.Phase("poison")
	pool := device.NewPoolIn(phase, nil, "")
	var views []gpu.View
	for _, size := range p.blocks() {
		views = append(views, pool.Words("all", size/4))
	}
	return func() {
		p.t.Helper()
		err := phase.Enter()
		if err != nil {
			p.t.Fatal(err)
		}
		defer phase.Leave()
		if n := len(s.Blocks()); n > len(views) {
			p.t.Fatalf("the phases need %d blocks, and %d are filled", n, len(views))
		}
		nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
		for _, v := range views {
			if err := v.Buffer.Write(v.Offset, bytes.Repeat(nan, v.Size/4)); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// run does passes in an order and returns the bits of the last one of each name, and of the gradient in the end.
func (p phased) run(s *model.Scratch, order ...string) map[string][]uint32 {
	t := p.t
	t.Helper()
	policy, other := p.model(7), p.other(s)
	tr := modeltest.TrainerOf(t, policy, phasedRows, append(slices.Clone(p.options), learn.In(s.Phase("training")))...)
	lent := tr.NewScorer(policy, p.adapter != nil)
	defer lent.Close()
	numbers := make([]float32, p.cfg.Width)
	for i := range numbers {
		numbers[i] = float32(i%5) - 1.5
	}
	head := hf.NewHead(numbers, 0.5)
	x := make([][]float64, len(p.seqs)) // what influences are weighted by
	for i, s := range p.seqs {
		for j := range s.Predicted() {
			x[i] = append(x[i], float64(1+(i+j)%3))
		}
	}
	whole := s.Phase("model other")
	own, err := other.NewScorerIn(whole.Part("reading"), phasedRows)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	e := modeltest.EngineOf(t, policy, phasedEngine(s.Phase("sampling")))
	writer := modeltest.EngineOf(t, other, phasedEngine(whole.Part("writing")))
	weights := modeltest.SomeWeights(p.seqs)
	got := map[string][]uint32{}
	stats := func(name string, stats []seq.Stats, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		got[name] = nil
		for _, s := range stats {
			got[name] = append(got[name], modeltest.StatBits(s)...)
			for _, x := range slices.Concat(s.Value, s.Score) {
				got[name] = append(got[name], math.Float32bits(x))
			}
		}
	}
	states := func(name string, of func([]seq.Sequence, int, func(int, [][]float32) error) error) {
		t.Helper()
		got[name] = nil
		err := of(p.seqs, 1, func(_ int, states [][]float32) error {
			for _, x := range slices.Concat(states...) {
				got[name] = append(got[name], math.Float32bits(x))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	double := func(name string, numbers ...float64) {
		for _, x := range numbers {
			bits := math.Float64bits(x)
			got[name] = append(got[name], uint32(bits>>32), uint32(bits))
		}
	}
	var poison func()
	if s != nil {
		poison = p.poisoner(s)
	}
	for _, pass := range order {
		switch pass {
		case "draw", "write":
			got[pass] = nil
			for _, c := range modeltest.Generate(t, map[string]*sample.Engine{"draw": e, "write": writer}[pass], modeltest.Requests(append(modeltest.Prompts(2, 40), make([]int, 40)), 2)) {
				for _, c := range c {
					for i, id := range c.IDs {
						got[pass] = append(got[pass], uint32(id), math.Float32bits(c.Logprob[i]), math.Float32bits(c.Entropy[i]))
					}
				}
			}
		case "score":
			of, err := lent.Score(p.seqs)
			stats(pass, of, err)
		case "other":
			of, err := own.Score(p.seqs)
			stats(pass, of, err)
		case "head":
			of, err := lent.Read(p.seqs, head, 0)
			stats(pass, of, err)
		case "other head":
			of, err := own.Read(p.seqs, head, 0)
			stats(pass, of, err)
		case "states":
			states(pass, tr.States)
		case "other states":
			states(pass, own.States)
		case "influence":
			of, err := tr.Influence([][]seq.Sequence{p.seqs}, [][][]float64{x})
			if err != nil {
				t.Fatal(err)
			}
			got[pass] = nil
			double(pass, slices.Concat(of[0]...)...)
		case "norm":
			of, err := tr.GradientNorm(p.seqs[0])
			if err != nil {
				t.Fatal(err)
			}
			got[pass] = nil
			double(pass, of)
		case "forward":
			of, err := tr.Forward(p.seqs)
			stats(pass, of, err)
		case "backward":
			if err := tr.Backward(weights); err != nil {
				t.Fatal(err)
			}
		case "accumulate":
			err := tr.Accumulate(p.seqs, func(first int, of []seq.Stats) ([]learn.Weights, error) {
				return weights[first : first+len(of)], nil
			})
			if err != nil {
				t.Fatal(err)
			}
		case "poison":
			poison()
		}
	}
	named, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range modeltest.Flat(t, named) {
		got["gradient"] = append(got["gradient"], math.Float32bits(x))
	}
	return got
}
