package reward

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

const (
	taskTerm   = "task"   // the name of the task's own verdict
	rewardPart = "reward" // the name of the formula
)

// Program is a reward that was checked. It is immutable and safe for concurrent
// use.
type Program struct {
	names     []string // of the verdicts: task, then the declared verifiers
	verifiers []verify.Verifier
	formula   *formula.Program
	named     []string // the values of a completion or coarser that the formula names, as PART.NAME
	composed  bool     // there is more to it than one name
}

// oneName is a formula that has no parts to tell of.
var oneName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Compile checks a formula and the verifiers that it may name. The error is of
// type Errors.
func Compile(text string, declared []Verifier) (*Program, error) {
	p := &Program{names: []string{taskTerm}, composed: len(declared) > 0 || !oneName.MatchString(strings.TrimSpace(text))}
	var faults Errors
	for i, d := range declared {
		v, wrong := d.build(i, p.names)
		faults = append(faults, wrong...)
		p.names, p.verifiers = append(p.names, d.Name), append(p.verifiers, v)
	}
	if len(declared) > maxVerifiers {
		faults = append(faults, &Error{Verifier: maxVerifiers, Text: fmt.Sprintf("%d verifiers; accepted: at most %d", len(declared), maxVerifiers)})
	}
	if len(faults) > 0 { // what the formula may name is not known
		return nil, faults
	}
	var err error
	if p.formula, err = checked(text, p.names); err != nil {
		return nil, fromFormula(err)
	}
	if level, _, _ := p.formula.Level(rewardPart); level > formula.Completion {
		return nil, Errors{{Verifier: -1, Text: fmt.Sprintf("a reward is one value for each completion, found one for each %s; write mean(...), sum(...) or last(...) around it", level)}}
	}
	for _, name := range p.formula.Named(rewardPart) {
		if level, _, _ := p.formula.Level(rewardPart + "." + name); level <= formula.Completion {
			p.named = append(p.named, rewardPart+"."+name)
		}
	}
	return p, nil
}

// checked compiles a formula over the facts and the verdicts of terms.
func checked(text string, terms []string) (*formula.Program, error) {
	return formula.Compile(formula.Text{Parts: map[string]string{rewardPart: text}, Library: library()}, vocabulary(terms))
}

// Terms are the names of the terms that scores have, in their order.
func (p *Program) Terms() []string {
	if !p.composed {
		return nil
	}
	terms := slices.Clone(p.names)
	for _, name := range p.named {
		terms = append(terms, strings.TrimPrefix(name, rewardPart+"."))
	}
	return terms
}

// Needs tells whether the formula, or what it names, reads a fact.
func (p *Program) Needs(fact string) bool {
	return slices.Contains(p.formula.Needs(append([]string{rewardPart}, p.named...)...), fact)
}

// Verifiers are the declared ones, in their order.
func (p *Program) Verifiers() []verify.Verifier { return p.verifiers }

// Judge runs the declared verifiers on a completion, in their order.
func (p *Program) Judge(row verify.Problem, completion string) []verify.Verdict {
	out := make([]verify.Verdict, len(p.verifiers))
	for i, v := range p.verifiers {
		out[i] = verify.Guard(func() verify.Verdict { return v.Verify(row, completion) })
	}
	return out
}

// Completion is what a formula can ask about one completion.
type Completion struct {
	Group        int // its prompt: any number, the same for all its completions
	Row          verify.Problem
	Text         string // without the end token
	IDs          []int  // tokens, the end token included
	PromptTokens int
	Ended        bool      // with the end token
	Truncated    bool      // at max_tokens
	MeanLogprob  float64   // nats per token
	Logprob      []float32 // [token] nats, as sampled; nil: not known
	Entropy      []float32 // [token] nats, of the distribution each was drawn from; nil: not known
	UniformLogp  []float32 // [token] nats, mean log-prob over the vocabulary; nil unless [Program.Needs] has old_uniform_logp
	Random       float64   // the fact "random"
	Task         verify.Verdict
	Verdicts     []verify.Verdict // what Judge said
}

// Batch is all completions of a step, in any order.
type Batch struct {
	Step, Steps int                // of the stage, Step from 1
	MaxTokens   int                // of a completion
	Vocabulary  int                // tokens that the model knows
	Asked       map[string]Answers // to each of [Program.Asks], by its column
	Completions []Completion
}

// Scores are in the order of the completions.
type Scores struct {
	Reward []float64 // NaN: not scored
	Why    []string  // why not; "" where there is a reward
	Terms  []Term    // task, the declared verifiers, the values that the formula names; none of a reward that is one name
}

// Term is a named part of a reward.
type Term struct {
	Name   string
	Values []float64 // by completion; NaN: not scored; conditions are 1 or 0
}

// Score gives every completion of a step its reward. The error is arithmetic on
// numbers of the run that gives none, such as (step - 1)/(step - 1) in step 1.
func (p *Program) Score(in Batch) (Scores, error) {
	b := newBatch(in, p.names)
	table, err := b.table(p.formula, append([]string{rewardPart}, p.named...))
	if err != nil {
		return Scores{}, err
	}
	values := p.formula.On(table)
	total, err := values.At(rewardPart, formula.Completion)
	if err != nil {
		return Scores{}, err
	}
	out := Scores{Why: make([]string, len(in.Completions))}
	for i, x := range total.V {
		if out.Why[i] = total.Why[i]; math.IsInf(x, 0) {
			out.Why[i] = fmt.Sprintf("the reward is %v, as after a division by 0; accepted: a finite number", x)
		}
	}
	if out.Reward = finite(total.V); !p.composed {
		return out, nil
	}
	for k, name := range p.names {
		out.Terms = append(out.Terms, Term{name, finite(b.scores(k).V)})
	}
	for _, name := range p.named {
		c, err := values.At(name, formula.Completion)
		if err != nil {
			return Scores{}, err
		}
		out.Terms = append(out.Terms, Term{strings.TrimPrefix(name, rewardPart+"."), finite(c.V)})
	}
	return out, nil
}

// finite is values as they are told: NaN in place of an infinity, no negative zero.
func finite(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		if out[i] = x + 0; math.IsInf(x, 0) {
			out[i] = math.NaN()
		}
	}
	return out
}
