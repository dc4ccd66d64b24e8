package grammar

import "errors"

// node is a place in a rule.
type node struct {
	edges []edge
	calls []call
	free  []int32 // nodes that are reached without a byte
	ends  bool    // the rule may end here
}

// edge is followed by a byte of a range.
type edge struct {
	lo, hi byte
	to     int32
}

// call goes through a rule and comes back to a node.
type call struct{ rule, back int32 }

// builder makes the nodes of a grammar.
type builder struct {
	nodes  []node
	work   int             // steps that patterns took
	tails  map[tail]int32  // what was made of the ends of characters
	shared map[rule]int32  // entries of rules that were made
	named  map[string]rule // rules of references by their pointers
}

// rule names a rule that is made once.
type rule int32

const (
	ruleSpace rule = iota + 1
	ruleString
	ruleInteger
	ruleNumber
	ruleValue
	ruleObject
	ruleArray
	ruleNamed // and what follows
)

// Limits of a grammar.
const (
	maxNodes  = 1 << 16
	maxStacks = 256 // readings of a text at once
)

var errLarge = errors.New("it is too large")

func newBuilder() *builder {
	return &builder{tails: map[tail]int32{}, shared: map[rule]int32{}, named: map[string]rule{}}
}

// node makes one. Beyond the limit it gives the last one again: large says so in the end.
func (b *builder) node() int32 {
	if len(b.nodes) <= maxNodes {
		b.nodes = append(b.nodes, node{})
	}
	return int32(len(b.nodes) - 1)
}

func (b *builder) large() bool { return len(b.nodes) > maxNodes }

func (b *builder) on(from int32, lo, hi byte, to int32) {
	b.nodes[from].edges = append(b.nodes[from].edges, edge{lo, hi, to})
}

func (b *builder) skip(from, to int32) { b.nodes[from].free = append(b.nodes[from].free, to) }

// text reads a text.
func (b *builder) text(from int32, t string, to int32) {
	if t == "" {
		b.skip(from, to)
		return
	}
	for i := range len(t) {
		next := to
		if i < len(t)-1 {
			next = b.node()
		}
		b.on(from, t[i], t[i], next)
		from = next
	}
}

// then reads a text and returns where it ends.
func (b *builder) then(from int32, t string) int32 {
	to := b.node()
	b.text(from, t, to)
	return to
}

// texts reads one of several texts, byte by byte, so that there is one reading of what they
// have in common.
func (b *builder) texts(from int32, list []string, to int32) {
	type step struct {
		at int32
		by byte
	}
	steps := map[step]int32{}
	for _, t := range list {
		at := from
		for i := 0; i < len(t)-1 && !b.large(); i++ {
			next, there := steps[step{at, t[i]}]
			if !there {
				next = b.node()
				steps[step{at, t[i]}] = next
				b.on(at, t[i], t[i], next)
			}
			at = next
		}
		if t != "" {
			b.on(at, t[len(t)-1], t[len(t)-1], to)
		}
	}
}

// through calls a rule.
func (b *builder) through(from, entry, to int32) {
	b.nodes[from].calls = append(b.nodes[from].calls, call{entry, to})
}

// called calls a shared rule, which is made if it was not yet.
func (b *builder) called(from int32, r rule, to int32) { b.through(from, b.entry(r), to) }

func (b *builder) entry(r rule) int32 {
	if at, ok := b.shared[r]; ok {
		return at
	}
	from, to := b.node(), b.node()
	b.nodes[to].ends = true
	b.shared[r] = from
	switch r {
	case ruleSpace:
		b.space(from, to)
	case ruleString:
		b.anyString(from, to)
	case ruleInteger:
		b.integer(from, to)
	case ruleNumber:
		b.number(from, to)
	case ruleValue:
		b.anyValue(from, to)
	case ruleObject:
		b.anyObject(from, to)
	case ruleArray:
		b.array(from, b.entry(ruleValue), 0, -1, to)
	}
	return from
}

// spaced goes through white space and returns where it ends.
func (b *builder) spaced(from int32) int32 {
	to := b.node()
	b.called(from, ruleSpace, to)
	return to
}

// space is nothing, a space, or a line break and spaces. It is bounded, as a model may
// write it for ever.
func (b *builder) space(from, to int32) {
	const most = 32
	b.skip(from, to)
	b.on(from, ' ', ' ', to)
	at := b.then(from, "\n")
	for range most {
		b.skip(at, to)
		at = b.then(at, " ")
	}
	b.skip(at, to)
}

