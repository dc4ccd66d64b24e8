package reward

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Fact is a name that is known of every completion.
type Fact struct {
	Name    string
	Unit    string
	Meaning string
	kind    kind
	eval    func(*batch) column
}

// Gives is "number" or "condition".
func (f Fact) Gives() string { return f.kind.word() }

// of makes a fact's column from each completion.
func of(value func(c *Completion) float64) func(*batch) column {
	return func(b *batch) column {
		out := b.column()
		for i := range out.v {
			out.v[i] = value(&b.Completions[i])
		}
		return out
	}
}

// holds is 1 or 0.
func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// facts is in the order of its listing.
var facts = []Fact{
	{"random", "", "0 or 1 at random, drawn from the seed: a control from which nothing should be learned", number, of(func(c *Completion) float64 { return c.Random })},
	{"one", "", "always 1: a control that leaves every weight unchanged", number, func(b *batch) column { return b.constant(1) }},
	{"unscored", "", "leaves the completion out, as in if(truncated, unscored, task); it does not count for max_not_scored", number, func(b *batch) column { return b.unscored(LeftOut) }},
	{"true", "", "a condition that always holds", condition, func(b *batch) column { return b.constant(1) }},
	{"false", "", "one that never does", condition, func(b *batch) column { return b.constant(0) }},

	{"tokens", "tokens", "length of the completion, including the end token", number, of(func(c *Completion) float64 { return float64(len(c.IDs)) })},
	{"max_tokens", "tokens", "largest length of a completion: sampling.max_completion_tokens", number, func(b *batch) column { return b.constant(float64(b.MaxTokens)) }},
	{"prompt_tokens", "tokens", "length of the prompt", number, of(func(c *Completion) float64 { return float64(c.PromptTokens) })},
	{"chars", "characters", "length of the completion's text", number, of(func(c *Completion) float64 { return float64(utf8.RuneCountInString(c.Text)) })},
	{"words", "words", "number of its words, split at white space", number, of(func(c *Completion) float64 { return float64(len(strings.Fields(c.Text))) })},
	{"lines", "lines", "number of its lines that are not blank", number, of(func(c *Completion) float64 { return float64(lines(c.Text)) })},
	{"ended", "", "it ended with the end token", condition, of(func(c *Completion) float64 { return holds(c.Ended) })},
	{"truncated", "", "it was cut off at max_tokens", condition, of(func(c *Completion) float64 { return holds(c.Truncated) })},
	{"mean_logprob", "nats per token", "mean log-prob of its tokens when they were sampled", number, of(func(c *Completion) float64 { return c.MeanLogprob })},
	{"group_size", "", "number of completions of the prompt, including those not scored", number, func(b *batch) column {
		out := b.column()
		for _, group := range b.groups {
			for _, i := range group {
				out.v[i] = float64(len(group))
			}
		}
		return out
	}},

	{"step", "", "the step of the stage, from 1", number, func(b *batch) column { return b.constant(float64(b.Step)) }},
	{"steps", "", "number of steps of the stage", number, func(b *batch) column { return b.constant(float64(b.Steps)) }},
	{"progress", "", "(step - 1)/(steps - 1): 0 in the first step, 1 in the last", number, func(b *batch) column {
		return b.constant(float64(b.Step-1) / math.Max(1, float64(b.Steps-1)))
	}},
}

func lines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += int(holds(strings.TrimSpace(line) != ""))
	}
	return n
}
