package mathans

import (
	"math"
	"math/big"
)

// Elementary functions of big.Float, by series after a reduction of the
// argument. guard bits cover their rounding: each takes a few hundred
// operations at most, far fewer than 2^guard.
const guard = 48

// largestArgument of exp, as a power of 2: e^(2^16) has 95,000 bits.
const largestArgument = 16

func (a *arith) guarded() *arith { return &arith{prec: a.prec + guard} }

// constPi is π by Machin's formula, 16 atan(1/5) - 4 atan(1/239).
func (a *arith) constPi() *big.Float {
	if a.pi == nil {
		w := a.guarded()
		x, y := w.atanInverse(5, -1), w.atanInverse(239, -1)
		x.Mul(x, w.float().SetInt64(16))
		y.Mul(y, w.float().SetInt64(4))
		a.pi = a.float().Sub(x, y)
	}
	return a.pi
}

// constLn2 is ln 2 = 2 atanh(1/3).
func (a *arith) constLn2() *big.Float {
	if a.ln2 == nil {
		w := a.guarded()
		x := w.atanInverse(3, 1)
		a.ln2 = a.float().Mul(x, w.float().SetInt64(2))
	}
	return a.ln2
}

// atanInverse is Σ sign^k / ((2k+1) n^(2k+1)): atan(1/n) for sign -1, atanh(1/n)
// for sign 1.
func (a *arith) atanInverse(n int64, sign int) *big.Float {
	power := a.float().Quo(a.float().SetInt64(1), a.float().SetInt64(n))
	square := a.float().SetInt64(n * n)
	total := a.float()
	for k := int64(0); power.Sign() != 0 && power.MantExp(nil) > -int(a.prec)-8; k++ {
		term := a.float().Quo(power, a.float().SetInt64(2*k+1))
		if sign < 0 && k%2 == 1 {
			term.Neg(term)
		}
		total.Add(total, term)
		power.Quo(power, square)
	}
	return total
}

// finish rounds a result that was calculated with guard bits, relative to
// numbers near 1, and adds the error that the argument's error makes.
func (a *arith) finish(mid *big.Float, fromArgument int) ball {
	out := ball{a.float().Set(mid), exact}
	out.err = max(out.magnitude(), -guard/2) - int(a.prec) + 4
	if fromArgument > exact/2 {
		out.err = max(out.err, fromArgument) + 1
	}
	return out
}

// exp is e^x; ok is false beyond its range.
func (a *arith) exp(x ball) (y ball, ok bool) {
	if x.bound() > largestArgument || x.err > 0 {
		return ball{}, false
	}
	w := a.guarded()
	mid := w.expFloat(x.mid)
	out := ball{mid, exact}
	return a.finish(mid, x.err+out.magnitude()+1), true
}

func (a *arith) expFloat(x *big.Float) *big.Float {
	ratio, _ := a.float().Quo(x, a.constLn2()).Float64()
	k := int(math.Round(ratio))
	r := a.float().Mul(a.constLn2(), a.float().SetInt64(int64(k)))
	r.Sub(x, r)
	const halvings = 12
	if r.Sign() != 0 {
		r.SetMantExp(r, -halvings)
	}
	total, term := a.float().SetInt64(1), a.float().SetInt64(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(a.prec)-8; n++ {
		term.Mul(term, r)
		term.Quo(term, a.float().SetInt64(n))
		total.Add(total, term)
	}
	for range halvings {
		total.Mul(total, total)
	}
	return total.SetMantExp(total, k)
}

// log is the natural logarithm of x > 0.
func (a *arith) log(x ball) (y ball, ok bool) {
	if s, known := x.sign(); !known || s <= 0 {
		return ball{}, false
	}
	w := a.guarded()
	mantissa := new(big.Float)
	e := x.mid.MantExp(mantissa)
	if e > 1<<20 || e < -1<<20 {
		return ball{}, false
	}
	start, _ := mantissa.Float64()
	m := w.float().Set(mantissa)
	v := w.float().SetFloat64(math.Log(start))
	for bits := uint(40); bits < w.prec; bits *= 3 { // Halley: v += 2 (m - e^v) / (m + e^v)
		ev := w.expFloat(v)
		step := w.float().Sub(m, ev)
		step.Quo(step, ev.Add(m, ev))
		v.Add(v, step.Mul(step, w.float().SetInt64(2)))
	}
	v.Add(v, w.float().Mul(w.constLn2(), w.float().SetInt64(int64(e))))
	return a.finish(v, x.err-(x.magnitude()-2)), true
}

// sinCos are sine and cosine of x.
func (a *arith) sinCos(x ball) (sin, cos ball, ok bool) {
	if x.bound() > 64 || x.err > 0 {
		return ball{}, ball{}, false
	}
	w := &arith{prec: a.prec + guard + 64}
	s, c := w.sinCosFloat(x.mid)
	return a.finish(s, x.err), a.finish(c, x.err), true
}

func (a *arith) sinCosFloat(x *big.Float) (sin, cos *big.Float) {
	half := a.float().Quo(a.constPi(), a.float().SetInt64(2))
	quarter, _ := new(big.Float).SetPrec(a.prec).Quo(x, half).Int(nil)
	r := a.float().Mul(half, a.float().SetInt(quarter))
	r.Sub(x, r)
	sin, cos = a.float(), a.float()
	term := a.float().SetInt64(1)
	for n := int64(0); term.Sign() != 0 && term.MantExp(nil) > -int(a.prec)-8; n++ {
		sum := cos
		if n%2 == 1 {
			sum = sin
		}
		if n%4 < 2 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		term.Mul(term, r)
		term.Quo(term, a.float().SetInt64(n+1))
	}
	switch new(big.Int).And(quarter, big.NewInt(3)).Int64() { // And is of two's complement
	case 1:
		return cos, sin.Neg(sin)
	case 2:
		return sin.Neg(sin), cos.Neg(cos)
	case 3:
		return cos.Neg(cos), sin
	}
	return sin, cos
}

// atan is the inverse tangent, by Newton's method on x cos v - sin v.
func (a *arith) atan(x ball) ball {
	w := a.guarded()
	m, inverted := w.float().Set(x.mid), false
	if x.magnitude() > 1 {
		m, inverted = m.Quo(w.float().SetInt64(1), m), true
	}
	start, _ := m.Float64()
	v := w.float().SetFloat64(math.Atan(start))
	for bits := uint(40); bits < w.prec; bits *= 2 {
		s, c := w.sinCosFloat(v)
		step := w.float().Mul(m, c)
		step.Sub(step, s)
		v.Add(v, step.Mul(step, c))
	}
	if inverted {
		half := w.float().Quo(w.constPi(), w.float().SetInt64(2))
		if x.mid.Sign() < 0 {
			half.Neg(half)
		}
		v.Sub(half, v)
	}
	return a.finish(v, x.err)
}
