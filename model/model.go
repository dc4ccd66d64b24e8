package model

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
)

// Model is a decoder's parameters on a device.
type Model struct {
	Config    hf.Config
	Tokenizer *text.Tokenizer // nil for a folder without one

	dev      gpu.Device
	layout   *layout
	params   parameters
	adapter  *adapter              // nil for none
	frozen   bool                  // no trainer can be made
	ropes    [ropeKinds]gpu.Buffer // [maxPos][hdp]: cosines, sines; nil for kinds that no layer has
	maxPos   int
	borrowed bool        // parameters and ropes are those of another model
	turn     *sync.Mutex // held for a step by the engines of models with the same parameters
}

// New makes a model with fresh parameters: matrices from N(0, InitStd), the
// output projections of attention and MLP from N(0, InitStd/sqrt(2*Layers)),
// factors of norms 1, biases 0. Each tensor has its own random stream, keyed by seed and name.
// positions is the longest sequence the model will see.
func New(dev gpu.Device, cfg hf.Config, seed uint64, positions int) (*Model, error) {
	m, err := build(dev, cfg, positions, false)
	if err != nil {
		return nil, err
	}
	if err := m.Initialize(seed); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Initialize gives a model, which may be frozen, the fresh parameters of New.
func (m *Model) Initialize(seed uint64) error {
	cfg := m.Config
	small := cfg.InitStd / math.Sqrt(2*float64(cfg.Layers))
	draws := streams{}
	return m.layout.writePieces(m.params, func(p piece, _, n int) ([]float32, error) {
		rng := draws.of(seed, fmt.Sprint(p.name, "/", p.from))
		_, cols := p.size()
		data := make([]float32, n*cols)
		std := cfg.InitStd
		if p.projection {
			std = small
		}
		for i := range data {
			if p.vector {
				data[i] = p.start
			} else {
				data[i] = float32(rng.NormFloat64() * std)
			}
		}
		return data, nil
	})
}

// streams are random numbers by name, each name's in one stream.
type streams map[string]*rand.Rand

func (s streams) of(seed uint64, name string) *rand.Rand {
	if s[name] == nil {
		h := fnv.New64a()
		fmt.Fprint(h, name)
		s[name] = rand.New(rand.NewPCG(seed, h.Sum64()))
	}
	return s[name]
}

// NewFrozen makes a model that cannot be trained, all zeros: SetTensors or
// CopyFrom gives it its parameters. In bf16 it takes half the memory of one in f32,
// where one that is trained takes half as much again.
func NewFrozen(dev gpu.Device, cfg hf.Config, positions int) (*Model, error) {
	return build(dev, cfg, positions, true)
}

// LoadOptions say how a folder's model is kept on the device.
type LoadOptions struct {
	Positions int      // longest sequence the model will see; 0: what the config allows, at most 4096
	Dtype     hf.Dtype // of matrices; "": what config.json says (Config.Dtype)
	KVDtype   hf.Dtype // of keys and values; "": what config.json says
	Frozen    bool     // no trainer will be made, see NewFrozen
	Adapter   string   // folder of a PEFT adapter; the model is frozen, and trained by the adapter; "": none
}

// Load reads a Hugging Face folder.
func Load(dev gpu.Device, dir string, o LoadOptions) (*Model, error) {
	f, err := hf.ReadFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.Tensors.Close()
	if o.Positions == 0 {
		o.Positions = min(f.Config.MaxPositions, 4096, longestSequence(f.Config, dev.Caps()))
	}
	if o.Dtype != "" {
		f.Config.Dtype = o.Dtype
	}
	if o.KVDtype != "" {
		f.Config.KVDtype = o.KVDtype
	}
	if f.Adapter != "" && o.Adapter != "" {
		return nil, hint.With(fmt.Errorf("%s is an adapter itself, and the adapter %s cannot be added to it", dir, o.Adapter), "name the folder of the model, without an adapter")
	}
	o.Adapter = cmp.Or(o.Adapter, f.Adapter)
	m, err := build(dev, f.Config, o.Positions, o.Frozen || o.Adapter != "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	m.Tokenizer = f.Tokenizer
	if err = m.SetTensors(f.Tensors); err == nil && o.Adapter != "" {
		err = m.LoadAdapter(o.Adapter)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// SetTensors overwrites all parameters; the set must have the names and shapes
// that the config asks for.
func (m *Model) SetTensors(ts *hf.TensorSet) error {
	if err := hf.CheckTensors(m.Config, ts); err != nil {
		return err
	}
	return m.layout.writeRows(m.params, func(p piece, from, n int) ([]float32, error) { return ts.Rows(p.name, p.cols(), from, n) },
		func(p piece, d storage, from, n int) ([]byte, error) {
			return ts.Blocks(p.name, blockTypes[d].kind, from, n)
		})
}

// longestSequence is how many tokens the attention kernels can take on a device that
// ends shaders after so many loop iterations. They go through keys in blocks, the
// gradient of a key through the rows that read it, once for each query head of its
// group; a loop costs one iteration more than it has turns.
func longestSequence(cfg hf.Config, caps gpu.Caps) int {
	if caps.MaxLoop == 0 {
		return math.MaxInt
	}
	hd, group := 2*pad4(cfg.HeadDim/2), cfg.Heads/cfg.KVHeads
	perHead := (caps.MaxLoop-1)/group - 2
	if caps.Tier == gpu.TierLanes {
		// Blocks of 8 with two loops over hd/8. The rows that read a key begin up to 7
		// before it.
		return perHead/(1+2*(hd/8+1))*8 - 7
	}
	// Blocks of 32. Scores: half of hd/4, then three loops over the block. Gradients:
	// hd/4, then one.
	forward := (caps.MaxLoop - 1) / (1 + (hd/8 + 1) + 33 + 9 + 33)
	backward := perHead / (1 + (hd/4 + 1) + 33)
	return 32 * min(forward, backward)
}

func build(dev gpu.Device, cfg hf.Config, positions int, frozen bool) (*Model, error) {
	if longest := longestSequence(cfg, dev.Caps()); positions > longest {
		return nil, fmt.Errorf("sequences of %d tokens are too long: this device stops a shader after %d loop iterations, enough for %d tokens of this model: %w",
			positions, dev.Caps().MaxLoop, longest, gpu.ErrUnsupported)
	}
	l := newLayout(cfg, dev.Caps().MaxBinding)
	if err := l.fits(frozen); err != nil {
		return nil, err
	}
	if cfg.Dtype.Blocked() && !frozen {
		return nil, storage(cfg.Dtype).errTrained()
	}
	m := &Model{Config: cfg, dev: dev, layout: l, frozen: frozen, maxPos: max(positions, 1), turn: new(sync.Mutex)}
	var err error
	if m.params, err = l.newParameters(dev, frozen); err == nil {
		err = m.makeRopes()
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// makeRopes makes the rotations' tables that the layers need.
func (m *Model) makeRopes() error {
	c, d := m.Config, m.layout.dims
	for _, kind := range m.layout.ropes() {
		var cos, sin [][]float32
		switch kind {
		case ropeMain:
			cos, sin = hf.RopeTable(c.HeadDim, c.RopeTheta, c.RopeScaling, m.maxPos)
		case ropeLocal:
			cos, sin = hf.RopeTable(c.HeadDim, c.LocalTheta, nil, m.maxPos)
		case ropeNone: // by the angle 0: x*1 - y*0 is x
			cos, sin = hf.RopeTable(c.HeadDim, 1, &hf.RopeScaling{Type: "linear", Factor: math.Inf(1)}, m.maxPos)
		}
		table := make([]float32, m.maxPos*d.hdp)
		for p := range m.maxPos {
			copy(table[p*d.hdp:], cos[p])
			copy(table[p*d.hdp+d.hdp/2:], sin[p])
		}
		var err error
		if m.ropes[kind], err = m.dev.NewBuffer("rope table", len(table)*4); err != nil {
			return err
		}
		if err := m.ropes[kind].Write(0, f32Bytes(table)); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the device memory, but for what the model shares, see WithAdapter.
func (m *Model) Close() {
	if m.adapter != nil {
		m.adapter.values.free()
	}
	if m.borrowed {
		return
	}
	m.params.free()
	for _, b := range m.ropes {
		if b != nil {
			b.Free()
		}
	}
}

// Device is the device the model lies on.
func (m *Model) Device() gpu.Device { return m.dev }

// Positions is the length of the longest sequence, in tokens.
func (m *Model) Positions() int { return m.maxPos }

// Tensors lists the parameters under their Hugging Face names; each is read
// from the device when its Data is called. Of a bf16 model that can be trained they
// are the float32 ones.
func (m *Model) Tensors() []hf.NamedTensor { return m.layout.named(m.params, "") }

// PassTensors are Tensors as the passes read them, and not more exact: where a matrix is
// kept in bf16 it is written so. A model of the same config that is given them computes the
// same bits, but for matrices in blocks: those that a GGUF file brought may get other factors
// when they are packed again.
func (m *Model) PassTensors() []hf.NamedTensor {
	out := m.layout.named(m.params, "")
	packed := map[string]bool{}
	for _, p := range m.layout.pieces {
		packed[p.name] = m.layout.chunks[p.region.chunk].storage == bf16
	}
	for i := range out {
		if packed[out[i].Name] {
			out[i].Type = gguf.BF16
		}
	}
	return out
}

// CopyFrom overwrites the parameters with those of another model of the same
// config, which may be frozen only if this one is.
func (m *Model) CopyFrom(src *Model) error {
	if src.frozen && !m.frozen {
		return errFrozen
	}
	for _, arenas := range [][2]arena{{m.params.arena, src.params.arena}, {m.params.packed, src.params.packed}} {
		if err := arenas[0].copyFrom(arenas[1]); err != nil {
			return err
		}
	}
	return nil
}

var errFrozen = errors.New("the model was opened frozen, without what training needs")

func f32Bytes(v []float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

func u32Bytes(v []uint32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], x)
	}
	return b
}

func readF32(b gpu.Buffer, off int, dst []float32) error {
	raw := make([]byte, 4*len(dst))
	if err := b.Read(off, raw); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}
