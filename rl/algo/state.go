package algo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
)

// State is a number that a method carries from step to step.
type State struct {
	Start float64 `toml:"start"` // in the first step
	Next  string  `toml:"next"`  // formula of the run's level: what the next step sees. Where it has no value the number stays
	By    string  `toml:"by"`    // "": one number; "row": one for each prompt; "row.NAME": one for each value of a member of its row
}

// statePart is the name that the formula of a state has in a program.
func statePart(name string) string { return "state/" + name }

// mover moves the states of one kind of key. In its formulas they are numbers of the run,
// and statistics are over the members of the key.
type mover struct {
	by      string
	program *formula.Program
	names   []string // sorted
}

// stateFacts are states as formulas name them: of the run, or of a prompt if they have a
// number for each key. inside are those whose key is at hand.
func (m Method) stateFacts(inside string) []formula.Fact {
	var facts []formula.Fact
	for _, name := range slices.Sorted(maps.Keys(m.State)) {
		f := formula.Fact{Name: name, Level: formula.Run, Meaning: "state of the method"}
		if by := m.State[name].By; by != "" && by != inside {
			f.Level = formula.Group
		}
		facts = append(facts, f)
	}
	return facts
}

// movers compiles the formulas of the states.
func (m Method) movers(facts []formula.Fact) ([]mover, error) {
	var faults []error
	kinds := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.State)) {
		s := m.State[name]
		_, part := m.Formulas[name]
		_, number := m.Parameters[name]
		switch {
		case part || number:
			faults = append(faults, &formula.Error{Part: statePart(name), Text: "the name is given twice: to a state and to a formula or number"})
		case s.By == "seat":
			faults = append(faults, &formula.Error{Part: statePart(name), Text: "by = seat is not accepted; accepted: row.seat, a number for each seat of a stage with [stage.seats]; row, row.NAME, or no by"})
		case s.By != "" && s.By != "row" && !strings.HasPrefix(s.By, "row."):
			faults = append(faults, &formula.Error{Part: statePart(name), Text: fmt.Sprintf("by = %q is not accepted; accepted: row, row.NAME, or no by", s.By)})
		case math.IsNaN(s.Start) || math.IsInf(s.Start, 0):
			faults = append(faults, &formula.Error{Part: statePart(name), Text: fmt.Sprintf("start = %v is not accepted; accepted: a finite number", s.Start)})
		}
		kinds[s.By] = append(kinds[s.By], name)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	var out []mover
	for _, by := range slices.Sorted(maps.Keys(kinds)) {
		known := slices.Concat(facts, m.stateFacts(by))
		text := m.text(known)
		for _, name := range kinds[by] {
			text.Parts[statePart(name)] = m.State[name].Next
		}
		program, err := formula.Compile(text, known)
		if err != nil {
			return nil, err
		}
		for _, name := range kinds[by] {
			if level, _, _ := program.Level(statePart(name)); level != formula.Run {
				faults = append(faults, &formula.Error{Part: statePart(name), Text: fmt.Sprintf("one value for each %s where one number is wanted; write step_mean(...) or another statistic around it, which is over the members of the key", level)})
			}
		}
		out = append(out, mover{by, program, kinds[by]})
	}
	return out, errors.Join(faults...)
}

// maxKeys is how many keys a state keeps: the least recently used leave.
const maxKeys = 100_000

// States are the numbers in force. They belong to one goroutine.
type States struct {
	Values map[string]map[string]*Held `json:"values"` // by state, by key; "" where there is one number
	Moves  int                         `json:"moves"`  // that were made
	Left   int                         `json:"left"`   // keys that left since the beginning
}

// Held is the number of a key.
type Held struct {
	Value float64 `json:"value"`
	Used  int     `json:"used"` // move at which it last moved
}

