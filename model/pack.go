package model

import "fmt"

// treeSequences is how many sequences share rows at most. It bounds the lists of keys:
// a list for each sequence, none longer than the rows of the tree.
const treeSequences = 64

// capacity is what a batch can hold.
type capacity struct {
	rows      int // and predicted tokens
	positions int // of a sequence
	readers   int // rows of a tree; 0: no bound but rows
	window    int // rows of a sequence that shares some; 0: no bound
}

// capacityOf is that of a workspace for so many rows. Where a driver stops a shader after
// so many iterations of their loops, a key's gradient has a bound of readers: for each
// query head, attention_backward_dkv makes hd/4+3 iterations for 8 of them on TL and
// hd/4+35 for 32 on T0, and on TL looks at 7 rows before the first one.
func (m *Model) capacityOf(rows int) capacity {
	c := capacity{rows: rows, positions: m.maxPos, window: m.layout.window}
	d := m.layout.dims
	if most := m.dev.Caps().MaxLoop; most > 0 {
		c.readers = 32*(most/(d.heads/d.kv))/max(4*(d.hdp/4+3), d.hdp/4+35) - 8
	}
	return c
}

// GroupRows is how many rows a trainer needs so that it never cuts a group: n sequences
// that have at least so many tokens of their prompt in common, and at most so many
// after them (see [Sequence].Group).
func GroupRows(prompt, completion, n int) int {
	n = min(n, treeSequences)
	return max(prompt+n*(completion-1), n*completion)
}

// check refuses sequences that no batch can hold.
func (c capacity) check(seqs []Sequence) error {
	for i, s := range seqs {
		switch rows := len(s.inputs()); {
		case rows > c.rows:
			return fmt.Errorf("sequence %d has %d tokens, but the workspace holds %d: raise micro_batch_tokens", i, len(s.IDs), c.rows+1)
		case rows > c.positions:
			return fmt.Errorf("sequence %d has %d tokens, but the model was opened for %d positions", i, len(s.IDs), c.positions)
		case c.readers > 0 && rows > c.readers:
			return fmt.Errorf("sequence %d has %d tokens, but the driver of this device stops a shader before it could train on more than %d", i, len(s.IDs), c.readers+1)
		}
	}
	return nil
}

// amount is what sequences take of a capacity.
type amount struct{ rows, predicted, sequences int }

func (a amount) plus(b amount) amount {
	return amount{a.rows + b.rows, a.predicted + b.predicted, a.sequences + b.sequences}
}

// holds says whether a batch can.
func (c capacity) holds(a amount) bool { return a.rows <= c.rows && a.predicted <= c.rows }

// holdsTree says whether one tree can.
func (c capacity) holdsTree(a amount) bool {
	return c.holds(a) && a.sequences <= treeSequences && (c.readers == 0 || a.rows <= c.readers)
}

// pack lays sequences out in batches, in order. Batches are cut between groups; a group
// that does not fit is cut between its sequences, at places that depend on the group and
// on the capacity alone.
func pack(seqs []Sequence, c capacity) ([]batch, error) {
	if err := c.check(seqs); err != nil {
		return nil, err
	}
	var out []batch
	var used amount
	for len(seqs) > 0 {
		tree, size := c.tree(seqs)
		if len(out) == 0 || !c.holds(used.plus(size)) {
			out, used = append(out, batch{}), amount{}
		}
		used = used.plus(size)
		out[len(out)-1].grow(seqs[:tree], c.window)
		seqs = seqs[tree:]
	}
	return out, nil
}

// tree is how many of the first sequences are laid out together, and what they take:
// the rest of their group as far as one tree holds it.
func (c capacity) tree(seqs []Sequence) (int, amount) {
	var used amount
	for i, s := range seqs {
		if i > 0 && (s.Group == 0 || s.Group != seqs[0].Group || c.alone(s) || c.alone(seqs[0])) {
			return i, used
		}
		next := used.plus(amount{s.own(seqs[:i]), s.predicted(), 1})
		if i > 0 && !c.holdsTree(next) {
			return i, used
		}
		used = next
	}
	return len(seqs), used
}

// alone says whether a sequence shares no rows: where it is longer than the window of
// some layers, the rows that read a key would not be one range in a tree.
func (c capacity) alone(s Sequence) bool { return c.window > 0 && len(s.inputs()) > c.window }

// own is how many rows a sequence adds to those of others.
func (s Sequence) own(others []Sequence) int {
	in, shared := s.inputs(), 0
	for _, o := range others {
		shared = max(shared, common(in, o.inputs()))
	}
	return len(in) - shared
}

// common is the length of the prefix that two lists of tokens have in common.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
