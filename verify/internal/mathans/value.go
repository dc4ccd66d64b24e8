package mathans

import (
	"hash/fnv"
	"math"
	"math/big"
)

// value is what a scalar part of an answer is worth.
type value struct {
	rat *big.Rat    // the exact value, or nil
	z   complexBall // otherwise: the value at the calculation's precision
	// u and l bound the conjugates of numerator and denominator, as powers of 2:
	// the separation bound of the ESA 2001 paper is made of them.
	u, l float64
}

// calc is one calculation: a precision, the values of the variables and what
// has been seen on the way.
type calc struct {
	arith
	budget  *budget
	vars    map[string]*big.Rat
	degrees map[string]int // the index of each root seen, by its key
	// transcendental: a function without a separation bound was used.
	transcendental bool
	complex        bool // a root or logarithm of a real number was not real
	angles         int  // trigonometric functions around: degrees are radians there
}

// budget is the work left to one comparison.
type budget struct{ left int }

// spend takes the cost of one operation on numbers of so many bits.
func (b *budget) spend(bits int) error {
	words := bits / 512
	if b.left -= 1 + words*words; b.left < 0 {
		return errBudget
	}
	return nil
}

func ratBits(r *big.Rat) int { return max(r.Num().BitLen(), r.Denom().BitLen()) }

func (c *calc) rational(r *big.Rat) (value, error) {
	bits := ratBits(r)
	if bits > maxRatBits {
		return value{}, errBudget
	}
	v := value{rat: r, u: float64(r.Num().BitLen())}
	if !r.IsInt() {
		v.l = float64(r.Denom().BitLen())
	}
	return v, c.budget.spend(bits / 4)
}

// ball is the value as a complex ball.
func (c *calc) ball(v value) complexBall {
	if v.rat != nil {
		return c.real(c.fromRat(v.rat))
	}
	return v.z
}

// eval is the value of a scalar part of an answer.
func (c *calc) eval(n *node) (value, error) {
	if err := c.budget.spend(int(c.prec)); err != nil {
		return value{}, err
	}
	switch n.kind {
	case kNumber:
		return c.rational(n.value)
	case kSymbol:
		return c.symbol(n.name)
	case kText:
		if n.name == "" {
			return value{}, errSymbolic
		}
		return c.symbol("\"" + foldName(n.name))
	case kCall:
		return c.call(n)
	case kPower:
		return c.power(n)
	case kSum, kProduct, kQuotient, kNegative, kPercent, kQuantity, kRatio:
		return c.arithmetic(n)
	case kBased:
		return c.based(n)
	}
	return value{}, errSymbolic
}