// Save writes the states.
func (s *States) Save(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// value is the number of a state for a key.
func (s *States) value(a *Algorithm, name, key string) float64 {
	if h := s.Values[name][key]; h != nil {
		return h.Value
	}
	return a.Method.State[name].Start
}

// Columns are the states as the step's table has them. keys gives the key of each group.
func (s *States) Columns(a *Algorithm, keys func(by string) []string) map[string]formula.Column {
	out := map[string]formula.Column{}
	for _, f := range a.Method.stateFacts("") {
		c, all := formula.Column{Level: f.Level}, []string{""}
		if f.Level == formula.Group {
			all = keys(a.Method.State[f.Name].By)
		}
		for _, key := range all {
			c.V = append(c.V, s.value(a, f.Name, key))
		}
		out[f.Name] = c
	}
	return out
}

// AfterStep moves the states whose formulas are no values of an update. keys gives the key of each
// group of the table, which is the step's.
func (s *States) AfterStep(a *Algorithm, t *formula.Table, keys func(by string) []string) error {
	return s.move(a, t, keys, nil)
}

// AfterUpdate moves the states whose formulas are values of an update, which has the facts of now.
// keys gives the key of each group of its step.
func (s *States) AfterUpdate(u *Update, keys func(by string) []string) error {
	return s.move(u.step.a, u.step.Table, keys, u)
}

func (s *States) move(a *Algorithm, t *formula.Table, keys func(by string) []string, u *Update) error {
	s.Moves++
	columns := s.Columns(a, keys)
	m := move{States: s, a: a, update: u, t: t, bare: t.Without(slices.Collect(maps.Keys(columns))...), columns: columns, next: map[string]map[string]float64{}}
	learned := slices.Repeat([]bool{true}, t.Size(formula.Completion))
	if u != nil {
		learned = u.Rows
	}
	for _, of := range a.movers {
		if !slices.ContainsFunc(of.names, func(name string) bool { return of.program.OfUpdate(statePart(name)) == (u != nil) }) {
			continue
		}
		members := map[string][]bool{"": slices.Repeat([]bool{true}, t.Size(formula.Completion))}
		if of.by != "" {
			members = membersOf(t, keys(of.by))
			maps.DeleteFunc(members, func(_ string, in []bool) bool { return !slices.Contains(both(in, learned), true) })
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if err := m.evaluate(of, key, members[key]); err != nil {
				return err
			}
		}
	}
	m.end()
	return nil
}

// move is one move of the states. All see what was before.
type move struct {
	*States
	a       *Algorithm
	update  *Update        // after which they move; nil: after a step
	t, bare *formula.Table // of the step, with the states and without
	columns map[string]formula.Column
	next    map[string]map[string]float64 // by state and key
}

// evaluate finds the next numbers of one key, whose completions are in.
func (m *move) evaluate(of mover, key string, in []bool) error {
	part, err := m.bare.Select(in, nil)
	if err != nil {
		return err
	}
	for _, f := range m.a.Method.stateFacts(of.by) {
		c := formula.Column{Level: f.Level}
		switch {
		case f.Level == formula.Group:
			c.V = groupsIn(m.t, in, m.columns[f.Name].V)
		case m.a.Method.State[f.Name].By == "":
			c.V = []float64{m.value(m.a, f.Name, "")}
		default:
			c.V = []float64{m.value(m.a, f.Name, key)}
		}
		if err := part.Add(f.Name, c); err != nil {
			return err
		}
	}
	values := of.program.On(part)
	if m.update != nil {
		learned, err := m.update.among(part, in)
		if err != nil {
			return err
		}
		values = values.Update(learned)
	}
	for _, name := range of.names {
		if of.program.OfUpdate(statePart(name)) != (m.update != nil) {
			continue
		}
		x, err := runValue(values, statePart(name))
		if err == nil && math.IsInf(x, 0) {
			err = &formula.Error{Part: statePart(name), Text: fmt.Sprintf("the next number is %v", x)}
		}
		if err != nil {
			return err
		}
		if !math.IsNaN(x) {
			if m.next[name] == nil {
				m.next[name] = map[string]float64{}
			}
			m.next[name][key] = x
		}
	}
	return nil
}

// among is what an update learns from of some of its step's completions, whose table is part,
// with the facts of now.
func (u *Update) among(part *formula.Table, in []bool) (*formula.Table, error) {
	var rows, tokens, learned []bool // of part, of the tokens of part, of the update
	for c := range in {
		if u.Rows[c] {
			learned = append(learned, in[c])
		}
		if !in[c] {
			continue
		}
		rows = append(rows, u.Rows[c])
		if from, to := u.step.Table.Tokens(c); u.step.KeepToken != nil {
			tokens = append(tokens, u.step.KeepToken[from:to]...)
		}
	}
	t, err := part.Select(rows, tokens)
	if err != nil {
		return nil, err
	}
	now, err := u.Table.Select(learned, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range u.step.a.facts {
		c, there := now.Column(f.Name)
		if _, given := t.Column(f.Name); there && !given && f.Now {
			if err := t.Add(f.Name, c); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// both tells where both hold.
func both(a, b []bool) []bool {
	out := make([]bool, len(a))
	for i := range out {
		out[i] = a[i] && b[i]
	}
	return out
}

// end puts the next numbers into force.
func (m *move) end() {
	if m.Values == nil {
		m.Values = map[string]map[string]*Held{}
	}
	for name, values := range m.next {
		if m.Values[name] == nil {
			m.Values[name] = map[string]*Held{}
		}
		for key, x := range values {
			m.Values[name][key] = &Held{x, m.Moves}
		}
		m.Left += evict(m.Values[name])
	}
}

// membersOf are the completions of each key.
func membersOf(t *formula.Table, keys []string) map[string][]bool {
	out := map[string][]bool{}
	for c := range t.Size(formula.Completion) {
		key := keys[t.Rows(c, formula.Group)[0]]
		if out[key] == nil {
			out[key] = make([]bool, t.Size(formula.Completion))
		}
		out[key][c] = true
	}
	return out
}

// groupsIn are the values of the groups that some completions belong to.
func groupsIn(t *formula.Table, in []bool, values []float64) []float64 {
	there := make([]bool, len(values))
	for c, is := range in {
		if is {
			there[t.Rows(c, formula.Group)[0]] = true
		}
	}
	var out []float64
	for g, is := range there {
		if is {
			out = append(out, values[g])
		}
	}
	return out
}

// evict removes the least recently used keys above the bound and counts them.
func evict(held map[string]*Held) int {
	n := len(held) - maxKeys
	if n <= 0 {
		return 0
	}
	keys := slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[a].Used, held[b].Used), cmp.Compare(a, b))
	})
	for _, key := range keys[:n] {
		delete(held, key)
	}
	return n
}
