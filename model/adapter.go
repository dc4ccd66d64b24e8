package model

import (
	"errors"
	"math"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// adapter are the low-rank matrices beside a model's own, in float32. A model that has
// one is trained by it alone.
type adapter struct {
	config  hf.AdapterConfig
	files   []hf.TensorSpec // A and B of each module, as in PEFT's files
	tensors tensors         // where they lie
	values  arena
}

// lora is the pair of matrices of one module. Rank and rows are padded.
type lora struct {
	a, b  *region // [rank][in], [rows][rank]
	scale float64
}

// loraSpace are the temporaries of adapters, shared by all modules.
type loraSpace struct {
	down, up gpu.View // [T][rank], [T][rows]
}

// newAdapter places the matrices of an adapter for the modules of a model. A target that is
// no module of it is an error.
func newAdapter(cfg hf.AdapterConfig, c hf.Config, l *layout) (*adapter, error) {
	files, err := cfg.Tensors(c)
	if err != nil {
		return nil, err
	}
	a := &adapter{config: cfg, files: files, tensors: tensors{maxBinding: l.maxBinding, align: 256}}
	for i := range l.blocks {
		b := &l.blocks[i]
		for _, w := range []*linear{&b.attention.qkv, &b.attention.out, &b.mlp.gateUp, &b.mlp.out} {
			for j := range w.slices {
				s := &w.slices[j]
				if a.config.Targeted(s.name) {
					a.placeModule(l, w, s)
				}
			}
		}
	}
	return a, nil
}

func (a *adapter) placeModule(l *layout, w *linear, s *slice) {
	rank, scale := a.config.Of(s.name)
	padded, in := pad8(rank), w.weight.cols
	t := &a.tensors
	pair := &lora{t.place(padded, in, true), t.place(s.rows, padded, true), scale}
	t.pieces = append(t.pieces,
		piece{name: hf.AdapterTensor(s.name, "A"), shape: []int{rank, s.in}, region: pair.a, row: same, col: s.col},
		piece{name: hf.AdapterTensor(s.name, "B"), shape: []int{s.out, rank}, region: pair.b, row: func(r int) int { return s.row(r) - s.off }, col: same})
	s.lora = pair
	l.rank, l.adapted = max(l.rank, padded), max(l.adapted, s.rows)
}

// AddAdapter gives the model a fresh adapter, before any trainer, scorer or engine is
// made for it: A uniform within 1/sqrt(in) (PEFT's kaiming_uniform with a = sqrt(5)), B
// zeros, so that it changes nothing yet. Each A has its own random stream, keyed by seed
// and name.
func (m *Model) AddAdapter(cfg hf.AdapterConfig, seed uint64) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	draws := streams{}
	return m.attach(cfg, func(p piece, _, n int) ([]float32, error) {
		_, cols := p.size()
		data := make([]float32, n*cols)
		if strings.HasSuffix(p.name, "lora_A.weight") {
			rng := draws.of(seed, p.name)
			for i := range data {
				data[i] = float32((2*rng.Float64() - 1) / math.Sqrt(float64(cols)))
			}
		}
		return data, nil
	})
}

// LoadAdapter gives the model the adapter of a PEFT folder, as AddAdapter does.
func (m *Model) LoadAdapter(dir string) error {
	cfg, ts, err := hf.OpenAdapter(m.Config, dir)
	if err != nil {
		return err
	}
	defer ts.Close()
	if err := m.attach(cfg, nil); err != nil {
		return err
	}
	return m.SetAdapterTensors(ts)
}

// WithAdapter is a frozen model once more, with the adapter of a PEFT folder in place of
// its own. Both read the same matrices, so it takes the memory of the adapter alone; it
// computes what the model does that is loaded with that adapter, to the bit. Engines of all
// models over the same matrices take turns and may be called at once. The model that was
// loaded is closed last.
func (m *Model) WithAdapter(dir string) (*Model, error) {
	if !m.frozen {
		return nil, errors.New("the matrices of a model that is trained cannot be shared: open it frozen")
	}
	other := *m
	other.layout, other.adapter, other.borrowed = newLayout(m.Config, m.layout.maxBinding), nil, true
	if err := other.LoadAdapter(dir); err != nil {
		other.Close()
		return nil, err
	}
	return &other, nil
}

// attach places an adapter and fills it, unless get is nil.
func (m *Model) attach(cfg hf.AdapterConfig, get func(p piece, from, n int) ([]float32, error)) error {
	if m.adapter != nil {
		return errors.New("the model has an adapter already")
	}
	a, err := newAdapter(cfg, m.Config, m.layout)
	if err != nil {
		return err
	}
	if a.values, err = a.tensors.newArena(m.dev, "adapter", chunk.whole); err != nil {
		return err
	}
	m.adapter = a
	if get == nil {
		return nil
	}
	return a.tensors.writePieces(a.values, get)
}

// SetAdapterTensors overwrites the adapter; the set must have its names and shapes.
func (m *Model) SetAdapterTensors(ts *hf.TensorSet) error {
	if m.adapter == nil {
		return errNoAdapter
	}
	if err := hf.CheckAdapter(m.adapter.files, ts); err != nil {
		return err
	}
	return m.adapter.tensors.writePieces(m.adapter.values, func(p piece, from, n int) ([]float32, error) { return ts.Rows(p.name, p.cols(), from, n) })
}

var errNoAdapter = errors.New("the model has no adapter")

// AdapterTensors lists the adapter under the names of PEFT's files; nil without one.
func (m *Model) AdapterTensors() []hf.NamedTensor {
	if m.adapter == nil {
		return nil
	}
	return m.adapter.tensors.named(m.adapter.values, "")
}

// AdapterConfigFile is the content of adapter_config.json, nil without an adapter.
func (m *Model) AdapterConfigFile() ([]byte, error) {
	if m.adapter == nil {
		return nil, nil
	}
	return jsonfile.Marshal(m.adapter.config)
}
