package mathans

import (
	"math"
	"math/big"
	"strings"
)

// measured is the result of a function without a separation bound. Its u and l
// are its own size and four times the sizes of its arguments, so that an
// argument of 10^-200 makes the agreement that is asked grow with it.
func (c *calc) measured(z complexBall, args ...value) value {
	c.transcendental = true
	size := 0
	for _, x := range []ball{z.re, z.im} {
		if s, known := x.sign(); known && s != 0 {
			size = max(size, x.magnitude(), -x.magnitude())
		}
	}
	v := value{z: z, u: float64(size), l: float64(size)}
	for _, a := range args {
		v.u += 4 * a.u
		v.l += 4 * a.l
	}
	return v
}

// exponential is e^n.
func (c *calc) exponential(n *node) (value, error) {
	v, err := c.eval(n)
	if err != nil {
		return v, err
	}
	if v.rat != nil && v.rat.Sign() == 0 {
		return c.rational(big.NewRat(1, 1))
	}
	z := c.ball(v)
	scale, ok := c.exp(z.re)
	if !ok {
		return value{}, errBudget
	}
	if z.isReal() {
		return c.measured(c.real(scale), v), c.spendFunction()
	}
	sin, cos, ok := c.sinCos(z.im)
	if !ok {
		return value{}, errBudget
	}
	return c.measured(complexBall{c.mul(scale, cos), c.mul(scale, sin)}, v), c.spendFunction()
}

func (c *calc) spendFunction() error { return c.budget.spend(int(c.prec)*2 + 2048) }

// logarithm is the principal natural logarithm.
func (c *calc) logarithm(v value) (value, error) {
	if v.rat != nil && v.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return c.rational(new(big.Rat))
	}
	z := c.ball(v)
	if z.isReal() {
		if y, ok := c.log(z.re); ok {
			return c.measured(c.real(y), v), c.spendFunction()
		}
	}
	c.complex = c.complex || z.isReal()
	r, ok := c.log(c.abs(z))
	if !ok {
		return value{}, errUndefined
	}
	return c.measured(complexBall{r, c.argument(z)}, v), c.spendFunction()
}

// argument is the angle of z, in (-π, π].
func (c *calc) argument(z complexBall) ball {
	pi := c.piBall()
	half := c.mul(pi, ball{c.float().SetFloat64(0.5), exact})
	if z.re.magnitude() >= z.im.magnitude() { // the flatter of the two quotients
		inv, ok := c.inv(z.re)
		if !ok {
			return ball{c.float(), 4}
		}
		angle := c.atan(c.mul(z.im, inv))
		if z.re.mid.Sign() > 0 {
			return angle
		}
		if z.im.mid.Sign() < 0 {
			return c.sub(angle, pi)
		}
		return c.add(angle, pi)
	}
	inv, ok := c.inv(z.im)
	if !ok {
		return ball{c.float(), 4}
	}
	angle := c.neg(c.atan(c.mul(z.re, inv)))
	if z.im.mid.Sign() < 0 {
		return c.sub(angle, half)
	}
	return c.add(angle, half)
}

// generalPower is exp(exponent · ln base).
func (c *calc) generalPower(base, exponent value) (value, error) {
	if base.rat != nil && base.rat.Sign() == 0 {
		return value{}, errUndefined
	}
	ln, err := c.logarithm(base)
	if err != nil {
		return ln, err
	}
	v, err := c.times(ln, exponent)
	if err != nil {
		return v, err
	}
	z := c.ball(v)
	scale, ok := c.exp(z.re)
	if !ok {
		return value{}, errBudget
	}
	if z.isReal() {
		return c.measured(c.real(scale), base, exponent), c.spendFunction()
	}
	sin, cos, ok := c.sinCos(z.im)
	if !ok {
		return value{}, errBudget
	}
	return c.measured(complexBall{c.mul(scale, cos), c.mul(scale, sin)}, base, exponent), c.spendFunction()
}

var trigonometric = wordSet("sin cos tan sec csc cot")

