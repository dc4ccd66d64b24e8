package algo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
)

// question is formulas and columns to evaluate them on, as rlzero formulas eval
// reads it. A value that is missing is null, an infinity "inf" or "-inf".
type question struct {
	Preset     string            `json:"preset"`     // a method by name; formulas and parameters replace its own
	Parameters map[string]number `json:"parameters"` // by name
	Formulas   map[string]string `json:"formulas"`   // by part
	Metrics    map[string]string `json:"metrics"`    // by name

	Group      []int             `json:"group"`      // [completion] its prompt; members need not be neighbours
	Segments   [][]int           `json:"segments"`   // [completion][segment] tokens; absent: as the formula segments cuts them, or one segment each
	Run        map[string]number `json:"run"`        // facts of the run
	Prompt     map[string]list   `json:"prompt"`     // [prompt, in order of first appearance]
	Completion map[string]list   `json:"completion"` // [completion]
	Segment    map[string][]list `json:"segment"`    // [completion][segment]
	Same       []int             `json:"same"`       // [token of all completions] row of the same token in the first completion that shares it, where it is learned once; absent: none is shared
	Token      map[string][]list `json:"token"`      // [completion][token]; own tells those that the policy wrote, all if absent; start is old if absent
}

// answer is what the formulas amount to. Derivatives are null for facts that were
// not given. Values that are missing are null.
type answer struct {
	Loss         any            `json:"loss"` // null: nothing is left to learn from
	Dlogp        any            `json:"dlogp"`
	Dentropy     any            `json:"dentropy"`
	DuniformLogp any            `json:"duniform_logp"`
	Dvalue       any            `json:"dvalue"`
	Dscore       any            `json:"dscore,omitempty"`
	Keep         []bool         `json:"keep"`  // [completion]
	Parts        map[string]any `json:"parts"` // those asked for, and advantage; of an update, null where keep is false
	Metrics      map[string]any `json:"metrics"`
	Local        bool           `json:"local"`
	Why          string         `json:"why,omitempty"` // it is not local
}

// number is a JSON number, true, false, null, "inf" or "-inf".
type number struct {
	v         float64
	condition bool
	text      string // any other text
	isText    bool
}

func (n *number) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "null":
		n.v = math.NaN()
	case "true":
		n.v, n.condition = 1, true
	case "false":
		n.condition = true
	case `"inf"`:
		n.v = math.Inf(1)
	case `"-inf"`:
		n.v = math.Inf(-1)
	default:
		if len(data) > 0 && data[0] == '"' {
			n.isText = true
			return json.Unmarshal(data, &n.text)
		}
		return json.Unmarshal(data, &n.v)
	}
	return nil
}

type list []number

// Evaluate answers a line of rlzero formulas eval: a question, as one JSON object, with
// what the formulas amount to. The answer is to be written as JSON. The error says what
// is wrong with the question, in a formula with its place.
func Evaluate(line []byte) (answered any, err error) { return Method{}.Evaluate(line) }

// Evaluate is [Evaluate] of a method, where the question names no preset. Its states are numbers
// that the question gives among its columns.
func (m Method) Evaluate(line []byte) (answered any, err error) {
	q, err := readQuestion(line)
	if err != nil {
		return nil, err
	}
	m.State = nil
	return q.evaluate(m)
}

// readQuestion reads one JSON object. Unknown keys are errors.
func readQuestion(data []byte) (question, error) {
	var q question
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, fmt.Errorf("%w; accepted: one object with the keys formulas or preset, parameters, metrics, group, segments, run, prompt, completion, segment, token, same", err)
	}
	return q, nil
}

// columns is a table that is made from a question.
type columns struct {
	q     *question
	table *formula.Table
	facts []formula.Fact
	fault error
}

// evaluate answers a question. The error says what is wrong with it, in a formula
// with its place.
func (q question) evaluate(m Method) (answer, error) {
	if q.Preset != "" {
		var err error
		if m, err = LoadMethod(q.Preset); err != nil {
			return answer{}, err
		}
	}
	parameters := map[string]float64{}
	for name, n := range q.Parameters {
		if n.isText || math.IsNaN(n.v) {
			return answer{}, fmt.Errorf("parameters.%s is not a number; accepted: a number, \"inf\", \"-inf\"", name)
		}
		parameters[name] = n.v
	}
	m = m.With(parameters, q.Formulas, q.Metrics)
	if _, cut := m.Formulas[segmentsPart]; cut && q.Segments != nil {
		return answer{}, errors.New("segments are given twice: as lengths and as a formula")
	}
	c := &columns{q: &q}
	if err := c.build(); err != nil {
		return answer{}, err
	}
	a, err := m.Compile(c.facts)
	if err != nil {
		return answer{}, cmp.Or(c.lacks(m), err)
	}
	if c.table, err = a.Cut(c.table); err != nil {
		return answer{}, err
	}
	for i, first := range q.Same {
		if len(q.Same) != c.table.Size(formula.Token) || first < 0 || first > i {
			return answer{}, fmt.Errorf("same has %d values, the %d. of them %d; accepted: one for each of the %d tokens, each its own place or one before it", len(q.Same), i+1, first, c.table.Size(formula.Token))
		}
	}
	step, err := a.StepBeside(c.table, nil, q.Same)
	if err != nil {
		return answer{}, err
	}
	u, err := step.Update(nil)
	if err != nil {
		return answer{}, err
	}
	return c.answer(a, step, u)
}

