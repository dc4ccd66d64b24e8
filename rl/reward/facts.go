package reward

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// fact is a name that rewards know and what computes its column. It is computed if
// a formula reads it.
type fact struct {
	formula.Fact
	column func(b *batch, c formula.Call) formula.Column
}

// ofStep is the column of a number of the step.
func ofStep(value func(b *batch) float64) func(*batch, formula.Call) formula.Column {
	return func(b *batch, _ formula.Call) formula.Column {
		return formula.Column{Level: formula.Run, V: []float64{value(b)}}
	}
}

// ofEach is the column of a number of each completion.
func ofEach(value func(c *Completion) float64) func(*batch, formula.Call) formula.Column {
	return func(b *batch, _ formula.Call) formula.Column {
		out := b.column()
		for i := range out.V {
			out.V[i] = value(&b.Completions[i])
		}
		return out
	}
}

// ofTokens is the column of a number of each token.
func ofTokens(name string, values func(c *Completion) []float32) func(*batch, formula.Call) formula.Column {
	return func(b *batch, _ formula.Call) formula.Column {
		out := formula.Column{Level: formula.Token, Why: map[int]string{}}
		for i := range b.Completions {
			c := &b.Completions[i]
			given := values(c)
			n := c.View.Tokens()
			for t := range n {
				if len(given) == n {
					out.V = append(out.V, float64(given[t]))
					continue
				}
				out.Why[len(out.V)] = name + ": not known for this completion"
				out.V = append(out.V, math.NaN())
			}
		}
		return out
	}
}

// of is a number of each completion.
func of(name, unit, meaning string, value func(c *Completion) float64) fact {
	return fact{formula.Fact{Name: name, Level: formula.Completion, Unit: unit, Meaning: meaning}, ofEach(value)}
}

// holds is 1 or 0.
func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// facts is in the order of the manual. It is filled in init: its entries refer to
// the functions of texts.go.
var facts []fact

func init() {
	shared := map[string]formula.Fact{}
	for _, f := range formula.Common() {
		shared[f.Name] = f
	}
	facts = slices.Concat([]fact{
		{shared["step"], ofStep(func(b *batch) float64 { return float64(b.Step) })},
		{shared["steps"], ofStep(func(b *batch) float64 { return float64(b.Steps) })},
		{shared["progress"], ofStep(func(b *batch) float64 { return float64(b.Step-1) / math.Max(1, float64(b.Steps-1)) })},
		{
			formula.Fact{Name: "max_tokens", Level: formula.Run, Unit: "tokens", Meaning: "largest length of a completion: sampling.max_completion_tokens"},
			ofStep(func(b *batch) float64 { return float64(b.MaxTokens) }),
		},
		{shared["prompt_tokens"], func(b *batch, _ formula.Call) formula.Column {
			return b.ofGroups(func(c *Completion) (float64, string) { return float64(c.View.Prompt()), "" })
		}},
		{formula.Fact{Name: "row.*", Level: formula.Group, Both: true, Meaning: "a member of the problem's metadata, such as row.budget, or its answer or question: a number, or a text where it is compared, as in row.domain == \"math\""}, nil},
		of("task", "", "score of the task's own verdict; the stage's verifiers go by their names", nil),
		of("random", "", "0 or 1 at random, drawn from the seed: a control from which nothing should be learned", func(c *Completion) float64 { return c.Random }),
		of("chars", "characters", "length of the completion's text", func(c *Completion) float64 { return float64(utf8.RuneCountInString(c.Path.Text)) }),
		of("words", "words", "number of its words, split at white space", func(c *Completion) float64 { return float64(len(strings.Fields(c.Path.Text))) }),
		of("lines", "lines", "number of its lines that are not blank", func(c *Completion) float64 { return float64(lines(c.Path.Text)) }),
		{
			formula.Fact{Name: "ended", Level: formula.Completion, Condition: true, Meaning: "the completion ended with the end token"},
			ofEach(func(c *Completion) float64 { return holds(c.View.Stop == rollout.EOS || c.View.Stop == rollout.Text) }),
		},
		{shared["old"], ofTokens("old", func(c *Completion) []float32 { return c.View.Logprob })},
		{shared["old_entropy"], ofTokens("old_entropy", func(c *Completion) []float32 { return c.View.Entropy })},
		{
			formula.Fact{Name: "old_uniform_logp", Level: formula.Token, Unit: "nats", Meaning: "uniform_logp when the token was drawn; for methods with lag: when the step begins"},
			ofTokens("old_uniform_logp", func(c *Completion) []float32 { return c.UniformLogp }),
		},
		{
			formula.Fact{Name: "vocabulary", Level: formula.Run, Unit: "tokens", Meaning: "number of tokens that the model knows"},
			ofStep(func(b *batch) float64 { return float64(b.Vocabulary) }),
		},
		{shared["truncated"], ofEach(func(c *Completion) float64 { return holds(c.View.Cut()) })},
		of("mean_logprob", "nats per token", "mean log-prob of its tokens when they were sampled", func(c *Completion) float64 { return mean(c.View.Logprob) }),
	}, turns, texts, scores, likenesses)
}

