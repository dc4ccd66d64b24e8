package mathans

import (
	"math/big"
	"slices"
	"strings"
)

// flipped is the relation read from right to left.
var flipped = map[string]string{"=": "=", "~": "~", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// assigned is v for "name = … = v ≈ …", where name stands for what is asked, for
// "v = x", and, without a name, for constants, "40 + 2 = 42"; ok is false for
// other relations: a² + b = 0 does not give 0 as its value.
func assigned(n *node) (name, v *node, ok bool) {
	if n.kind != kRelation {
		return nil, nil, false
	}
	name = n.args[0]
	last := len(n.args) - 1
	switch constant := len(variables(name)) == 0; {
	case isName(name):
	case constant && len(n.ops) > 1 && n.args[last-1].kind == kSymbol && isName(n.args[last-1]): // 6 = 2x = x + 3 = x = 3
		name = n.args[last-1]
	case constant && len(n.ops) == 1 && n.args[1].kind == kSymbol && isName(n.args[1]):
		n = reversed(n)
		name = n.args[0]
	case len(variables(n)) == 0 && !slices.ContainsFunc(n.args, isCollection):
		name = nil
	default:
		return nil, nil, false
	}
	for i, op := range n.ops {
		if op != "=" && op != "~" {
			return nil, nil, false
		}
		if op == "~" && (i > 0 || name == nil) {
			last = min(last, i) // x = 1/3 ≈ 0.333 is 1/3
		}
	}
	return name, n.args[last], true
}

// isName: the left side of an assignment: names, functions, and products,
// quotients, ratios and tuples of them.
func isName(n *node) bool {
	switch n.kind {
	case kSymbol:
		return n.name != "pi" && n.name != "inf"
	case kText, kCall:
		return true
	case kProduct, kQuotient, kRatio, kTuple, kList:
		return !slices.ContainsFunc(n.args, func(arg *node) bool { return !isName(arg) })
	}
	return false
}

// relations compares two relations.
func (m *matcher) relations(g, p *node) bool {
	gn, gv, gAssigns := assigned(g)
	pn, pv, pAssigns := assigned(p)
	if gAssigns && pAssigns && gn != nil && pn != nil && m.equal(gn, pn) {
		return m.equal(gv, pv)
	}
	if len(g.ops) == 1 && len(p.ops) == 1 {
		sign, ok := m.proportional(difference(g), difference(p))
		same, opposite := g.ops[0] == p.ops[0], flipped[g.ops[0]] == p.ops[0]
		if !ok && m.sameSets(g, p) {
			return true
		}
		if ok {
			m.how = "at points"
			switch g.ops[0] {
			case "=", "!=", "~":
				return same
			}
			return same && sign > 0 || opposite && sign < 0
		}
		return same && m.sequences(g.args, p.args) ||
			opposite && m.equal(g.args[0], p.args[1]) && m.equal(g.args[1], p.args[0])
	}
	if slices.Equal(g.ops, p.ops) && m.sequences(g.args, p.args) {
		return true
	}
	if len(g.ops) != len(p.ops) {
		return m.sameSets(g, p)
	}
	back := reversed(p)
	return slices.Equal(g.ops, back.ops) && m.sequences(g.args, back.args) || m.sameSets(g, p)
}

// sameSets: inequalities of one variable that describe one set of numbers,
// as |x| < 2 and -2 < x < 2 do.
func (m *matcher) sameSets(g, p *node) bool {
	names := variables(g)
	if len(names) != 1 || !slices.Equal(names, variables(p)) {
		return false
	}
	a, ok := m.asSet(g)
	if !ok {
		return false
	}
	b, ok := m.asSet(p)
	return ok && m.equal(a, b)
}

func difference(n *node) *node {
	return of(kSum, n.args[0], of(kNegative, n.args[1]))
}

func reversed(n *node) *node {
	r := of(kRelation, slices.Clone(n.args)...)
	slices.Reverse(r.args)
	for _, op := range slices.Backward(n.ops) {
		r.ops = append(r.ops, flipped[op])
	}
	return r
}

// holdsRelation: a relation, or a list with one in it.
func holdsRelation(n *node) bool {
	return n.kind == kRelation || isSetLike(n) && slices.ContainsFunc(n.args, holdsRelation)
}

// relationsInLists compares answers of which at least one is a relation or a
// list of them, and not both are single relations.
func (m *matcher) relationsInLists(g, p *node) bool {
	if isSetLike(g) && isSetLike(p) {
		if named, equal := m.byName(g.args, p.args); named {
			return equal
		}
		if m.sets(g.args, p.args) {
			return true
		}
	}
	if holdsRelation(g) && holdsRelation(p) {
		if m.sameSets(g, p) {
			return true
		}
	} else if set, ok := m.asSet(ofValue(g)); ok {
		return m.equal(set, p)
	} else if set, ok := m.asSet(p); ok {
		return m.rules.SetRelation && m.equal(g, set)
	}
	gv, ok := m.values(g)
	if !ok {
		return false
	}
	pv, ok := m.values(p)
	if !ok {
		return false
	}
	return m.equal(gv, pv)
}

// ofValue is 0 < y < 1 for 0 < f(x) < 1: what values f has, whatever x is. Anything
// else is as it was.
func ofValue(n *node) *node {
	i := slices.IndexFunc(n.args, func(arg *node) bool { return arg.kind == kCall && len(arg.name) == 1 })
	if n.kind != kRelation || i < 0 {
		return n
	}
	args := slices.Clone(n.args)
	args[i] = symbol(args[i].name + "()")
	return n.withArgs(args)
}

// byName compares lists of assignments name by name: x=1, y=2 is y=2, x=1 and
// not x=2, y=1. named is false unless both give values to the same names.
func (m *matcher) byName(g, p []*node) (named, equal bool) {
	gn, ok := groupByName(g)
	if !ok {
		return false, false
	}
	pn, ok := groupByName(p)
	if !ok || len(gn) != len(pn) {
		return false, false
	}
	for name := range gn {
		if pn[name] == nil {
			return false, false
		}
	}
	for name, gv := range gn {
		if !m.sets(gv, pn[name]) {
			return true, false
		}
	}
	return true, true
}

func groupByName(items []*node) (map[string][]*node, bool) {
	names := map[string][]*node{}
	for _, item := range items {
		name, v, ok := assigned(item)
		if !ok || name == nil {
			return nil, false
		}
		names[name.key()] = append(names[name.key()], v)
	}
	return names, true
}

// values takes assignments away: n=1,2,3 is 1,2,3, and p=5, q=2 is (5,2). Names
// that differ in their subscripts alone leave the order free, as do equal ones.
// ok is false if another relation is left, or an equation that is false: 8 = 7.
func (m *matcher) values(n *node) (*node, bool) {
	if n.kind == kRelation {
		_, v, ok := assigned(n)
		return v, ok && m.holds(n)
	}
	if !isSetLike(n) || !holdsRelation(n) {
		return n, true
	}
	var items []*node
	names := map[string]bool{}
	n = inCoordinates(n)
	for _, arg := range n.args {
		v, ok := m.values(arg)
		if !ok {
			return nil, false
		}
		if arg.kind == kRelation {
			names[stem(arg.args[0])] = true
		}
		items = append(items, v)
	}
	if len(names) > 1 && len(names) == len(items) {
		return of(kTuple, items...), true
	}
	return of(kList, items...), true
}

// holds is false for an equation that begins with a constant and has two different
// ones, 8 = 7 or 3 = x = 7. A decimal may round the other: 22/7 = 3.14. After a name,
// as in x = 3 + 3 = 2, only the last value counts.
func (m *matcher) holds(n *node) bool {
	first := n.args[0]
	if len(variables(first)) > 0 || isName(first) {
		return true
	}
	for i, arg := range n.args[1:] {
		if n.ops[i] != "=" || len(variables(arg)) > 0 || isCollection(arg) || m.scalars(first, arg) {
			continue
		}
		places := max(decimals(first), decimals(arg))
		a, aReal := m.rationalNear(first)
		b, bReal := m.rationalNear(arg)
		if places < 0 || !aReal || !bReal || a.FloatString(places) != b.FloatString(places) {
			return false
		}
	}
	return true
}

// decimals is how many decimals a number is written with, zeros at the end aside; -1
// for anything but a decimal.
func decimals(n *node) int {
	if (n.kind == kNegative || n.kind == kQuantity) && len(n.args) == 1 {
		return decimals(n.args[0])
	}
	if n.kind != kNumber || !n.decimal {
		return -1
	}
	places, exact := n.value.FloatPrec()
	if !exact {
		return -1
	}
	return places
}

// inCoordinates orders a list of assignments to x, y and z by these names: the
// point (x, y) may be given as y = 3, x = 4.
func inCoordinates(n *node) *node {
	for _, arg := range n.args {
		if arg.kind != kRelation || arg.args[0].kind != kSymbol || !strings.Contains("xyz", arg.args[0].name) {
			return n
		}
	}
	sorted := slices.Clone(n.args)
	slices.SortStableFunc(sorted, func(a, b *node) int { return strings.Compare(a.args[0].name, b.args[0].name) })
	return n.withArgs(sorted)
}

// stem is a name without its subscript and the arguments of a function.
func stem(n *node) string {
	switch n.kind {
	case kSymbol:
		name, _, _ := strings.Cut(n.name, "_")
		return name
	case kCall:
		if n.name != "subscript" {
			return n.name
		}
	}
	return n.key()
}

// asSet is the set of numbers that an inequality describes: 1 < x <= 2 is (1,2],
// 2x > 6 is (3,∞), |x - 1| > 2 and a list of inequalities with "or" are unions,
// x ≠ 0 leaves a point out.
func (m *matcher) asSet(n *node) (*node, bool) {
	if n.kind == kList && n.name == "or" {
		return m.eitherSet(n)
	}
	if n.kind != kRelation || len(n.ops) == 2 && n.ops[0][0] != n.ops[1][0] || len(n.ops) > 2 {
		return nil, false
	}
	for _, op := range n.ops {
		if !strings.ContainsAny(op, "<>") && (op != "!=" || len(n.ops) > 1) {
			return nil, false
		}
	}
	if n.ops[0][0] == '>' || len(n.ops) == 1 && len(variables(n.args[0])) == 0 {
		n = reversed(n)
	}
	closed := strings.HasSuffix(n.ops[0], "=")
	inf := symbol("inf")
	if len(n.ops) == 2 {
		return m.between(n.args[0], n.args[1], n.args[2], closed, strings.HasSuffix(n.ops[1], "="))
	}
	low, high := n.args[0], n.args[1]
	switch {
	case n.ops[0] == "!=":
		if low.kind != kSymbol || len(variables(high)) > 0 {
			return nil, false
		}
		return of(kDifference, symbol("Reals"), of(kSet, high)), true
	case n.ops[0][0] == '>': // a < x was turned into x > a
		low, high = high, low
	case len(variables(low)) > 0: // x < a
		return m.between(of(kNegative, inf), low, high, false, closed)
	}
	return m.between(low, high, inf, closed, false)
}

// eitherSet is the union of what inequalities in one variable describe.
func (m *matcher) eitherSet(n *node) (*node, bool) {
	union := of(kUnion)
	for _, arg := range n.args {
		part, ok := m.asSet(arg)
		if !ok || len(variables(n)) != 1 {
			return nil, false
		}
		union.args = append(union.args, part)
	}
	return union, len(n.args) > 0
}

// between is the set of the x for which low, x-inner and high are in order, where
// inner is x or the absolute value of x, or of a x + b with rational a and b.
func (m *matcher) between(low, inner, high *node, closedLow, closedHigh bool) (*node, bool) {
	if names := variables(inner); len(names) != 1 || slices.Contains(variables(low, high), names[0]) {
		return nil, false
	}
	if inner.kind == kCall && inner.name == "abs" {
		return m.absBetween(low, inner.args[0], high, closedLow, closedHigh)
	}
	if inner.kind == kSymbol {
		return interval(low, high, closedLow, closedHigh), true
	}
	a, b, ok := m.linear(inner)
	if !ok {
		return nil, false
	}
	solve := func(end *node) *node {
		if infinity(end) != 0 && a.Sign() < 0 {
			return of(kNegative, end)
		} else if infinity(end) != 0 {
			return end
		}
		return quotient(of(kSum, end, of(kNegative, &node{kind: kNumber, value: b})), &node{kind: kNumber, value: a})
	}
	if a.Sign() < 0 {
		return interval(solve(high), solve(low), closedHigh, closedLow), true
	}
	return interval(solve(low), solve(high), closedLow, closedHigh), true
}

// absBetween is between for |inner|. Its lower end is not negative, or -∞.
func (m *matcher) absBetween(low, inner, high *node, closedLow, closedHigh bool) (*node, bool) {
	minus := func(n *node) *node { return of(kNegative, n) }
	if infinity(low) < 0 {
		return m.between(minus(high), inner, high, closedHigh, closedHigh)
	}
	if v, err := m.newCalc(startPrecision, nil).eval(low); err != nil || m.sign(v) < 0 {
		return nil, false
	}
	negative, ok := m.between(minus(high), inner, minus(low), closedHigh, closedLow)
	if !ok {
		return nil, false
	}
	positive, ok := m.between(low, inner, high, closedLow, closedHigh)
	return of(kUnion, negative, positive), ok
}

// sign is that of a real constant, -1 where it is not known.
func (m *matcher) sign(v value) int {
	if v.rat != nil {
		return v.rat.Sign()
	}
	if s, known := v.z.re.sign(); known && v.z.isReal() {
		return s
	}
	return -1
}

// linear reads a x + b: rational a, not 0, and b. ok is false for anything else.
func (m *matcher) linear(n *node) (a, b *big.Rat, ok bool) {
	name := variables(n)[0]
	var at [4]*big.Rat
	for i := range at { // a line through two points is a x + b where it meets two more
		v, err := m.newCalc(startPrecision, map[string]*big.Rat{name: big.NewRat(int64(i*i*i)+7, 3)}).eval(n)
		if err != nil || v.rat == nil {
			return nil, nil, false
		}
		at[i] = v.rat
	}
	slope := func(i, j int) *big.Rat {
		d := new(big.Rat).Sub(at[j], at[i])
		return d.Quo(d, big.NewRat(int64(j*j*j-i*i*i), 3))
	}
	a = slope(0, 1)
	if a.Sign() == 0 || a.Cmp(slope(1, 2)) != 0 || a.Cmp(slope(2, 3)) != 0 {
		return nil, nil, false
	}
	b = new(big.Rat).Mul(a, big.NewRat(7, 3))
	return a, b.Sub(at[0], b), true
}

// interval is a tuple where both ends are open: (a,b) reads as either.
func interval(low, high *node, closedLow, closedHigh bool) *node {
	if !closedLow && !closedHigh {
		return of(kTuple, low, high)
	}
	return &node{kind: kInterval, args: []*node{low, high}, closedLow: closedLow, closedHigh: closedHigh}
}
