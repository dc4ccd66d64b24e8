package seq

import "slices"

// Batch is a set of sequences packed into rows, as the kernels read them. The inputs
// are all tokens but the last of each sequence. Rows are the nodes of trees in
// depth-first order, one tree for each group: a prefix that sequences of a group have in
// common is there once.
type Batch struct {
	Seqs []Sequence
	T, R int

	IDs   []uint32 // [T]
	Place []uint32 // [T][2]: position, slot of key and value, which is the row
	Keys  []uint32 // [T][2]: offset into kvidx, number of keys
	KVIdx []uint32 // rows on the path to each leaf
	Ends  []uint32 // [T] row after the last below each row: those are the rows that read its key

	WindowEnds []uint32 // the same in layers with a window, if there are any

	// Predictions, those of a row side by side.
	Idx     []uint32  // [R] row
	Target  []uint32  // [R] token
	InvTemp []float32 // [R]
	Start   []uint32  // [T] first prediction of each row
	Order   []int     // [R] place among the predicted tokens of all sequences, one after the other
}

// grow appends the tree of some sequences to a batch. window is that of the layers that
// have one; where they are several, none is longer.
func (b *Batch) grow(seqs []Sequence, window int) {
	g := grower{Batch: b, seqs: seqs, listed: b.T}
	members := make([]int, len(seqs))
	at := b.R
	for i, s := range seqs {
		members[i] = i
		g.next = append(g.next, at)
		predicts := make([]bool, 0, len(s.IDs))
		s.rows(func(_ int, yes bool) { predicts = append(predicts, yes) })
		g.predicts = append(g.predicts, predicts)
		at += s.Predicted()
	}
	g.branch(members, 0)
	for row, end := range b.Ends[b.T:] {
		if len(seqs) == 1 {
			end = min(end, uint32(b.T+row+window))
		}
		b.WindowEnds = append(b.WindowEnds, end)
	}
	b.Seqs = append(b.Seqs, seqs...)
	b.T, b.R = len(b.IDs), len(b.Idx)
}

// Split cuts the statistics of all predicted tokens by sequence.
func (b *Batch) Split(all Stats) []Stats {
	var out []Stats
	first := 0
	for _, s := range b.Seqs {
		end := first + s.Predicted()
		one := Stats{Logprob: all.Logprob[first:end:end], Entropy: all.Entropy[first:end:end], MeanLogprob: all.MeanLogprob[first:end:end]}
		if all.Value != nil {
			one.Value = all.Value[first:end:end]
		}
		out = append(out, one)
		first = end
	}
	return out
}

// grower builds one tree.
type grower struct {
	*Batch
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
		g.Ends[row] = uint32(len(g.IDs))
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
	row := uint32(len(g.IDs))
	g.path = append(g.path, row)
	g.IDs = append(g.IDs, uint32(g.seqs[members[0]].IDs[depth]))
	g.Place = append(g.Place, uint32(depth), row)
	g.Keys = append(g.Keys, 0, uint32(depth+1))
	g.Ends = append(g.Ends, 0)
	g.Start = append(g.Start, uint32(len(g.Idx)))
	for _, m := range members {
		if !g.predicts[m][depth] {
			continue
		}
		s := g.seqs[m]
		g.Idx = append(g.Idx, row)
		g.Target = append(g.Target, uint32(s.IDs[depth+1]))
		g.InvTemp = append(g.InvTemp, float32(1/s.Temperature))
		g.Order = append(g.Order, g.next[m])
		g.next[m]++
	}
}

// list ends a path: the rows that were added since the last list find their keys in
// this one.
func (g *grower) list() {
	for ; g.listed < len(g.IDs); g.listed++ {
		g.Keys[2*g.listed] = uint32(len(g.KVIdx))
	}
	g.KVIdx = append(g.KVIdx, g.path...)
}
