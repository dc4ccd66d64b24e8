package mathans

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Rules are the choices in a comparison. The zero value but for Precision is the
// strictest.
type Rules struct {
	// Precision is the number of decimals (below 1: of significant digits) to
	// which a value written as a decimal has to agree with the other one.
	Precision int
	// Percent lets 28 stand for 28%.
	Percent bool
	// SetRelation lets an inequality answer an interval: -2 <= x <= 7 for [-2,7].
	// The other way round is always accepted.
	SetRelation bool
	// AnyNames lets variables have other names, in their alphabetical order, and
	// a tuple stand for a set.
	AnyNames bool
}

// Result says how a comparison ended.
type Result struct {
	Equal bool
	How   string // "identical", "exact", "proven", "calculated", "at points", "rounded", "text"
	Limit error  // not nil: some part was too large to decide, and counted as different
}

// Equal compares an answer with the gold answer.
func Equal(gold, answer Answer, rules Rules) Result {
	m := &matcher{rules: rules, budget: budget{maxWork}, comparisons: maxComparisons, how: "identical"}
	if gold.root == nil || answer.root == nil {
		return Result{How: "text"}
	}
	equal := m.equal(expand(gold.root), expand(answer.root))
	return Result{Equal: equal, How: m.how, Limit: m.limit}
}

type matcher struct {
	rules       Rules
	budget      budget
	comparisons int
	nested      int // collections around what is compared
	ends        []standIn
	how         string
	limit       error
}

// equal compares two answers of any kind.
func (m *matcher) equal(g, p *node) bool {
	if m.comparisons--; m.comparisons < 0 {
		m.limit = errBudget
		return false
	}
	g, p = m.described(member(g)), m.described(member(p))
	if g.key() == p.key() {
		return true
	}
	if g.alt != nil && m.fits(g.alt, p) {
		return m.equal(g.alt, p)
	}
	if p.alt != nil && m.fits(p.alt, g) {
		return m.equal(g, p.alt)
	}
	switch gr, pr := g.kind == kRelation, p.kind == kRelation; {
	case gr && pr:
		return m.relations(g, p)
	case holdsRelation(g) || holdsRelation(p):
		return m.relationsInLists(g, p)
	}
	if isCollection(g) || isCollection(p) {
		return m.collections(g, p)
	}
	if g.hasKind(kMatrix) || p.hasKind(kMatrix) {
		return m.matrices(g, p)
	}
	if g.kind == kRatio && len(g.args) > 2 || p.kind == kRatio && len(p.args) > 2 {
		return g.kind == p.kind && m.ratios(g.args, p.args)
	}
	return m.scalars(g, p)
}

// fits: the second reading of an answer is of the other's form.
func (m *matcher) fits(alt, other *node) bool {
	switch alt.kind {
	case kList:
		return isCollection(other) && len(other.args) == len(alt.args)
	case kNumber:
		return other.kind == kNumber && other.decimal
	}
	return false
}

// member is S for "x ∈ S", and n for anything else.
func member(n *node) *node {
	if n.kind == kRelation && len(n.ops) == 1 && n.ops[0] == "in" {
		return n.args[1]
	}
	return n
}

// described is the set of real numbers that {x | x > 2} describes, and n for
// anything else.
func (m *matcher) described(n *node) *node {
	if n.kind != kCall || n.name != "builder" {
		return n
	}
	x := n.args[0]
	if x.kind == kRelation && len(x.ops) == 1 && x.ops[0] == "in" && isSymbol(x.args[1], "Reals") {
		x = x.args[0]
	}
	if set, ok := m.asSet(n.args[1]); ok && x.kind == kSymbol && slices.Equal(variables(n.args[1]), []string{x.name}) {
		return set
	}
	return n
}

func isCollection(n *node) bool {
	switch n.kind {
	case kTuple, kInterval, kSet, kList, kUnion, kIntersection, kDifference:
		return true
	}
	return false
}

