package natsd

import (
	"slices"
	"strings"
)

// node is a place in the index of subscriptions: a tree by token, in which the wildcards are
// tokens like others. No subject that is looked for has one of them.
type node struct {
	next map[string]*node
	subs []*subscription // those that end here, in the order in which they came
}

// add puts a subscription at a pattern.
func (n *node) add(pattern string, s *subscription) {
	for token := range strings.SplitSeq(pattern, ".") {
		if n.next == nil {
			n.next = map[string]*node{}
		}
		if n.next[token] == nil {
			n.next[token] = &node{}
		}
		n = n.next[token]
	}
	n.subs = append(n.subs, s)
}

// remove takes a subscription away from a pattern, and what is empty then.
func (n *node) remove(pattern string, s *subscription) {
	token, rest, more := strings.Cut(pattern, ".")
	next := n.next[token]
	switch {
	case next == nil:
		return
	case more:
		next.remove(rest, s)
	default:
		if i := slices.Index(next.subs, s); i >= 0 {
			next.subs = slices.Delete(next.subs, i, i+1)
		}
	}
	if len(next.subs) == 0 && len(next.next) == 0 {
		delete(n.next, token)
	}
}

// match appends the subscriptions that a literal subject meets.
func (n *node) match(subject string, found []*subscription) []*subscription {
	token, rest, more := strings.Cut(subject, ".")
	for _, t := range [...]string{token, "*"} {
		next := n.next[t]
		switch {
		case next == nil:
		case more:
			found = next.match(rest, found)
		default:
			found = append(found, next.subs...)
		}
	}
	if all := n.next[">"]; all != nil {
		found = append(found, all.subs...)
	}
	return found
}
