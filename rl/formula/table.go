package formula

import (
	"fmt"
	"maps"
	"slices"
)

// Column has one value for each row of a level. A value that is missing is NaN,
// and Why may hold the reason of its row. A column of text has Text in place of V;
// of it, a row with a reason is missing.
type Column struct {
	Level Level
	V     []float64      // [row]; a condition is 1 or 0
	Text  []string       // [row]
	Why   map[int]string // of rows without a value
}

func (c Column) rows() int { return max(len(c.V), len(c.Text)) }

// at gives the rows of a selection.
func (c Column) at(rows []int32) Column {
	out := Column{Level: c.Level}
	if c.Text == nil && c.Why == nil {
		out.V = make([]float64, len(rows))
		for i, r := range rows {
			out.V[i] = c.V[r]
		}
		return out
	}
	for i, r := range rows {
		if c.Text != nil {
			out.Text = append(out.Text, c.Text[r])
		} else {
			out.V = append(out.V, c.V[r])
		}
		if why := c.Why[int(r)]; why != "" {
			if out.Why == nil {
				out.Why = map[int]string{}
			}
			out.Why[i] = why
		}
	}
	return out
}

// Table holds named columns over one frame: facts, and what was computed once
// before. A name may have a column of numbers and one of text. Columns are added
// and never replaced. It may be read by several goroutines once nothing is added
// any more.
type Table struct {
	*Frame
	columns map[string]Column // of numbers
	texts   map[string]Column
}

// NewTable holds what the frame itself tells ([Structure]): own, position, final,
// tokens, sample and group_size.
func NewTable(f *Frame) *Table {
	t := &Table{Frame: f, columns: map[string]Column{}, texts: map[string]Column{}}
	own, position, final := make([]float64, f.size[Token]), make([]float64, f.size[Token]), make([]float64, f.size[Token])
	tokens, sample, size := make([]float64, f.size[Completion]), make([]float64, f.size[Completion]), make([]float64, f.size[Group])
	for c := range f.size[Completion] {
		group := f.up[Completion][Group][c]
		sample[c] = size[group]
		size[group]++
		from, to := f.span(c, Token)
		last := -1
		for i := from; i < to; i++ {
			position[i] = float64(i - from + 1)
			if f.own[i] {
				own[i], last = 1, i
				tokens[c]++
			}
		}
		if last >= 0 {
			final[last] = 1
		}
	}
	for name, v := range map[string][]float64{"own": own, "position": position, "final": final} {
		t.columns[name] = Column{Level: Token, V: v}
	}
	t.columns["tokens"] = Column{Level: Completion, V: tokens}
	t.columns["sample"] = Column{Level: Completion, V: sample}
	t.columns["group_size"] = Column{Level: Group, V: size}
	return t
}

// Structure lists the facts that every table has, as the frame tells them.
func Structure() []Fact {
	return []Fact{
		{Name: "group_size", Level: Group, Meaning: "completions of the prompt"},
		{Name: "sample", Level: Completion, Meaning: "which completion of the prompt it is, from 0"},
		{Name: "tokens", Level: Completion, Unit: "tokens", Meaning: "length of the completion: the tokens that the policy wrote"},
		{Name: "own", Level: Token, Condition: true, Meaning: "the policy wrote the token. Other tokens are left out of every sum unless its condition names own"},
		{Name: "final", Level: Token, Condition: true, Meaning: "the last token of the completion that the policy wrote"},
		{Name: "position", Level: Token, Meaning: "place of the token in the completion, from 1"},
	}
}

