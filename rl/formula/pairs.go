package formula

import (
	"cmp"
	"slices"
)

// pairs is the likelihood of an order: over all pairs of a group's completions, and not over
// the best and the worst alone.
var pairs = Function{
	Name: "group_pairs_log_sigmoid", Usage: "group_pairs_log_sigmoid(x, order)", params: "rn", Source: "arXiv 2203.02155",
	Meaning: "mean of log_sigmoid(x of the one - x of the other) over all pairs of completions of the prompt of which the one has the higher order; no value if order is the same for all",
	build: func(c *compiler, s *scope, n *node) int {
		args := c.arguments(s, n, functionNamed(n.name))
		if args == nil || !c.within(s, n.args[0], groupScope, args[0]) || !c.within(s, n.args[1], groupScope, args[1]) {
			return -1
		}
		return c.add(s, op{kind: pairsOp, fn: functionNamed(n.name), args: args, where: -1, k: -1, level: Group, from: Completion, at: n.at, carries: c.ops[args[0]].carries})
	},
}

// placed is a completion with a value and its place in the order.
type placed struct {
	x, order float64
	row      int
}

// inOrder are the completions of a group with both values, in an order that depends on these
// alone.
func (v *Values) inOrder(o *op, group int) []placed {
	s, by := v.selector(o), v.operand(o.args[1], Completion)
	s.of(Group, group, true)
	var all []placed
	for i, row := range s.rows {
		if order := by.v[int(row)*by.step]; order == order {
			all = append(all, placed{s.vals[i], order, int(row)})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.x, b.x)) })
	return all
}

// eachPair calls do with the places of every pair in a list that is in order.
func eachPair(all []placed, do func(below, above int)) {
	for above := range all {
		for below := 0; below < above && all[below].order < all[above].order; below++ {
			do(below, above)
		}
	}
}

// pairs computes the function for every group.
func (v *Values) pairs(o *op) []float64 {
	out := make([]float64, v.t.size[Group])
	for g := range out {
		all := v.inOrder(o, g)
		var t total
		eachPair(all, func(below, above int) {
			y := -softplus(all[below].x - all[above].x)
			t.see(y)
			t.sum += y
		})
		if out[g] = missing; t.n > 0 {
			out[g] = t.mean()
		}
	}
	return out
}

// pairs adds the derivatives: of log_sigmoid(d) it is sigmoid(-d), for the one and against the
// other.
func (r *reverse) pairs(i int, o *op) {
	into := r.into(o.args[0], Completion)
	for g, seed := range r.seeds[i] {
		if seed == 0 {
			continue
		}
		all, n := r.inOrder(o, g), 0
		d := make([]float64, len(all))
		eachPair(all, func(below, above int) {
			slope := sigmoid(all[below].x - all[above].x)
			d[above] += slope
			d[below] -= slope
			n++
		})
		for at, c := range all {
			if n > 0 {
				into[c.row] += seed * d[at] / float64(n)
			}
		}
	}
	r.settle(o.args[0], Completion, into)
}
