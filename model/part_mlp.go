package model

import "github.com/rlzero/rlzero/gpu"

// mlp is the gated feed-forward layer: down(silu(gate(h)) * up(h)).
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

// addMLP places the tensors of block i: post_attention_layernorm, gate_proj, up_proj
// and down_proj.
func (l *layout) addMLP(i int) mlp {
	d := l.dims
	var s mlp
	s.norm = l.addNorm(blockTensor(i, "post_attention_layernorm"))
	s.gateUp = l.linear(2*d.mlpp, d.ld)
	for j, name := range []string{"mlp.gate_proj", "mlp.up_proj"} {
		base := j * d.mlpp
		l.pieces = append(l.pieces, piece{name: blockTensor(i, name), shape: []int{d.mlp, d.width},
			region: s.gateUp.weight, row: func(i int) int { return base + i }, col: same})
	}
	s.out = l.linear(d.ld, d.mlpp)
	l.pieces = append(l.pieces, piece{name: blockTensor(i, "mlp.down_proj"), shape: []int{d.width, d.mlp},
		region: s.out.weight, row: same, col: same, projection: true})
	return s
}

func (p *pool) mlpRows(d dims, rows int) mlpRows {
	return mlpRows{residualRows: p.residualRows(d, rows), gu: p.words("gate up", rows*2*d.mlpp), act: p.words("mlp", rows*d.mlpp)}
}

func (p *pool) mlpGradients(d dims, rows int) mlpGradients {
	return mlpGradients{dgu: p.words("dgate dup", rows*2*d.mlpp), dact: p.words("dmlp", rows*d.mlpp)}
}

func (s *mlp) forward(p *pass, a *mlpRows, next gpu.View) {
	d := p.m.layout.dims
	s.enter(p, &a.residualRows)
	s.gateUp.forward(p, p.T, a.h, a.gu, 2*d.mlpp)
	p.op("swiglu", d.mlpp, p.T, []gpu.View{a.gu, a.act}, u(p.T), u(d.mlpp))
	s.leave(p, &a.residualRows, a.act, next)
}

func (s *mlp) backward(p *pass, a *mlpRows) {
	d, b := p.m.layout.dims, &p.bs.mlp
	s.leaveBackward(p, a.act, b.dact)
	p.op("swiglu_backward", d.mlpp, p.T, []gpu.View{a.gu, b.dact, b.dgu}, u(p.T), u(d.mlpp))
	s.gateUp.backward(p, p.T, a.h, b.dgu, 2*d.mlpp, p.bs.dh, false)
	s.enterBackward(p, &a.residualRows)
}
