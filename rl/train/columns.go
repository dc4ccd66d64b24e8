package train

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// drawn is what a column is made from: the completions of a step.
type drawn struct {
	*learner
	at Position
	cs []Completion
}

// columns has a row for every fact that formulas may read after sampling and that no
// other model supplies. A column is made if the method reads it.
var columns = map[string]func(x drawn) formula.Column{
	"step":     ofRun(func(x drawn) float64 { return float64(x.at.Step + 1) }),
	"steps":    ofRun(func(x drawn) float64 { return float64(x.steps()) }),
	"progress": ofRun(func(x drawn) float64 { return float64(x.at.Step) / math.Max(1, float64(x.steps()-1)) }),
	"chance":   ofRun(func(x drawn) float64 { return x.noise(0).Unit() }),
	"max_tokens": ofRun(func(x drawn) float64 {
		return float64(x.stage.Sampling.MaxCompletionTokens)
	}),
	"prompt_tokens": ofGroups(func(c *Completion, _ drawn) (float64, string) { return float64(len(c.From.Segments[0].IDs)), "" }),
	greedyFact: ofGroups(func(c *Completion, x drawn) (float64, string) {
		g := x.aside.greedy[c.From]
		return g.reward, g.why
	}),
	"reward":      ofCompletions(func(c *Completion) (float64, string) { return c.Reward, c.NotScored }),
	"truncated":   ofCompletions(func(c *Completion) (float64, string) { return holds(c.View.Stop == rollout.Length), "" }),
	"old":         ofTokens(func(c *Completion) []float32 { return c.View.Logprob }),
	"start":       ofTokens(func(c *Completion) []float32 { return c.start().Logprob }), // of what was sampled the trainer computes the same bits
	"old_entropy": ofTokens(func(c *Completion) []float32 { return c.View.Entropy }),
	"foreign":     ofOrigin(func(o *Origin) float64 { return holds(o.Foreign) }),
	"replayed":    ofOrigin(func(o *Origin) float64 { return holds(o.Stored != nil) }),
	"hinted":      ofOrigin(func(o *Origin) float64 { return holds(o.Hinted) }),
	"hint_share":  ofOrigin(func(o *Origin) float64 { return o.Share }),
	"age":         ofOrigin(func(o *Origin) float64 { return float64(o.Age) }),
	"fresh":       ofOrigin(func(o *Origin) float64 { return holds(o.fresh()) }),
	"noise": func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Token}
		for i := range x.cs {
			r := x.noise(i + 1)
			for range x.cs[i].View.Tokens() {
				c.V = append(c.V, r.Unit())
			}
		}
		return c
	},
}

// noise are the random numbers of the step's i-th completion, counted from 1; 0: of the
// step.
func (x drawn) noise(i int) *random.Rand {
	return random.At(x.Recipe.Seed, random.Stream(random.Noise, x.index), uint64(x.at.Step)<<32|uint64(i))
}

func ofRun(value func(x drawn) float64) func(drawn) formula.Column {
	return func(x drawn) formula.Column {
		return formula.Column{Level: formula.Run, V: []float64{value(x)}}
	}
}

func ofGroups(value func(c *Completion, x drawn) (float64, string)) func(drawn) formula.Column {
	return func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Group, Why: map[int]string{}}
		for i := range x.cs {
			if i > 0 && x.cs[i].Group == x.cs[i-1].Group {
				continue
			}
			v, why := value(&x.cs[i], x)
			if c.V = append(c.V, v); math.IsNaN(v) {
				c.Why[len(c.V)-1] = why
			}
		}
		return c
	}
}

func ofCompletions(value func(c *Completion) (float64, string)) func(drawn) formula.Column {
	return func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Completion, Why: map[int]string{}}
		for i := range x.cs {
			v, why := value(&x.cs[i])
			if c.V = append(c.V, v); math.IsNaN(v) {
				c.Why[i] = why
			}
		}
		return c
	}
}

func ofOrigin(value func(o *Origin) float64) func(drawn) formula.Column {
	return ofCompletions(func(c *Completion) (float64, string) { return value(&c.Origin), "" })
}

// holds is 1 or 0.
func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func ofTokens(value func(c *Completion) []float32) func(drawn) formula.Column {
	return func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Token}
		for i := range x.cs {
			c.V = append(c.V, cast.Widen(value(&x.cs[i]))...)
		}
		return c
	}
}

// table lays out completions for the method: a column for each of the facts that is known
// now, and for each state; cut into segments as the method says.
func (s *learner) table(at Position, cs []Completion, facts []string) (*formula.Table, error) {
	groups := column(cs, func(c *Completion) int { return c.Group })
	frame, err := formula.NewFrame(groups, column(cs, func(c *Completion) []int { return []int{c.View.Tokens()} }), nil)
	if err != nil {
		return nil, err
	}
	t, x := formula.NewTable(frame), drawn{s, at, cs}
	for name, c := range s.states.Columns(s.method, keysOf(cs, nil)) {
		if err := t.Add(name, c); err != nil {
			return nil, err
		}
	}
	for _, fact := range slices.Concat(facts, s.method.SegmentReads()) {
		if _, told := t.Column(fact); told || isNow(fact) {
			continue
		}
		of, err := s.columnsOf(fact, x)
		for _, c := range of {
			err = errors.Join(err, t.Add(fact, c))
		}
		if err != nil {
			return nil, err
		}
	}
	if t, err = s.method.Cut(t); err != nil {
		return nil, s.blamed(err)
	}
	return t, nil
}

