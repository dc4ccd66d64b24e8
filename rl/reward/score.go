package reward

import (
	"fmt"
	"math"

	"github.com/rlzero/rlzero/verify"
)

// taskTerm is the name of the task's own verdict.
const taskTerm = "task"

// LeftOut is the reason of a completion that the expression itself leaves out.
const LeftOut = "left out by the recipe (unscored)"

// Program is a reward that was checked. It is immutable and safe for concurrent
// use.
type Program struct {
	names     []string // of the terms: task, then the declared verifiers
	verifiers []verify.Verifier
	parts     []part
	total     *node
}

// Compile checks an expression and the verifiers that it may name. The error is
// of type Errors.
func Compile(expression string, declared []Verifier) (*Program, error) {
	p := &Program{names: []string{taskTerm}}
	var faults Errors
	for i, d := range declared {
		v, wrong := d.build(i, p.names)
		faults = append(faults, wrong...)
		p.names, p.verifiers = append(p.names, d.Name), append(p.verifiers, v)
	}
	if len(declared) > maxVerifiers {
		faults = append(faults, &Error{Verifier: maxVerifiers, Text: fmt.Sprintf("%d verifiers; accepted: at most %d", len(declared), maxVerifiers)})
	}
	if len(faults) > 0 { // what the expression may name is not known
		return nil, faults
	}
	parts, total, err := parse(expression)
	if err != nil {
		return nil, Errors{err}
	}
	c := &checker{text: expression, terms: p.names, parts: map[string]*node{}}
	for _, part := range parts {
		c.part(part)
	}
	c.node(total)
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	p.parts, p.total = parts, total
	return p, nil
}

// Composed says whether there is more to the reward than one name.
func (p *Program) Composed() bool {
	return len(p.verifiers) > 0 || len(p.parts) > 0 || p.total.call || p.total.literal()
}

// Judge runs the declared verifiers on a completion, in their order.
func (p *Program) Judge(row verify.Problem, completion string) []verify.Verdict {
	out := make([]verify.Verdict, len(p.verifiers))
	for i, v := range p.verifiers {
		out[i] = verify.Guard(func() verify.Verdict { return v.Verify(row, completion) })
	}
	return out
}

// Completion is what an expression can ask about one completion.
type Completion struct {
	Group        int // its prompt: any number, the same for all its completions
	Row          verify.Problem
	Text         string // without the end token
	IDs          []int  // tokens, the end token included
	PromptTokens int
	Ended        bool    // with the end token
	Truncated    bool    // at max_tokens
	MeanLogprob  float64 // nats per token
	Random       float64 // the fact "random"
	Task         verify.Verdict
	Verdicts     []verify.Verdict // what Judge said
}

// Batch is all completions of a step, in any order.
type Batch struct {
	Step, Steps int // of the stage, Step from 1
	MaxTokens   int // of a completion
	Completions []Completion
}

// Scores are in the order of the completions.
type Scores struct {
	Reward []float64 // NaN: not scored
	Why    []string  // why not; "" where there is a reward
	Terms  []Term    // task, the declared verifiers, the named parts; none of a reward that is one name
}

// Term is a named part of a reward.
type Term struct {
	Name   string
	Values []float64 // by completion; NaN: not scored; conditions are 1 or 0
}

// Score gives every completion of a step its reward.
func (p *Program) Score(in Batch) Scores {
	b := &batch{Batch: in, parts: map[*node]column{}}
	place := map[int]int{}
	for i := range in.Completions {
		group := in.Completions[i].Group
		at, seen := place[group]
		if !seen {
			at = len(b.groups)
			place[group] = at
			b.groups = append(b.groups, nil)
		}
		b.groups[at] = append(b.groups[at], i)
		b.all = append(b.all, i)
	}
	for k, name := range p.names {
		b.terms = append(b.terms, b.term(k, name))
	}
	for _, part := range p.parts {
		b.parts[part.value] = part.value.eval(b)
	}
	total := p.total.eval(b)
	out := Scores{Reward: total.v, Why: total.reasons()}
	if !p.Composed() {
		return out
	}
	for k, name := range p.names {
		out.Terms = append(out.Terms, Term{name, b.terms[k].v})
	}
	for _, part := range p.parts {
		out.Terms = append(out.Terms, Term{part.name, b.parts[part.value].v})
	}
	return out
}

// batch is an evaluation in progress.
type batch struct {
	Batch
	groups [][]int // completions of each group, groups in order of appearance
	all    []int   // every completion
	terms  []column
	parts  map[*node]column
}

// column is a value for each completion, NaN where it is not scored.
type column struct {
	v   []float64
	why []string // nil while all are scored
}

func (c *column) unscore(i int, why string) {
	if c.why == nil {
		c.why = make([]string, len(c.v))
	}
	c.v[i], c.why[i] = math.NaN(), why
}

// take copies the value of another column.
func (c *column) take(i int, from column) {
	if c.v[i] = from.v[i]; math.IsNaN(c.v[i]) {
		c.unscore(i, from.why[i])
	}
}

func (c column) reasons() []string {
	if c.why == nil {
		return make([]string, len(c.v))
	}
	return c.why
}

func (b *batch) column() column { return column{v: make([]float64, len(b.Completions))} }

func (b *batch) constant(x float64) column {
	out := b.column()
	for i := range out.v {
		out.v[i] = x
	}
	return out
}

func (b *batch) unscored(why string) column {
	out := b.column()
	for i := range out.v {
		out.unscore(i, why)
	}
	return out
}

// verdict is that of term k about completion i.
func (b *batch) verdict(k, i int) *verify.Verdict {
	if k == 0 {
		return &b.Completions[i].Task
	}
	return &b.Completions[i].Verdicts[k-1]
}

func (b *batch) term(k int, name string) column {
	out := b.column()
	for i := range out.v {
		v := b.verdict(k, i)
		if out.v[i] = v.Score; v.Verdict == verify.NotScored || math.IsNaN(v.Score) {
			out.unscore(i, name+": "+v.Reason)
		}
	}
	return out
}

func (b *batch) part(value *node) column { return b.parts[value] }

// field is a number of the row's metadata.
func (b *batch) field(key string) column {
	out := b.column()
	for i := range out.v {
		found, err := b.Completions[i].Row.Field(key, &out.v[i])
		switch {
		case err != nil:
			out.unscore(i, fmt.Sprintf("row.%s: %v; a number is needed", key, err))
		case !found:
			out.unscore(i, fmt.Sprintf("row.%s: the row has no such value", key))
		}
	}
	return out
}

// each applies a function of scored values completion by completion. A result
// that is no finite number is not scored.
func (b *batch) each(n *node, f func(x []float64) float64) column {
	return b.eachCompletion(n, func(_ *Completion, x []float64) float64 { return f(x) })
}

// eachCompletion is each for functions that look at the completion too.
func (b *batch) eachCompletion(n *node, f func(c *Completion, x []float64) float64) column {
	args := make([]column, len(n.args))
	for k, a := range n.args {
		args[k] = a.eval(b)
	}
	out, x := b.column(), make([]float64, len(args))
completions:
	for i := range out.v {
		for k, a := range args {
			if x[k] = a.v[i]; math.IsNaN(x[k]) {
				out.unscore(i, a.why[i])
				continue completions
			}
		}
		if out.v[i] = f(&b.Completions[i], x) + 0; math.IsNaN(out.v[i]) || math.IsInf(out.v[i], 0) { // + 0: no -0
			out.unscore(i, fmt.Sprintf("%s of %v is not a finite number", called(n), x))
		}
	}
	return out
}
