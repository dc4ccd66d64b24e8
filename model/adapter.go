package model

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// AddAdapter gives the model a fresh adapter, before any trainer, scorer or engine is
// made for it: A uniform within 1/sqrt(in) (PEFT's kaiming_uniform with a = sqrt(5)), B
// zeros, so that it changes nothing yet. Each A has its own random stream, keyed by seed
// and name.
func (m *Model) AddAdapter(cfg hf.AdapterConfig, seed uint64) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	if err := m.decoder.Attach(cfg); err != nil {
		return err
	}
	draws, a := streams{}, m.decoder.Adapter
	m.decoder.Change()
	return a.Set.Write(a.Values, func(p tensors.Piece, _, n int) ([]float32, error) {
		_, cols := p.Size()
		data := make([]float32, n*cols)
		if strings.HasSuffix(p.Name, "lora_A.weight") {
			rng := draws.of(seed, p.Name)
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
	if err := m.decoder.Attach(cfg); err != nil {
		return err
	}
	return m.SetAdapterTensors(ts)
}

// WithAdapter is a second model over the matrices of a frozen one, with the adapter of a PEFT
// folder in place of its own. It takes only the memory of the adapter, and computes, to the bit,
// what a model that is loaded with that adapter computes. Engines of all models over the same
// matrices take turns and may be called at once. The model that was loaded is closed last.
// An adapter that brings an output head of its own is refused.
func (m *Model) WithAdapter(dir string) (*Model, error) {
	switch brings, err := hf.HasHead(dir); {
	case err != nil:
		return nil, err
	case brings:
		return nil, fmt.Errorf("the adapter %s brings an output head (modules_to_save), so it cannot share the matrices of another model: name it as the model itself", dir)
	}
	if _, _, err := m.decoder.Without().Trained(); err == nil {
		return nil, errors.New("the matrices of a model that is trained cannot be shared: open it frozen")
	}
	other := &Model{Config: m.Config, Tokenizer: m.Tokenizer, decoder: m.decoder.Share()}
	if err := other.LoadAdapter(dir); err != nil {
		other.Close()
		return nil, err
	}
	return other, nil
}

// Beside is a model like this one with trained parameters of its own: all parameters, or those of
// the adapter. They begin equal to this model's and then change independently. Parameters that are
// not trained are shared, so this model is closed last. A frozen model without an adapter has no
// trained parameters, which is an error.
func (m *Model) Beside() (*Model, error) {
	d, err := m.decoder.Beside()
	if err != nil {
		return nil, err
	}
	return &Model{Config: m.Config, Tokenizer: m.Tokenizer, decoder: d}, nil
}

// SetAdapterTensors overwrites the adapter; the set must have its names and shapes.
func (m *Model) SetAdapterTensors(ts *hf.TensorSet) error {
	a := m.decoder.Adapter
	if a == nil {
		return errNoAdapter
	}
	if err := hf.CheckAdapter(a.Files, ts); err != nil {
		return err
	}
	m.decoder.Change()
	return a.Set.Fill(a.Values, "", ts)
}

var errNoAdapter = errors.New("the model has no adapter")

// AdapterTensors lists the adapter under the names of PEFT's files; nil without one.
func (m *Model) AdapterTensors() []hf.NamedTensor {
	a := m.decoder.Adapter
	if a == nil {
		return nil
	}
	return a.Set.Named(a.Values, "")
}

// AdapterConfigFile is the content of adapter_config.json, nil without an adapter.
func (m *Model) AdapterConfigFile() ([]byte, error) {
	a := m.decoder.Adapter
	if a == nil {
		return nil, nil
	}
	return jsonfile.Marshal(a.Config)
}
