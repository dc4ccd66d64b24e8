package algo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
)

// RefusedByKeep is the reason for not learning from a completion whose keep is false.
const RefusedByKeep = "keep"

// StepValues are what an algorithm computes once for a step, after sampling.
type StepValues struct {
	Advantage formula.Column // of each completion or token; without values if the method has no advantage
	Keep      []bool         // [completion] it is learnt from
	KeepToken []bool         // [token] likewise; nil: every token of what is kept
	Elsewhere []bool         // [token] it is learnt in another completion that shares it; nil: none is
	Parts     map[string]formula.Column
	Refused   []string // [completion] why it is not learnt from; "": it is; else [RefusedByKeep], or why it has no value

	Table *formula.Table // of the step's completions

	a      *Algorithm
	values *formula.Values
}

// Cut is a step's table with the segments that the method cuts completions into: one
// begins where its part segments holds. It is the same table where there is no such part.
// The table needs the facts of [Algorithm.SegmentReads].
func (a *Algorithm) Cut(t *formula.Table) (*formula.Table, error) {
	if !a.Cuts() {
		return t, nil
	}
	c, err := a.program.On(t).Column(segmentsPart)
	if err != nil {
		return nil, err
	}
	begins := make([]bool, len(c.V))
	for i, v := range c.V {
		begins[i] = v == 1
	}
	return t.Cut(begins)
}

// Cuts says whether the method cuts completions into segments; if not, turns are the segments.
func (a *Algorithm) Cuts() bool {
	_, _, there := a.program.Level(segmentsPart)
	return there
}

// SegmentReads are the facts that the method's part segments reads.
func (a *Algorithm) SegmentReads() []string { return a.program.Needs(segmentsPart) }

// Given are the values of what a call such as influence(good) is called with, see [formula.Values.Given], and
// Calls are the calls that the method reads, each after those that it depends on.
func (a *Algorithm) Given(t *formula.Table, call string) ([]float64, error) {
	return a.program.On(t).Given(call)
}

// Calls is said with [Algorithm.Given].
func (a *Algorithm) Calls() []string {
	var calls []string
	for _, c := range a.program.Calls() {
		calls = append(calls, c.Column())
	}
	return calls
}

// Step computes what is no value of an update. The table has the facts of the step's completions.
func (a *Algorithm) Step(t *formula.Table) (*StepValues, error) { return a.StepBeside(t, nil, nil) }

// once learns each token in one completion alone, the first that learns from it: elsewhere it is as if
// keep were false for it. same[i] is the row of token i in the first completion that has it.
func (s *StepValues) once(same []int) {
	if s.KeepToken == nil {
		s.KeepToken = slices.Repeat([]bool{true}, len(same))
	}
	s.Elsewhere = make([]bool, len(same))
	learned := make([]bool, len(same))
	for c, kept := range s.Keep {
		from, to := s.Table.Tokens(c)
		for t := from; t < to && kept; t++ {
			s.Elsewhere[t] = learned[same[t]]
			s.KeepToken[t] = s.KeepToken[t] && !learned[same[t]]
			learned[same[t]] = learned[same[t]] || s.KeepToken[t]
		}
	}
}

// heldParts are computed once for a completion, in the step in which it is sampled.
var heldParts = []string{keepPart, advantagePart}

// StepBeside is [Algorithm.Step] where some completions, by their number, bring what their
// own step computed of them ([StepValues.Held]). It is not computed again, and no statistic
// after keep and advantage sees them. Groups are whole. Where completions share tokens that are to be
// learned once, same[i] is the row of token i in the first completion that has it; nil: they share none.
func (a *Algorithm) StepBeside(t *formula.Table, held map[int]map[string][]float64, same []int) (*StepValues, error) {
	n := t.Size(formula.Completion)
	s := &StepValues{Keep: make([]bool, n), Parts: map[string]formula.Column{}, Refused: make([]string, n), a: a, Table: t, values: a.program.On(t)}
	if len(held) > 0 {
		if err := s.bring(held); err != nil {
			return nil, err
		}
	}
	for _, name := range a.program.Parts() {
		if a.program.OfUpdate(name) || slices.Contains(a.metrics, name) || name == lossPart {
			continue
		}
		c, brought := t.Column(name)
		if !brought {
			var err error
			if c, err = s.values.Column(name); err != nil {
				return nil, err
			}
		}
		s.Parts[name] = c
	}
	keep, ok := s.column(keepPart)
	if !ok {
		return nil, fmt.Errorf("the table has no column %s", keepPart)
	}
	if s.Advantage, ok = s.column(advantagePart); !ok {
		s.Advantage, _ = s.column("A")
	}
	for c := range s.Keep {
		s.Refused[c] = s.refusal(t, keep, c)
		s.Keep[c] = s.Refused[c] == ""
	}
	if keep.Level == formula.Token {
		s.KeepToken = make([]bool, len(keep.V))
		for i, k := range keep.V {
			s.KeepToken[i] = k == 1
		}
	}
	if same != nil {
		s.once(same)
	}
	return s, nil
}

