package mathans

import (
	"math"
	"math/big"
	"sync"
)

// Elementary functions of big.Float, by series after a reduction of the
// argument. guard bits cover their rounding: each takes a few hundred
// operations at most, far fewer than 2^guard.
const guard = 48

// largestArgument of exp, as a power of 2: e^(2^16) has 95,000 bits.
const largestArgument = 16

func (a *arith) guarded() *arith { return &arith{prec: a.prec + guard} }

// constant is a number that is calculated once for each of a few precisions.
type constant struct {
	known     sync.Map // precision → *big.Float
	calculate func(a *arith) *big.Float
}

// at is the constant to at least prec bits. The result must not be changed.
func (k *constant) at(prec uint) *big.Float {
	const step = 512
	prec = (prec + step - 1) / step * step
	if x, ok := k.known.Load(prec); ok {
		return x.(*big.Float)
	}
	x := k.calculate(&arith{prec: prec + guard})
	k.known.Store(prec, x)
	return x
}

var (
	// pi is Machin's formula, 16 atan(1/5) - 4 atan(1/239).
	pi = constant{calculate: func(a *arith) *big.Float {
		x, y := a.atanInverse(5, -1), a.atanInverse(239, -1)
		x.Mul(x, a.float().SetInt64(16))
		return x.Sub(x, y.Mul(y, a.float().SetInt64(4)))
	}}
	// ln2 is ln 2 = 2 atanh(1/3).
	ln2 = constant{calculate: func(a *arith) *big.Float {
		x := a.atanInverse(3, 1)
		return x.Mul(x, a.float().SetInt64(2))
	}}
)

// constPi and constLn2 are π and ln 2 at the precision of the calculation.
func (a *arith) constPi() *big.Float { return a.float().Set(pi.at(a.prec)) }

func (a *arith) constLn2() *big.Float { return a.float().Set(ln2.at(a.prec)) }

// piBall is π with its error.
func (a *arith) piBall() ball { return ball{a.constPi(), 2 - int(a.prec)} }

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

// expFloat is e^x: x = k ln 2 + r, and e^r = (e^(r/2^halvings))^(2^halvings) by
// its series, in fixed point.
func (a *arith) expFloat(x *big.Float) *big.Float {
	ratio, _ := a.float().Quo(x, a.constLn2()).Float64()
	k := int(math.Round(ratio))
	r := a.float().Mul(a.constLn2(), a.float().SetInt64(int64(k)))
	r.Sub(x, r)
	const halvings = 12
	f := fixed{a.prec + 2*halvings}
	step := f.of(r)
	step.Rsh(step, halvings)
	total, term, product := f.one(), f.one(), new(big.Int)
	for n := int64(1); ; n++ {
		product.Mul(term, step).Rsh(product, f.bits)
		if product.Sign() < 0 { // Rsh rounds towards -∞: let small terms reach 0
			product.Add(product, f.small(1))
		}
		term.Quo(product, f.small(n))
		if term.Sign() == 0 {
			break
		}
		total.Add(total, term)
	}
	for range halvings {
		product.Mul(total, total)
		total.Rsh(product, f.bits)
	}
	y := a.float().SetInt(total)
	return y.SetMantExp(y, k-int(f.bits))
}

// fixed is arithmetic on integers that stand for multiples of 2^-bits.
type fixed struct{ bits uint }

func (f fixed) one() *big.Int { return new(big.Int).Lsh(big.NewInt(1), f.bits) }

func (f fixed) small(n int64) *big.Int { return big.NewInt(n) }

// of is x rounded towards 0.
func (f fixed) of(x *big.Float) *big.Int {
	shifted := new(big.Float).SetMantExp(x, int(f.bits))
	n, _ := shifted.Int(nil)
	return n
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
	f := fixed{a.prec + 16}
	step := f.of(r)
	sums := [2]*big.Int{new(big.Int), new(big.Int)} // of the even and of the odd terms
	term, product := f.one(), new(big.Int)
	for n := int64(0); term.Sign() != 0; n++ {
		if sum := sums[n%2]; n%4 < 2 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		product.Mul(term, step).Rsh(product, f.bits)
		if product.Sign() < 0 { // Rsh rounds towards -∞: let small terms reach 0
			product.Add(product, f.small(1))
		}
		term.Quo(product, f.small(n+1))
	}
	sin, cos = a.float().SetInt(sums[1]), a.float().SetInt(sums[0])
	sin.SetMantExp(sin, -int(f.bits))
	cos.SetMantExp(cos, -int(f.bits))
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
