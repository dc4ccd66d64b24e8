package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
)

// mlp is the gated feed-forward layer: down(act(gate(h)) * up(h)), where act is silu or,
// in some families, gelu.
type mlp struct {
	residual
	gateUp linear // gate, then up
}

// mlpRows are its activations.
type mlpRows struct {
	residualRows
	gu, act gpu.View // [T][2F], [T][F]
}

// mlpGradients are the temporaries of its backward pass.
type mlpGradients struct {
	dgu, dact gpu.View // [T][2F], [T][F]
}

// addMLP places the tensors of block i: the norm before it, gate_proj, up_proj and
// down_proj, and the norm after it.
func (l *Layout) addMLP(c hf.Config, i int) mlp {
	d := l.Dims
	var s mlp
	before := "post_attention_layernorm"
	if d.sandwich {
		before = "pre_feedforward_layernorm"
	}
	s.norm = l.addNorm(hf.BlockTensor(i, before))
	s.gateUp = l.linear(l.dtype, 2*d.mlpp, d.ld, c.MLPBias, false,
		slice{hf.BlockTensor(i, "mlp.gate_proj"), d.mlp, d.width, 0, d.mlpp, same, same, nil},
		slice{hf.BlockTensor(i, "mlp.up_proj"), d.mlp, d.width, d.mlpp, d.mlpp, func(r int) int { return d.mlpp + r }, same, nil})
	s.out = l.linear(l.dtype, d.ld, d.mlpp, c.MLPBias, true, slice{hf.BlockTensor(i, "mlp.down_proj"), d.width, d.mlp, 0, d.ld, same, same, nil})
	if d.sandwich {
		s.post = l.addNorm(hf.BlockTensor(i, "post_feedforward_layernorm"))
	}
	return s
}

func newMLPRows(p *device.Pool, d Dims, rows int) mlpRows {
	return mlpRows{residualRows: newResidualRows(p, d, rows), gu: p.Wide("gate up", rows*2*d.mlpp), act: p.Wide("mlp", rows*d.mlpp)}
}

func newMLPGradients(p *device.Pool, d Dims, rows int) mlpGradients {
	return mlpGradients{dgu: p.Wide("dgate dup", rows*2*d.mlpp), dact: p.Wide("dmlp", rows*d.mlpp)}
}

// part is n rows of the buffers from row r0 on.
func (a *mlpRows) part(d Dims, r0, n int) *mlpRows {
	return &mlpRows{residualRows: a.residualRows.part(d, r0, n), gu: device.Rows(a.gu, r0, n, 2*d.mlpp), act: device.Rows(a.act, r0, n, d.mlpp)}
}

// forward records the layer in runs of rows: its activations are the widest of a model, and
// where a kernel sees 128 MiB those of a whole group need not fit
// (docs/why/model.md#what-if-a-buffer-is-larger-than-a-binding).
func (s *mlp) forward(p *pass, a *mlpRows, next gpu.View) {
	d := p.m.Layout.Dims
	p.cut(2*d.mlpp, func(r0 int, p *pass) {
		a, next := a.part(d, r0, p.T), device.Rows(next, r0, p.T, d.ld)
		s.enter(p, &a.residualRows)
		s.gateUp.forward(p, p.T, a.h, a.gu, 2*d.mlpp)
		p.Op(s.kernel(p), d.mlpp, p.T, []gpu.View{a.gu, a.act}, u(p.T), u(d.mlpp))
		s.leave(p, &a.residualRows, a.act, next)
	})
}

func (s *mlp) backward(p *pass, a *mlpRows) {
	d := p.m.Layout.Dims
	p.cut(2*d.mlpp, func(r0 int, p *pass) {
		a, b := a.part(d, r0, p.T), &p.bs.mlp
		s.leaveBackward(p, &a.residualRows, a.act, b.dact)
		p.Op(s.kernel(p)+"_backward", d.mlpp, p.T, []gpu.View{a.gu, b.dact, b.dgu}, u(p.T), u(d.mlpp))
		s.gateUp.backward(p, p.T, a.h, b.dgu, 2*d.mlpp, p.bs.dh, false)
		s.enterBackward(p, &a.residualRows)
	})
}

// kernel is that of the activation.
func (s *mlp) kernel(p *pass) string {
	if p.m.Layout.family.GELU {
		return "geglu"
	}
	return "swiglu"
}
