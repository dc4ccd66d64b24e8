package formula

import (
	"fmt"
	"slices"
)

// Level says what a value belongs to, coarse to fine. A coarse value is used at
// a finer level as it is; from fine to coarse a function has to be named.
type Level uint8

// The levels. A group holds the completions of one prompt; a segment is a cut of
// a completion, such as a turn or a line.
const (
	Run Level = iota
	Group
	Completion
	Segment
	Token
	levels
)

// String is "run", "group", "completion", "segment" or "token".
func (l Level) String() string {
	return [...]string{"run", "group", "completion", "segment", "token", "invalid"}[min(l, levels)]
}

// each describes how many values a column of the level has.
func (l Level) each() string {
	if l == Run {
		return "one value for the run"
	}
	return "one value for each " + l.String()
}

// Frame is the shape of a step or of an update: which completions there are, to
// which groups they belong, and how they are cut into segments and tokens. It is
// never changed.
type Frame struct {
	size  [levels]int
	first [levels][]int32         // first[l][i]: the first row at level l of row i one level up; for Segment and Token
	up    [levels][levels][]int32 // up[fine][coarse][i]: the row at coarse that row i of fine belongs to; nil for Run and for itself
	in    [][]int32               // [group] its completions, in order
	own   []bool                  // [token] the policy wrote it
	kept  []bool                  // [token] no filter refused it; nil: none did
	train []bool                  // [token] both
	rows  [levels][]int32         // the row of the frame that this one was selected from; nil: not selected
}

// NewFrame lays out completions in order: group[i] is the prompt of completion i
// (any numbers; members need not be neighbours), tokens[i] the number of tokens
// of each of its segments, and own tells, for all tokens one after the other,
// which of them the policy wrote; nil: all of them.
func NewFrame(group []int, tokens [][]int, own []bool) (*Frame, error) {
	if len(group) != len(tokens) {
		return nil, fmt.Errorf("%d group numbers for %d completions", len(group), len(tokens))
	}
	f := &Frame{}
	number := map[int]int32{}
	var of, segments, lengths []int32
	for i, id := range group {
		if _, seen := number[id]; !seen {
			number[id] = int32(len(number))
		}
		of = append(of, number[id])
		if len(tokens[i]) == 0 {
			return nil, fmt.Errorf("completion %d has no segment; one without tokens has one of length 0", i)
		}
		segments = append(segments, int32(len(tokens[i])))
		for _, n := range tokens[i] {
			if n < 0 {
				return nil, fmt.Errorf("completion %d has a segment of %d tokens", i, n)
			}
			lengths = append(lengths, int32(n))
		}
	}
	f.layOut(len(number), of, segments, lengths)
	if own == nil {
		own = slices.Repeat([]bool{true}, f.size[Token])
	}
	if len(own) != f.size[Token] {
		return nil, fmt.Errorf("own has %d values for %d tokens", len(own), f.size[Token])
	}
	f.own, f.train = own, own
	return f, nil
}

// layOut fills the maps between levels: the group of each completion, the number
// of segments of each completion, the number of tokens of each segment.
func (f *Frame) layOut(groups int, group, segments, tokens []int32) {
	f.up[Completion][Group] = group
	f.in = make([][]int32, groups)
	for i, g := range group {
		f.in[g] = append(f.in[g], int32(i))
	}
	f.up[Segment][Completion], f.first[Segment] = spread(segments)
	f.up[Token][Segment], f.first[Token] = spread(tokens)
	follow := func(fine, middle, coarse Level) {
		rows := make([]int32, len(f.up[fine][middle]))
		for i, m := range f.up[fine][middle] {
			rows[i] = f.up[middle][coarse][m]
		}
		f.up[fine][coarse] = rows
	}
	follow(Segment, Completion, Group)
	follow(Token, Segment, Completion)
	follow(Token, Completion, Group)
	f.size = [levels]int{1, groups, len(group), len(tokens), len(f.up[Token][Segment])}
}

// spread turns counts into the owner of every row and the first row of every owner.
func spread(counts []int32) (owner, first []int32) {
	first = []int32{0}
	for i, n := range counts {
		for range n {
			owner = append(owner, int32(i))
		}
		first = append(first, int32(len(owner)))
	}
	return owner, first
}

// Size is the number of rows of a level.
func (f *Frame) Size(l Level) int { return f.size[l] }