// call is the value of a function.
func (c *calc) call(n *node) (value, error) {
	if n.name == "exp" && len(n.args) == 1 {
		return c.exponential(n.args[0])
	}
	angles := c.angles
	if trigonometric[n.name] {
		c.angles++
	}
	defer func() { c.angles = angles }()
	args := make([]value, len(n.args))
	for i, arg := range n.args {
		v, err := c.eval(arg)
		if err != nil {
			return c.opaqueCall(n, nil)
		}
		args[i] = v
	}
	if trigonometric[n.name] && len(args) == 1 {
		return c.trigonometric(n.name, args[0])
	}
	switch n.name {
	case "arcsin", "arccos", "arctan":
		if len(args) == 1 {
			return c.inverseTrigonometric(n.name, args[0])
		}
	case "sinh", "cosh", "tanh":
		if len(args) == 1 {
			return c.hyperbolic(n.name, args[0])
		}
	case "ln", "log", "lg":
		return c.logarithmTo(n.name, args)
	case "abs":
		if v := args[0]; v.rat != nil {
			return c.rational(new(big.Rat).Abs(v.rat))
		} else {
			if !v.z.isReal() {
				c.degrees[n.key()] = 2
			}
			return value{z: c.real(c.abs(v.z)), u: v.u, l: v.l}, nil
		}
	case "factorial", "binomial", "bmod", "gcd", "lcm", "max", "min", "floor", "ceil":
		if v, ok, err := c.combinatorial(n.name, args); ok {
			return v, err
		}
	}
	return c.opaqueCall(n, args)
}

// opaqueCall stands for f(args) with an unknown f. Arguments that are rational
// count by value, others by how they are written.
func (c *calc) opaqueCall(n *node, args []value) (value, error) {
	if err := c.budget.spend(1024); err != nil {
		return value{}, err
	}
	var name strings.Builder
	name.WriteString(n.name)
	for i, arg := range n.args {
		name.WriteByte(',')
		if i < len(args) && args[i].rat != nil {
			name.WriteString(args[i].rat.RatString())
		} else {
			arg.write(&name)
		}
	}
	return c.opaque(name.String()), nil
}

func (c *calc) trigonometric(name string, v value) (value, error) {
	z := c.ball(v)
	if !z.isReal() {
		return value{}, errSymbolic
	}
	sin, cos, ok := c.sinCos(z.re)
	if !ok {
		return value{}, errBudget
	}
	over, under := c.fromInt(1), c.fromInt(1)
	switch name {
	case "sin":
		over = sin
	case "cos":
		over = cos
	case "tan":
		over, under = sin, cos
	case "cot":
		over, under = cos, sin
	case "sec":
		under = cos
	case "csc":
		under = sin
	}
	inv, ok := c.inv(under)
	if !ok {
		return value{}, errUndefined
	}
	return c.measured(c.real(c.mul(over, inv)), v), c.spendFunction()
}

func (c *calc) inverseTrigonometric(name string, v value) (value, error) {
	z := c.ball(v)
	if !z.isReal() {
		return value{}, errSymbolic
	}
	x := z.re
	if name != "arctan" { // arcsin x = arctan(x / √(1-x²)), and ±π/2 at the ends
		rest := c.sub(c.fromInt(1), c.mul(x, x))
		s, known := rest.sign()
		if known && s < 0 {
			return value{}, errUndefined
		}
		inv, ok := c.inv(c.root(rest, 2))
		half := c.mul(c.piBall(), ball{c.float().SetFloat64(0.5), exact})
		angle := half
		if ok {
			angle = c.atan(c.mul(x, inv))
		} else {
			if rest.err > exact/2 { // π/2 up to the root of the error
				angle = ball{half.mid, max(half.err, rest.bound()/2+2)}
			}
			if x.mid.Sign() < 0 {
				angle = c.neg(angle)
			}
		}
		if name == "arccos" {
			angle = c.sub(half, angle)
		}
		return c.measured(c.real(angle), v), c.spendFunction()
	}
	return c.measured(c.real(c.atan(x)), v), c.spendFunction()
}

func (c *calc) hyperbolic(name string, v value) (value, error) {
	z := c.ball(v)
	if !z.isReal() {
		return value{}, errSymbolic
	}
	up, ok := c.exp(z.re)
	if !ok {
		return value{}, errBudget
	}
	down, _ := c.inv(up)
	half := ball{c.float().SetFloat64(0.5), exact}
	sinh, cosh := c.mul(half, c.sub(up, down)), c.mul(half, c.add(up, down))
	out := sinh
	switch name {
	case "cosh":
		out = cosh
	case "tanh":
		inv, _ := c.inv(cosh)
		out = c.mul(sinh, inv)
	}
	return c.measured(c.real(out), v), c.spendFunction()
}

