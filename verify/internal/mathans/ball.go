package mathans

import (
	"math"
	"math/big"
)

// exact is the error exponent of a ball without an error.
const exact = math.MinInt32

// ball is a real number known up to an error: |x - mid| <= 2^err.
type ball struct {
	mid *big.Float
	err int
}

// magnitude is the least e with |mid| < 2^e, and exact for 0.
func (x ball) magnitude() int {
	if x.mid.Sign() == 0 {
		return exact
	}
	return x.mid.MantExp(nil)
}

// bound is an e with |x| < 2^e.
func (x ball) bound() int { return max(x.magnitude(), x.err) + 1 }

// isZero: x is 0 for certain.
func (x ball) isZero() bool { return x.mid.Sign() == 0 && x.err == exact }

// sign is that of every number in the ball; known is false when 0 is in it.
func (x ball) sign() (sign int, known bool) {
	if x.isZero() {
		return 0, true
	}
	if m := x.magnitude(); m == exact || x.err >= m-1 {
		return 0, false
	}
	return x.mid.Sign(), true
}

// arith is ball arithmetic at one precision.
type arith struct{ prec uint }

func (a *arith) float() *big.Float { return new(big.Float).SetPrec(a.prec) }

// rounded is a result with the errors of its operands, and its own rounding.
func (a *arith) rounded(mid *big.Float, errs ...int) ball {
	out := ball{mid, exact}
	if mid.Acc() != big.Exact {
		out.err = out.magnitude() - int(a.prec)
	}
	for _, e := range errs {
		if e > exact/2 { // an exact operand adds no error
			out.err = max(out.err, e) + 1
		}
	}
	return out
}

func (a *arith) fromRat(r *big.Rat) ball { return a.rounded(a.float().SetRat(r)) }

func (a *arith) fromInt(n int64) ball { return ball{a.float().SetInt64(n), exact} }

func (a *arith) add(x, y ball) ball { return a.rounded(a.float().Add(x.mid, y.mid), x.err, y.err) }

func (a *arith) sub(x, y ball) ball { return a.rounded(a.float().Sub(x.mid, y.mid), x.err, y.err) }

func (a *arith) neg(x ball) ball { return ball{a.float().Neg(x.mid), x.err} }

func (a *arith) mul(x, y ball) ball {
	if x.isZero() || y.isZero() {
		return a.fromInt(0)
	}
	return a.rounded(a.float().Mul(x.mid, y.mid), x.err+y.bound(), y.err+x.bound())
}

// inv is 1/x; ok is false when x may be 0.
func (a *arith) inv(x ball) (y ball, ok bool) {
	if s, known := x.sign(); !known || s == 0 {
		return ball{}, false
	}
	m := x.magnitude() // |x| >= 2^(m-2), as the error is less than 2^(m-1) by the sign's test
	return a.rounded(a.float().Quo(big.NewFloat(1), x.mid), x.err-2*(m-3)), true
}

// root is the real k-th root of a ball whose sign is not negative. Where 0 is
// in the ball the error is the root of the error.
func (a *arith) root(x ball, k int) ball {
	if x.mid.Sign() <= 0 {
		if x.isZero() {
			return x
		}
		return ball{a.float(), x.bound()/k + 1}
	}
	mid := a.floatRoot(x.mid, k)
	if _, known := x.sign(); !known {
		return ball{mid, x.bound()/k + 1}
	}
	// d(x^(1/k)) = x^(1/k) dx / (k x)
	m := x.magnitude()
	out := ball{mid, exact}
	own := out.magnitude() - int(a.prec) + 2
	if x.err <= exact/2 {
		out.err = own
		return out
	}
	out.err = max(own, x.err-(m-2)+out.magnitude()) + 1
	return out
}

// floatRoot is x^(1/k) for x > 0, by Newton's method from a start in float64.
func (a *arith) floatRoot(x *big.Float, k int) *big.Float {
	if k == 2 {
		return a.float().Sqrt(x)
	}
	work := &arith{prec: a.prec + 32}
	mantissa := new(big.Float)
	e := x.MantExp(mantissa)
	q := e / k
	start, _ := mantissa.SetMantExp(mantissa, e-q*k).Float64()
	y := work.float().SetFloat64(math.Pow(start, 1/float64(k)))
	y.SetMantExp(y, q)
	n := work.float().SetInt64(int64(k))
	for bits := uint(40); bits < work.prec; bits *= 2 {
		p := work.power(y, k-1)
		step := work.float().Quo(x, p)
		step.Sub(step, y).Quo(step, n)
		y.Add(y, step)
	}
	return a.float().Set(y)
}

// power is y^k of a plain float, k >= 1.
func (a *arith) power(y *big.Float, k int) *big.Float {
	out := a.float().SetInt64(1)
	square := a.float().Set(y)
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			out.Mul(out, square)
		}
		square = a.float().Mul(square, square)
	}
	return out
}

// complexBall is a complex number, as two balls.
type complexBall struct{ re, im ball }

func (a *arith) real(x ball) complexBall { return complexBall{x, a.fromInt(0)} }

func (z complexBall) isReal() bool { return z.im.isZero() }

func (a *arith) addC(x, y complexBall) complexBall {
	return complexBall{a.add(x.re, y.re), a.add(x.im, y.im)}
}

func (a *arith) subC(x, y complexBall) complexBall {
	return complexBall{a.sub(x.re, y.re), a.sub(x.im, y.im)}
}

func (a *arith) mulC(x, y complexBall) complexBall {
	if x.isReal() && y.isReal() {
		return a.real(a.mul(x.re, y.re))
	}
	return complexBall{a.sub(a.mul(x.re, y.re), a.mul(x.im, y.im)), a.add(a.mul(x.re, y.im), a.mul(x.im, y.re))}
}

func (a *arith) invC(x complexBall) (complexBall, bool) {
	if x.isReal() {
		re, ok := a.inv(x.re)
		return a.real(re), ok
	}
	n, ok := a.inv(a.add(a.mul(x.re, x.re), a.mul(x.im, x.im)))
	if !ok {
		return complexBall{}, false
	}
	return complexBall{a.mul(x.re, n), a.neg(a.mul(x.im, n))}, true
}

// abs is |z|.
func (a *arith) abs(z complexBall) ball {
	if z.isReal() {
		return ball{a.float().Abs(z.re.mid), z.re.err}
	}
	return a.root(a.add(a.mul(z.re, z.re), a.mul(z.im, z.im)), 2)
}

// sqrtC is the principal square root of a number that is not real.
func (a *arith) sqrtC(z complexBall) complexBall {
	r := a.abs(z)
	half := ball{a.float().SetFloat64(0.5), exact}
	re := a.root(a.mul(half, a.add(r, z.re)), 2)
	im := a.root(a.mul(half, a.sub(r, z.re)), 2)
	if z.im.mid.Sign() < 0 {
		im = a.neg(im)
	}
	return complexBall{re, im}
}
