package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// Probe is one linear layer alone, all zeros, as both passes use it: it measures what the
// products of a model take before there is a model.
type Probe struct {
	m        *Decoder
	w        linear
	rows     int
	pool     *device.Pool
	ws       *Workspace
	grads    *Gradients
	progs    *device.Programs
	x, y, dx gpu.View // [rows][in], [rows][out], [rows][in]
}

// NewProbe makes a layer of so many outputs and inputs, multiples of 32, that is kept in
// a storage, for batches of so many rows. With a rank above 0 it has an adapter, and the
// backward pass has no gradient of the matrix.
func NewProbe(dev gpu.Device, dtype hf.Dtype, rank, rows, out, in int) (*Probe, error) {
	l := &Layout{Set: tensors.Set{MaxBinding: dev.Caps().MaxBinding, Align: 64 * tensors.BlockSize * 4}}
	p := &Probe{m: &Decoder{Device: dev, Layout: l}, rows: rows, pool: device.NewPool(dev, "probe"), ws: &Workspace{}, grads: &Gradients{}, progs: device.NewPrograms(dev, 2)}
	p.w = l.linear(tensors.Storage(dtype), out, in, false, false, slice{"probe", out, in, 0, out, same, same, nil})
	trained := &l.Set
	if rank > 0 {
		a := &Adapter{Config: hf.AdapterConfig{Rank: rank, Alpha: 1}, Set: tensors.Set{MaxBinding: l.MaxBinding, Align: 256}}
		a.placeModule(l, &p.w, &p.w.slices[0])
		p.m.Adapter, trained = a, &a.Set
	}
	p.ws.rowSpace(p.pool, l.Dims, rows)
	p.x, p.y, p.dx = p.pool.Words("x", rows*in), p.pool.Words("y", rows*out), p.pool.Words("dx", rows*in)
	err := p.pool.Err
	if err == nil {
		p.m.Params, err = l.NewParameters(dev, true)
	}
	if err == nil && rank > 0 {
		p.m.Adapter.Values, err = trained.NewArena(dev, "adapter", tensors.Chunk.Whole)
	}
	if err == nil {
		p.grads.Arena, err = trained.NewArena(dev, "gradient", tensors.Chunk.Whole)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Forward runs the forward pass to its end.
func (p *Probe) Forward() error {
	return p.run("forward", func(pass *pass) { p.w.forward(pass, p.rows, p.x, p.y, p.w.weight.Rows) })
}

// Backward runs the backward pass to its end.
func (p *Probe) Backward() error {
	return p.run("backward", func(pass *pass) { p.w.backward(pass, p.rows, p.x, p.y, p.w.weight.Rows, p.dx, false) })
}

func (p *Probe) run(key string, record func(*pass)) error {
	err := p.progs.Run(key, func(r *device.Recorder) { record(&pass{Recorder: r, m: p.m, ws: p.ws, T: p.rows, g: p.grads}) })
	if err != nil {
		return err
	}
	return p.m.Device.Wait()
}

// Close frees the device memory.
func (p *Probe) Close() {
	p.progs.Free()
	p.grads.Free()
	p.pool.Free()
	p.m.Close()
}