// column is a part of the step, or a fact that stands for it.
func (s *StepValues) column(name string) (formula.Column, bool) {
	if c, ok := s.Parts[name]; ok {
		return c, true
	}
	return s.Table.Column(name)
}

// bring adds keep and advantage to the table: as they were held, and for the other
// completions as they are computed over these alone.
func (s *StepValues) bring(held map[int]map[string][]float64) error {
	t := s.Table
	fresh := make([]bool, t.Size(formula.Completion))
	for c := range fresh {
		fresh[c] = held[c] == nil
	}
	part, err := t.Select(fresh, nil)
	if err != nil {
		return err
	}
	values := s.a.program.On(part)
	for _, name := range heldParts {
		level, _, there := s.a.program.Level(name)
		if !there || level == formula.Run {
			continue
		}
		computed, err := values.Column(name)
		if err != nil {
			return err
		}
		c := part.Restore(computed, t.Size(level))
		c.V = slices.Clone(c.V)
		for i, own := range held {
			for k, row := range t.Rows(i, level) {
				c.V[row] = own[name][k]
			}
		}
		if err := t.Add(name, c); err != nil {
			return err
		}
	}
	return nil
}

// Held is what the step computed of a completion once: keep and advantage, a value for each
// row that it has at the level of the part.
func (s *StepValues) Held(completion int) map[string][]float64 {
	out := map[string][]float64{}
	for _, name := range heldParts {
		c, there := s.Parts[name]
		if !there || c.Level == formula.Run {
			continue
		}
		for _, row := range s.Table.Rows(completion, c.Level) {
			out[name] = append(out[name], c.V[row])
		}
	}
	return out
}

// HeldReads are the facts that keep and advantage read, which are computed once for a completion.
func (a *Algorithm) HeldReads() []string { return a.program.Needs(heldParts...) }

// KeepReads are the facts that keep reads, and the statistic over several groups that it
// reads, with its place; "": none, so that groups can be judged by themselves.
func (a *Algorithm) KeepReads() (facts []string, overGroups string) {
	return a.program.Needs(keepPart), a.program.OverGroups(keepPart)
}

// Keeps tells which completions have something that keep accepts. The table needs the facts
// of [Algorithm.KeepReads] alone.
func (a *Algorithm) Keeps(t *formula.Table) ([]bool, error) {
	c, err := a.program.On(t).Column(keepPart)
	if err != nil {
		return nil, err
	}
	kept := make([]bool, t.Size(formula.Completion))
	for i := range kept {
		for _, row := range t.Rows(i, c.Level) {
			kept[i] = kept[i] || c.V[row] == 1
		}
	}
	return kept, nil
}

// refusal is why a completion is not learnt from; "" if it is.
func (s *StepValues) refusal(t *formula.Table, keep formula.Column, completion int) string {
	if rows := t.Rows(completion, keep.Level); keep.Level != formula.Token && keep.V[rows[0]] == 0 {
		return RefusedByKeep
	}
	for _, c := range []formula.Column{keep, s.Advantage} {
		if c.V == nil {
			continue
		}
		for _, row := range t.Rows(completion, c.Level) {
			if math.IsNaN(c.V[row]) && (c.Level != formula.Token || t.Trained(row)) {
				if why := c.Why[row]; why != "" {
					return why
				}
				return "no value"
			}
		}
	}
	return ""
}

// Update is one change of the weights: the kept completions of some groups, with
// statistics of their own.
type Update struct {
	Table *formula.Table // of the kept completions; facts of now are added to it
	Rows  []bool         // [completion of the step] it is in the update

	step   *StepValues
	values *formula.Values
}