// Common lists the facts that rewards and methods have in common beside
// [Structure]. Who fills the table supplies them.
func Common() []Fact {
	return []Fact{
		{Name: "step", Level: Run, Meaning: "the step of the stage, from 1"},
		{Name: "steps", Level: Run, Meaning: "steps that the stage has"},
		{Name: "progress", Level: Run, Meaning: "(step - 1)/(steps - 1): 0 in the first step, 1 in the last"},
		{Name: "prompt_tokens", Level: Group, Unit: "tokens", Meaning: "length of the prompt"},
		{Name: "truncated", Level: Completion, Condition: true, Meaning: "the completion was cut off at the largest length"},
		{Name: "old", Level: Token, Unit: "nats", Meaning: "log-prob when the token was drawn"},
		{Name: "old_entropy", Level: Token, Unit: "nats", Meaning: "entropy over the vocabulary when the token was drawn"},
	}
}

// Add puts a column into the table. It is an error if the name is taken or the
// number of values is not that of the rows of its level.
func (t *Table) Add(name string, c Column) error {
	columns := t.columns
	if c.Text != nil {
		columns = t.texts
	}
	if _, taken := columns[name]; taken {
		return fmt.Errorf("the table already has a column %s", name)
	}
	if c.rows() != t.size[c.Level] {
		return fmt.Errorf("column %s has %d values; accepted: %d, %s", name, c.rows(), t.size[c.Level], c.Level.each())
	}
	columns[name] = c
	return nil
}

// Without is the table without some of its columns.
func (t *Table) Without(names ...string) *Table {
	out := &Table{Frame: t.Frame, columns: maps.Clone(t.columns), texts: maps.Clone(t.texts)}
	for _, name := range names {
		delete(out.columns, name)
	}
	return out
}

// Column is the column of numbers of that name, if there is one.
func (t *Table) Column(name string) (Column, bool) {
	c, ok := t.columns[name]
	return c, ok
}

// Select gives the table of some completions: keep tells which, tokens which of
// their tokens stay trained (nil: all that were). What left is no part of any sum
// or divisor over the new table. Columns that the frame told keep their values.
func (t *Table) Select(keep, tokens []bool) (*Table, error) {
	if len(keep) != t.size[Completion] || tokens != nil && len(tokens) != t.size[Token] {
		return nil, fmt.Errorf("%d and %d values to select from %d completions with %d tokens", len(keep), len(tokens), t.size[Completion], t.size[Token])
	}
	if tokens == nil && t.rows[Completion] == nil && !slices.Contains(keep, false) {
		return &Table{Frame: t.Frame, columns: maps.Clone(t.columns), texts: maps.Clone(t.texts)}, nil
	}
	s := &Table{Frame: t.selected(keep, tokens), columns: map[string]Column{}, texts: map[string]Column{}}
	for name, c := range t.columns {
		s.columns[name] = c.at(s.rows[c.Level])
	}
	for name, c := range t.texts {
		s.texts[name] = c.at(s.rows[c.Level])
	}
	return s, nil
}

// Cut is the table with other segments: one begins at the first token of each completion
// and at each token that begins tells. A table that has a column of segments, or was
// selected from another, is not cut.
func (t *Table) Cut(begins []bool) (*Table, error) {
	if len(begins) != t.size[Token] {
		return nil, fmt.Errorf("%d values to cut completions with %d tokens", len(begins), t.size[Token])
	}
	for _, name := range slices.Sorted(maps.Keys(t.columns)) {
		if t.columns[name].Level == Segment || t.rows[Completion] != nil {
			return nil, fmt.Errorf("segments of the table are given already: it has a column %s", name)
		}
	}
	return &Table{Frame: t.cut(begins), columns: maps.Clone(t.columns), texts: maps.Clone(t.texts)}, nil
}

// Restore puts the values of a column of this table at their rows of the table
// that it was selected from; the others are 0. whole is the number of its rows.
func (t *Table) Restore(c Column, whole int) Column {
	if t.rows[c.Level] == nil && t.size[c.Level] == whole {
		return c
	}
	out := Column{Level: c.Level, V: make([]float64, whole)}
	for i, r := range t.rows[c.Level] {
		out.V[r] = c.V[i]
	}
	return out
}

// holds is 1 or 0.
func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
