package reward

import (
	"slices"
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
	Mean   bool   // over the text's tokens; else their sum
	text   string // in quotes, or row.NAME
}

// Answers are what a model said about the completions of a step.
type Answers struct {
	Values []float64 // [completion]
	Why    []string  // [completion] why there is no value; "" where there is
}

// scores are the facts that models are asked for.
var scores = []fact{
	score("score_of", "log-prob of a text, such as row.answer, after the prompt, or after the completion without its end token; by the policy before the step's updates, by the reference or by the moving average of the policy's weights. The sum over the text's tokens at temperature 1. Costs a forward pass",
		"probability of the reference answer as a reward: RLPR, arXiv 2506.18254"),
	score(meanScore, "the same divided by the number of the text's tokens: exp(-mean_score_of(...)) is the text's perplexity. Costs a forward pass",
		"perplexity of the reference answer as a reward: NOVER, arXiv 2505.16022"),
}

const meanScore = "mean_score_of"

func score(name, meaning, source string) fact {
	return fact{
		formula.Fact{Name: name, Level: formula.Completion, Unit: "nats", Meaning: meaning, Source: source,
			Takes: []formula.Argument{{Name: "text", Text: true}, {Name: "after", Names: []string{"prompt", "completion"}}, {Name: "model", Names: []string{"policy", "ref", "ema"}}}},
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
		if slices.ContainsFunc(scores, func(f fact) bool { return f.Name == c.Fact }) {
			out = append(out, Ask{Column: c.Column(), text: c.Arguments[0], After: c.Arguments[1], Model: c.Arguments[2], Mean: c.Fact == meanScore})
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