// Update takes the kept completions of the groups for which in is true; nil: of
// all. It is nil if nothing is left to learn from, and there is no change of the
// weights then.
func (s *StepValues) Update(in []bool) (*Update, error) {
	u := &Update{Rows: slices.Clone(s.Keep), step: s}
	trained := false
	for c := range u.Rows {
		if in != nil && !in[s.Table.Rows(c, formula.Group)[0]] {
			u.Rows[c] = false
		}
		from, to := s.Table.Tokens(c)
		for t := from; t < to && u.Rows[c] && !trained; t++ {
			trained = s.Table.Trained(t) && (s.KeepToken == nil || s.KeepToken[t])
		}
	}
	if !trained {
		return nil, nil
	}
	var err error
	if u.Table, err = s.Table.Select(u.Rows, s.KeepToken); err != nil {
		return nil, err
	}
	u.values = s.values.Update(u.Table)
	return u, nil
}

// Loss is the loss of the update and its derivatives by facts of now, a column
// for each that it depends on. The facts of now have to be in the update's table.
func (u *Update) Loss() (loss float64, slopes map[string]formula.Column, err error) {
	if loss, err = u.Value(); err != nil {
		return 0, nil, err
	}
	slopes, err = u.values.Slopes(lossPart)
	return loss, slopes, err
}

// Value is the loss of the update without its derivatives.
func (u *Update) Value() (float64, error) {
	loss, err := runValue(u.values, lossPart)
	if err == nil && (math.IsNaN(loss) || math.IsInf(loss, 0)) {
		c, _ := u.values.Column(lossPart)
		err = &formula.Error{Part: lossPart, Text: strings.TrimSuffix(fmt.Sprintf("the loss is %v: %s", loss, c.Why[0]), ": ")}
	}
	return loss, err
}

// PartSlopes are the derivatives of a local loss for some of the update's
// completions, whole groups at a time, selected from its table, which needs facts
// of now of no others. They are those of [Update.Loss] to the bit.
func (u *Update) PartSlopes(part *formula.Table) (map[string]formula.Column, error) {
	if !u.step.a.local {
		return nil, fmt.Errorf("the loss is not local: %s", u.step.a.why)
	}
	return u.values.Within(part).Slopes(lossPart)
}

// Written are the parts that the recipe writes itself, but for the loss and for what it leaves as
// it is without a preset, over the update. The facts of now have to be in the update's table.
func (u *Update) Written() (map[string]formula.Column, error) {
	a, out := u.step.a, map[string]formula.Column{}
	for _, name := range a.program.Parts() {
		if !a.Method.written[name] || a.Method.Formulas[name] == defaultParts[name] || name == lossPart || slices.Contains(a.metrics, name) {
			continue
		}
		c, err := u.part(name)
		if err != nil {
			return nil, err
		}
		out[name] = c
	}
	return out, nil
}

// Metrics are the method's metrics of the update; one that has no value is absent.
func (u *Update) Metrics() (map[string]float64, error) { return u.step.a.measure(u.values, true) }

// Metrics are the method's metrics of the step; one that has no value is absent.
func (s *StepValues) Metrics() (map[string]float64, error) { return s.a.measure(s.values, false) }

// measure evaluates the metrics that are values of an update, or the others.
func (a *Algorithm) measure(values *formula.Values, ofUpdate bool) (map[string]float64, error) {
	out := map[string]float64{}
	for _, name := range a.metrics {
		if a.program.OfUpdate(name) != ofUpdate {
			continue
		}
		x, err := runValue(values, name)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(x) {
			out[name] = x
		}
	}
	for _, part := range a.clips {
		if a.program.ClipsNow(part) != ofUpdate {
			continue
		}
		share, err := values.Clipped(part)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(share) {
			out[clipArea+part] = share
		}
	}
	return out, nil
}

// part is the value of a part over the update.
func (u *Update) part(name string) (formula.Column, error) { return u.values.Column(name) }

// runValue is the value of a part of the run's level.
func runValue(values *formula.Values, name string) (float64, error) {
	c, err := values.Column(name)
	if err != nil {
		return 0, err
	}
	return c.V[0], nil
}
