package reward

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// Ask is what a formula wants of a model: the log-probs of a text's tokens behind each
// completion or its prompt, as one number.
type Ask struct {
	Column string // of the answer in [Completion.Asked]
	After  string // "prompt" or "completion"
	Model  string // "policy", "ref" or "ema"
	text   string // in quotes, or row.NAME
	of     func(logprobs []float64) float64
}

// Answer is what a model said about a completion.
type Answer struct {
	Value float64
	Why   string // there is no value; "" where there is
}

// scores are the facts that models are asked for.
var scores = []fact{
	score("score_of", "nats", "log-prob of a text, such as row.answer, after the prompt, or after the completion without its end token; by the policy before the step's updates, by the reference or by the moving average of the policy's weights. The sum over the text's tokens at temperature 1. Costs a forward pass",
		"likelihood of the reference answer as a reward: VeriFree, arXiv 2505.21493"),
	score("mean_score_of", "nats", "the same divided by the number of the text's tokens: exp(-mean_score_of(...)) is the text's perplexity. Costs a forward pass",
		"perplexity of the reference answer as a reward: NOVER, arXiv 2505.16022"),
	score("mean_probability_of", "", "the mean of the probabilities of the text's tokens, which one unlikely token does not make small, as it does their product exp(score_of(...)). Costs a forward pass",
		"RLPR, arXiv 2506.18254, equation 3"),
}

// folds make the number of a fact of the log-probs of a text's tokens, of which there is at
// least one.
var folds = map[string]func(logprobs []float64) float64{
	"score_of":      sum,
	"mean_score_of": func(logprobs []float64) float64 { return sum(logprobs) / float64(len(logprobs)) },
	"mean_probability_of": func(logprobs []float64) float64 {
		total := 0.0
		for _, x := range logprobs {
			total += math.Exp(x)
		}
		return total / float64(len(logprobs))
	},
}

func sum(v []float64) float64 {
	total := 0.0
	for _, x := range v {
		total += x
	}
	return total
}

func score(name, unit, meaning, source string) fact {
	return fact{
		formula.Fact{Name: name, Level: formula.Completion, Unit: unit, Meaning: meaning, Source: source,
			Takes: []formula.Argument{{Name: "text", Text: true}, {Name: "after", Names: []string{"prompt", "completion"}}, {Name: "model", Names: []string{"policy", "ref", "ema"}}}},
		func(b *batch, call formula.Call) formula.Column {
			out := b.column()
			for i := range out.V {
				answer, asked := b.Completions[i].Asked[call.Column()]
				switch {
				case !asked:
					unscore(out, i, call.Fact+": no model was asked")
				case answer.Why != "":
					unscore(out, i, call.Fact+": "+answer.Why)
				default:
					out.V[i] = answer.Value
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
			out = append(out, Ask{Column: c.Column(), text: c.Arguments[0], After: c.Arguments[1], Model: c.Arguments[2], of: folds[c.Fact]})
		}
	}
	return out
}

// Of is the number that the formula reads, of the log-probs of the text's tokens, nats, of
// which there is at least one.
func (a Ask) Of(logprobs []float64) float64 { return a.of(logprobs) }

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
