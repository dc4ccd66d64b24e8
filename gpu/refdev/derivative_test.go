package refdev

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// unit64 is the unit roundoff of float64.
const unit64 = 0x1p-53

// network is a forward kernel with one input to differentiate: it computes
// outputs from x, which it must not change.
type network func(x []float64) []float64

// checkGradient compares a gradient with central differences of
// sum(up*f(x)). The differences are extrapolated from two steps (Richardson),
// so the tolerance is known: what the extrapolation moved, plus the rounding
// of f over the step.
func checkGradient(t *testing.T, name string, f network, x, up, grad []float64) {
	t.Helper()
	const h = 1.0 / 1024
	loss := func(i int, step float64) (sum, abs float64) {
		moved := slices.Clone(x)
		moved[i] += step
		for j, y := range f(moved) {
			sum += up[j] * y
			abs += math.Abs(up[j] * y)
		}
		return sum, abs
	}
	central := func(i int, h float64) (slope, noise float64) {
		above, a := loss(i, h)
		below, b := loss(i, -h)
		// Each term has some hundred roundings.
		return (above - below) / (2 * h), 256 * unit64 * (a + b) / h
	}
	worst := 0.0
	for i := range x {
		wide, _ := central(i, h)
		narrow, noise := central(i, h/2)
		slope := (4*narrow - wide) / 3
		tolerance := math.Abs(wide-narrow) + noise
		diff := math.Abs(slope - grad[i])
		worst = max(worst, diff)
		if !(diff <= tolerance) {
			t.Errorf("%s: element %d: gradient %v, differences give %v within %.2g", name, i, grad[i], slope, tolerance)
			return
		}
	}
	t.Logf("%s: %d elements, largest difference %.2g", name, len(x), worst)
}

// random is n normally distributed numbers.
func random(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// run calls a kernel in float64. Bindings are []float64 or []uint32.
func run(kernel func(*call[float64]), params []uint32, bind ...any) {
	c := &call[float64]{p: params}
	for _, b := range bind {
		f, _ := b.([]float64)
		u, _ := b.([]uint32)
		c.f, c.u = append(c.f, f), append(c.u, u)
	}
	kernel(c)
}

func zeros(n int) []float64 { return make([]float64, n) }

func number(x float32) uint32 { return math.Float32bits(x) }

func TestMatmulGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	const m, n, k = 3, 5, 6
	x, w, up := random(r, m*k), random(r, n*k), random(r, m*n)
	forward := func(x, w []float64) []float64 {
		y := zeros(m * n)
		run(matmulNT[float64], []uint32{m, n, k, k, k, n}, x, w, y)
		return y
	}
	dx, dw := zeros(m*k), zeros(n*k)
	run(matmulNN[float64], []uint32{m, k, n, n, k, k}, up, w, dx)
	run(matmulTNAcc[float64], []uint32{n, k, m, n, k, k}, up, x, dw)
	checkGradient(t, "dx", func(x []float64) []float64 { return forward(x, w) }, x, up, dx)
	checkGradient(t, "dw", func(w []float64) []float64 { return forward(x, w) }, w, up, dw)
}

func TestRMSNormGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	const rows, d, plus = 3, 7, 1
	x, w, up := random(r, rows*d), random(r, d), random(r, rows*d)
	var rstd []float64
	forward := func(x, w []float64) []float64 {
		y := zeros(rows * d)
		rstd = zeros(rows)
		run(rmsnorm[float64], []uint32{rows, d, d, number(1e-5), number(plus)}, x, w, y, rstd)
		return y
	}
	forward(x, w)
	dx, dw := zeros(rows*d), zeros(d)
	run(rmsnormBackwardDx[float64], []uint32{rows, d, d, 0, number(plus)}, up, x, w, rstd, dx)
	run(rmsnormBackwardDw[float64], []uint32{rows, d}, up, x, rstd, dw)
	checkGradient(t, "dx", func(x []float64) []float64 { return forward(x, w) }, x, up, dx)
	checkGradient(t, "dw", func(w []float64) []float64 { return forward(x, w) }, w, up, dw)
}

func TestQKRopeGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	const rows, h, kv, hd, positions = 3, 4, 2, 6, 5
	const all = (h + 2*kv) * hd
	rope := zeros(positions * hd)
	for p := range positions {
		for i := range hd / 2 {
			rope[p*hd+hd/2+i], rope[p*hd+i] = math.Sincos(r.Float64() * 7)
		}
	}
	meta := []uint32{4, 0, 1, 1, 2, 2}
	for _, norm := range []uint32{0, 1} {
		params := []uint32{rows, h, kv, hd, hd, number(1e-5), norm, number(0.5)}
		qkv, w, up := random(r, rows*all), random(r, 2*hd), random(r, rows*all)
		var rstd []float64
		// The outputs in one list: q, k, v.
		forward := func(qkv, w []float64) []float64 {
			y := zeros(rows * all)
			rstd = zeros(rows * (h + kv))
			q, k, v := y[:rows*h*hd], y[rows*h*hd:][:rows*kv*hd], y[rows*(h+kv)*hd:]
			run(qkRope[float64], params, qkv, w, rope, meta, q, k, v, rstd)
			return y
		}
		forward(qkv, w)
		back := slices.Clone(up)
		dq, dk, dv := back[:rows*h*hd], back[rows*h*hd:][:rows*kv*hd], back[rows*(h+kv)*hd:]
		dqkv, dw := zeros(rows*all), zeros(2*hd)
		run(qkRopeBackward[float64], params, qkv, w, rope, meta, dq, dk, dv, dqkv)
		checkGradient(t, "dqkv", func(x []float64) []float64 { return forward(x, w) }, qkv, up, dqkv)
		if norm == 1 {
			run(qkNormBackwardDw[float64], []uint32{rows, h, hd, all, 0, h + kv, 0, 0}, dq, qkv, rstd, dw)
			run(qkNormBackwardDw[float64], []uint32{rows, kv, hd, all, h * hd, h + kv, h, hd}, dk, qkv, rstd, dw)
			checkGradient(t, "dnorm", func(w []float64) []float64 { return forward(qkv, w) }, w, up, dw)
		}
	}
}

func TestAttentionGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	const h, kv, hd = 4, 2, 3
	// Two sequences in one batch; the second is longer than a block of keys. A third
	// begins as the second does and goes on with two rows of its own.
	const short, long, shared, own = 2, keyBlock + 3, 4, 2
	var kvidx, keys, ends []uint32
	for i := range short + long {
		kvidx = append(kvidx, uint32(i))
	}
	for i := range short {
		keys, ends = append(keys, 0, uint32(i+1)), append(ends, short)
	}
	for i := range long {
		end := uint32(short + long)
		if i < shared {
			end += own
		}
		keys, ends = append(keys, short, uint32(i+1)), append(ends, end)
	}
	third := uint32(len(kvidx))
	kvidx = append(kvidx, kvidx[short:short+shared]...)
	for i := range own {
		row := uint32(short + long + i)
		kvidx, keys, ends = append(kvidx, row), append(keys, third, uint32(shared+i+1)), append(ends, short+long+own)
	}
	rows := len(ends)
	params := []uint32{uint32(rows), h, kv, hd, number(0.7)}
	q, k, v, up := random(r, rows*h*hd), random(r, rows*kv*hd), random(r, rows*kv*hd), random(r, rows*h*hd)
	stat := zeros(2 * rows * h)
	forward := func(q, k, v []float64) []float64 {
		o := zeros(rows * h * hd)
		run(attention[float64], params, q, k, v, kvidx, keys, o, stat)
		return o
	}
	o := forward(q, k, v)
	run(attentionDelta[float64], []uint32{uint32(rows), h, hd}, o, up, stat)
	saved := slices.Clone(stat)
	dq, dk, dv := zeros(len(q)), zeros(len(k)), zeros(len(v))
	run(attentionBackwardDq[float64], params, q, k, v, up, saved, kvidx, keys, dq)
	run(attentionBackwardDkv[float64], params, q, k, v, up, saved, ends, dk, dv)
	checkGradient(t, "dq", func(x []float64) []float64 { return forward(x, k, v) }, q, up, dq)
	checkGradient(t, "dk", func(x []float64) []float64 { return forward(q, x, v) }, k, up, dk)
	checkGradient(t, "dv", func(x []float64) []float64 { return forward(q, k, x) }, v, up, dv)
}

