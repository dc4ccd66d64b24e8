package decoder

import (
	"cmp"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// attention is causal attention with grouped heads, rotated positions and, in some
// families, a norm of each query and key head.
type attention struct {
	residual
	qkv    linear          // query heads, key heads, value heads
	qkNorm *tensors.Region // [2][hd] factors of query heads, of key heads; unused without the norm
	rope   ropeKind        // which table rotates queries and keys
	window bool            // a query sees the config's window alone
	scale  float64         // of the scores
}

// ropeKind is one of a model's rotations.
type ropeKind int

const (
	ropeMain  ropeKind = iota
	ropeLocal          // of sliding layers, where they have a base of their own
	ropeNone           // by no angle
	ropeKinds
)

// attentionRows are its activations.
type attentionRows struct {
	residualRows
	qkv               gpu.View // [T][(H+2KV)hd]
	q, k, v           gpu.View // [T][H hd], [T or slots][KV hd], k and v in the model's KVDtype
	rstdQK, att, stat gpu.View // [T][H+KV], [T][H hd], [T][H][2]
}

// attentionGradients are the temporaries of its backward pass.
type attentionGradients struct {
	dqkv, dq, dk, dv gpu.View // as their activations, in float32
	k, v             gpu.View // of a block in float32, where they are kept in bf16
	datt             gpu.View // [T][H hd]
}

// addAttention places the tensors of block i: input_layernorm, q_proj, k_proj and
// v_proj, q_norm and k_norm, o_proj, and the norm after it.
func (l *Layout) addAttention(c hf.Config, i int) attention {
	d, fam := l.Dims, l.family
	s := attention{
		window: c.Sliding != nil && c.Sliding[i],
		scale:  1 / math.Sqrt(cmp.Or(c.QueryScalar, float64(d.hd))),
	}
	switch {
	case c.NoRope != nil && c.NoRope[i]:
		s.rope = ropeNone
	case s.window && c.LocalTheta > 0:
		s.rope = ropeLocal
	}
	s.norm = l.addNorm(hf.BlockTensor(i, "input_layernorm"))
	heads := func(name string, first, n int) slice {
		return slice{hf.BlockTensor(i, "self_attn."+name), n * d.hd, d.width, first * d.hdp, n * d.hdp, func(r int) int { return first*d.hdp + d.headRow(r) }, same, nil}
	}
	s.qkv = l.linear(l.dtype, d.qkv(), d.ld, fam.QKVBias || c.AttentionBias, false,
		heads("q_proj", 0, d.heads), heads("k_proj", d.heads, d.kv), heads("v_proj", d.heads+d.kv, d.kv))
	s.qkNorm = l.Place(2, d.hdp, false)
	if c.QKNorm {
		l.PlaceVector(hf.BlockTensor(i, "self_attn.q_norm")+".weight", s.qkNorm, 0, d.hd, d.headRow, l.normStart())
		l.PlaceVector(hf.BlockTensor(i, "self_attn.k_norm")+".weight", s.qkNorm, 1, d.hd, d.headRow, l.normStart())
	}
	s.out = l.linear(l.dtype, d.ld, d.heads*d.hdp, c.AttentionBias, true,
		slice{hf.BlockTensor(i, "self_attn.o_proj"), d.width, d.heads * d.hd, 0, d.ld, same, d.headRow, nil})
	if d.sandwich {
		s.post = l.addNorm(hf.BlockTensor(i, "post_attention_layernorm"))
	}
	return s
}

// attentionRows allocates activations, but for keys and values.
func newAttentionRows(p *device.Pool, d Dims, rows int) attentionRows {
	return attentionRows{
		residualRows: newResidualRows(p, d, rows),
		qkv:          p.Words("qkv", rows*d.qkv()), q: p.Words("q", rows*d.heads*d.hdp),
		rstdQK: p.Words("qk rstd", rows*(d.heads+d.kv)), att: p.Words("attention", rows*d.heads*d.hdp),
		stat: p.Words("attention statistics", rows*d.heads*2),
	}
}

func newAttentionGradients(p *device.Pool, d Dims, rows int) attentionGradients {
	g := attentionGradients{
		dqkv: p.Words("dqkv", rows*d.qkv()),
		dq:   p.Words("dq", rows*d.heads*d.hdp), dk: p.Words("dk", rows*d.kv*d.hdp), dv: p.Words("dv", rows*d.kv*d.hdp),
		datt: p.Words("dattention", rows*d.heads*d.hdp),
	}
	if d.KVDtype == tensors.BF16 {
		g.k, g.v = p.Words("float32 k", rows*d.kv*d.hdp), p.Words("float32 v", rows*d.kv*d.hdp)
	}
	return g
}

func (s *attention) forward(p *pass, a *attentionRows, next gpu.View) {
	s.project(p, a)
	s.attend(p, a, &a.residualRows, a.q, p.ws.seen(s.window), next)
}

// forwardRead is forward of the R rows that are read, side by side; keys and values are of all rows.
func (s *attention) forwardRead(p *pass, a *attentionRows, R int, next gpu.View) {
	s.project(p, a)
	d, read, rows := p.m.Layout.Dims, *p, a.residualRows
	read.T, rows.x = R, a.h // nothing reads the norm any more, nor what queries, keys and values were made of
	p.gather(R, d.heads*d.hdp, a.q, a.qkv)
	p.gather(R, d.ld, a.x, rows.x)
	s.attend(&read, a, &rows, a.qkv, p.ws.read, next)
}

// project records queries, keys and values.
func (s *attention) project(p *pass, a *attentionRows) {
	d, m := p.m.Layout.Dims, p.m
	s.enter(p, &a.residualRows)
	s.qkv.forward(p, p.T, a.h, a.qkv, d.qkv())
	p.Op(m.Layout.KVDtype.Kernel("qk_rope"), d.heads+2*d.kv, p.T,
		[]gpu.View{a.qkv, m.Params.View(s.qkNorm), {Buffer: m.ropes[s.rope]}, p.ws.place, a.q, a.k, a.v, a.rstdQK}, s.headParams(p)...)
}

// attend records what queries find, added to the residual stream of their rows.
func (s *attention) attend(p *pass, a *attentionRows, rows *residualRows, q, seen, next gpu.View) {
	p.Op(p.m.Layout.KVDtype.Kernel("attention"), p.m.Layout.heads, p.T, []gpu.View{q, a.k, a.v, p.ws.kvidx, seen, a.att, a.stat}, s.params(p)...)
	s.leave(p, rows, a.att, next)
}

func (s *attention) backward(p *pass, a *attentionRows) {
	d, m, b, T := p.m.Layout.Dims, p.m, &p.bs.attention, p.T
	k, v := a.k, a.v
	if m.config.KVDtype == hf.BF16 {
		k, v = b.k, b.v
		n := T * d.kv * d.hdp
		p.Op("expand_bf16", n, 1, []gpu.View{a.k, k}, u(n))
		p.Op("expand_bf16", n, 1, []gpu.View{a.v, v}, u(n))
	}
	s.leaveBackward(p, &a.residualRows, a.att, b.datt)
	p.Op("attention_delta", d.heads, T, []gpu.View{a.att, b.datt, a.stat}, u(T), u(d.heads), u(d.hdp))
	p.Op("attention_backward_dq", d.heads, T, []gpu.View{a.q, k, v, b.datt, a.stat, p.ws.kvidx, p.ws.seen(s.window), b.dq}, s.params(p)...)
	p.Op("attention_backward_dkv", d.kv, T, []gpu.View{a.q, k, v, b.datt, a.stat, p.bs.seers(s.window), b.dk, b.dv}, s.params(p)...)
	p.Op("qk_rope_backward", d.heads+2*d.kv, T,
		[]gpu.View{a.qkv, m.Params.View(s.qkNorm), {Buffer: m.ropes[s.rope]}, p.ws.place, b.dq, b.dk, b.dv, b.dqkv}, s.headParams(p)...)
	if m.config.QKNorm && p.whole() {
		nq, ldr, dw := u(d.qkv()), u(d.heads+d.kv), p.g.View(s.qkNorm)
		p.Op("qk_norm_backward_dw", d.hdp, 1, []gpu.View{b.dq, a.qkv, a.rstdQK, dw}, u(T), u(d.heads), u(d.hdp), nq, 0, ldr, 0, 0)
		p.Op("qk_norm_backward_dw", d.hdp, 1, []gpu.View{b.dk, a.qkv, a.rstdQK, dw}, u(T), u(d.kv), u(d.hdp), nq, u(d.heads*d.hdp), ldr, u(d.heads), u(d.hdp))
	}
	s.qkv.backward(p, T, a.h, b.dqkv, d.qkv(), p.bs.dh, false)
	s.enterBackward(p, &a.residualRows)
}

// headParams are the parameters of the kernels of norm and rotation.
func (s *attention) headParams(p *pass) []uint32 {
	d := p.m.Layout.Dims
	norm := 0
	if p.m.config.QKNorm {
		norm = 1
	}
	return []uint32{u(p.T), u(d.heads), u(d.kv), u(d.hdp), u(d.hd), device.Float(p.m.config.NormEps), u(norm), device.Float(p.m.Layout.family.NormPlus)}
}

// params are the parameters of the attention kernels.
func (s *attention) params(p *pass) []uint32 {
	d := p.m.Layout.Dims
	return []uint32{u(p.T), u(d.heads), u(d.kv), u(d.hdp), device.Float(s.scale)}
}
