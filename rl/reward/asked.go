package reward

import (
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// Ask is what a formula wants of a model: the log-prob of a text behind each
// completion or its prompt.
type Ask struct {
	Column string // of the answers in [Batch.Asked]
	After  string // "prompt" or "completion"
	Model  string // "policy", "ref" or "ema"
	text   string // in quotes, or row.NAME
}

// Answers are what a model said about the completions of a step.
type Answers struct {
	Values []float64 // [completion]
	Why    []string  // [completion] why there is no value; "" where there is
}

// scoreOf is the fact that models are asked for.
var scoreOf = fact{
	formula.Fact{Name: "score_of", Level: formula.Completion, Unit: "nats",
		Takes:   []formula.Argument{{Name: "text", Text: true}, {Name: "after", Names: []string{"prompt", "completion"}}, {Name: "model", Names: []string{"policy", "ref", "ema"}}},
		Meaning: "log-prob of a text, such as row.answer, after the prompt, or after the completion without its end token; by the policy before the step's updates, by the reference or by the moving average of the policy's weights. The sum over the text's tokens at temperature 1. Costs a forward pass",
		Source:  "probability of the reference answer as a reward: RLPR, arXiv 2506.18254"},
	func(b *batch, call formula.Call) formula.Column {
		out := b.column()
		answers, asked := b.Asked[call.Column()]
		for i := range out.V {
			switch {
			case !asked:
				unscore(out, i, call.Fact+": no model was asked")
			case answers.Why[i] != "":
				unscore(out, i, call.Fact+": "+answers.Why[i])
			default:
				out.V[i] = answers.Values[i]
			}
		}
		return out
	},
}

// Asks lists what models are asked for before [Program.Score].
func (p *Program) Asks() []Ask { return asksOf(p.formula) }

// AsksOf lists what models a formula asks, before its verifiers are there. What cannot
// be compiled asks none.
func AsksOf(text string, declared []Verifier) []Ask {
	names := []string{taskTerm}
	for _, d := range declared {
		names = append(names, d.Name)
	}
	p, err := checked(text, names)
	if err != nil {
		return nil
	}
	return asksOf(p)
}

func asksOf(p *formula.Program) []Ask {
	var out []Ask
	for _, c := range p.Calls() {
		if c.Fact == scoreOf.Name {
			out = append(out, Ask{Column: c.Column(), text: c.Arguments[0], After: c.Arguments[1], Model: c.Arguments[2]})
		}
	}
	return out
}

// Text is the text whose log-prob is asked for; why says why a row has none.
func (a Ask) Text(row verify.Problem) (text, why string) {
	if key, ok := strings.CutPrefix(a.text, "row."); ok {
		return row.Text(key)
	}
	text, err := strconv.Unquote(a.text)
	if err != nil {
		return "", err.Error()
	}
	return text, ""
}
