package mathans

import (
	"errors"
	"math"
	"math/big"
)

// constants decides whether two scalars are equal at given values of their
// variables: nil for constants, whose equality is then proven. how says by what.
func (m *matcher) constants(g, p *node, vars map[string]*big.Rat) (equal bool, how string, err error) {
	limit := maxPrecision
	if vars != nil {
		limit = maxProbePrecision
	}
	for prec := startPrecision; ; {
		c := m.newCalc(prec, vars)
		a, b, err := c.pair(g, p)
		if errors.Is(err, errUndefined) && prec < 4*startPrecision {
			prec *= 4 // a divisor near 0 may show its sign
			continue
		} else if err != nil {
			return false, "", err
		}
		if a.rat != nil && b.rat != nil {
			return a.rat.Cmp(b.rat) == 0, "exact", nil
		}
		distance := c.subC(c.ball(a), c.ball(b))
		if !mayBeZero(distance) {
			return false, "calculated", nil
		}
		need := c.separation(a, b)
		if need > float64(limit) {
			if vars == nil {
				return false, "", errBudget
			}
			need = float64(limit)
		}
		if size := max(distance.re.bound(), distance.im.bound()); float64(size) < -need {
			if c.transcendental {
				return true, "calculated", nil
			}
			return true, "proven", nil
		} else if next := prec + int(need) + size + 64; next <= 2*limit {
			prec = max(next, prec+64)
			continue
		}
		return false, "", errBudget
	}
}

func (m *matcher) newCalc(prec int, vars map[string]*big.Rat) *calc {
	return &calc{arith: arith{prec: uint(prec)}, budget: &m.budget, vars: vars, degrees: map[string]int{}}
}

func (c *calc) pair(g, p *node) (a, b value, err error) {
	if a, err = c.eval(g); err == nil {
		b, err = c.eval(p)
	}
	return a, b, err
}

func mayBeZero(z complexBall) bool {
	re, reKnown := z.re.sign()
	im, imKnown := z.im.sign()
	return !(reKnown && re != 0 || imKnown && im != 0)
}

// separation is the number of bits to which two values have to agree to be
// equal: a - b is 0 or at least 2^-(l + (D-1) u), with D the product of the
// degrees of all roots.
func (c *calc) separation(a, b value) float64 {
	u, l := 1+max(a.u+b.l, b.u+a.l), a.l+b.l
	degree := 1.0
	for _, k := range c.degrees {
		degree *= float64(k)
	}
	need := l + (degree-1)*u + 2
	if c.transcendental {
		need = l + u*min(degree, 8) + transcendentalBits
		if c.vars != nil {
			need = l + u + probeBits
		}
	}
	if math.IsNaN(need) {
		return math.Inf(1)
	}
	return need
}

// rounded reports whether the constants agree when both are rounded to so many
// decimals or, below 1, to so many significant digits. It is asked only where
// one of them is written as a decimal.
func (m *matcher) rounded(g, p *node, digits int) bool {
	a, ok := m.rationalNear(g)
	if !ok {
		return false
	}
	b, ok := m.rationalNear(p)
	if !ok || a.Sign() != b.Sign() || a.Sign() == 0 {
		return false
	}
	one, ten := big.NewRat(1, 1), big.NewRat(10, 1)
	a, b = new(big.Rat).Abs(a), new(big.Rat).Abs(b)
	for shift := 0; a.Cmp(big.NewRat(1, 10)) < 0 && a.Cmp(one) < 0 && shift < maxDigits; shift++ {
		a, b = a.Mul(a, ten), b.Mul(b, ten)
	}
	if ratBits(a) > maxRatBits || ratBits(b) > maxRatBits {
		return false
	}
	return a.FloatString(digits) == b.FloatString(digits)
}

// rationalNear is the exact value of a rational constant and one within 2^-128
// of any other real one.
func (m *matcher) rationalNear(n *node) (*big.Rat, bool) {
	c := m.newCalc(startPrecision, nil)
	v, err := c.eval(n)
	if err != nil {
		return nil, false
	}
	if v.rat != nil {
		return new(big.Rat).Set(v.rat), true
	}
	if !v.z.isReal() || v.z.re.err > -128 || v.z.re.bound() > 1024 {
		return nil, false
	}
	r, _ := v.z.re.mid.Rat(nil)
	return r, r != nil
}
