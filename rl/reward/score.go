package reward

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
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
	models    []Model  // that it may ask, beside those that every run can have
	verifiers []verify.Verifier
	formula   *formula.Program
	named     []string // the values of a completion or coarser that the formula names, as PART.NAME
	composed  bool     // there is more to it than one name
}

// oneName is a formula that has no parts to tell of.
var oneName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Compile checks a formula and the verifiers that it may name. models are those that
// it may ask beside those that every run can have. The error is of type Errors.
func Compile(text string, declared []Verifier, models ...Model) (*Program, error) {
	p := &Program{names: []string{taskTerm}, models: models, composed: len(declared) > 0 || !oneName.MatchString(strings.TrimSpace(text))}
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
	if p.formula, err = checked(text, p.names, models); err != nil {
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

// checked compiles a formula over the facts, the verdicts of terms and models beside those that
// every run can have.
func checked(text string, terms []string, models []Model) (*formula.Program, error) {
	return formula.Compile(formula.Text{Parts: map[string]string{rewardPart: text}, Library: library(), Earlier: true}, vocabulary(terms, models))
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
func (p *Program) Needs(fact string) bool { return slices.Contains(p.Reads(), fact) }

// Reads are the facts that the formula, or what it names, reads.
func (p *Program) Reads() []string {
	return p.formula.Needs(append([]string{rewardPart}, p.named...)...)
}

// Bare is the first place where the formula has no value where a fact has none, see [formula.Program.Bare].
func (p *Program) Bare(fact, guard string) string {
	for _, part := range append([]string{rewardPart}, p.named...) {
		if at := p.formula.Bare(part, fact, guard); at != "" {
			return at
		}
	}
	return ""
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
	Group       int // its prompt: any number, the same for all its completions
	Row         verify.Problem
	Path        rollout.Path        // its text, and the verdicts of the task and of [Program.Verifiers]
	View        rollout.View        // its tokens, and how they end
	Turns       []*rollout.Segment  // of an episode, which its tokens are those of; nil: it is one answer
	Situations  []rollout.Situation // in which the turns are taken
	UniformLogp []float32           // [token] nats, mean log-prob over the vocabulary; nil unless [Program.Needs] has old_uniform_logp
	Asked       map[string]Answer   // to each of [Program.Asks], by its column
	Random      float64             // the fact "random"
}

// Batch is all completions of a step, in any order.
type Batch struct {
	Step, Steps int // of the stage, Step from 1
	MaxTokens   int // of a completion
	Vocabulary  int // tokens that the model knows
	Completions []Completion
}

// Score is what a completion gets.
type Score struct {
	Reward    float64 // NaN: not scored
	NotScored string  // why not; "" where there is a reward
	Terms     []Term  // as [Program.Terms] lists them: task, the declared verifiers, the values that the formula names; none of a reward that is one name
}

// Term is a named part of a reward.
type Term struct {
	Name  string
	Value float64 // NaN: not scored; of a condition 1 or 0
}

// Score gives every completion of a step its reward, in their order. The error is arithmetic on
// numbers of the run that gives none, such as (step - 1)/(step - 1) in step 1.
func (p *Program) Score(in Batch) ([]Score, error) {
	b := newBatch(in, p.names, p.models)
	table, err := b.table(p.formula, append([]string{rewardPart}, p.named...))
	if err != nil {
		return nil, err
	}
	values := p.formula.On(table)
	total, err := values.At(rewardPart, formula.Completion)
	if err != nil {
		return nil, err
	}
	out := make([]Score, len(in.Completions))
	for i, x := range total.V {
		out[i] = Score{Reward: finite(x), NotScored: total.Why[i]}
		if math.IsInf(x, 0) {
			out[i].NotScored = fmt.Sprintf("the reward is %v, as after a division by 0; accepted: a finite number", x)
		}
	}
	if !p.composed {
		return out, nil
	}
	tell := func(name string, c formula.Column) {
		for i, x := range c.V {
			out[i].Terms = append(out[i].Terms, Term{name, finite(x)})
		}
	}
	for k, name := range p.names {
		tell(name, b.scores(k))
	}
	for _, name := range p.named {
		c, err := values.At(name, formula.Completion)
		if err != nil {
			return nil, err
		}
		tell(strings.TrimPrefix(name, rewardPart+"."), c)
	}
	return out, nil
}

// finite is a value as it is told: NaN in place of an infinity, no negative zero.
func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x + 0
}
