package mathans

// matrices compares matrices and sums, products and multiples of them.
func (m *matcher) matrices(g, p *node) bool {
	a, ok := m.cells(g)
	if !ok {
		return false
	}
	b, ok := m.cells(p)
	if !ok || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !m.sequences(a[i], b[i]) {
			return false
		}
	}
	return true
}

// cells are the rows of a matrix expression.
func (m *matcher) cells(n *node) ([][]*node, bool) {
	if m.budget.spend(1024) != nil {
		return nil, false
	}
	switch n.kind {
	case kMatrix:
		rows := make([][]*node, len(n.args))
		for i, row := range n.args {
			rows[i] = row.args
		}
		return rows, len(rows) > 0
	case kNegative:
		rows, ok := m.cells(n.args[0])
		return each(rows, func(cell *node) *node { return of(kNegative, cell) }), ok
	case kSum:
		total, ok := m.cells(n.args[0])
		for _, arg := range n.args[1:] {
			var next [][]*node
			if next, ok = m.cells(arg); !ok {
				return nil, false
			}
			if total, ok = addRows(total, next); !ok {
				return nil, false
			}
		}
		return total, ok
	case kQuotient:
		rows, ok := m.cells(n.args[0])
		return each(rows, func(cell *node) *node { return quotient(cell, n.args[1]) }), ok
	case kProduct:
		return m.productRows(n.args)
	}
	return nil, false
}

func (m *matcher) productRows(factors []*node) ([][]*node, bool) {
	var total [][]*node
	var scale []*node
	for _, f := range factors {
		if !f.hasKind(kMatrix) {
			scale = append(scale, f)
			continue
		}
		next, ok := m.cells(f)
		if !ok {
			return nil, false
		}
		if total == nil {
			total = next
		} else if total, ok = m.multiplyRows(total, next); !ok {
			return nil, false
		}
	}
	for _, s := range scale {
		total = each(total, func(cell *node) *node { return of(kProduct, s, cell) })
	}
	return total, total != nil
}

func (m *matcher) multiplyRows(a, b [][]*node) ([][]*node, bool) {
	out := make([][]*node, len(a))
	for i, row := range a {
		if len(row) != len(b) {
			return nil, false
		}
		for j := range b[0] {
			sum := of(kSum)
			for k, cell := range row {
				if j >= len(b[k]) || m.budget.spend(512) != nil {
					return nil, false
				}
				sum.args = append(sum.args, of(kProduct, cell, b[k][j]))
			}
			out[i] = append(out[i], sum)
		}
	}
	return out, true
}

func addRows(a, b [][]*node) ([][]*node, bool) {
	if len(a) != len(b) {
		return nil, false
	}
	out := make([][]*node, len(a))
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return nil, false
		}
		for j := range a[i] {
			out[i] = append(out[i], of(kSum, a[i][j], b[i][j]))
		}
	}
	return out, true
}

func each(rows [][]*node, f func(*node) *node) [][]*node {
	out := make([][]*node, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			out[i] = append(out[i], f(cell))
		}
	}
	return out
}
