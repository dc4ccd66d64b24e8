package model

import "github.com/rlzero/rlzero/gpu"

import "github.com/rlzero/rlzero/model/hf"

// Probe is one linear layer alone, all zeros, as both passes use it: it measures what the
// products of a model take before there is a model.
type Probe struct {
	m        *Model
	w        linear
	rows     int
	pool     *pool
	ws       *workspace
	grads    *gradients
	progs    *programs
	x, y, dx gpu.View // [rows][in], [rows][out], [rows][in]
}

// NewProbe makes a layer of so many outputs and inputs, multiples of 32, that is kept in
// a storage, for batches of so many rows. With a rank above 0 it has an adapter, and the
// backward pass has no gradient of the matrix.
func NewProbe(dev gpu.Device, dtype hf.Dtype, rank, rows, out, in int) (*Probe, error) {
	l := &layout{tensors: tensors{maxBinding: dev.Caps().MaxBinding, align: 64 * blockSize * 4}}
	p := &Probe{m: &Model{dev: dev, layout: l}, rows: rows, pool: &pool{dev: dev, label: "probe"}, ws: &workspace{}, grads: &gradients{}, progs: newPrograms(dev, 2)}
	p.w = l.linear(storage(dtype), out, in, false, false, slice{"probe", out, in, 0, out, same, same, nil})
	trained := &l.tensors
	if rank > 0 {
		a := &adapter{config: hf.AdapterConfig{Rank: rank, Alpha: 1}, tensors: tensors{maxBinding: l.maxBinding, align: 256}}
		a.placeModule(l, &p.w, &p.w.slices[0])
		p.m.adapter, trained = a, &a.tensors
	}
	p.ws.rowSpace(p.pool, l.dims, rows)
	p.x, p.y, p.dx = p.pool.words("x", rows*in), p.pool.words("y", rows*out), p.pool.words("dx", rows*in)
	err := p.pool.err
	if err == nil {
		p.m.params, err = l.newParameters(dev, true)
	}
	if err == nil && rank > 0 {
		p.m.adapter.values, err = trained.newArena(dev, "adapter", chunk.whole)
	}
	if err == nil {
		p.grads.arena, err = trained.newArena(dev, "gradient", chunk.whole)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Forward runs the forward pass to its end.
func (p *Probe) Forward() error {
	return p.run("forward", func(pass *pass) { p.w.forward(pass, p.rows, p.x, p.y, p.w.weight.rows) })
}

// Backward runs the backward pass to its end.
func (p *Probe) Backward() error {
	return p.run("backward", func(pass *pass) { p.w.backward(pass, p.rows, p.x, p.y, p.w.weight.rows, p.dx, false) })
}

func (p *Probe) run(key string, record func(*pass)) error {
	err := p.progs.run(key, func(r *recorder) { record(&pass{recorder: r, m: p.m, ws: p.ws, T: p.rows, g: p.grads}) })
	if err != nil {
		return err
	}
	return p.m.dev.Wait()
}

// Close frees the device memory.
func (p *Probe) Close() {
	p.progs.free()
	p.grads.free()
	p.pool.free()
	p.m.Close()
}