// Facts lists what rewards know beside what every table has
// ([formula.Structure]), in the order of the manual. Every verifier that a stage
// declares is one more: its name is its score and NAME.value a number of its
// verdict.
func Facts() []formula.Fact {
	var out []formula.Fact
	for _, f := range facts {
		out = append(out, f.Fact)
	}
	return out
}

// vocabulary is what the formula of a reward may name: the facts, and the verdicts
// of terms, and what heads of models say.
func vocabulary(terms []string, models []Model) []formula.Fact {
	var out []formula.Fact
	names := slices.Clone(asked.Names)
	for _, m := range models {
		if m.Head {
			out = append(out, formula.Fact{Name: m.Name, Level: formula.Completion, Meaning: "what the head of the model " + m.Name + " says after the last token"})
		} else {
			names = append(names, m.Name)
		}
	}
	for _, f := range facts {
		f.Takes = slices.Clone(f.Takes)
		for i := range f.Takes {
			if f.Takes[i].Name == asked.Name {
				f.Takes[i].Names = names
			}
			if f.Takes[i].Names == nil && !f.Takes[i].Count && !f.Takes[i].Text {
				f.Takes[i].Names = terms // the name of a verdict
			}
		}
		out = append(out, f.Fact)
	}
	for _, name := range terms {
		if name != taskTerm {
			out = append(out, formula.Fact{Name: name, Level: formula.Completion})
		}
		out = append(out, formula.Fact{Name: name + ".*", Level: formula.Completion})
	}
	return out
}

// mean is NaN of no values.
func mean(values []float32) float64 {
	total := 0.0
	for _, x := range values {
		total += float64(x)
	}
	return total / float64(len(values))
}

func lines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += int(holds(strings.TrimSpace(line) != ""))
	}
	return n
}

// batch is the completions of a step while they are scored.
type batch struct {
	Batch
	terms []string // task and the declared verifiers, as the columns of verdicts
	heads []string // models whose heads are asked
	first []int    // [group] its first completion
	group []int    // [completion] the number of its group, in the order of the first ones
}

func newBatch(in Batch, terms []string, models []Model) *batch {
	b := &batch{Batch: in, terms: terms}
	for _, m := range models {
		if m.Head {
			b.heads = append(b.heads, m.Name)
		}
	}
	place := map[int]int{}
	for i := range in.Completions {
		id := in.Completions[i].Group
		at, seen := place[id]
		if !seen {
			at = len(b.first)
			place[id] = at
			b.first = append(b.first, i)
		}
		b.group = append(b.group, at)
	}
	return b
}

