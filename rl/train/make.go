package train

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// making is a stage that draws groups and judges them, makes rows of them, and learns nothing.
type making struct {
	whole   *recipe.Stage
	planner *planner
	drawer  *drawer
	asker   *asker
	learner *learner // which values a step for its metrics, and is never asked to learn
	maker   *maker
	notes   notes
}

func newMaking(p Parts, index int) (Stage, error) {
	f, err := newFacts(p, index)
	if err != nil {
		return nil, err
	}
	s := &making{whole: &p.Recipe.Stages[index], asker: &asker{f, &replay{}}, learner: &learner{facts: f, cast: p.Cast, who: p.Cast.Policy.Trainee}}
	if s.drawer, err = newDrawer(p, f); err != nil {
		return nil, err
	}
	if s.planner, err = newPlanner(p, f); err == nil {
		s.maker, err = newMaker(p, f)
	}
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.whole.Name, err)
	}
	return s, nil
}

// Save implements cast.Keeper.
func (s *making) Save() (map[string]func(io.Writer) error, error) { return s.planner.Save() }

// Load implements cast.Keeper.
func (s *making) Load(dir string) error { return s.planner.Load(dir) }

func (s *making) Steps() int { return s.whole.RL.Steps }

// Step plans, draws, asks and makes.
func (s *making) Step(ctx context.Context, at Position) (*Event, error) {
	if at.Step >= s.Steps() {
		return nil, io.EOF
	}
	began := time.Now()
	plan, err := s.planner.plan(at, s.asker.models.Version(), 0)
	if err != nil {
		return nil, err
	}
	drawn, err := s.drawer.draw(ctx, plan)
	if err != nil {
		if few, is := err.(*notScored); is {
			return &Event{Completions: few.drawn.Completions}, err
		}
		return nil, err
	}
	a, err := s.asker.ask(drawn)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	v, err := s.learner.value(a)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	e := &Event{Metrics: stepMetrics(&v, s.asker.replay), Completions: v.Completions}
	if err := s.maker.into(ctx, &v, e); err != nil {
		return nil, err
	}
	s.planner.record.note(slices.Concat(v.Completions, v.Refused), at.Total+1)
	e.Timing = metrics.Row{"time/rollout_s": time.Since(began).Seconds()}
	s.notes.add(s.whole, at, e)
	return e, nil
}

// maker makes rows of what a step drew, as the tables [[stage.make]] of its stage say.
type maker struct {
	*facts
	makes  []recipe.Made
	rows   *Rows
	models map[string]panel.Member    // that write, by name
	checks map[string]verify.Verifier // of what they write, by name
}

// byTask is the verifier of a task that is no data set.
type byTask struct{ *rollout.Collector }

// Verify implements [verify.Verifier].
func (t byTask) Verify(row verify.Problem, text string) verify.Verdict {
	return t.Task(row, text, true)
}

// checkedBy is who gives the verdicts of a task on texts that a model has ended.
func checkedBy(c *rollout.Collector) verify.Verifier {
	if c.Asks != nil {
		return c.Asks
	}
	return byTask{c}
}

// posing judges a text as a problem that the task accepts, and rewriting also as one with the answer of a row. What
// they find is the answer of the problem.
type (
	posing    struct{ tasks.Poser }
	rewriting struct{ posing }
)

// Verify implements [verify.Verifier].
func (p posing) Verify(row verify.Problem, text string) verify.Verdict {
	problem, err := p.Pose(row, text)
	if err != nil {
		return verify.Reject(text, recipe.ProblemCheck, "%v", err)
	}
	return verify.Accept(problem.Answer, recipe.ProblemCheck, "the task accepts it")
}

// Verify implements [verify.Verifier].
func (r rewriting) Verify(row verify.Problem, text string) verify.Verdict {
	v := r.posing.Verify(row, text)
	switch {
	case v.Verdict != verify.Right:
	case v.Extracted != row.Answer:
		return verify.Reject(text, recipe.RewrittenCheck, "its answer is %s, not %s", v.Extracted, row.Answer)
	case text == row.Question:
		return verify.Reject(text, recipe.RewrittenCheck, "it is the problem as it was")
	}
	return v
}

