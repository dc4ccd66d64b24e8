package seq

import "fmt"

// TreeSequences is how many sequences share rows at most. It bounds the lists of keys:
// a list for each sequence, none longer than the rows of the tree.
const TreeSequences = 64

// Capacity is what a batch can hold.
type Capacity struct {
	Rows      int // and predicted tokens
	Positions int // of a sequence
	Readers   int // rows of a tree; 0: no bound but rows
	Window    int // rows of a sequence that shares some; 0: no bound
}

// GroupRows is how many rows a trainer needs so that it never cuts a group: n sequences
// that have at least so many tokens of their prompt in common, and at most so many
// after them (see [Sequence].Group). A completion whose context begins anew is several sequences of its group.
func GroupRows(prompt, completion, n int) int {
	n = min(n, TreeSequences)
	return max(prompt+n*(completion-1), n*completion)
}

// check refuses sequences that no batch can hold.
func (c Capacity) check(seqs []Sequence) error {
	for i, s := range seqs {
		if err := s.check(); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		switch rows := len(s.inputs()); {
		case rows > c.Rows:
			return fmt.Errorf("sequence %d has %d tokens, but the workspace holds %d: raise micro_batch_tokens", i, len(s.IDs), c.Rows+1)
		case rows > c.Positions:
			return fmt.Errorf("sequence %d has %d tokens, but the model was opened for %d positions", i, len(s.IDs), c.Positions)
		case c.Readers > 0 && rows > c.Readers:
			return fmt.Errorf("sequence %d has %d tokens, but the driver of this device stops a shader before it could train on more than %d", i, len(s.IDs), c.Readers+1)
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
func (c Capacity) holds(a amount) bool { return a.rows <= c.Rows && a.predicted <= c.Rows }

// holdsTree says whether one tree can.
func (c Capacity) holdsTree(a amount) bool {
	return c.holds(a) && a.sequences <= TreeSequences && (c.Readers == 0 || a.rows <= c.Readers)
}

// Pack lays sequences out in batches, in order. Batches are cut between groups; a group
// that does not fit is cut between its sequences, at places that depend on the group and
// on the capacity alone.
func Pack(seqs []Sequence, c Capacity) ([]Batch, error) {
	if err := c.check(seqs); err != nil {
		return nil, err
	}
	var out []Batch
	var used amount
	for len(seqs) > 0 {
		tree, size := c.tree(seqs)
		if len(out) == 0 || !c.holds(used.plus(size)) {
			out, used = append(out, Batch{}), amount{}
		}
		used = used.plus(size)
		out[len(out)-1].grow(seqs[:tree], c.Window)
		seqs = seqs[tree:]
	}
	return out, nil
}

// tree is how many of the first sequences are laid out together, and what they take:
// the rest of their group as far as one tree holds it.
func (c Capacity) tree(seqs []Sequence) (int, amount) {
	var used amount
	for i, s := range seqs {
		if i > 0 && (s.Group == 0 || s.Group != seqs[0].Group || c.alone(s) || c.alone(seqs[0])) {
			return i, used
		}
		next := used.plus(amount{s.own(seqs[:i]), s.Predicted(), 1})
		if i > 0 && !c.holdsTree(next) {
			return i, used
		}
		used = next
	}
	return len(seqs), used
}

// alone says whether a sequence shares no rows: where it is longer than the window of
// some layers, the rows that read a key would not be one range in a tree.
func (c Capacity) alone(s Sequence) bool { return c.Window > 0 && len(s.inputs()) > c.Window }

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
