package refdev

import "math"

// keyBlock is the number of keys between two updates of the running maximum.
const keyBlock = 32

// shape is the common part of the attention kernels' parameters.
type shape[F real] struct {
	t, h, kv, hd int
	scale        F
}

func shapeOf[F real](c *call[F]) shape[F] {
	return shape[F]{c.n(0), c.n(1), c.n(2), c.n(3), c.real(4)}
}

// query is head h of row t in an array [T][H*hd].
func (p *shape[F]) query(x []F, t, h int) []F { return x[(t*p.h+h)*p.hd:][:p.hd] }

// key is kv head g of row t in an array [*][KV*hd].
func (p *shape[F]) key(x []F, t, g int) []F { return x[(t*p.kv+g)*p.hd:][:p.hd] }

// scores fills s with scale * q.k of the given rows of k.
func (p *shape[F]) scores(s, q, k []F, g int, slots []uint32) {
	j := 0
	for ; j+4 <= len(slots); j += 4 {
		s[j], s[j+1], s[j+2], s[j+3] = dot4(q,
			p.key(k, int(slots[j]), g), p.key(k, int(slots[j+1]), g),
			p.key(k, int(slots[j+2]), g), p.key(k, int(slots[j+3]), g))
	}
	for ; j < len(slots); j++ {
		s[j] = dot(q, p.key(k, int(slots[j]), g))
	}
	for j := range slots {
		s[j] = F(s[j] * p.scale)
	}
}

// attention is one pass over the keys of each row with a running maximum m
// and sum l (Milakov and Gimelshein, arXiv 1805.02867): what was summed so far
// shrinks by exp(old m - new m) at the start of each block.
func attention[F real](c *call[F]) {
	p := shapeOf(c)
	q, k, v, kvidx, meta, o, stat := c.f[0], c.f[1], c.f[2], c.u[3], c.u[4], c.f[5], c.f[6]
	spread(p.t*p.h, 64*p.hd, func(lo, hi int) {
		var s [keyBlock]F
		for i := lo; i < hi; i++ {
			t, h := i/p.h, i%p.h
			g := h / (p.h / p.kv)
			slots := kvidx[meta[2*t]:][:meta[2*t+1]]
			out := p.query(o, t, h)
			clear(out)
			m, l := F(math.Inf(-1)), F(0)
			for b := 0; b < len(slots); b += keyBlock {
				part := slots[b:min(b+keyBlock, len(slots))]
				p.scores(s[:], p.query(q, t, h), k, g, part)
				top := m
				for _, x := range s[:len(part)] {
					top = max(top, x)
				}
				shrink := exp(m - top)
				m, l = top, F(l*shrink)
				for d := range out {
					out[d] = F(out[d] * shrink)
				}
				for j, slot := range part {
					e := exp(s[j] - m)
					l += e
					axpy(e, p.key(v, int(slot), g), out)
				}
			}
			for d := range out {
				out[d] /= l
			}
			stat[2*i] = m + log(l)
		}
	})
}

// attentionDelta: the dot product of each head's output and its gradient.
func attentionDelta[F real](c *call[F]) {
	t, h, hd := c.n(0), c.n(1), c.n(2)
	o, do, stat := c.f[0], c.f[1], c.f[2]
	spread(t*h, hd, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			stat[2*i+1] = dot(o[i*hd:][:hd], do[i*hd:][:hd])
		}
	})
}

// attentionBackwardDq: each query's gradient, over its keys.
func attentionBackwardDq[F real](c *call[F]) {
	p := shapeOf(c)
	q, k, v, do, stat, kvidx, meta, dq := c.f[0], c.f[1], c.f[2], c.f[3], c.f[4], c.u[5], c.u[6], c.f[7]
	spread(p.t*p.h, 64*p.hd, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t, h := i/p.h, i%p.h
			g := h / (p.h / p.kv)
			query, dOut, out := p.query(q, t, h), p.query(do, t, h), p.query(dq, t, h)
			clear(out)
			for _, row := range kvidx[meta[2*t]:][:meta[2*t+1]] {
				key := p.key(k, int(row), g)
				_, ds := p.weightGrad(query, key, dOut, p.key(v, int(row), g), stat[2*i:])
				axpy(ds, key, out)
			}
		}
	})
}

// attentionBackwardDkv: each key's and value's gradient, over the heads that
// read it and the rows that come after it.
func attentionBackwardDkv[F real](c *call[F]) {
	p := shapeOf(c)
	q, k, v, do, stat, ends := c.f[0], c.f[1], c.f[2], c.f[3], c.f[4], c.u[5]
	dk, dv := c.f[6], c.f[7]
	group := p.h / p.kv
	spread(p.t*p.kv, 64*group*p.hd, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t, g := i/p.kv, i%p.kv
			key, value := p.key(k, t, g), p.key(v, t, g)
			dKey, dValue := p.key(dk, t, g), p.key(dv, t, g)
			clear(dKey)
			clear(dValue)
			for h := g * group; h < (g+1)*group; h++ {
				for row := t; row < int(ends[t]); row++ {
					query, dOut := p.query(q, row, h), p.query(do, row, h)
					weight, ds := p.weightGrad(query, key, dOut, value, stat[2*(row*p.h+h):])
					axpy(weight, dOut, dValue)
					axpy(ds, query, dKey)
				}
			}
		}
	})
}

// weightGrad recomputes the softmax weight of one query and key and gives the
// gradient of the unscaled score too. stat is the pair of the query's head.
func (p *shape[F]) weightGrad(q, k, do, v, stat []F) (weight, ds F) {
	weight = exp(F(p.scale*dot(q, k)) - stat[0])
	return weight, F(weight*(dot(do, v)-stat[1])) * p.scale
}
