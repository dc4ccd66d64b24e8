package decoder

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// Decoder is a decoder's parameters on a device, with what the passes read beside them.
type Decoder struct {
	Device  gpu.Device
	config  hf.Config
	Layout  *Layout
	Params  tensors.Parameters
	Adapter *Adapter // nil for none
	frozen  bool     // the parameters are never updated

	Positions int         // longest sequence, tokens
	Turn      *sync.Mutex // held for a step by the engines of decoders with the same parameters
	changes   *atomic.Uint64

	ropes    [ropeKinds]gpu.Buffer // [positions][hdp]: cosines, sines; nil for kinds that no layer has
	borrowed bool                  // parameters and ropes are those of another decoder
	phase    *device.Phase         // in which the parameters lie; nil: they are always there
}

// New makes a decoder, all zeros. A frozen one has no float32 copy of matrices that are
// kept otherwise, and its parameters may lie in a phase; nil: they are always there.
func New(dev gpu.Device, cfg hf.Config, positions int, frozen bool, phase *device.Phase) (*Decoder, error) {
	if longest := LongestSequence(cfg, dev.Caps()); positions > longest {
		return nil, fmt.Errorf("sequences of %d tokens are too long: this device stops a shader after %d loop iterations, enough for %d tokens of this model: %w",
			positions, dev.Caps().MaxLoop, longest, gpu.ErrUnsupported)
	}
	l := NewLayout(cfg, dev.Caps().MaxBinding)
	if err := l.Fits(frozen); err != nil {
		return nil, err
	}
	if cfg.Dtype.Blocked() && !frozen {
		return nil, tensors.Storage(cfg.Dtype).ErrTrained()
	}
	d := &Decoder{Device: dev, config: cfg, Layout: l, frozen: frozen, phase: phase, Positions: max(positions, 1), Turn: new(sync.Mutex), changes: new(atomic.Uint64)}
	var err error
	if phase != nil {
		pool := device.NewPoolIn(phase, dev, "")
		d.Params, err = l.ParametersIn(pool), pool.Err
	} else {
		d.Params, err = l.NewParameters(dev, frozen)
	}
	if err == nil {
		err = d.makeRopes()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// LongestSequence is how many tokens the attention kernels can take on a device that
// ends shaders after so many loop iterations. They go through keys in blocks, the
// gradient of a key through the rows that read it, once for each query head of its
// group; a loop costs one iteration more than it has turns.
func LongestSequence(cfg hf.Config, caps gpu.Caps) int {
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

// makeRopes makes the rotations' tables that the layers need.
func (d *Decoder) makeRopes() error {
	c, hdp := d.config, d.Layout.Dims.hdp
	for _, kind := range d.Layout.ropes() {
		var cos, sin [][]float32
		switch kind {
		case ropeMain:
			cos, sin = hf.RopeTable(c.HeadDim, c.RopeTheta, c.RopeScaling, d.Positions)
		case ropeLocal:
			cos, sin = hf.RopeTable(c.HeadDim, c.LocalTheta, nil, d.Positions)
		case ropeNone: // by the angle 0: x*1 - y*0 is x
			cos, sin = hf.RopeTable(c.HeadDim, 1, &hf.RopeScaling{Type: "linear", Factor: math.Inf(1)}, d.Positions)
		}
		table := make([]float32, d.Positions*hdp)
		for p := range d.Positions {
			copy(table[p*hdp:], cos[p])
			copy(table[p*hdp+hdp/2:], sin[p])
		}
		var err error
		if d.ropes[kind], err = d.Device.NewBuffer("rope table", len(table)*4); err != nil {
			return err
		}
		if err := device.Upload(device.Put(gpu.View{Buffer: d.ropes[kind]}, table)); err != nil {
			return err
		}
	}
	return nil
}

// errFrozen is the error of a decoder that has nothing that can be trained.
var errFrozen = errors.New("the model was opened frozen, without what training needs")

// Trained is what an update changes: all parameters, or those of the adapter.
func (d *Decoder) Trained() (*tensors.Set, tensors.Arena, error) {
	switch {
	case d.Adapter != nil:
		return &d.Adapter.Set, d.Adapter.Values, nil
	case d.frozen:
		return nil, nil, errFrozen
	}
	return &d.Layout.Set, d.Params.Arena, nil
}

// Change says that parameters are about to be written. Whoever writes them calls it.
func (d *Decoder) Change() { d.changes.Add(1) }

// Changes is how often parameters were written, the adapter's among them, also by decoders that
// share some. What was computed at another count may be of other weights.
func (d *Decoder) Changes() uint64 { return d.changes.Load() }

// CopyFrom overwrites the parameters with those of another decoder of the same config, which
// may be frozen only if this one is.
func (d *Decoder) CopyFrom(src *Decoder) error {
	if src.frozen && !d.frozen {
		return errFrozen
	}
	d.Change()
	for _, arenas := range [][2]tensors.Arena{{d.Params.Arena, src.Params.Arena}, {d.Params.Packed, src.Params.Packed}} {
		if err := arenas[0].CopyFrom(arenas[1]); err != nil {
			return err
		}
	}
	return nil
}

// CopyTrained overwrites what is trained with what is trained of another decoder like it.
func (d *Decoder) CopyTrained(src *Decoder) error {
	if d.Adapter != nil {
		d.Change()
		return d.Adapter.Values.CopyFrom(src.Adapter.Values)
	}
	return d.CopyFrom(src)
}

// RecordFollow records that every number that is trained moves a share of the way to that of
// another decoder like it.
func (d *Decoder) RecordFollow(r *device.Recorder, to *Decoder, share float64) {
	if d.Adapter != nil {
		d.Adapter.Values.RecordBlend(r, to.Adapter.Values, share)
		return
	}
	d.Params.RecordBlend(r, to.Params.Arena, share)
	d.RecordRound(r)
}

// RecordRound records the rounding of what is trained, where the passes read a copy of it.
func (d *Decoder) RecordRound(r *device.Recorder) {
	if d.Adapter == nil {
		d.Params.RecordRound(r)
	}
}

// Attach gives the decoder an adapter, all zeros, before there is any workspace for it.
func (d *Decoder) Attach(cfg hf.AdapterConfig) error {
	if d.Adapter != nil {
		return errors.New("the model has an adapter already")
	}
	a, err := NewAdapter(cfg, d.config, d.Layout)
	if err != nil {
		return err
	}
	if a.Values, err = a.Set.NewArena(d.Device, "adapter", tensors.Chunk.Whole); err != nil {
		return err
	}
	d.Adapter = a
	return nil
}

// Share is a decoder with the same parameters and no adapter, for one of its own. It is closed
// before d.
func (d *Decoder) Share() *Decoder {
	other := *d
	other.Layout, other.Adapter, other.borrowed = NewLayout(d.config, d.Layout.MaxBinding), nil, true
	other.changes = new(atomic.Uint64) // updates of the adapter of d change nothing here
	return &other
}

// Without is the decoder without its adapter. It has no memory of its own.
func (d *Decoder) Without() *Decoder {
	other := *d
	other.Adapter, other.borrowed = nil, true
	return &other
}

// Beside is a decoder with trained parameters of its own, which begin as those of d: all of
// them, or those of the adapter, with the rest shared. It is closed before d.
func (d *Decoder) Beside() (*Decoder, error) {
	set, _, err := d.Trained()
	if err != nil {
		return nil, err
	}
	if d.Adapter == nil {
		other, err := New(d.Device, d.config, d.Positions, false, nil)
		if err != nil {
			return nil, err
		}
		if err := other.CopyFrom(d); err != nil {
			other.Close()
			return nil, err
		}
		return other, nil
	}
	other, own := d.Without(), *d.Adapter
	if own.Values, err = set.NewArena(d.Device, "adapter", tensors.Chunk.Whole); err != nil {
		return nil, err
	}
	other.Adapter = &own
	if err := other.CopyTrained(d); err != nil {
		other.Close()
		return nil, err
	}
	return other, nil
}

// Close frees the device memory, but for what is shared.
func (d *Decoder) Close() {
	if d.Adapter != nil {
		d.Adapter.Values.Free()
	}
	if d.borrowed {
		return
	}
	if d.phase == nil {
		d.Params.Free()
	}
	for _, b := range d.ropes {
		if b != nil {
			b.Free()
		}
	}
}

// CheckIDs refuses token ids outside the vocabulary.
func (d *Decoder) CheckIDs(ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= d.config.Vocab {
			return fmt.Errorf("token %d has id %d, but the vocabulary is 0 to %d", i, id, d.config.Vocab-1)
		}
	}
	return nil
}
