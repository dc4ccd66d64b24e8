package refdev

import (
	"math"
	"math/bits"
	"slices"
)

// Philox is Philox4x32-10, a counter-based random function (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	// Multipliers and Weyl increments of the paper's reference code, Random123.
	const m0, m1 = 0xD2511F53, 0xCD9E8D57
	const w0, w1 = 0x9E3779B9, 0xBB67AE85
	for range 10 {
		hi0, lo0 := bits.Mul32(m0, counter[0])
		hi1, lo1 := bits.Mul32(m1, counter[2])
		counter = [4]uint32{hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0}
		key[0] += w0
		key[1] += w1
	}
	return counter
}

// Gumbel is the random number that decides about token j when one row of
// sample_draw is drawn: -log(-log(u)) with u an exact multiple of 2^-25.
// rowp holds the row's eight parameters.
func Gumbel(rowp []uint32, j int) float64 {
	word := Philox([4]uint32{rowp[7], rowp[6], uint32(j / 4), 0}, [2]uint32{rowp[4], rowp[5]})[j%4]
	u := math.Ldexp(float64(word>>8)+0.5, -24)
	return -math.Log(-math.Log(u))
}

// sampleDraw draws one token from each row.
func sampleDraw[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, params, ids := c.f[0], c.u[1], c.u[2]
	spread(rows, 64*v, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			rowp := params[8*r:][:8]
			invTemp := F(math.Float32frombits(rowp[0]))
			best := F(math.Inf(-1))
			ids[r] = 0
			for j, x := range logits[r*ld:][:v] {
				if invTemp != 0 {
					x = F(x * invTemp)
					if !math.IsInf(float64(x), -1) {
						x += F(Gumbel(rowp, j))
					}
				}
				if x > best {
					best, ids[r] = x, uint32(j)
				}
			}
		}
	})
}

// sampleMask copies the logits of the tokens that are allowed, and -1e30 for the others.
func sampleMask[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, allow, out := c.f[0], c.u[1], c.f[2]
	for r := range rows {
		bits := allow[r*((v+31)/32):]
		for j := range ld {
			x := F(-1e30)
			if j < v && bits[j/32]>>(j%32)&1 == 1 {
				x = logits[r*ld+j]
			}
			out[r*ld+j] = x
		}
	}
}

// sampleWithin copies the logits of the tokens that are kept, and -1e30 for the others.
func sampleWithin[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, kept, out := c.f[0], c.f[1], c.f[2]
	for i := range rows * ld {
		out[i] = F(-1e30)
		if i%ld < v && kept[i] > -1e30 {
			out[i] = logits[i]
		}
	}
}

// sampleFilter copies the logits of the tokens that top-k, top-p and min-p
// leave, and -inf for the others.
func sampleFilter[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, params, out := c.f[0], c.u[1], c.f[2]
	spread(rows, 64*v, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			x, y := logits[r*ld:][:v], out[r*ld:][:ld]
			kept := filter(x, params[8*r:][:8])
			if kept == nil {
				copy(y, x)
			} else {
				for j := range y {
					y[j] = F(math.Inf(-1))
				}
				for _, j := range kept {
					y[j] = x[j]
				}
			}
			for j := v; j < ld; j++ {
				y[j] = F(math.Inf(-1))
			}
		}
	})
}

// filter gives the tokens of one row that stay, likeliest first, or nil when
// all do.
func filter[F real](logits []F, rowp []uint32) []int {
	number := func(i int) float64 { return float64(math.Float32frombits(rowp[i])) }
	invTemp, topK, topP, minP := number(0), int(rowp[1]), number(2), number(3)
	if invTemp == 0 || topK == 0 && topP >= 1 && minP == 0 {
		return nil
	}
	order := make([]int, len(logits))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	if topK > 0 {
		k := min(topK, len(order))
		for k < len(order) && logits[order[k]] == logits[order[k-1]] {
			k++
		}
		order = order[:k]
	}
	weight := func(i int) float64 { // against the likeliest token's
		return math.Exp((float64(logits[order[i]]) - float64(logits[order[0]])) * invTemp)
	}
	if topP < 1 {
		// The shortest list whose share reaches top_p: a token stays while the
		// ones before it have less.
		var total, before float64
		for i := range order {
			total += weight(i)
		}
		n := 1
		for ; n < len(order); n++ {
			before += weight(n - 1)
			if before >= topP*total {
				break
			}
		}
		order = order[:n]
	}
	for i := range order {
		if weight(i) < minP {
			return order[:max(i, 1)]
		}
	}
	return order
}
