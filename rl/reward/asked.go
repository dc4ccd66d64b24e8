package reward

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// Model is a model of the recipe that formulas may ask.
type Model struct {
	Name string
	Head bool // it has a head: its name is what the head says after the completion's last token
}

// Ask is what a formula wants of a model: the log-probs of a text's tokens after each
// completion or its prompt, or of the completion's own without its prompt, as one number; or what
// its head says.
type Ask struct {
	Column string // of the answer in [Completion.Asked]
	Head   bool   // it is what the head says after the completion's last token, and the rest is nothing
	Alike  *Alike // it is how alike texts are to the model, and the rest is nothing; nil: it is another number
	After  string // "prompt", "completion", "thought", or "nothing": the completion's tokens after an end token
	Model  string // "policy", "ref", "ema", or a name of the recipe
	text   string // in quotes, or row.NAME
	of     func(texts [][]float64) []float64
}

// Answer is what a model said about a completion.
type Answer struct {
	Value float64
	Why   string // there is no value; "" where there is
}

// scores are the facts that models are asked for.
var scores = []fact{
	score("score_of", "nats", "log-prob of a text, such as row.answer, after the prompt, after the completion without its end token, or after the thought: the completion up to where the answer stands that the task found in it, the whole one where it found none; by the policy before the step's updates, by the reference or by the moving average of the policy's weights. The sum over the text's tokens at temperature 1. Costs a forward pass",
		"likelihood of the reference answer as a reward: VeriFree, arXiv 2505.21493"),
	score("mean_score_of", "nats", "the same divided by the number of the text's tokens: exp(-mean_score_of(...)) is the text's perplexity. Costs a forward pass",
		"perplexity of the reference answer as a reward: NOVER, arXiv 2505.16022"),
	score("mean_probability_of", "", "mean probability of the text's tokens; one unlikely token does not make it small, as it does the product, exp(score_of(...)). Costs a forward pass",
		"RLPR, arXiv 2506.18254, equation 3"),
	score("telling_score_of", "nats", "mean log-prob of the text's tokens, each weighted by the standard deviation of its log-prob over the completions of the prompt: tokens that are equally likely after every completion tell nothing. Costs a forward pass",
		"R3 of DRO, arXiv 2506.13351"),
	{formula.Fact{Name: "score_alone", Level: formula.Completion, Unit: "nats", Takes: []formula.Argument{asked},
		Meaning: "mean log-prob of the completion's own tokens without its prompt, after an end token alone: exp(score_alone(policy) - mean(old)) is how many times likelier a token is without the prompt. Costs a forward pass",
		Source:  "self-aligned reward: SAR, arXiv 2509.05489"}, answers},
}

// asked is the model that is asked: one of these, or of those of the recipe.
var asked = formula.Argument{Name: "model", Names: []string{"policy", "ref", "ema"}}

// folds make the numbers of a fact of the log-probs of texts' tokens, of which each text has at
// least one. The texts are those of the completions of one prompt.
var folds = map[string]func(texts [][]float64) []float64{
	"score_of":      each(sum),
	"mean_score_of": each(average),
	"mean_probability_of": each(func(logprobs []float64) float64 {
		total := 0.0
		for _, x := range logprobs {
			total += math.Exp(x)
		}
		return total / float64(len(logprobs))
	}),
	"telling_score_of": telling,
	"score_alone":      each(average),
}

// each makes a number of each text.
func each(of func(logprobs []float64) float64) func(texts [][]float64) []float64 {
	return func(texts [][]float64) []float64 {
		out := make([]float64, len(texts))
		for i, logprobs := range texts {
			out[i] = of(logprobs)
		}
		return out
	}
}