// Tokens are the first token of a completion and the one after its last.
func (f *Frame) Tokens(completion int) (from, to int) {
	return f.span(completion, Token)
}

// Rows are the rows of a level that a completion has or belongs to.
func (f *Frame) Rows(completion int, l Level) []int {
	if l <= Completion {
		return []int{f.above(Completion, completion, l)}
	}
	var rows []int
	for from, to := f.span(completion, l); from < to; from++ {
		rows = append(rows, from)
	}
	return rows
}

// Lengths are the numbers of tokens of a completion's segments.
func (f *Frame) Lengths(completion int) []int {
	var n []int
	for from, to := f.span(completion, Segment); from < to; from++ {
		n = append(n, int(f.first[Token][from+1]-f.first[Token][from]))
	}
	return n
}

// Trained says whether a token takes part in sums.
func (f *Frame) Trained(token int) bool { return f.train[token] }

// span is the range of rows at Segment or Token of a completion.
func (f *Frame) span(completion int, l Level) (from, to int) {
	a, b := f.first[Segment][completion], f.first[Segment][completion+1]
	if l == Token {
		a, b = f.first[Token][a], f.first[Token][b]
	}
	return int(a), int(b)
}

// ranges calls do with the ranges of rows at the finer level that one row of a
// coarser one holds, in order.
func (f *Frame) ranges(coarse Level, row int, fine Level, do func(from, to int)) {
	switch {
	case coarse == fine:
		do(row, row+1)
	case coarse == Run:
		do(0, f.size[fine])
	case coarse == Group:
		for _, c := range f.in[row] {
			f.ranges(Completion, int(c), fine, do)
		}
	case coarse == Completion:
		do(f.span(row, fine))
	default: // the tokens of a segment
		do(int(f.first[Token][row]), int(f.first[Token][row+1]))
	}
}

// above is the row of a coarser level that a row belongs to.
func (f *Frame) above(fine Level, row int, coarse Level) int {
	switch {
	case coarse == Run:
		return 0
	case coarse == fine:
		return row
	}
	return int(f.up[fine][coarse][row])
}

// cut is the frame with segments that begin where it is told, and at the beginning of each
// completion.
func (f *Frame) cut(begins []bool) *Frame {
	c := &Frame{own: f.own, kept: f.kept, train: f.train}
	var segments, lengths []int32
	for i := range f.size[Completion] {
		from, to := f.span(i, Token)
		segments, lengths = append(segments, 1), append(lengths, 0)
		for t := from; t < to; t++ {
			if t > from && begins[t] {
				segments[i]++
				lengths = append(lengths, 0)
			}
			lengths[len(lengths)-1]++
		}
	}
	c.layOut(f.size[Group], f.up[Completion][Group], segments, lengths)
	return c
}

// selected is the frame of the completions that keep tells; groups without any
// are gone. Of their tokens those are trained that tokens tells; nil: all.
func (f *Frame) selected(keep, tokens []bool) *Frame {
	s := &Frame{}
	number := make([]int32, f.size[Group])
	for g := range number {
		if number[g] = int32(len(s.rows[Group])); slices.ContainsFunc(f.in[g], func(c int32) bool { return keep[c] }) {
			s.rows[Group] = append(s.rows[Group], int32(g))
		}
	}
	var group, segments, lengths []int32
	for c, kept := range keep {
		if !kept {
			continue
		}
		s.rows[Completion] = append(s.rows[Completion], int32(c))
		group = append(group, number[f.up[Completion][Group][c]])
		from, to := f.span(c, Segment)
		segments = append(segments, int32(to-from))
		for i := from; i < to; i++ {
			s.rows[Segment] = append(s.rows[Segment], int32(i))
			lengths = append(lengths, f.first[Token][i+1]-f.first[Token][i])
		}
		from, to = f.span(c, Token)
		for t := from; t < to; t++ {
			s.rows[Token] = append(s.rows[Token], int32(t))
			s.own = append(s.own, f.own[t])
			if tokens != nil || f.kept != nil {
				s.kept = append(s.kept, (tokens == nil || tokens[t]) && (f.kept == nil || f.kept[t]))
			}
		}
	}
	s.train = s.own
	if s.kept != nil {
		s.train = make([]bool, len(s.own))
		for t, own := range s.own {
			s.train[t] = own && s.kept[t]
		}
	}
	s.rows[Run] = []int32{0}
	s.layOut(len(s.rows[Group]), group, segments, lengths)
	return s
}
