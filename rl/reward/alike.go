package reward

import (
	"math"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

const (
	similarity      = "similarity"
	groupSimilarity = "group_similarity"
)

// likenesses are the facts of how alike texts are to a model.
var likenesses = []fact{
	likeness(similarity, "how alike two texts are to a model: the cosine of the means of their tokens' last hidden states, each text read by itself. A text is completion (without its end token), prompt, in quotes, or a member of the row, such as row.answer. Costs a forward pass of both",
		"similarity by embeddings as a reward: RefAlign, arXiv 2504.09895"),
	likeness(groupSimilarity, "the mean of similarity(a, b, model) with the texts b of the other prompts of the draw, in place of its own: similarity(...) - group_similarity(...) is a contrast, which a text that is like everything does not gain by. No value where there is one prompt",
		""),
}

func likeness(name, meaning, source string) fact {
	text := func(name string) formula.Argument {
		return formula.Argument{Name: name, Text: true, Names: []string{"completion", "prompt"}}
	}
	return fact{formula.Fact{Name: name, Level: formula.Completion, Meaning: meaning, Source: source, Formula: "cos(mean h(a), mean h(b))",
		Takes: []formula.Argument{text("a"), text("b"), asked}}, answers}
}

// Alike are two texts of each completion whose likeness is asked for.
type Alike struct {
	A, B   Shown
	others bool // b is that of the other prompts
}

// Shown is a text that a model is shown.
type Shown struct {
	Completion, Prompt bool   // it is that
	text               string // else in quotes, or row.NAME
}

func shown(argument string) Shown {
	return Shown{argument == "completion", argument == "prompt", argument}
}

// Text is the text, where it is neither completion nor prompt; why says why a row has none.
func (s Shown) Text(row verify.Problem) (text, why string) { return written(s.text, row) }

// Place is where a model has a text among others: the mean of hidden states.
type Place struct {
	At  []float64 // nil: it has it nowhere
	Why string    // there is none; "" where there is
}

// Of are the answers about completions whose groups are given, of the places of their texts.
func (l *Alike) Of(groups []int, a, b []Place) []Answer {
	out := make([]Answer, len(groups))
	ways := make([][]float64, len(b)) // directions of b
	for i := range b {
		if b[i].At != nil {
			ways[i] = way(b[i].At)
		}
	}
	for i := range out {
		if a[i].At == nil {
			out[i].Why = a[i].Why
			continue
		}
		mine, sum, n, why := way(a[i].At), 0.0, 0, "there is no other prompt"
		for j := range b {
			switch asked := i == j || l.others; {
			case !asked || l.others && groups[i] == groups[j]:
			case b[j].At == nil:
				why = b[j].Why
			default:
				sum, n = sum+dot(mine, ways[j]), n+1
			}
		}
		if out[i].Why = why; n > 0 {
			out[i] = Answer{Value: sum / float64(n)}
		}
	}
	return out
}

// way is the direction of a vector; 0 has none, and stays as it is.
func way(v []float64) []float64 {
	size, out := math.Sqrt(dot(v, v)), make([]float64, len(v))
	for k := range v {
		if size > 0 {
			out[k] = v[k] / size
		}
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}
