package model

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// adapter are the low-rank matrices beside a model's own, in float32. A model that has
// one is trained by it alone.
type adapter struct {
	config  AdapterConfig
	tensors tensors // A and B of each module, under the names of PEFT's files
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

// place places the matrices of an adapter for the modules of a layout. A target that is
// no module of the model is an error.
func (a *adapter) place(l *layout) error {
	for i := range l.blocks {
		b := &l.blocks[i]
		for _, w := range []*linear{&b.attention.qkv, &b.attention.out, &b.mlp.gateUp, &b.mlp.out} {
			for j := range w.slices {
				s := &w.slices[j]
				if module := strings.TrimSuffix(s.name, "."); a.config.targeted(module) {
					a.placeModule(l, w, s, module)
				}
			}
		}
	}
	for _, end := range a.config.Targets {
		if !slices.ContainsFunc(l.modules(), func(m string) bool { return endsIn(m, end) }) {
			return fmt.Errorf("target_modules: the model has no module %s; it has %s", end, strings.Join(l.moduleEnds(), ", "))
		}
	}
	if len(a.tensors.pieces) == 0 {
		return fmt.Errorf("target_modules: %q matches no module of the model; it has %s", a.config.Pattern, strings.Join(l.moduleEnds(), ", "))
	}
	return nil
}

func (a *adapter) placeModule(l *layout, w *linear, s *slice, module string) {
	rank, scale := a.config.of(module)
	padded, in := pad8(rank), w.weight.cols
	t := &a.tensors
	pair := &lora{t.place(padded, in, true), t.place(s.rows, padded, true), scale}
	name := "base_model.model." + s.name + "lora_"
	t.pieces = append(t.pieces,
		piece{name: name + "A.weight", shape: []int{rank, s.in}, region: pair.a, row: same, col: s.col},
		piece{name: name + "B.weight", shape: []int{s.out, rank}, region: pair.b, row: func(r int) int { return s.row(r) - s.off }, col: same})
	s.lora = pair
	l.rank, l.adapted = max(l.rank, padded), max(l.adapted, s.rows)
}

// modules are the linear layers of the blocks, as PEFT names them.
func (l *layout) modules() []string {
	var names []string
	for _, p := range l.pieces {
		if name, ok := strings.CutSuffix(p.name, ".weight"); ok && !p.vector && strings.HasPrefix(name, "model.layers.") {
			names = append(names, name)
		}
	}
	return names
}

// moduleEnds are the last parts of the modules' names, each once.
func (l *layout) moduleEnds() []string {
	var ends []string
	for _, m := range l.modules() {
		ends = append(ends, m[strings.LastIndex(m, ".")+1:])
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}

// AddAdapter gives the model a fresh adapter, before any trainer, scorer or engine is
// made for it: A uniform within 1/sqrt(in) (PEFT's kaiming_uniform with a = sqrt(5)), B
// zeros, so that it changes nothing yet. Each A has its own random stream, keyed by seed
// and name.
func (m *Model) AddAdapter(cfg AdapterConfig, seed uint64) error {
	if err := cfg.check(); err != nil {
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
	cfg, ts, err := openAdapter(m.Config, dir)
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

// openAdapter opens a PEFT folder and checks it against the model of a config: what it
// targets, and names and shapes of its tensors. Values are checked when read.
func openAdapter(c Config, dir string) (AdapterConfig, *TensorSet, error) {
	path := filepath.Join(dir, adapterConfigFile)
	cfg, err := readAdapterConfig(path)
	if err != nil {
		return cfg, nil, err
	}
	a := adapter{config: cfg, tensors: tensors{maxBinding: math.MaxInt, align: 1}}
	if err := a.place(newLayout(c, math.MaxInt)); err != nil {
		return cfg, nil, fmt.Errorf("%s: %w", path, err)
	}
	ts, err := OpenTensorFile(filepath.Join(dir, adapterFile))
	if err != nil {
		return cfg, nil, err
	}
	if err := a.tensors.match(ts); err != nil {
		ts.Close()
		return cfg, nil, fmt.Errorf("%s: %w", filepath.Join(dir, adapterFile), err)
	}
	return cfg, ts, nil
}

// attach places an adapter and fills it, unless get is nil.
func (m *Model) attach(cfg AdapterConfig, get func(p piece, from, n int) ([]float32, error)) error {
	if m.adapter != nil {
		return errors.New("the model has an adapter already")
	}
	a := &adapter{config: cfg, tensors: tensors{maxBinding: m.layout.maxBinding, align: 256}}
	err := a.place(m.layout)
	if err == nil {
		a.values, err = a.tensors.newArena(m.dev, "adapter", chunk.whole)
	}
	if err != nil {
		return err
	}
	m.adapter = a
	if get == nil {
		return nil
	}
	return a.tensors.writePieces(a.values, get)
}

// SetAdapterTensors overwrites the adapter; the set must have its names and shapes.
func (m *Model) SetAdapterTensors(ts *TensorSet) error {
	if m.adapter == nil {
		return errNoAdapter
	}
	t := &m.adapter.tensors
	if err := t.match(ts); err != nil {
		return err
	}
	return t.writePieces(m.adapter.values, func(p piece, from, n int) ([]float32, error) { return ts.rows(p.name, p, from, n) })
}

var errNoAdapter = errors.New("the model has no adapter")

// match compares a set of files with the tensors of an adapter.
func (l *tensors) match(ts *TensorSet) error {
	want := map[string]bool{}
	for _, p := range l.pieces {
		want[p.name] = true
		if found := ts.Shape(p.name); found == nil {
			return fmt.Errorf("tensor %s is missing", p.name)
		} else if !slices.Equal(found, p.shape) {
			return fmt.Errorf("tensor %s: found shape %v, accepted: %v", p.name, found, p.shape)
		}
	}
	for _, name := range ts.Names() {
		if !want[name] {
			return fmt.Errorf("tensor %s belongs to no module that %s names", name, adapterConfigFile)
		}
	}
	return nil
}

// AdapterTensors lists the adapter under the names of PEFT's files; nil without one.
func (m *Model) AdapterTensors() []NamedTensor {
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
