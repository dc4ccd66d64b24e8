package mathans

import (
	"slices"
	"strings"
)

// flipped is the relation read from right to left.
var flipped = map[string]string{"=": "=", "~": "~", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// assigned is v for "name = … = v ≈ …", where name stands for what is asked; ok
// is false for other relations: a² + b = 0 does not give 0 as its value.
func assigned(n *node) (v *node, ok bool) {
	if n.kind != kRelation || !isName(n.args[0]) {
		return nil, false
	}
	last := len(n.args) - 1
	for i, op := range n.ops {
		if op != "=" && op != "~" {
			return nil, false
		}
		if op == "~" && i > 0 {
			last = min(last, i) // x = 1/3 ≈ 0.333 is 1/3
		}
	}
	return n.args[last], true
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
	gv, gAssigns := assigned(g)
	pv, pAssigns := assigned(p)
	if gAssigns && pAssigns && m.equal(g.args[0], p.args[0]) {
		return m.equal(gv, pv)
	}
	if len(g.ops) == 1 && len(p.ops) == 1 {
		sign, ok := m.proportional(difference(g), difference(p))
		same, opposite := g.ops[0] == p.ops[0], flipped[g.ops[0]] == p.ops[0]
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
		return m.sameIntervals(g, p)
	}
	back := reversed(p)
	return slices.Equal(g.ops, back.ops) && m.sequences(g.args, back.args)
}

// sameIntervals: inequalities of one variable that describe one set of numbers,
// as |x| < 2 and -2 < x < 2 do.
func (m *matcher) sameIntervals(g, p *node) bool {
	names := variables(g)
	if len(names) != 1 || !slices.Equal(names, variables(p)) {
		return false
	}
	a, ok := asInterval(g)
	if !ok {
		return false
	}
	b, ok := asInterval(p)
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
	if set, ok := asInterval(g); ok && !holdsRelation(p) {
		return m.equal(set, p)
	}
	if set, ok := asInterval(p); ok && !holdsRelation(g) {
		return m.rules.SetRelation && m.equal(g, set)
	}
	gv, ok := values(g)
	if !ok {
		return false
	}
	pv, ok := values(p)
	if !ok {
		return false
	}
	return m.equal(gv, pv)
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
		v, ok := assigned(item)
		if !ok {
			return nil, false
		}
		name := item.args[0].key()
		names[name] = append(names[name], v)
	}
	return names, true
}

// values takes assignments away: n=1,2,3 is 1,2,3, and p=5, q=2 is (5,2). Names
// that differ in their subscripts alone leave the order free, as do equal ones.
// ok is false if another relation is left.
func values(n *node) (*node, bool) {
	if n.kind == kRelation {
		return assigned(n)
	}
	if !isSetLike(n) || !holdsRelation(n) {
		return n, true
	}
	var items []*node
	names := map[string]bool{}
	for _, arg := range n.args {
		v, ok := values(arg)
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

// asInterval is the set of numbers that an inequality describes: 1 < x <= 2 is
// (1,2], x > 3 is (3,∞), 1 < |x| < 2 is two intervals.
func asInterval(n *node) (*node, bool) {
	if n.kind != kRelation {
		return nil, false
	}
	rel := n
	for _, op := range rel.ops {
		if !strings.ContainsAny(op, "<>") {
			return nil, false
		}
	}
	switch {
	case len(rel.ops) == 2 && rel.ops[0][0] == rel.ops[1][0]:
		if rel.ops[0][0] == '>' {
			rel = reversed(rel)
		}
		low, x, high := rel.args[0], rel.args[1], rel.args[2]
		set := interval(low, high, rel.ops[0] == "<=", rel.ops[1] == "<=")
		if x.kind == kCall && x.name == "abs" {
			mirror := interval(of(kNegative, high), of(kNegative, low), rel.ops[1] == "<=", rel.ops[0] == "<=")
			return of(kUnion, mirror, set), true
		}
		return set, x.kind == kSymbol
	case len(rel.ops) == 1:
		if isAbs := func(n *node) bool { return n.kind == kCall && n.name == "abs" }; isAbs(rel.args[1]) || !isAbs(rel.args[0]) && (rel.args[0].kind != kSymbol || rel.args[0].name == "inf") {
			rel = reversed(rel)
		}
		if rel.args[0].kind == kCall {
			return absInterval(rel)
		}
		x, end, closed := rel.args[0], rel.args[1], strings.HasSuffix(rel.ops[0], "=")
		if x.kind != kSymbol || x.name == "inf" || len(variables(end)) > 0 && variables(end)[0] == x.name {
			return nil, false
		}
		if rel.ops[0][0] == '<' {
			return interval(of(kNegative, symbol("inf")), end, false, closed), true
		}
		return interval(end, symbol("inf"), closed, false), true
	}
	return nil, false
}

// interval is a tuple where both ends are open: (a,b) reads as either.
func interval(low, high *node, closedLow, closedHigh bool) *node {
	if !closedLow && !closedHigh {
		return of(kTuple, low, high)
	}
	return &node{kind: kInterval, args: []*node{low, high}, closedLow: closedLow, closedHigh: closedHigh}
}

// absInterval is the set for |x| < a or |x| > a.
func absInterval(rel *node) (*node, bool) {
	x, end, closed := rel.args[0], rel.args[1], strings.HasSuffix(rel.ops[0], "=")
	if x.name != "abs" || x.args[0].kind != kSymbol || len(variables(end)) > 0 {
		return nil, false
	}
	low, inf := of(kNegative, end), symbol("inf")
	if rel.ops[0][0] == '<' {
		return interval(low, end, closed, closed), true
	}
	return of(kUnion, interval(of(kNegative, inf), low, false, closed), interval(end, inf, closed, false)), true
}
