package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Row is what was measured, by name.
type Row map[string]float64

// Sampled are the tokens that a step has sampled: besides those of its completions, those of
// groups that were refused and of completions that were replaced. 0 in a step that samples none.
func (r Row) Sampled() float64 {
	return r["rollout/tokens"] + r["rollout/refused_tokens"] + r["rollout/extra_tokens"]
}

// Acts says whether a value of a metric shows that what it measures did something: it is there, and is not the one that
// the metric has where nothing of the kind happens.
func Acts(name string, value float64) bool { return !math.IsNaN(value) && value != idle[name] }

// idle is what a metric is where nothing of its kind happens, if that is not 0.
var idle = Row{"policy/ratio_mean": 1}

// Writer writes rows as JSON lines.
type Writer struct {
	append func(v any) error
}

// NewWriter writes each row with append, which must not change its bytes, such
// as the Append of a store.Log.
func NewWriter(append func(v any) error) *Writer { return &Writer{append} }

// Append writes the row of a step. A name that is not in the table is an error
// and nothing is written.
func (w *Writer) Append(step int, stage string, row Row) error {
	line, err := encode(step, stage, row)
	if err != nil {
		return err
	}
	return w.append(json.RawMessage(line))
}

func encode(step int, stage string, row Row) ([]byte, error) {
	at := make(map[string]position, len(row))
	for _, name := range slices.Sorted(maps.Keys(row)) {
		p, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("metric %q is not in the table of package metrics: add it there, with its unit, its meaning and how to read it", name)
		}
		at[name] = p
	}
	var out bytes.Buffer
	out.WriteString(`{"step":` + strconv.Itoa(step) + `,"stage":`)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(stage); err != nil {
		return nil, err
	}
	out.Truncate(out.Len() - 1) // the encoder's line feed
	names := slices.SortedFunc(maps.Keys(row), func(a, b string) int { return at[a].compare(at[b]) })
	for _, name := range names {
		out.WriteString(`,"` + name + `":`)
		out.Write(number(row[name]))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// number is v in the shortest form that reads back to the same float64, null if
// it is not finite: JSON has no word for that.
func number(v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null")
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(nil, v, format, -1, 64)
}

// Print writes the table for people.
func Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range table {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, m.Unit, m.Meaning)
		if m.Reading != "" {
			fmt.Fprintf(w, "\t\t  %s\n", m.Reading)
		}
	}
	return w.Flush()
}