// collections compares sets, lists, tuples, intervals and unions.
func (m *matcher) collections(g, p *node) bool {
	for _, pair := range [][2]*node{{g, p}, {p, g}} { // {5} answers 5, but {{5}} is not {5}
		if one, other := pair[0], pair[1]; (one.kind == kSet && m.nested == 0 || one.kind == kList) && len(one.args) == 1 && !isSetLike(other) {
			if one == g {
				return m.equal(g.args[0], p)
			}
			return m.equal(g, p.args[0])
		}
	}
	unordered := func(n *node) bool { return n.kind == kSet || n.kind == kList }
	switch {
	case unordered(g) && unordered(p):
		return m.sets(g.args, p.args)
	case g.kind == kTuple && p.kind == kTuple:
		return m.sequences(g.args, p.args)
	case g.kind == kInterval && p.kind == kInterval:
		return g.closedLow == p.closedLow && g.closedHigh == p.closedHigh && m.sequences(g.args, p.args)
	case g.kind == kList && p.kind == kTuple || g.kind == kTuple && p.kind == kList:
		return m.sequences(g.args, p.args)
	case m.rules.AnyNames && (g.kind == kSet && p.kind == kTuple || g.kind == kTuple && p.kind == kSet):
		return m.sequences(g.args, p.args)
	case g.kind == kDifference && p.kind == kDifference:
		return m.sequences(g.args, p.args)
	case g.kind == kIntersection && p.kind == kIntersection:
		return m.sets(g.args, p.args)
	}
	if a, ok := m.realSet(g); ok {
		if b, ok := m.realSet(p); ok {
			return m.sameRealSets(a, b)
		}
	}
	return g.kind == kUnion && p.kind == kUnion && m.sets(g.args, p.args)
}

func isSetLike(n *node) bool { return n.kind == kSet || n.kind == kList }

func (m *matcher) sequences(g, p []*node) bool {
	if len(g) != len(p) {
		return false
	}
	m.nested++
	defer func() { m.nested-- }()
	for i := range g {
		if !m.equal(g[i], p[i]) {
			return false
		}
	}
	return true
}

// sets compares without order; what is equal counts once.
func (m *matcher) sets(g, p []*node) bool {
	if len(g) > maxItems || len(p) > maxItems {
		return false
	}
	m.nested++
	defer func() { m.nested-- }()
	if len(g) == len(p) && m.paired(g, p) {
		return true
	}
	dg, dp := m.distinct(g), m.distinct(p)
	return (len(dg) < len(g) || len(dp) < len(p)) && len(dg) == len(dp) && m.paired(dg, dp)
}

