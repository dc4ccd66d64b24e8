package mathans

// expand replaces ± by its readings: 1 ± √2 becomes a list of two. With ∓ all
// signs of an item go together, else each ± is free.
func expand(n *node) *node {
	if !n.hasKind(kPlusMinus) {
		return n
	}
	if n.kind == kList || n.kind == kSet {
		var items []*node
		for _, arg := range n.args {
			items = append(items, variants(arg)...)
		}
		return n.withArgs(items)
	}
	all := variants(n)
	if len(all) == 1 {
		return all[0]
	}
	return of(kList, all...)
}

func variants(n *node) []*node {
	signs, tied := 0, false
	n.any(func(m *node) bool {
		if m.kind == kPlusMinus {
			signs++
			tied = tied || m.name == "-+"
		}
		return false
	})
	if signs == 0 || signs > 4 {
		return []*node{n}
	}
	count := 1 << signs
	if tied {
		count = 2
	}
	var all []*node
	for bits := range min(count, maxVariants) {
		at := 0
		all = append(all, choose(n, func(mark string) bool {
			minus := bits>>at&1 == 1
			if tied {
				minus = (bits == 1) == (mark == "+-")
			}
			at++
			return minus
		}))
	}
	return all
}

// choose replaces each ± by + or -.
func choose(n *node, minus func(mark string) bool) *node {
	if len(n.args) == 0 {
		return n
	}
	negative := n.kind == kPlusMinus && minus(n.name)
	args := make([]*node, len(n.args))
	for i, arg := range n.args {
		args[i] = choose(arg, minus)
	}
	if n.kind != kPlusMinus {
		return n.withArgs(args)
	}
	right := args[1]
	if negative {
		right = of(kNegative, right)
	}
	if left := args[0]; left.kind == kNumber && left.value.Sign() == 0 {
		return right
	}
	return of(kSum, args[0], right)
}