// table holds the columns that values of a program read.
func (b *batch) table(p *formula.Program, values []string) (*formula.Table, error) {
	tokens := make([][]int, len(b.Completions))
	for i := range b.Completions {
		tokens[i] = []int{b.Completions[i].View.Tokens()}
		if b.Completions[i].Turns != nil {
			tokens[i] = b.Completions[i].View.Lengths()
		}
	}
	frame, err := formula.NewFrame(b.group, tokens, nil)
	if err != nil {
		return nil, err
	}
	t := formula.NewTable(frame)
	calls := map[string]formula.Call{}
	for _, c := range p.Calls() {
		calls[c.Column()] = c
	}
	for _, name := range p.Needs(values...) {
		if _, has := t.Column(name); has {
			continue
		}
		call, ok := calls[name]
		if !ok {
			call = formula.Call{Fact: name}
		}
		for _, c := range b.columns(call) {
			if err := t.Add(name, c); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// columns are those of a fact: of metadata the numbers and the texts.
func (b *batch) columns(c formula.Call) []formula.Column {
	if k := slices.Index(b.terms, c.Fact); k >= 0 {
		return []formula.Column{b.scores(k)}
	}
	if i := slices.IndexFunc(facts, func(f fact) bool { return f.Name == c.Fact }); i >= 0 {
		return []formula.Column{facts[i].column(b, c)}
	}
	if slices.Contains(b.heads, c.Fact) {
		return []formula.Column{b.asked(c.Fact, c.Fact)}
	}
	of, name, _ := strings.Cut(c.Fact, ".")
	if k := slices.Index(b.terms, of); k >= 0 {
		return []formula.Column{b.number(k, name)}
	}
	if of == "turn" {
		return []formula.Column{b.turnNumber(name)}
	}
	return []formula.Column{b.metadata(name), b.metadataText(name)}
}

func (b *batch) column() formula.Column {
	return formula.Column{Level: formula.Completion, V: make([]float64, len(b.Completions)), Why: map[int]string{}}
}

// unscore says why a value is missing.
func unscore(c formula.Column, i int, why string) { c.V[i], c.Why[i] = math.NaN(), why }

// ofGroups makes a column from the first completion of every group. A reason says
// that there is no value.
func (b *batch) ofGroups(value func(c *Completion) (x float64, why string)) formula.Column {
	out := formula.Column{Level: formula.Group, V: make([]float64, len(b.first)), Why: map[int]string{}}
	for g, i := range b.first {
		x, why := value(&b.Completions[i])
		if out.V[g] = x; why != "" {
			unscore(out, g, why)
		}
	}
	return out
}

// verdict is that of term k about completion i.
func (b *batch) verdict(k, i int) *verify.Verdict { return &b.Completions[i].Path.Verdicts[k] }

// scores are those of term k.
func (b *batch) scores(k int) formula.Column {
	out := b.column()
	for i := range out.V {
		v := b.verdict(k, i)
		if out.V[i] = v.Score; v.Verdict == verify.NotScored || math.IsNaN(v.Score) {
			unscore(out, i, b.terms[k]+": "+v.Reason)
		}
	}
	return out
}

// number is a named number of the verdicts of term k.
func (b *batch) number(k int, name string) formula.Column {
	out := b.column()
	for i := range out.V {
		var why string
		if out.V[i], why = b.verdict(k, i).Number(b.terms[k], name); why != "" {
			unscore(out, i, why)
		}
	}
	if name == judge.Raw {
		Raw(out, func(i int) int { return b.group[i] }, func(i int) *verify.Verdict { return b.verdict(k, i) })
	}
	return out
}

// metadata is a number of the problems' rows.
func (b *batch) metadata(key string) formula.Column {
	return b.ofGroups(func(c *Completion) (float64, string) { return c.Row.Number(key) })
}

// metadataText is a text of the problems' rows.
func (b *batch) metadataText(key string) formula.Column {
	out := formula.Column{Level: formula.Group, Text: make([]string, len(b.first)), Why: map[int]string{}}
	for g, i := range b.first {
		var why string
		if out.Text[g], why = b.Completions[i].Row.Text(key); why != "" {
			out.Why[g] = why
		}
	}
	return out
}
