package model

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/text"
)

// Model is a decoder's parameters on a device.
type Model struct {
	Config    hf.Config
	Tokenizer *text.Tokenizer // nil for a folder without one
	Head      *hf.Head        // that was loaded with it; nil: none was

	decoder *decoder.Decoder
	source  *hf.TensorSet // that the parameters come back from; nil: they are always there
}

// New makes a model with fresh parameters: matrices from N(0, InitStd), the
// output projections of attention and MLP from N(0, InitStd/sqrt(2*Layers)),
// factors of norms 1, biases 0. Each tensor has its own random stream, keyed by seed and name.
// positions is the longest sequence the model will see.
func New(dev gpu.Device, cfg hf.Config, seed uint64, positions int) (*Model, error) {
	m, err := build(dev, cfg, positions, false, nil)
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
	m.decoder.Change()
	return m.decoder.Layout.Write(m.decoder.Params, func(p tensors.Piece, _, n int) ([]float32, error) {
		rng := draws.of(seed, fmt.Sprint(p.Name, "/", p.From))
		_, cols := p.Size()
		data := make([]float32, n*cols)
		std := cfg.InitStd
		if p.Projection {
			std = small
		}
		for i := range data {
			if p.Vector {
				data[i] = p.Start
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

// NewFrozen makes a model that cannot be trained, all zeros: SetTensors or CopyFrom gives it its
// parameters. In bf16 it takes half the memory of a model in f32; a trained model takes 1.5 times
// as much in bf16.
func NewFrozen(dev gpu.Device, cfg hf.Config, positions int) (*Model, error) {
	return build(dev, cfg, positions, true, nil)
}

// LoadOptions say how a folder's model is kept on the device.
type LoadOptions struct {
	Positions int      // longest sequence the model will see; 0: what the config allows, at most 4096
	Dtype     hf.Dtype // of matrices; "": what config.json says (Config.Dtype)
	KVDtype   hf.Dtype // of keys and values; "": what config.json says
	Frozen    bool     // no trainer will be made, see NewFrozen
	Adapter   string   // folder of a PEFT adapter; the model is frozen, and trained by the adapter; "": none
	Head      bool     // the folder is one with a head, see [hf.ReadHeaded]: the model scores, and predicts no tokens
	Phase     *Phase   // in which the parameters lie, of a frozen model: they come back from the folder, whose files stay open; nil: they are always there
}

// Load reads a Hugging Face folder.
func Load(dev gpu.Device, dir string, o LoadOptions) (*Model, error) {
	open := hf.ReadFolder
	if o.Head {
		open = hf.ReadHeaded
	}
	f, err := open(dir)
	if err != nil {
		return nil, err
	}
	if o.Phase == nil {
		defer f.Tensors.Close()
	}
	m, err := load(dev, dir, f, o)
	if err != nil && o.Phase != nil {
		f.Tensors.Close()
	}
	return m, err
}

func load(dev gpu.Device, dir string, f *hf.Folder, o LoadOptions) (*Model, error) {
	if o.Positions == 0 {
		o.Positions = min(f.Config.MaxPositions, 4096, decoder.LongestSequence(f.Config, dev.Caps()))
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
	if o.Adapter != "" {
		if err := f.TakeHead(o.Adapter); err != nil {
			return nil, err
		}
	}
	o.Adapter = cmp.Or(o.Adapter, f.Adapter)
	m, err := build(dev, f.Config, o.Positions, o.Frozen || o.Adapter != "", o.Phase)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	m.Tokenizer, m.Head = f.Tokenizer, f.Head
	if o.Phase == nil {
		err = m.SetTensors(f.Tensors)
	} else {
		err = m.leave(o.Phase, f.Tensors)
	}
	if err == nil && o.Adapter != "" {
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
	m.decoder.Change()
	return m.write(ts)
}

// leave lets the parameters come back from files when a phase is entered, after others may have taken their place. Files
// that were written to meanwhile are refused: the model would be another one.
func (m *Model) leave(phase *Phase, ts *hf.TensorSet) error {
	if err := hf.CheckTensors(m.Config, ts); err != nil {
		return err
	}
	m.source = ts
	phase.OnEnter(func() error {
		if err := ts.Unchanged(); err != nil {
			return hint.With(fmt.Errorf("the parameters of a model cannot come back to the device: %w", err), "leave the files of a model alone while a run uses it, or have it on the device all the time: resident = \"always\"")
		}
		return m.write(ts)
	})
	err := phase.Enter() // what is wrong with the files is said now
	if err == nil {
		phase.Leave()
	}
	return err
}

func (m *Model) write(ts *hf.TensorSet) error {
	return m.decoder.Layout.WriteRows(m.decoder.Params, func(p tensors.Piece, from, n int) ([]float32, error) { return ts.Rows(p.Name, p.Cols(), from, n) },
		func(p tensors.Piece, d tensors.Storage, from, n int) ([]byte, error) {
			return ts.Blocks(p.Name, d.GGUF(), from, n)
		})
}

// Close frees the device memory, but for what the model shares, see WithAdapter and Beside.
func (m *Model) Close() {
	m.decoder.Close()
	if m.source != nil {
		m.source.Close()
	}
}

// Device is the device the model lies on.
func (m *Model) Device() gpu.Device { return m.decoder.Device }

// Positions is the length of the longest sequence, in tokens.
func (m *Model) Positions() int { return m.decoder.Positions }

// Tensors lists the parameters under their Hugging Face names; each is read
// from the device when its Data is called. Of a bf16 model that can be trained they
// are the float32 ones.
func (m *Model) Tensors() []hf.NamedTensor { return m.decoder.Layout.Named(m.decoder.Params, "") }

// PassTensors are Tensors with the numbers that the passes read: a matrix that is kept in bf16 is
// written in bf16. A model of the same config that is given them computes the same bits, except for
// matrices in blocks: those from a GGUF file may get other factors when they are packed again.
func (m *Model) PassTensors() []hf.NamedTensor {
	out := m.decoder.Layout.Named(m.decoder.Params, "")
	packed, l := map[string]bool{}, m.decoder.Layout
	for _, p := range l.Pieces {
		packed[p.Name] = l.Chunks[p.Region.Chunk].Storage == tensors.BF16
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
func (m *Model) CopyFrom(src *Model) error { return m.decoder.CopyFrom(src.decoder) }

// Decoder is what the packages beside this one record their passes with.
func (m *Model) Decoder() *decoder.Decoder { return m.decoder }

func build(dev gpu.Device, cfg hf.Config, positions int, frozen bool, phase *Phase) (*Model, error) {
	d, err := decoder.New(dev, cfg, positions, frozen, phase)
	if err != nil {
		return nil, err
	}
	return &Model{Config: cfg, decoder: d}, nil
}