// columnsOf makes those of a fact: of a member of the problems' rows its numbers and its
// texts.
func (s *learner) columnsOf(fact string, x drawn) ([]formula.Column, error) {
	if of := columns[fact]; of != nil {
		return []formula.Column{of(x)}, nil
	}
	if histories[fact] != nil {
		return []formula.Column{s.Record.column(fact, x.problems(), x.at.Total+1)}, nil
	}
	if of, pattern, matches := patternOf(fact); matches {
		c, err := x.matching(of, pattern)
		return []formula.Column{c}, err
	}
	term, name, family := strings.Cut(fact, ".")
	switch {
	case family && term == "row":
		problems := x.problems()
		return []formula.Column{numbersOf(problems, name), textsOf(problems, name)}, nil
	case family && term == "reward":
		return []formula.Column{valueOf(name)(x)}, nil
	}
	names := []string{"task"}
	for _, v := range s.stage.Verifiers {
		names = append(names, v.Name)
	}
	if i := slices.Index(names, term); i >= 0 {
		return []formula.Column{ofCompletions(func(c *Completion) (float64, string) {
			v := c.Path().Verdicts[i]
			if family {
				return v.Number(term, name)
			}
			return v.Score, v.Reason
		})(x)}, nil
	}
	if fact == "mismatched" {
		c, err := s.mismatched(x.cs)
		return []formula.Column{c}, err
	}
	rows, err := s.Cast.Supply(fact, column(x.cs, func(c *Completion) rollout.View { return c.View }))
	return []formula.Column{{Level: formula.Token, V: slices.Concat(rows...)}}, err
}

// problems are those of the groups.
func (x drawn) problems() []verify.Problem {
	var out []verify.Problem
	for i := range x.cs {
		if i == 0 || x.cs[i].Group != x.cs[i-1].Group {
			out = append(out, x.cs[i].From.Problem)
		}
	}
	return out
}

// numbersOf is the number that each problem has as a member of its row.
func numbersOf(problems []verify.Problem, member string) formula.Column {
	c := formula.Column{Level: formula.Group, V: make([]float64, len(problems)), Why: map[int]string{}}
	for i, p := range problems {
		var why string
		if c.V[i], why = p.Number(member); why != "" {
			c.V[i], c.Why[i] = math.NaN(), why
		}
	}
	return c
}

// textsOf is the text that each problem has there.
func textsOf(problems []verify.Problem, member string) formula.Column {
	c := formula.Column{Level: formula.Group, Text: make([]string, len(problems)), Why: map[int]string{}}
	for i, p := range problems {
		var why string
		if c.Text[i], why = p.Text(member); why != "" {
			c.Why[i] = why
		}
	}
	return c
}

// mismatched is the gain of each prompt with the completion of the next prompt that has
// the same sample number. A single prompt has none.
func (s *learner) mismatched(cs []Completion) (formula.Column, error) {
	out := formula.Column{Level: formula.Completion, V: make([]float64, len(cs)), Why: map[int]string{}}
	views := mismatchedViews(cs, cmp.Or(s.stage.SFT.MaxTokens, s.Recipe.Task.MaxPromptTokens+s.Recipe.MaxCompletion(s.stage)))
	if views == nil {
		for i := range cs {
			out.V[i], out.Why[i] = math.NaN(), "mismatched needs two prompts in a step"
		}
		return out, nil
	}
	rows, err := s.Cast.Supply("mismatched", views)
	for i, row := range rows {
		for _, x := range row {
			out.V[i] += x
		}
	}
	return out, err
}

// mismatchedViews lay out the prompts with completions of others, cut off at a length; nil:
// there is one prompt.
func mismatchedViews(cs []Completion, most int) []rollout.View {
	first := []int{} // completion of each group
	for i := range cs {
		if cs[i].Sample == 0 {
			first = append(first, i)
		}
	}
	if len(first) < 2 {
		return nil
	}
	views := make([]rollout.View, len(cs))
	for i := range cs {
		next := (cs[i].Group + 1) % len(first)
		size := len(cs) - first[next]
		if next+1 < len(first) {
			size = first[next+1] - first[next]
		}
		prompt, other := cs[i].View, cs[first[next]+cs[i].Sample%size].View
		v := rollout.View{IDs: slices.Concat(prompt.IDs[:prompt.Prompt()], other.IDs[other.Prompt():]), Temperature: prompt.Temperature, Group: prompt.Group}
		if len(v.IDs) > most {
			v.IDs = v.IDs[:most]
		}
		for _, span := range other.Spans {
			from, to := span.From+prompt.Prompt()-other.Prompt(), span.To+prompt.Prompt()-other.Prompt()
			if from < len(v.IDs) {
				v.Spans = append(v.Spans, rollout.Span{From: from, To: min(to, len(v.IDs))})
			}
		}
		views[i] = v
	}
	return views
}

// advantages evaluates what the method computes once a step, and says in the
// completions what came of it. The metrics are those of the step.
func (s *learner) advantages(at Position, cs []Completion) (*algo.StepValues, map[string]float64, error) {
	table, err := s.table(at, cs, s.reads)
	if err != nil {
		return nil, nil, err
	}
	step, err := s.method.StepBeside(table, held(cs))
	if err != nil {
		return nil, nil, s.blamed(err)
	}
	row, err := step.Metrics()
	if err != nil {
		return nil, nil, s.blamed(err)
	}
	for i := range cs {
		if !math.IsNaN(cs[i].Reward) && step.Refused[i] != "" && step.Refused[i] != algo.RefusedByKeep {
			row["rollout/no_value"]++
		}
		if a := step.Advantage; a.V != nil {
			var values []float64
			for _, at := range table.Rows(i, a.Level) {
				values = append(values, a.V[at])
			}
			if cs[i].Advantage = values[0]; a.Level == formula.Token {
				cs[i].Advantage = mean(values)
			}
		}
	}
	return step, row, nil
}