func (c *calc) arithmetic(n *node) (value, error) {
	total, err := c.eval(n.args[0])
	if err != nil {
		return total, err
	}
	switch n.kind {
	case kNegative:
		return c.times(total, value{rat: big.NewRat(-1, 1)})
	case kPercent:
		return c.times(total, value{rat: big.NewRat(1, 100), l: 7})
	case kQuantity:
		if n.name == "deg" && c.angles > 0 {
			return c.inRadians(total)
		}
	}
	for _, arg := range n.args[1:] {
		v, err := c.eval(arg)
		if err != nil {
			return v, err
		}
		switch n.kind {
		case kSum:
			total, err = c.plus(total, v)
		case kProduct:
			total, err = c.times(total, v)
		case kQuotient, kRatio:
			if v, err = c.inverse(v); err == nil {
				total, err = c.times(total, v)
			}
		}
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (c *calc) plus(a, b value) (value, error) {
	if a.rat != nil && b.rat != nil {
		if err := c.budget.spend(ratBits(a.rat) + ratBits(b.rat)); err != nil {
			return value{}, err
		}
		return c.rational(new(big.Rat).Add(a.rat, b.rat))
	}
	return value{z: c.addC(c.ball(a), c.ball(b)), u: 1 + max(a.u+b.l, b.u+a.l), l: a.l + b.l}, nil
}

func (c *calc) times(a, b value) (value, error) {
	if a.rat != nil && b.rat != nil {
		if err := c.budget.spend(ratBits(a.rat) + ratBits(b.rat)); err != nil {
			return value{}, err
		}
		return c.rational(new(big.Rat).Mul(a.rat, b.rat))
	}
	return value{z: c.mulC(c.ball(a), c.ball(b)), u: a.u + b.u, l: a.l + b.l}, nil
}

func (c *calc) inverse(a value) (value, error) {
	if a.rat != nil {
		if a.rat.Sign() == 0 {
			return value{}, errUndefined
		}
		return value{rat: new(big.Rat).Inv(a.rat), u: a.l + 1, l: a.u}, nil
	}
	z, ok := c.invC(a.z)
	if !ok {
		return value{}, errUndefined
	}
	return value{z: z, u: a.l, l: a.u}, nil
}

// symbol is the value of a constant or of a variable.
func (c *calc) symbol(name string) (value, error) {
	switch name {
	case "pi":
		c.transcendental = true
		return value{z: c.real(c.piBall()), u: 2}, nil
	case "e":
		c.transcendental = true
		y, _ := c.exp(c.fromInt(1))
		return value{z: c.real(y), u: 2}, nil
	case "i":
		c.degrees["i"] = 2
		return value{z: complexBall{c.fromInt(0), c.fromInt(1)}}, nil
	case "inf", "…":
		return value{}, errSymbolic
	}
	if v, ok := c.vars[name]; ok {
		return c.rational(v)
	}
	return value{}, errSymbolic
}

// inRadians is an angle of so many degrees.
func (c *calc) inRadians(degrees value) (value, error) {
	pi, err := c.symbol("pi")
	if err == nil {
		pi, err = c.times(pi, value{rat: big.NewRat(1, 180), l: 8})
	}
	if err != nil {
		return pi, err
	}
	return c.times(degrees, pi)
}

// opaque is a number in (1/2, 3/2) that stands for a function that is not known:
// the same for the same name and arguments.
func (c *calc) opaque(name string) value {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := big.NewRat(int64(h.Sum64()>>44)+1<<19, 1<<20)
	return value{rat: r, u: 21, l: 20}
}

// based is a number in another base, 204_5. It is a value of its own kind, not
// to be mixed up with the number that its digits or its value make.
func (c *calc) based(n *node) (value, error) { return c.opaque(n.key()), nil }

// power is base^exponent.
func (c *calc) power(n *node) (value, error) {
	base, err := c.eval(n.args[0])
	if err != nil {
		return base, err
	}
	if isSymbol(n.args[0], "e") {
		return c.exponential(n.args[1])
	}
	exponent, err := c.eval(n.args[1])
	if err != nil {
		return exponent, err
	}
	if exponent.rat == nil {
		return c.generalPower(base, exponent)
	}
	p, q := exponent.rat.Num(), exponent.rat.Denom()
	if !q.IsInt64() || q.Int64() > maxRootIndex || !p.IsInt64() {
		if base.rat != nil && base.rat.IsInt() && base.rat.Num().BitLen() <= 1 && q.IsInt64() && q.Int64() == 1 {
			return c.unitPower(base.rat, p)
		}
		if base.rat != nil && base.rat.Sign() > 0 && q.IsInt64() && p.IsInt64() { // a root without a bound
			return c.generalPower(base, exponent)
		}
		return value{}, errBudget
	}
	if q.Int64() > 1 {
		if base, err = c.rootOf(n.args[0], base, int(q.Int64())); err != nil {
			return base, err
		}
	}
	return c.wholePower(base, p.Int64())
}

// unitPower is 0, 1 or -1 to a large power.
func (c *calc) unitPower(base *big.Rat, p *big.Int) (value, error) {
	switch {
	case base.Sign() == 0 && p.Sign() <= 0:
		return value{}, errUndefined
	case base.Sign() < 0 && p.Bit(0) == 0:
		return c.rational(big.NewRat(1, 1))
	}
	return c.rational(base)
}

func (c *calc) wholePower(base value, p int64) (value, error) {
	inverted := p < 0
	if inverted {
		p = -p
	}
	out := value{rat: big.NewRat(1, 1)}
	if base.rat != nil && base.rat.Sign() == 0 && p == 0 {
		return value{}, errUndefined
	}
	if base.rat != nil {
		if bits := int64(ratBits(base.rat)); p > maxRatBits && bits > 1 || bits > 1 && bits*p > 2*maxRatBits {
			return value{}, errBudget
		} else if bits <= 1 && p > maxRatBits {
			if base.rat.Sign() == 0 && inverted {
				return value{}, errUndefined
			}
			return c.unitPower(base.rat, big.NewInt(p))
		}
		e := big.NewInt(p)
		r := new(big.Rat).SetFrac(new(big.Int).Exp(base.rat.Num(), e, nil), new(big.Int).Exp(base.rat.Denom(), e, nil))
		var err error
		if out, err = c.rational(r); err != nil {
			return out, err
		}
	} else {
		if p > maxPower {
			return value{}, errBudget
		}
		for square := base; ; {
			var err error
			if p&1 == 1 {
				if out, err = c.times(out, square); err != nil {
					return out, err
				}
			}
			if p >>= 1; p == 0 {
				break
			}
			if err := c.budget.spend(int(c.prec)); err != nil {
				return value{}, err
			}
			if square, err = c.times(square, square); err != nil {
				return square, err
			}
		}
	}
	if inverted {
		return c.inverse(out)
	}
	return out, nil
}

// rootOf is the k-th root of a value: real where there is a real one (the cube
// root of -8 is -2), else the principal one.
func (c *calc) rootOf(n *node, v value, k int) (value, error) {
	if err := c.budget.spend(int(c.prec) * 2); err != nil {
		return value{}, err
	}
	negative := false
	if v.rat != nil {
		negative = v.rat.Sign() < 0
		if r := exactRoot(new(big.Rat).Abs(v.rat), k); r != nil {
			if negative && k%2 == 1 {
				return c.rational(r.Neg(r))
			} else if !negative {
				return c.rational(r)
			}
		}
	} else if v.z.isReal() {
		s, known := v.z.re.sign()
		negative = known && s < 0
	}
	z := c.ball(v)
	out := value{u: v.u, l: (v.u*float64(k-1) + v.l) / float64(k)}
	if v.u >= v.l {
		out.u, out.l = (v.u+v.l*float64(k-1))/float64(k), v.l
	}
	c.degrees[n.key()+"^1/"+string(rune('0'+k))] = k
	switch {
	case z.isReal() && !negative:
		out.z = c.real(c.root(z.re, k))
	case z.isReal() && k%2 == 1:
		out.z = c.real(c.neg(c.root(c.neg(z.re), k)))
	case z.isReal() && k == 2:
		c.complex = true
		c.degrees["i"] = 2
		out.z = complexBall{c.fromInt(0), c.root(c.neg(z.re), 2)}
	case k == 2:
		out.z = c.sqrtC(z)
	default:
		return c.generalPower(v, value{rat: big.NewRat(1, int64(k)), l: math.Log2(float64(k))})
	}
	return out, nil
}

// exactRoot is the k-th root of r >= 0 if it is rational, else nil.
func exactRoot(r *big.Rat, k int) *big.Rat {
	over, under := exactIntRoot(r.Num(), k), exactIntRoot(r.Denom(), k)
	if over == nil || under == nil {
		return nil
	}
	return new(big.Rat).SetFrac(over, under)
}

func exactIntRoot(n *big.Int, k int) *big.Int {
	if n.Sign() == 0 || n.BitLen() == 1 {
		return new(big.Int).Set(n)
	}
	var r *big.Int
	if k == 2 {
		r = new(big.Int).Sqrt(n)
	} else {
		a := &arith{prec: uint(n.BitLen()/k + 32)}
		f := a.floatRoot(new(big.Float).SetInt(n), k)
		r, _ = f.Add(f, big.NewFloat(0.5)).Int(nil)
	}
	if new(big.Int).Exp(r, big.NewInt(int64(k)), nil).Cmp(n) != 0 {
		return nil
	}
	return r
}

func isSymbol(n *node, name string) bool { return n.kind == kSymbol && n.name == name }