func TestGatedGradient(t *testing.T) {
	for name, kernels := range map[string][2]func(*call[float64]){
		"swiglu": {swiglu[float64], swigluBackward[float64]}, "geglu": {geglu[float64], gegluBackward[float64]},
	} {
		r := rand.New(rand.NewPCG(5, 0))
		const rows, f = 3, 5
		gu, up, dgu := random(r, 2*rows*f), random(r, rows*f), zeros(2*rows*f)
		run(kernels[1], []uint32{rows, f}, gu, up, dgu)
		checkGradient(t, name, func(x []float64) []float64 {
			y := zeros(rows * f)
			run(kernels[0], []uint32{rows, f}, x, y)
			return y
		}, gu, up, dgu)
	}
}

func TestVocabGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 0))
	const rows, v, ld = 3, 11, 12
	logits, invTemp, target := random(r, rows*ld), []float64{1, 0.5, 2}, []uint32{0, 10, 4}
	up := random(r, 4*rows)
	for i := range rows {
		up[4*i+3] = 0 // nobody asks for the gradient of lse
	}
	forward := func(x []float64) []float64 {
		out := zeros(4 * rows)
		run(vocabStats[float64], []uint32{rows, v, ld}, x, target, invTemp, out)
		return out
	}
	grad := slices.Clone(logits)
	run(vocabBackward[float64], []uint32{rows, v, ld}, grad, target, invTemp, forward(logits), up)
	checkGradient(t, "dlogits", forward, logits, up, grad)
}

func TestRowsGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	const rows, d, vocab = 5, 3, 4
	ids := []uint32{3, 1, 3, 0, 3}
	table, up, grad := random(r, vocab*d), random(r, rows*d), zeros(vocab*d)
	run(embedBackward[float64], []uint32{3, d, 0, vocab, number(1.5)}, []uint32{0, 1, 3}, []uint32{0, 1, 2, 5}, []uint32{3, 1, 0, 2, 4}, up, grad)
	checkGradient(t, "dtable", func(x []float64) []float64 {
		out := zeros(rows * d)
		run(embed[float64], []uint32{rows, d, 0, vocab, number(1.5)}, ids, x, out)
		return out
	}, table, up, grad)

	// gather_rows of rows in order, one of them twice; scatter_rows is its transpose.
	x, some := random(r, rows*d), random(r, 3*d)
	back := zeros(rows * d)
	run(scatterRows[float64], []uint32{rows, d}, some, []uint32{0, 0, 2, 2, 2, 3}, back)
	checkGradient(t, "gather", func(x []float64) []float64 {
		out := zeros(3 * d)
		run(gatherRows[float64], []uint32{3, d}, x, []uint32{1, 1, 4}, out)
		return out
	}, x, some, back)
}

func TestColumnsGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	const rows, n, ld, off = 3, 4, 9, 2
	params := []uint32{rows, n, ld, off, number(0.75)}
	b, x, up := random(r, ld), random(r, rows*n), random(r, rows*ld)
	forward := func(x, b []float64) []float64 {
		y := zeros(rows * ld)
		run(addColumns[float64], params, y, x)
		run(addBias[float64], []uint32{rows, ld}, y, b)
		return y
	}
	dx, db := zeros(rows*n), zeros(ld)
	run(takeColumns[float64], params, up, dx)
	run(biasBackward[float64], []uint32{rows, ld}, up, db)
	checkGradient(t, "dx", func(x []float64) []float64 { return forward(x, b) }, x, up, dx)
	checkGradient(t, "db", func(b []float64) []float64 { return forward(x, b) }, b, up, db)
}
