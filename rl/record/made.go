package record

import "encoding/json"

// Made is a line of MadeFile: a row that the run has made, and where it comes from.
type Made struct {
	Step    int                        `json:"step"`              // of the run, from 1 on, whose completions it was made of
	Stage   string                     `json:"stage"`             // its name
	Rows    string                     `json:"rows"`              // name of the rows that it is one of
	ID      string                     `json:"id"`                // of the row: the name and its number, from 1
	From    string                     `json:"from"`              // id of the problem that it was made from, or its question
	Group   int                        `json:"group"`             // of the step, from 0
	Samples []int                      `json:"samples,omitempty"` // completions of the group that it was made of; of a pair the best, then the worst
	By      string                     `json:"by"`                // who wrote its newest text: a model, of the policy with the number of its updates, such as policy@40
	Seed    uint64                     `json:"seed"`              // of what was drawn for it: that of the run, or of the text that by wrote
	Row     map[string]json.RawMessage `json:"row"`               // its columns
	Sum     string                     `json:"sum,omitempty"`     // SHA-256 of the sum of the line before and of this line without it
}

// Chained is a line whose sum follows that of the line before it; "" before the first.
func (m Made) Chained(before string) (Made, error) {
	var err error
	m.Sum = ""
	m.Sum, err = chain(before, m)
	return m, err
}

func (m Made) sum() string { return m.Sum }

// Whole is a row as data: its columns, and beside them where it comes from.
func (m Made) Whole() map[string]any {
	row := map[string]any{"id": m.ID, "rows": m.Rows, "step": m.Step, "stage": m.Stage, "group": m.Group, "samples": m.Samples, "from": m.From, "by": m.By, "seed": m.Seed}
	for name, raw := range m.Row {
		row[name] = raw
	}
	return row
}

// Says says whether a row says something of itself by a name, which is then no name of a column.
func Says(name string) bool { return Made{}.Whole()[name] != nil }

// EachMade calls do for the lines of a MadeFile, in order, with their numbers and bytes, and returns the sum of
// the last. A line that is not what was written is refused, as by [EachCall].
func EachMade(file string, do func(n int, raw []byte, m Made) error) (sum string, err error) {
	return eachChained(file, do)
}