func (b *builder) anyValue(from, to int32) {
	for _, r := range []rule{ruleString, ruleNumber, ruleObject, ruleArray} {
		b.called(from, r, to)
	}
	b.texts(from, []string{"false", "null", "true"}, to)
}

func (b *builder) anyObject(from, to int32) {
	first := b.spaced(b.then(from, "{"))
	key, colon, end := b.node(), b.node(), b.node()
	b.skip(first, key)
	b.text(first, "}", to)
	b.called(key, ruleString, colon)
	b.called(b.spaced(b.then(colon, ":")), ruleValue, end)
	b.skip(b.spaced(b.then(end, ",")), key)
	b.text(b.spaced(end), "}", to)
}

// array reads from least to most elements; any number if most is -1.
func (b *builder) array(from, element int32, least, most int, to int32) {
	first, at := b.spaced(b.then(from, "[")), b.node()
	b.skip(first, at)
	if least == 0 {
		b.text(first, "]", to)
	}
	for n := 1; (most < 0 || n <= most) && !b.large(); n++ {
		next := b.node()
		b.through(at, element, next)
		if n >= least {
			b.text(b.spaced(next), "]", to)
		}
		more := b.spaced(b.then(next, ","))
		if most < 0 && n >= least {
			b.skip(more, at)
			return
		}
		at = more
	}
}

// trim cuts out what has no way to an end, and says whether the start has one. Where an
// alphabet is given, bytes outside it cannot be read.
func (b *builder) trim(start int32, alphabet *[256]bool) bool {
	alive := b.alive(alphabet)
	for i := range b.nodes {
		n := &b.nodes[i]
		if !alive[i] {
			*n = node{}
			continue
		}
		n.edges = kept(n.edges, alphabet, alive)
		n.free = filtered(n.free, func(to int32) bool { return alive[to] })
		n.calls = filtered(n.calls, func(c call) bool { return alive[c.rule] && alive[c.back] })
	}
	return alive[start]
}

func filtered[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// kept are edges to nodes that are alive, on bytes of the alphabet.
func kept(edges []edge, alphabet *[256]bool, alive []bool) []edge {
	var out []edge
	for _, e := range edges {
		if !alive[e.to] {
			continue
		}
		for c := int(e.lo); c <= int(e.hi); c++ {
			if !alphabet[c] {
				continue
			}
			if n := len(out); n > 0 && out[n-1].to == e.to && int(out[n-1].hi) == c-1 {
				out[n-1].hi = byte(c)
			} else {
				out = append(out, edge{byte(c), byte(c), e.to})
			}
		}
	}
	return out
}

// alive are the nodes from which a rule can end.
func (b *builder) alive(alphabet *[256]bool) []bool {
	alive := make([]bool, len(b.nodes))
	into := make([][]int32, len(b.nodes)) // the nodes that may become alive with each
	var found []int32
	mark := func(n int32) {
		if !alive[n] {
			alive[n] = true
			found = append(found, n)
		}
	}
	for i, n := range b.nodes {
		from := int32(i)
		for _, e := range n.edges {
			if readable(e, alphabet) {
				into[e.to] = append(into[e.to], from)
			}
		}
		for _, to := range n.free {
			into[to] = append(into[to], from)
		}
		for _, c := range n.calls {
			into[c.rule], into[c.back] = append(into[c.rule], from), append(into[c.back], from)
		}
		if n.ends {
			mark(from)
		}
	}
	for len(found) > 0 {
		n := found[len(found)-1]
		found = found[:len(found)-1]
		for _, from := range into[n] {
			if !alive[from] && b.reaches(from, alive, alphabet) {
				mark(from)
			}
		}
	}
	return alive
}

func readable(e edge, alphabet *[256]bool) bool {
	for c := int(e.lo); c <= int(e.hi); c++ {
		if alphabet[c] {
			return true
		}
	}
	return false
}

// reaches says whether a node leads to one that is alive.
func (b *builder) reaches(from int32, alive []bool, alphabet *[256]bool) bool {
	n := &b.nodes[from]
	for _, e := range n.edges {
		if alive[e.to] && readable(e, alphabet) {
			return true
		}
	}
	for _, to := range n.free {
		if alive[to] {
			return true
		}
	}
	for _, c := range n.calls {
		if alive[c.rule] && alive[c.back] {
			return true
		}
	}
	return false
}