// paired: each item has an equal one of its own on the other side.
func (m *matcher) paired(g, p []*node) bool {
	used := make([]bool, len(p))
	for _, x := range g {
		found := false
		for j, y := range p {
			if !used[j] && m.equal(x, y) {
				used[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (m *matcher) distinct(all []*node) []*node {
	var out []*node
	for _, n := range all {
		if !slices.ContainsFunc(out, func(o *node) bool { return m.equal(o, n) }) {
			out = append(out, n)
		}
	}
	return out
}

// ratios compares ratios of three and more: 2:3:4 is 4:6:8.
func (m *matcher) ratios(g, p []*node) bool {
	if len(g) != len(p) {
		return false
	}
	for i := range g[1:] {
		if !m.equal(quotient(g[i], g[i+1]), quotient(p[i], p[i+1])) {
			return false
		}
	}
	return true
}

func isMod(n *node) bool { return n.kind == kCall && n.name == "mod" }

// residues compares residue classes: 3 and 10 (mod 7). A modulus on one side only
// is dropped.
func (m *matcher) residues(g, p *node) bool {
	switch {
	case !isMod(g):
		return m.equal(g, p.args[0])
	case !isMod(p):
		return m.equal(g.args[0], p)
	}
	return m.equal(g.args[1], p.args[1]) && (m.equal(g.args[0], p.args[0]) ||
		m.equal(call("bmod", g.args[0], g.args[1]), call("bmod", p.args[0], p.args[1])))
}

// scalars compares two values that are no collections.
func (m *matcher) scalars(g, p *node) bool {
	if equal, decided := m.texts(g, p); decided {
		return equal
	}
	g, p, ok := m.units(g, p)
	if !ok {
		return false
	}
	if isMod(g) || isMod(p) {
		return m.residues(g, p)
	}
	if gi, pi := infinity(g), infinity(p); gi != 0 || pi != 0 {
		return gi == pi
	}
	if m.rules.Percent && (g.kind == kPercent) != (p.kind == kPercent) {
		if g.kind == kPercent && m.scalars(g.args[0], p) || p.kind == kPercent && m.scalars(g, p.args[0]) {
			return true
		}
	}
	names := variables(g, p)
	if len(names) > 0 {
		if m.rules.AnyNames {
			p = m.renamed(g, p)
			names = variables(g, p)
		}
		equal, err := m.expressions(g, p, names)
		if m.note(err); equal {
			m.how = "at points"
		}
		// What has no value at a point, as a sum up to n - 1, may still be written
		// with its terms and factors in another order.
		return equal || g.ordered().key() == p.ordered().key()
	}
	equal, how, err := m.constants(g, p, nil)
	if m.note(err); equal {
		m.how = how
		return true
	}
	if (isDecimal(g) || isDecimal(p)) && m.rounded(g, p, m.rules.Precision) {
		m.how = "rounded"
		return true
	}
	return false
}

// note keeps the reason why a part could not be decided.
func (m *matcher) note(err error) {
	if err == errBudget {
		m.limit = err
	}
}

// units converts two quantities to the same unit; ok is false where their
// dimensions differ. A unit on one side only is dropped.
func (m *matcher) units(g, p *node) (*node, *node, bool) {
	g, p = glued(g), glued(p)
	if isAngle(g, p) || isAngle(p, g) {
		g, p = inRadians(g), inRadians(p)
	}
	gq, pq := g.kind == kQuantity, p.kind == kQuantity
	if gq && pq {
		if g.name != p.name { // 25° may stand for 25 °C
			degrees := strings.HasPrefix(g.name, "deg") && strings.HasPrefix(p.name, "deg")
			return g.args[0], p.args[0], degrees && (g.name == "deg" || p.name == "deg")
		}
		if g.value.Cmp(p.value) != 0 {
			scale := func(n *node) *node { return product(n.args[0], &node{kind: kNumber, value: n.value}) }
			return scale(g), scale(p), true
		}
	}
	if gq {
		g = g.args[0]
	}
	if pq {
		p = p.args[0]
	}
	return g, p, true
}

// isAngle: one is in degrees, and the other in radians: it says so or holds π.
func isAngle(one, other *node) bool {
	return one.kind == kQuantity && one.name == "deg" && (other.kind == kQuantity && other.name == "rad" ||
		other.kind != kQuantity && other.any(func(n *node) bool {
			return isSymbol(n, "pi") || n.kind == kCall && strings.HasPrefix(n.name, "arc")
		}))
}

func inRadians(n *node) *node {
	switch {
	case n.kind == kQuantity && n.name == "deg":
		return of(kProduct, n.args[0], quotient(symbol("pi"), integer(180)))
	case n.kind == kQuantity:
		return n.args[0]
	}
	return n
}

// glued reads 5m and 5m² as quantities.
func glued(n *node) *node {
	if n.kind != kProduct || len(n.args) != 2 || n.args[0].kind != kNumber {
		return n
	}
	unit, power := n.args[1], ""
	if unit.kind == kPower && unit.args[1].kind == kNumber {
		unit, power = unit.args[0], unit.args[1].value.RatString()
	}
	if !isSymbol(unit, "m") && !isSymbol(unit, "L") {
		return n
	}
	return quantity(n.args[0], units[unit.name].raised(power))
}

// isDecimal: a number written with a decimal point, with a sign or % at most.
func isDecimal(n *node) bool {
	if n.kind == kNegative || n.kind == kPercent {
		return isDecimal(n.args[0])
	}
	return n.kind == kNumber && n.decimal
}

// infinity is the sign of ±∞, else 0.
func infinity(n *node) int {
	switch {
	case isSymbol(n, "inf"):
		return 1
	case n.kind == kNegative:
		return -infinity(n.args[0])
	}
	return 0
}

// texts compares answers of which one is words: "Evelyn", "yes", "E".
func (m *matcher) texts(g, p *node) (equal, decided bool) {
	if g.kind != kText && p.kind != kText {
		return false, false
	}
	a, ok := letters(g)
	if !ok {
		return false, true
	}
	b, ok := letters(p)
	if !ok {
		return false, true
	}
	if equal = a != "" && (a == b || strings.EqualFold(a, b) && utf8.RuneCountInString(a) > 1); equal {
		m.how = "text"
	}
	return equal, true
}

// letters writes words or a product of variables as one word.
func letters(n *node) (string, bool) {
	switch n.kind {
	case kText:
		return foldName(n.name), true
	case kSymbol:
		return n.name, true
	case kProduct:
		var all strings.Builder
		for _, arg := range n.args {
			part, ok := letters(arg)
			if !ok {
				return "", false
			}
			all.WriteString(part)
		}
		return all.String(), true
	}
	return "", false
}

func foldName(words string) string {
	if utf8.RuneCountInString(words) == 1 {
		return words
	}
	return strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer(".", "", ",", "").Replace(words)), ""))
}

// renamed is p with its variables, in alphabetical order, called as g's are.
func (m *matcher) renamed(g, p *node) *node {
	from, to := variables(p), variables(g)
	if len(from) != len(to) {
		return p
	}
	var walk func(n *node) *node
	walk = func(n *node) *node {
		if n.kind == kSymbol {
			if i := slices.Index(from, n.name); i >= 0 {
				return symbol(to[i])
			}
			return n
		}
		if len(n.args) == 0 {
			return n
		}
		args := make([]*node, len(n.args))
		for i, arg := range n.args {
			args[i] = walk(arg)
		}
		return n.withArgs(args)
	}
	return walk(p)
}
