package mathans

import (
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"slices"
)

// variables are the names in the answers that have no value of their own, in
// order.
func variables(nodes ...*node) []string {
	seen := map[string]bool{}
	for _, n := range nodes {
		n.any(func(m *node) bool {
			switch {
			case m.kind == kText && m.name != "":
				seen["\""+foldName(m.name)] = true
			case m.kind == kSymbol && m.name != "pi" && m.name != "e" && m.name != "i" && m.name != "inf" && m.name != "…":
				seen[m.name] = true
			}
			return false
		})
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// points makes the values of the variables at which expressions are compared:
// rationals from a stream that the gold answer seeds. Where a factorial, a
// binomial, a power of a negative number or the like makes sense for whole
// numbers only, whole numbers; else the last third has negative values as well.
func points(gold *node, names []string, whole bool) []map[string]*big.Rat {
	h := fnv.New64a()
	h.Write([]byte(gold.key()))
	random := rand.New(rand.NewPCG(h.Sum64(), 0x726c7a65726f))
	all := make([]map[string]*big.Rat, numProbes)
	for i := range all {
		all[i] = map[string]*big.Rat{}
		for _, name := range names {
			r := big.NewRat(1<<10+random.Int64N(1<<12), 1<<11) // 1/2 to 5/2
			if whole {
				r = big.NewRat(3+random.Int64N(40), 1)
			} else if negatives := i - numProbes*2/3; negatives == 0 || negatives > 0 && random.IntN(2) == 0 {
				r.Neg(r)
			}
			all[i][name] = r
		}
	}
	return all
}

// needsWhole: parts of the expression make sense for whole numbers only.
func needsWhole(nodes ...*node) bool {
	for _, n := range nodes {
		if n.any(func(m *node) bool {
			switch {
			case m.kind == kCall:
				return m.name == "factorial" || m.name == "binomial" || m.name == "bmod" || m.name == "gcd" || m.name == "lcm"
			case m.kind == kPower:
				return m.args[0].kind == kNegative && len(variables(m.args[1])) > 0
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// expressions compares two scalars with variables. A point with a negative
// value at which either is not real lies outside their domain and is left out.
func (m *matcher) expressions(g, p *node, names []string) (bool, error) {
	whole := needsWhole(g, p)
	good := 0
	for _, point := range points(g, names, whole) {
		if hasNegative(point) && !(m.isRealAt(g, point) && m.isRealAt(p, point)) {
			continue
		}
		equal, _, err := m.constants(g, p, point)
		if err == errUndefined {
			continue
		}
		if err != nil || !equal {
			return false, err
		}
		good++
	}
	return good >= numProbes/2, nil
}

func hasNegative(point map[string]*big.Rat) bool {
	for _, v := range point {
		if v.Sign() < 0 {
			return true
		}
	}
	return false
}

func (m *matcher) isRealAt(n *node, point map[string]*big.Rat) bool {
	c := m.newCalc(startPrecision, point)
	v, err := c.eval(n)
	return err == nil && (v.rat != nil || v.z.isReal()) && !c.complex
}

// proportional decides whether p = c g for a constant c that is not 0. sign is
// that of c, 0 when it is not real.
func (m *matcher) proportional(g, p *node) (sign int, ok bool) {
	names := variables(g, p)
	if len(names) == 0 {
		return 0, false
	}
	const prec, agreement = 512, 256
	var a0, b0 value
	good := 0
	for _, point := range points(g, names, needsWhole(g, p)) {
		c := m.newCalc(prec, point)
		a, b, err := c.pair(g, p)
		if err != nil {
			if err == errUndefined {
				continue
			}
			return 0, false
		}
		if mayBeZero(c.ball(a)) || mayBeZero(c.ball(b)) {
			if mayBeZero(c.ball(a)) != mayBeZero(c.ball(b)) {
				return 0, false
			}
			continue
		}
		if good++; good == 1 {
			a0, b0 = a, b
			continue
		}
		left, err := c.times(a0, b)
		if err != nil {
			return 0, false
		}
		right, err := c.times(a, b0)
		if err != nil {
			return 0, false
		}
		if left.rat != nil && right.rat != nil {
			if left.rat.Cmp(right.rat) != 0 {
				return 0, false
			}
			continue
		}
		d := c.subC(c.ball(left), c.ball(right))
		if !mayBeZero(d) || max(d.re.bound(), d.im.bound()) > -agreement {
			return 0, false
		}
	}
	if good < numProbes/2 {
		return 0, false
	}
	c := m.newCalc(prec, nil)
	x, y := c.ball(a0), c.ball(b0)
	if !x.isReal() || !y.isReal() {
		return 0, true
	}
	xs, _ := x.re.sign()
	ys, _ := y.re.sign()
	return xs * ys, true
}