// lacks names the columns that formulas of a method read and the question has not.
func (c *columns) lacks(m Method) error {
	text := m.text(c.facts)
	reads := slices.Concat(text.Names(lossPart), text.Names(advantagePart), text.Names(keepPart))
	if c.q.Token["old"] == nil && c.q.Token["start"] == nil && slices.Contains(reads, "start") {
		return errors.New("there is no column token.old: the loss reads start, which is old where it is not given")
	}
	var faults []error
	sections := map[formula.Level]string{formula.Run: "run", formula.Group: "prompt", formula.Completion: "completion", formula.Segment: "segment", formula.Token: "token"}
	for _, f := range Facts() {
		made := text.Parts[f.Name] != "" || text.Library[f.Name] != "" || slices.ContainsFunc(c.facts, func(g formula.Fact) bool { return g.Name == f.Name })
		if !made && slices.Contains(reads, f.Name) {
			faults = append(faults, fmt.Errorf("there is no column %s.%s, which the formulas read: %s", sections[f.Level], f.Name, f.Meaning))
		}
	}
	return errors.Join(faults...)
}

// build lays out the frame and adds every column.
func (c *columns) build() error {
	q := c.q
	tokens, own, err := q.shape()
	if err != nil {
		return err
	}
	frame, err := formula.NewFrame(q.Group, tokens, own)
	if err != nil {
		return err
	}
	c.table = formula.NewTable(frame)
	for _, name := range slices.Sorted(maps.Keys(q.Run)) {
		c.add("run", name, formula.Run, list{q.Run[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(q.Prompt)) {
		c.add("prompt", name, formula.Group, q.Prompt[name])
	}
	for _, name := range slices.Sorted(maps.Keys(q.Completion)) {
		c.add("completion", name, formula.Completion, q.Completion[name])
	}
	for _, name := range slices.Sorted(maps.Keys(q.Segment)) {
		c.add("segment", name, formula.Segment, slices.Concat(q.Segment[name]...))
	}
	for _, name := range slices.Sorted(maps.Keys(q.Token)) {
		if name != "own" {
			c.add("token", name, formula.Token, slices.Concat(q.Token[name]...))
		}
	}
	if old, ok := q.Token["old"]; ok && q.Token["start"] == nil {
		c.add("token", "start", formula.Token, slices.Concat(old...))
	}
	return c.fault
}

// shape is the number of tokens of each segment, and which tokens the policy wrote.
func (q *question) shape() (tokens [][]int, own []bool, err error) {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(q.Token)) {
		rows := q.Token[name]
		if len(rows) != len(q.Group) {
			return nil, nil, fmt.Errorf("token.%s has %d rows for %d completions in group", name, len(rows), len(q.Group))
		}
		for i, row := range rows {
			if first != "" && len(row) != len(q.Token[first][i]) {
				return nil, nil, fmt.Errorf("token.%s has %d values for completion %d, token.%s has %d", name, len(row), i+1, first, len(q.Token[first][i]))
			}
		}
		first = name
	}
	for i := range q.Group {
		n := 0
		if first != "" {
			n = len(q.Token[first][i])
		}
		cut := []int{n}
		if q.Segments != nil {
			if i >= len(q.Segments) {
				return nil, nil, fmt.Errorf("segments has %d rows for %d completions in group", len(q.Segments), len(q.Group))
			}
			cut = q.Segments[i]
			sum := 0
			for _, s := range cut {
				sum += s
			}
			if sum != n && first != "" {
				return nil, nil, fmt.Errorf("segments of completion %d have %d tokens together, token.%s has %d", i+1, sum, first, n)
			}
		}
		tokens = append(tokens, cut)
	}
	if rows, ok := q.Token["own"]; ok {
		own = []bool{}
		for _, n := range slices.Concat(rows...) {
			own = append(own, n.v == 1)
		}
	}
	return tokens, own, nil
}

// add puts a fact into the table. What every formula knows by its name has the
// properties that it has in a run; another one is a constant.
func (c *columns) add(section, name string, level formula.Level, values list) {
	fact := formula.Fact{Name: name, Level: level, Condition: len(values) > 0}
	column := formula.Column{Level: level, V: []float64{}}
	for _, n := range values {
		fact.Condition = fact.Condition && n.condition
		fact.Text = fact.Text || n.isText
		column.V = append(column.V, n.v)
		column.Text = append(column.Text, n.text)
	}
	if !fact.Text {
		column.Text = nil
	}
	if i := slices.IndexFunc(Facts(), func(f formula.Fact) bool { return f.Name == name }); i >= 0 {
		known := Facts()[i]
		fact.Now, fact.Slope = known.Now && level == formula.Token, known.Slope && level == formula.Token
		fact.Condition = fact.Condition || known.Condition
	}
	if level == formula.Token && fact.Slope && slices.ContainsFunc(column.V, math.IsNaN) {
		c.fault = errors.Join(c.fault, fmt.Errorf("token.%s has a missing value; a fact with a derivative needs a value for every token", name))
	}
	if err := c.table.Add(name, column); err != nil {
		c.fault = errors.Join(c.fault, fmt.Errorf("%s: %w", section, err))
		return
	}
	c.facts = append(c.facts, fact)
}

// answer evaluates the update.
func (c *columns) answer(a *Algorithm, step *StepValues, u *Update) (answer, error) {
	out := answer{Keep: step.Keep, Parts: map[string]any{}, Metrics: map[string]any{}}
	out.Local, out.Why = a.Local()
	slopes := map[string]formula.Column{}
	measured, err := step.Metrics()
	if err != nil {
		return out, err
	}
	if u != nil {
		loss, by, err := u.Loss()
		if err != nil {
			return out, err
		}
		out.Loss, slopes = loss, by
		now, err := u.Metrics()
		if err != nil {
			return out, err
		}
		maps.Copy(measured, now)
	}
	for _, name := range a.Metrics() {
		out.Metrics[name] = nil
		if x, ok := measured[name]; ok {
			out.Metrics[name] = plain(x)
		}
	}
	for fact, into := range map[string]*any{"logp": &out.Dlogp, "entropy": &out.Dentropy, "uniform_logp": &out.DuniformLogp, "value": &out.Dvalue, "score": &out.Dscore} {
		if _, given := c.q.Token[fact]; !given {
			continue
		}
		whole := make([]float64, c.table.Size(formula.Token))
		if d, ok := slopes[fact]; ok {
			whole = u.Table.Restore(d, len(whole)).V
		}
		*into = c.shaped(formula.Column{Level: formula.Token, V: whole})
	}
	if step.Advantage.V != nil {
		out.Parts[advantagePart] = c.shaped(step.Advantage)
	}
	for name := range a.Method.Formulas {
		if _, _, ok := a.program.Level(name); !ok || name == lossPart {
			continue
		}
		column, ok := step.Parts[name]
		if !ok && u != nil {
			part, err := u.part(name)
			if err != nil {
				return out, err
			}
			column = c.whole(u, part)
		}
		out.Parts[name] = c.shaped(column)
	}
	return out, nil
}

// whole spreads a column of the update over the step, null where keep is false.
func (c *columns) whole(u *Update, part formula.Column) formula.Column {
	size := c.table.Size(part.Level)
	kept := u.Table.Restore(formula.Column{Level: part.Level, V: slices.Repeat([]float64{1}, len(part.V))}, size)
	values := u.Table.Restore(part, size)
	out := formula.Column{Level: part.Level, V: slices.Clone(values.V)}
	for i := range out.V {
		if kept.V[i] == 0 {
			out.V[i] = math.NaN()
		}
	}
	return out
}

// shaped gives a column the shape of its level: a number, a list, or a list for
// each completion.
func (c *columns) shaped(column formula.Column) any {
	all := []any{}
	for _, x := range column.V {
		all = append(all, plain(x))
	}
	switch column.Level {
	case formula.Run:
		if len(all) == 0 {
			return nil
		}
		return all[0]
	case formula.Group, formula.Completion:
		return all
	}
	rows := []any{}
	for i := range c.q.Group {
		row := []any{}
		for _, at := range c.table.Rows(i, column.Level) {
			row = append(row, all[at])
		}
		rows = append(rows, row)
	}
	return rows
}

// plain is a number as JSON has it: null where it is missing.
func plain(x float64) any {
	switch {
	case math.IsNaN(x):
		return nil
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return x + 0
}