// telling is the mean of each text's log-probs, weighted by their standard deviation at that
// place over the texts; where there is none, the plain mean.
func telling(texts [][]float64) []float64 {
	longest := 0
	for _, logprobs := range texts {
		longest = max(longest, len(logprobs))
	}
	weights := make([]float64, longest)
	for place := range weights {
		var here []float64
		for _, logprobs := range texts {
			if place < len(logprobs) {
				here = append(here, logprobs[place])
			}
		}
		m, squares := average(here), 0.0
		for _, x := range here {
			squares += (x - m) * (x - m)
		}
		weights[place] = math.Sqrt(squares / max(1, float64(len(here)-1)))
	}
	return each(func(logprobs []float64) float64 {
		total, all := 0.0, 0.0
		for place, x := range logprobs {
			total, all = total+weights[place]*x, all+weights[place]
		}
		if all == 0 {
			return average(logprobs)
		}
		return total / all
	})(texts)
}

func average(v []float64) float64 { return sum(v) / float64(len(v)) }

func sum(v []float64) float64 {
	total := 0.0
	for _, x := range v {
		total += x
	}
	return total
}

func score(name, unit, meaning, source string) fact {
	return fact{formula.Fact{Name: name, Level: formula.Completion, Unit: unit, Meaning: meaning, Source: source,
		Takes: []formula.Argument{{Name: "text", Text: true}, {Name: "after", Names: []string{"prompt", "completion", "thought"}}, asked}}, answers}
}

// answers is the column of what a model said.
func answers(b *batch, call formula.Call) formula.Column { return b.asked(call.Fact, call.Column()) }

// asked is the column of what a model said of a fact.
func (b *batch) asked(fact, column string) formula.Column {
	out := b.column()
	for i := range out.V {
		answer, known := b.Completions[i].Asked[column]
		switch {
		case !known:
			unscore(out, i, fact+": no model was asked")
		case answer.Why != "":
			unscore(out, i, fact+": "+answer.Why)
		default:
			out.V[i] = answer.Value
		}
	}
	return out
}

// Asks lists what models are asked for before [Program.Score].
func (p *Program) Asks() []Ask { return asksOf(p.formula, p.models) }

// AsksOf lists what models a formula asks, before its verifiers are there. What cannot
// be compiled asks none. models are as those of [Compile].
func AsksOf(text string, declared []Verifier, models ...Model) []Ask {
	names := []string{taskTerm}
	for _, d := range declared {
		names = append(names, d.Name)
	}
	p, err := checked(text, names, models)
	if err != nil {
		return nil
	}
	return asksOf(p, models)
}

func asksOf(p *formula.Program, models []Model) []Ask {
	var out []Ask
	parts := []string{rewardPart}
	for _, name := range p.Named(rewardPart) {
		parts = append(parts, rewardPart+"."+name)
	}
	reads := p.Needs(parts...)
	for _, m := range models {
		if m.Head && slices.Contains(reads, m.Name) {
			out = append(out, Ask{Column: m.Name, Model: m.Name, Head: true})
		}
	}
	for _, c := range p.Calls() {
		if slices.ContainsFunc(likenesses, func(f fact) bool { return f.Name == c.Fact }) {
			out = append(out, Ask{Column: c.Column(), Model: c.Arguments[2], Alike: &Alike{A: shown(c.Arguments[0]), B: shown(c.Arguments[1]), others: c.Fact == groupSimilarity}})
		}
		if slices.ContainsFunc(scores, func(f fact) bool { return f.Name == c.Fact }) {
			ask := Ask{Column: c.Column(), Model: c.Arguments[len(c.Arguments)-1], After: "nothing", of: folds[c.Fact]}
			if len(c.Arguments) > 1 {
				ask.text, ask.After = c.Arguments[0], c.Arguments[1]
			}
			out = append(out, ask)
		}
	}
	return out
}

// Of are the numbers that the formula reads, of the log-probs of texts' tokens, nats: one text
// for each completion of a prompt that has one, with at least one token.
func (a Ask) Of(texts [][]float64) []float64 { return a.of(texts) }

// Text is the text whose log-prob is asked for, where it is not the completion; why says why a
// row has none.
func (a Ask) Text(row verify.Problem) (text, why string) { return written(a.text, row) }

// written is a text in quotes, or that of a row.
func written(text string, row verify.Problem) (found, why string) {
	if key, ok := strings.CutPrefix(text, "row."); ok {
		return row.Text(key)
	}
	found, err := strconv.Unquote(text)
	if err != nil {
		return "", err.Error()
	}
	return found, ""
}
