package model

import "slices"

// batch is a set of sequences packed into rows, as the kernels read them. The inputs
// are all tokens but the last of each sequence. Rows are the nodes of trees in
// depth-first order, one tree for each group: a prefix that sequences of a group have in
// common is there once.
type batch struct {
	seqs []Sequence
	T, R int

	ids   []uint32 // [T]
	place []uint32 // [T][2]: position, slot of key and value, which is the row
	keys  []uint32 // [T][2]: offset into kvidx, number of keys
	kvidx []uint32 // rows on the path to each leaf
	ends  []uint32 // [T] row after the last below each row: those are the rows that read its key

	windowEnds []uint32 // the same in layers with a window, if there are any

	// Predictions, those of a row side by side.
	idx     []uint32  // [R] row
	target  []uint32  // [R] token
	invTemp []float32 // [R]
	start   []uint32  // [T] first prediction of each row
	order   []int     // [R] place among the predicted tokens of all sequences, one after the other
}

// grow appends the tree of some sequences to a batch. window is that of the layers that
// have one; where they are several, none is longer.
func (b *batch) grow(seqs []Sequence, window int) {
	g := grower{batch: b, seqs: seqs, listed: b.T}
	members := make([]int, len(seqs))
	at := b.R
	for i, s := range seqs {
		members[i] = i
		g.next = append(g.next, at)
		predicts := make([]bool, 0, len(s.IDs))
		s.rows(func(_ int, yes bool) { predicts = append(predicts, yes) })
		g.predicts = append(g.predicts, predicts)
		at += s.predicted()
	}
	g.branch(members, 0)
	for row, end := range b.ends[b.T:] {
		if len(seqs) == 1 {
			end = min(end, u(b.T+row+window))
		}
		b.windowEnds = append(b.windowEnds, end)
	}
	b.seqs = append(b.seqs, seqs...)
	b.T, b.R = len(b.ids), len(b.idx)
}

// grower builds one tree.
type grower struct {
	*batch
	seqs     []Sequence
	predicts [][]bool // [sequence][row]
	next     []int    // [sequence] place of its next prediction
	path     []uint32 // rows from the root to the one that was added last
	listed   int      // rows that have a list of keys
}

// branch adds the rows of sequences that are equal up to a depth and after it go on
// equally or end; then, where they part, the branches that they part into.
func (g *grower) branch(members []int, depth int) {
	first := depth
	parts := g.parts(members, depth)
	for ; len(parts) == 1; depth++ {
		g.row(parts[0], depth)
		parts = g.parts(parts[0], depth+1)
	}
	if len(parts) == 0 {
		g.list()
	}
	for _, part := range parts {
		g.branch(part, depth)
	}
	for _, row := range g.path[first:] {
		g.ends[row] = u(len(g.ids))
	}
	g.path = g.path[:first]
}

// parts are the sequences that go on after a depth, those with the same next token
// together, in the order of their first.
func (g *grower) parts(members []int, depth int) [][]int {
	var out [][]int
	for _, m := range members {
		in := g.seqs[m].inputs()
		if depth >= len(in) {
			continue
		}
		i := slices.IndexFunc(out, func(part []int) bool { return g.seqs[part[0]].IDs[depth] == in[depth] })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], m)
	}
	return out
}

// row adds a row that sequences share, and what each predicts from it.
func (g *grower) row(members []int, depth int) {
	row := u(len(g.ids))
	g.path = append(g.path, row)
	g.ids = append(g.ids, u(g.seqs[members[0]].IDs[depth]))
	g.place = append(g.place, u(depth), row)
	g.keys = append(g.keys, 0, u(depth+1))
	g.ends = append(g.ends, 0)
	g.start = append(g.start, u(len(g.idx)))
	for _, m := range members {
		if !g.predicts[m][depth] {
			continue
		}
		s := g.seqs[m]
		g.idx = append(g.idx, row)
		g.target = append(g.target, u(s.IDs[depth+1]))
		g.invTemp = append(g.invTemp, float32(1/s.Temperature))
		g.order = append(g.order, g.next[m])
		g.next[m]++
	}
}

// list ends a path: the rows that were added since the last list find their keys in
// this one.
func (g *grower) list() {
	for ; g.listed < len(g.ids); g.listed++ {
		g.keys[2*g.listed] = u(len(g.kvidx))
	}
	g.kvidx = append(g.kvidx, g.path...)
}
