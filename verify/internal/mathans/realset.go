package mathans

import (
	"math/big"
	"slices"
)

// A set of real numbers can be written in many ways:
// (-∞,3) ∪ (3,∞) is ℝ ∖ {3}. Such sets are compared as sorted disjoint pieces.

// end is an end of a piece. closed: the number itself belongs to the piece.
type end struct {
	inf    int // -1, 0 or 1
	at     *big.Rat
	closed bool
}

type piece struct{ low, high end }

func (a end) compare(b end) int {
	if a.inf != 0 || b.inf != 0 {
		return a.inf - b.inf
	}
	return a.at.Cmp(b.at)
}

// realSet is the set as sorted pieces that do not touch; ok is false where an
// end is not known well enough or n is no set of numbers.
func (m *matcher) realSet(n *node) ([]piece, bool) {
	switch n.kind {
	case kTuple, kInterval:
		if len(n.args) != 2 {
			return nil, false
		}
		low, ok := m.end(n.args[0], n.closedLow)
		if !ok {
			return nil, false
		}
		high, ok := m.end(n.args[1], n.closedHigh)
		if !ok || low.compare(high) > 0 || low.compare(high) == 0 && !(low.closed && high.closed) {
			return nil, false
		}
		return []piece{{low, high}}, true
	case kSet:
		var all []piece
		for _, arg := range n.args {
			e, ok := m.end(arg, true)
			if !ok || e.inf != 0 {
				return nil, false
			}
			all = append(all, piece{e, e})
		}
		return merged(all), true
	case kSymbol:
		if n.name == "Reals" {
			return []piece{{end{inf: -1}, end{inf: 1}}}, true
		}
	case kUnion:
		var all []piece
		for _, arg := range n.args {
			part, ok := m.realSet(arg)
			if !ok {
				return nil, false
			}
			all = append(all, part...)
		}
		return merged(all), true
	case kDifference:
		from, ok := m.realSet(n.args[0])
		if !ok || n.args[1].kind != kSet {
			return nil, false
		}
		points, ok := m.realSet(n.args[1])
		return without(from, points), ok
	}
	return nil, false
}

func (m *matcher) end(n *node, closed bool) (end, bool) {
	if sign := infinity(n); sign != 0 {
		return end{inf: sign}, true
	}
	if len(variables(n)) > 0 || isCollection(n) || n.kind == kRelation {
		return end{}, false
	}
	v, err := m.newCalc(startPrecision, nil).eval(n)
	if err != nil {
		return end{}, false
	}
	at, ok := m.place(n, v.rat)
	return end{at: at, closed: closed}, ok
}

// standIn is the rational number that an end has or, where it is irrational, is
// represented by.
type standIn struct {
	n     *node
	at    *big.Rat
	exact bool
}

// place is a rational number in the place of n: its value, or one near it, the same
// for all ends that are proven to be equal, and never the same for two that are not.
func (m *matcher) place(n *node, value *big.Rat) (at *big.Rat, ok bool) {
	at, exact := value, value != nil
	for _, known := range m.ends {
		if exact || known.exact {
			continue
		}
		if equal, _, err := m.constants(known.n, n, nil); err != nil || equal {
			return known.at, equal
		}
	}
	if !exact {
		if at, ok = m.rationalNear(n); !ok {
			return nil, false
		}
	}
	for _, known := range m.ends {
		if known.at.Cmp(at) == 0 && !(exact && known.exact) {
			return nil, false
		}
	}
	m.ends = append(m.ends, standIn{n, at, exact})
	return at, true
}

// merged sorts pieces and joins those that touch.
func merged(all []piece) []piece {
	slices.SortFunc(all, func(a, b piece) int {
		if order := a.low.compare(b.low); order != 0 || a.low.closed == b.low.closed {
			return order
		} else if a.low.closed {
			return -1
		}
		return 1
	})
	var out []piece
	for _, p := range all {
		if len(out) > 0 {
			last := &out[len(out)-1]
			gap := p.low.compare(last.high)
			if gap < 0 || gap == 0 && (p.low.closed || last.high.closed) {
				if order := p.high.compare(last.high); order > 0 || order == 0 && p.high.closed {
					last.high = p.high
				}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// without takes single points out of pieces.
func without(from, points []piece) []piece {
	for _, point := range points {
		var out []piece
		for _, p := range from {
			low, high := p.low.compare(point.low), point.low.compare(p.high)
			switch {
			case low > 0 || high > 0:
				out = append(out, p)
			case low == 0 && high == 0:
			case low == 0:
				p.low.closed = false
				out = append(out, p)
			case high == 0:
				p.high.closed = false
				out = append(out, p)
			default:
				hole := end{at: point.low.at}
				out = append(out, piece{p.low, hole}, piece{hole, p.high})
			}
		}
		from = out
	}
	return from
}

func (m *matcher) sameRealSets(a, b []piece) bool {
	m.how = "exact"
	return slices.EqualFunc(a, b, func(x, y piece) bool {
		return x.low.closed == y.low.closed && x.high.closed == y.high.closed &&
			x.low.compare(y.low) == 0 && x.high.compare(y.high) == 0
	})
}
