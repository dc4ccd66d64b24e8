package mathans

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

type kind uint8

const (
	kNumber       kind = iota // value
	kSymbol                   // name: a variable or a constant such as "pi"
	kText                     // name: words
	kSum                      // args
	kProduct                  // args
	kQuotient                 // args: over, under
	kPower                    // args: base, exponent
	kNegative                 // args: one
	kCall                     // name, args
	kPercent                  // args: one
	kQuantity                 // args: one; name: its unit
	kBased                    // args: digits, base
	kPlusMinus                // args: left, right; name "+-" or "-+"
	kRatio                    // args
	kRelation                 // args, ops between them
	kTuple                    // args: in round brackets, or square ones unless there are two
	kInterval                 // args: low, high; closedLow, closedHigh: not both open (that is a tuple)
	kSet                      // args, in braces
	kList                     // args, without brackets
	kUnion                    // args
	kIntersection             // args
	kDifference               // args
	kMatrix                   // args: rows, as tuples
)

// node is a part of an answer. Nodes are immutable once parsed.
type node struct {
	kind       kind
	name       string
	value      *big.Rat
	decimal    bool // a number written with a decimal point
	args       []*node
	ops        []string
	closedLow  bool
	closedHigh bool
	alt        *node // another reading of the same text: 1,234 as a list, 1,5 as a decimal
}

func integer(n int64) *node { return &node{kind: kNumber, value: big.NewRat(n, 1)} }

func of(k kind, args ...*node) *node { return &node{kind: k, args: args} }

func symbol(name string) *node { return &node{kind: kSymbol, name: name} }

func call(name string, args ...*node) *node { return &node{kind: kCall, name: name, args: args} }

// key writes a node in a form that is equal for equally written answers.
func (n *node) key() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	b.WriteByte('a' + byte(n.kind))
	if n.value != nil {
		b.WriteString(n.value.RatString())
	}
	if n.kind == kText {
		b.WriteString(strings.ToLower(n.name))
	} else {
		b.WriteString(n.name)
	}
	if n.closedLow {
		b.WriteByte('[')
	}
	if n.closedHigh {
		b.WriteByte(']')
	}
	if len(n.args) == 0 && len(n.ops) == 0 {
		return
	}
	b.WriteByte('(')
	for i, arg := range n.args {
		if i > 0 {
			b.WriteByte(' ')
			if i <= len(n.ops) {
				b.WriteString(n.ops[i-1])
			}
		}
		arg.write(b)
	}
	b.WriteString(strconv.Itoa(len(n.args)))
	b.WriteByte(')')
}

// any reports whether some part of n, n included, passes the test.
func (n *node) any(test func(*node) bool) bool {
	if test(n) {
		return true
	}
	for _, arg := range n.args {
		if arg.any(test) {
			return true
		}
	}
	return false
}

func (n *node) hasKind(k kind) bool { return n.any(func(m *node) bool { return m.kind == k }) }

// ordered is n with the terms of sums and the factors of products in the order of
// their keys.
func (n *node) ordered() *node {
	if len(n.args) == 0 {
		return n
	}
	m := n.withArgs(make([]*node, 0, len(n.args)))
	for _, arg := range n.args {
		arg = arg.ordered()
		if arg.kind == n.kind && (n.kind == kSum || n.kind == kProduct) {
			m.args = append(m.args, arg.args...)
			continue
		}
		m.args = append(m.args, arg)
	}
	if n.kind == kSum || n.kind == kProduct {
		slices.SortFunc(m.args, func(a, b *node) int { return strings.Compare(a.key(), b.key()) })
	}
	return m
}

// withArgs is n with other args.
func (n *node) withArgs(args []*node) *node {
	m := *n
	m.args, m.alt = args, nil
	return &m
}
