package train

import (
	"math"
	"slices"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/rollout"
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
	"prompt_tokens": func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Group}
		for i := range x.cs {
			if x.cs[i].Sample == 0 {
				c.V = append(c.V, float64(x.cs[i].View.Prompt()))
			}
		}
		return c
	},
	"reward": ofCompletions(func(c *Completion) (float64, string) { return c.Reward, c.NotScored }),
	"task":   ofCompletions(func(c *Completion) (float64, string) { return c.Verdict().Score, c.Verdict().Reason }),
	"truncated": ofCompletions(func(c *Completion) (float64, string) {
		if c.View.Stop == rollout.Length {
			return 1, ""
		}
		return 0, ""
	}),
	"old":         ofTokens(func(v *rollout.View) []float32 { return v.Logprob }),
	"start":       ofTokens(func(v *rollout.View) []float32 { return v.Logprob }), // the trainer computes the same bits
	"old_entropy": ofTokens(func(v *rollout.View) []float32 { return v.Entropy }),
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

func ofTokens(value func(v *rollout.View) []float32) func(drawn) formula.Column {
	return func(x drawn) formula.Column {
		c := formula.Column{Level: formula.Token}
		for i := range x.cs {
			c.V = append(c.V, cast.Widen(value(&x.cs[i].View))...)
		}
		return c
	}
}

// verdictOf is the score of the stage's own verifier of a number.
func verdictOf(i int) func(drawn) formula.Column {
	return ofCompletions(func(c *Completion) (float64, string) {
		v := c.Path().Verdicts[1+i]
		return v.Score, v.Reason
	})
}

// table lays out completions for the method: a column for each of the facts that is known
// now, and for each state.
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
	for _, fact := range facts {
		if _, told := t.Column(fact); told || isNow(fact) {
			continue
		}
		c, err := s.column(fact, x)
		if err == nil {
			err = t.Add(fact, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// column makes one.
func (s *learner) column(fact string, x drawn) (formula.Column, error) {
	if of := columns[fact]; of != nil {
		return of(x), nil
	}
	for i := range s.stage.Verifiers {
		if s.stage.Verifiers[i].Name == fact {
			return verdictOf(i)(x), nil
		}
	}
	if fact == "mismatched" {
		return s.mismatched(x.cs)
	}
	rows, err := s.Cast.Supply(fact, column(x.cs, func(c *Completion) rollout.View { return c.View }))
	return formula.Column{Level: formula.Token, V: slices.Concat(rows...)}, err
}

// mismatched is the gain of each prompt with the completion of the next prompt that has
// the same sample number. A single prompt has none.
func (s *learner) mismatched(cs []Completion) (formula.Column, error) {
	out := formula.Column{Level: formula.Completion, V: make([]float64, len(cs)), Why: map[int]string{}}
	views := mismatchedViews(cs, s.stage.SFT.MaxTokens)
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

// mismatchedViews lay out the prompts with completions of others, cut off at a length
// unless that is 0; nil: there is one prompt.
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
		if most > 0 && len(v.IDs) > most {
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
	table, err := s.table(at, cs, s.method.Needs())
	if err != nil {
		return nil, nil, err
	}
	step, err := s.method.Step(table)
	if err != nil {
		return nil, nil, s.blamed(err)
	}
	row, err := step.Metrics()
	if err != nil {
		return nil, nil, s.blamed(err)
	}
	for i := range cs {
		cs[i].Kept = step.Keep[i]
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