// logarithmTo is log x to a base: the second argument, else 10 for lg, and e for
// ln. Without a base, log is to base 10 as in sympy's LaTeX and school books.
func (c *calc) logarithmTo(name string, args []value) (value, error) {
	over, err := c.logarithm(args[0])
	if err != nil || name == "ln" {
		return over, err
	}
	base := value{rat: big.NewRat(10, 1), u: 4}
	if len(args) > 1 {
		base = args[1]
	}
	if args[0].rat != nil && base.rat != nil {
		if r := rationalLog(args[0].rat, base.rat); r != nil {
			return c.rational(r)
		}
	}
	under, err := c.logarithm(base)
	if err != nil {
		return under, err
	}
	inv, err := c.inverse(under)
	if err != nil {
		return inv, err
	}
	return c.times(over, inv)
}

// rationalLog is the whole number k with base^k = x, or nil.
func rationalLog(x, base *big.Rat) *big.Rat {
	fx, _ := x.Float64()
	fb, _ := base.Float64()
	k := math.Round(math.Log(fx) / math.Log(fb)) // a guess, which is then checked exactly
	if math.IsNaN(k) || math.Abs(k) > 512 || math.Abs(k)*float64(ratBits(base)) > 4096 {
		return nil
	}
	e := big.NewInt(int64(math.Abs(k)))
	p := new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), e, nil), new(big.Int).Exp(base.Denom(), e, nil))
	if k < 0 {
		if p.Sign() == 0 {
			return nil
		}
		p.Inv(p)
	}
	if p.Cmp(x) != 0 {
		return nil
	}
	return big.NewRat(int64(k), 1)
}

// combinatorial is a function of whole numbers (max and min: of rationals), and
// not ok for other arguments.
func (c *calc) combinatorial(name string, args []value) (v value, ok bool, err error) {
	for _, a := range args {
		if a.rat == nil {
			return value{}, false, nil
		}
	}
	x := args[0].rat
	switch name {
	case "floor", "ceil":
		q := new(big.Int).Div(x.Num(), x.Denom()) // towards -∞, as the divisor is positive
		if name == "ceil" && !x.IsInt() {
			q.Add(q, big.NewInt(1))
		}
		v, err = c.rational(new(big.Rat).SetInt(q))
		return v, true, err
	case "max", "min":
		for _, a := range args[1:] {
			if (a.rat.Cmp(x) > 0) == (name == "max") {
				x = a.rat
			}
		}
		v, err = c.rational(x)
		return v, true, err
	}
	if name == "bmod" {
		if len(args) != 2 || !x.IsInt() || !args[1].rat.IsInt() || args[1].rat.Sign() <= 0 {
			return value{}, false, nil
		}
		v, err = c.rational(new(big.Rat).SetInt(new(big.Int).Mod(x.Num(), args[1].rat.Num())))
		return v, true, err
	}
	for _, a := range args {
		if !a.rat.IsInt() || a.rat.Sign() < 0 {
			return value{}, false, nil
		}
	}
	out := new(big.Int)
	switch name {
	case "factorial":
		if !x.Num().IsInt64() || x.Num().Int64() > maxFactorial {
			return value{}, true, errBudget
		}
		if err := c.budget.spend(8192); err != nil {
			return value{}, true, err
		}
		out.MulRange(1, x.Num().Int64())
	case "binomial":
		if len(args) != 2 {
			return value{}, false, nil
		}
		k := args[1].rat.Num()
		if !x.Num().IsInt64() || x.Num().Int64() > maxFactorial || !k.IsInt64() {
			return value{}, true, errBudget
		}
		out.Binomial(x.Num().Int64(), k.Int64())
	default:
		out.Set(x.Num())
		for _, a := range args[1:] {
			g := new(big.Int).GCD(nil, nil, out, a.rat.Num())
			if name == "lcm" && g.Sign() != 0 {
				g.Mul(new(big.Int).Quo(out, g), a.rat.Num())
			}
			out = g
		}
	}
	v, err = c.rational(new(big.Rat).SetInt(out))
	return v, true, err
}