// newMaker is the maker of a stage; nil: it makes nothing.
func newMaker(p Parts, f *facts) (*maker, error) {
	st := &p.Recipe.Stages[f.index]
	if len(st.Make) == 0 {
		return nil, nil
	}
	makes, err := st.Makes()
	if err != nil {
		return nil, err
	}
	m := &maker{facts: f, makes: makes, rows: p.Rows, models: map[string]panel.Member{}, checks: map[string]verify.Verifier{taskFact: checkedBy(p.Collector)}}
	if poser := p.Recipe.Task.Poser(); poser != nil {
		m.checks[recipe.ProblemCheck], m.checks[recipe.RewrittenCheck] = posing{poser}, rewriting{posing{poser}}
	}
	program, err := st.Program()
	if err != nil {
		return nil, err
	}
	for i, v := range program.Verifiers() {
		m.checks[st.Verifiers[i].Name] = v
	}
	for i := range makes {
		if by := makes[i].By; by != "" {
			if m.models[by], err = p.Cast.Writer(by); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// origin is what a row is made of.
type origin struct {
	*Completion             // the first, or the only one; of a pair the best
	worst       *Completion // of a pair
	index       int         // of the value of a formula
	text        string      // what by wrote
	found       string      // in it, by check
	seed        uint64      // of it
	lack        string      // why there is no row; "": there is one
}

// batchOfRows are the rows that a step makes by one [[stage.make]].
type batchOfRows struct {
	*maker
	how     *recipe.Made
	v       *Valued
	columns map[string]formula.Column // of formulas, by part
}

// into makes the rows of a step and adds them to its event.
func (m *maker) into(ctx context.Context, v *Valued, e *Event) error {
	asked := 0
	for i := range m.makes {
		b := batchOfRows{m, &m.makes[i], v, map[string]formula.Column{}}
		made, err := b.rows(ctx, &asked, e)
		if err != nil {
			return fmt.Errorf("step %d: rows = %q of stage %s: %w", v.At.Step+1, b.how.Rows, v.stage.Name, err)
		}
		e.Made = append(e.Made, made...)
	}
	return nil
}

// rows makes them. asked counts the texts of the step that models wrote; e gets the numbers, and the commonest
// reason why some were not made, where it is new.
func (b *batchOfRows) rows(ctx context.Context, asked *int, e *Event) ([]record.Made, error) {
	all, err := b.origins()
	if err == nil {
		err = b.write(ctx, all, asked)
	}
	if err != nil {
		return nil, err
	}
	var out []record.Made
	lacks, commonest := map[string]int{}, ""
	for k := range all {
		o := &all[k]
		line, err := b.line(o)
		if err != nil {
			return nil, err
		}
		if o.lack == "" {
			problem, err := b.maker.rows.admit(line, o.From.Problem)
			if err == nil {
				b.maker.rows.keep(b.how.Rows, problem)
				out = append(out, line)
				continue
			}
			o.lack = err.Error()
		}
		if lacks[o.lack]++; lacks[o.lack] > lacks[commonest] {
			commonest = o.lack
		}
	}
	e.Metrics["made/rows/"+b.how.Rows] += float64(len(out))
	e.Metrics["made/left_out/"+b.how.Rows] += float64(len(all) - len(out))
	if commonest != "" && b.maker.rows.lacks[b.how.Rows] != commonest {
		b.maker.rows.lacks[b.how.Rows] = commonest
		e.Notes = append(e.Notes, fmt.Sprintf("  step %d: rows of %s left out: %s", b.v.At.Step+1, b.how.Rows, commonest))
	}
	return out, nil
}

// column is that of a formula at the level of what rows are made of.
func (b *batchOfRows) column(program *formula.Program, part string) (formula.Column, error) {
	c, known := b.columns[part]
	if known {
		return c, nil
	}
	c, err := program.On(b.v.Table).At(part, b.how.Level)
	b.columns[part] = c
	return c, err
}

// origins are what rows are made of: completions or groups for which where holds.
func (b *batchOfRows) origins() ([]origin, error) {
	holds := func(int) bool { return true }
	if b.how.When != nil {
		c, err := b.column(b.how.When, b.how.Part)
		if err != nil {
			return nil, err
		}
		holds = func(i int) bool { return c.V[i] == 1 } // a condition without a value does not hold
	}
	var out []origin
	cs := b.v.Completions
	for from := 0; from < len(cs); {
		to := from + 1
		for to < len(cs) && cs[to].Group == cs[from].Group {
			to++
		}
		group := cs[from:to]
		switch index := group[0].Group; b.how.Each {
		case "completion":
			for i := range group {
				if holds(from + i) {
					out = append(out, origin{Completion: &group[i], index: from + i})
				}
			}
		case "pair":
			if best, worst := ends(group); worst != nil && holds(index) {
				out = append(out, origin{Completion: best, worst: worst, index: index})
			}
		default:
			if holds(index) {
				out = append(out, origin{Completion: &group[0], index: index})
			}
		}
		from = to
	}
	return out, nil
}

// ends are the completions of a group with the highest and the lowest reward, of equal ones the first; nil:
// no two rewards differ.
func ends(group []Completion) (best, worst *Completion) {
	for i := range group {
		c := &group[i]
		if math.IsNaN(c.Score.Reward) {
			continue
		}
		if best == nil || c.Score.Reward > best.Score.Reward {
			best = c
		}
		if worst == nil || c.Score.Reward < worst.Score.Reward {
			worst = c
		}
	}
	if best == nil || best.Score.Reward == worst.Score.Reward {
		return nil, nil
	}
	return best, worst
}

// write has a model write a text for each origin, all at once. asked counts those of the step.
func (b *batchOfRows) write(ctx context.Context, all []origin, asked *int) error {
	how := b.how
	if how.By == "" {
		return nil
	}
	by := b.models[how.By]
	var open []*origin
	var questions []panel.Asked
	for i := range all {
		o := &all[i]
		o.seed = random.At(b.recipe.Seed, random.Stream(random.Made, b.index), uint64(b.v.At.Step)<<32|uint64(*asked)).Uint64()
		*asked++
		raw, err := b.fill(how.Asked, o)
		if err != nil {
			return err
		}
		if o.lack != "" {
			continue
		}
		ids, err := by.Renderer().Plain(textOf(raw))
		switch size := len(ids) + how.MaxTokens; {
		case err != nil:
			o.lack = err.Error()
		case len(ids) == 0 || size > by.Room():
			o.lack = fmt.Sprintf("what %s is asked has %d tokens with its answer; there is room for %d", how.By, size, by.Room())
		default:
			open = append(open, o)
			questions = append(questions, panel.Asked{IDs: ids, Answers: 1, MaxTokens: how.MaxTokens, Temperature: how.Temperature, Seed: o.seed})
		}
	}
	if len(questions) == 0 {
		return nil
	}
	said, err := by.Write(ctx, questions)
	if err != nil {
		return err
	}
	meter := verify.NewMeter(len(open))
	for k, o := range open {
		answer := said[k][0]
		o.text = answer.Text
		if !answer.Ended {
			o.lack = "what " + how.By + " wrote was cut off"
			continue
		}
		check := b.checks[how.Check]
		if check == nil {
			continue
		}
		var over error
		verdict := verify.Guard(func() (v verify.Verdict) {
			v, over = meter.Verify(check, o.From.Problem, answer.Text)
			return v
		})
		if over != nil {
			return fmt.Errorf("check = %q: %w", how.Check, over)
		}
		if verdict.Verdict != verify.Right {
			o.lack = how.Check + ": " + verdict.Reason
		}
		o.found = verdict.Extracted
	}
	return nil
}

// line is the row of an origin, unless that lacks something.
func (b *batchOfRows) line(o *origin) (record.Made, error) {
	how := b.how
	line := record.Made{Rows: how.Rows, ID: b.maker.rows.next(how.Rows), From: keyOf(o.From.Problem), Group: o.Group, Seed: b.recipe.Seed, Row: map[string]json.RawMessage{}}
	switch how.By {
	case "":
		line.By = writtenBy(b.v.versionOf(o.Completion))
	case recipe.PolicyModel:
		line.By, line.Seed = writtenBy(b.facts.models.Version()), o.seed
	default:
		line.By, line.Seed = how.By, o.seed
	}
	if how.Each != "group" {
		line.Samples = []int{o.Sample}
	}
	if o.worst != nil {
		line.Samples = append(line.Samples, o.worst.Sample)
	}
	for _, name := range slices.Sorted(maps.Keys(how.Columns)) {
		if o.lack != "" {
			break
		}
		var err error
		if line.Row[name], err = b.cell(how.Columns[name], o); err != nil {
			return line, err
		}
	}
	return line, nil
}

// writtenBy is the policy after a number of updates, as a row says it.
func writtenBy(version int) string { return fmt.Sprintf("%s@%d", recipe.PolicyModel, version) }

// cell is the value of a column.
func (b *batchOfRows) cell(c recipe.Column, o *origin) (raw json.RawMessage, err error) {
	inner := func(c recipe.Column) (value json.RawMessage) {
		if err == nil {
			value, err = b.cell(c, o)
		}
		if value == nil { // the origin lacks it
			value = json.RawMessage("null")
		}
		return value
	}
	switch {
	case c.List != nil:
		var list []json.RawMessage
		for _, entry := range c.List {
			list = append(list, inner(entry))
		}
		return asJSON(list), err
	case c.Table != nil:
		table := map[string]json.RawMessage{}
		for _, name := range slices.Sorted(maps.Keys(c.Table)) {
			table[name] = inner(c.Table[name])
		}
		return asJSON(table), err
	case c.Number != nil:
		return asJSON(c.Number), nil
	}
	return b.fill(c.Text, o)
}

// fill is a template with what stands in braces: the value itself where that is all, else a text. Where
// something is missing, the origin lacks it.
func (b *batchOfRows) fill(slots []recipe.Slot, o *origin) (json.RawMessage, error) {
	var text strings.Builder
	for _, slot := range slots {
		raw, err := b.value(slot, o)
		if err != nil || o.lack != "" {
			return nil, err
		}
		if len(slots) == 1 {
			return raw, nil
		}
		text.WriteString(textOf(raw))
	}
	return asJSON(text.String()), nil
}

// value is what a slot stands for.
func (b *batchOfRows) value(slot recipe.Slot, o *origin) (json.RawMessage, error) {
	if slot.Program != nil {
		c, err := b.column(slot.Program, slot.Part)
		if err != nil {
			return nil, err
		}
		if x := c.V[o.index]; !math.IsNaN(x) && !math.IsInf(x, 0) {
			return asJSON(x), nil
		}
		o.lack = cmp.Or(c.Why[o.index], slot.Text+" has no value")
		return nil, nil
	}
	row := o.From.Problem
	member, of := strings.CutPrefix(slot.Text, "row.")
	switch {
	case slot.Verdict > 0:
		v := o.Path().Verdicts[slot.Verdict-1]
		if v.Verdict == verify.NotScored || v.Reason == "" {
			o.lack = slot.Text + ": the verdict is " + v.Verdict + ", and its reason " + strconv.Quote(v.Reason)
		}
		return asJSON(v.Reason), nil
	case !slot.Braced:
		return asJSON(slot.Text), nil
	case of && row.Metadata[member] != nil:
		return row.Metadata[member], nil
	case of || slot.Text == "question" || slot.Text == "answer":
		text, why := row.Text(member)
		o.lack = why
		return asJSON(text), nil
	case slot.Text == "said":
		return asJSON(o.text), nil
	case slot.Text == "said.extracted":
		return asJSON(o.found), nil
	case slot.Text == "worst":
		return asJSON(o.worst.Path().Text), nil
	case slot.Text == "extracted":
		return asJSON(o.Verdict().Extracted), nil
	}
	return asJSON(o.Path().Text), nil // completion, or best
}

// asJSON is a text, a finite number, or a list or table of JSON as JSON, with <, > and & as they are.
func asJSON(value any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // neither can fail
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
