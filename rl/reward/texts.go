package reward

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// texts are facts about what a completion says, with arguments.
var texts = []fact{
	{
		formula.Fact{Name: "repetition", Level: formula.Completion, Takes: []formula.Argument{{Name: "n", Count: true}},
			Meaning: "share of the completion's n-grams of tokens that occur earlier in it; 0 if it is shorter. Multiply by -1 for a penalty",
			Formula: "1 - different n-grams / n-grams", Source: "on tokens as in arXiv 2502.03373, which penalizes each repeated token separately"},
		func(b *batch, call formula.Call) formula.Column {
			return b.repetition(call, func(c *Completion) []string {
				ids := c.View.Drawn()
				tokens := make([]string, len(ids))
				for i, id := range ids {
					tokens[i] = string(binary.BigEndian.AppendUint64(nil, uint64(id)))
				}
				return tokens
			})
		},
	},
	{
		formula.Fact{Name: "repetition_words", Level: formula.Completion, Takes: []formula.Argument{{Name: "n", Count: true}},
			Meaning: "like repetition, on lower-cased words split at white space",
			Formula: "1 - different n-grams / n-grams", Source: "TRL, get_repetition_penalty_reward"},
		func(b *batch, call formula.Call) formula.Column {
			return b.repetition(call, func(c *Completion) []string { return strings.Fields(strings.ToLower(c.Path.Text)) })
		},
	},
	{
		formula.Fact{Name: "agreement", Level: formula.Completion, Takes: []formula.Argument{{Name: "verifier"}},
			Meaning: "share of the group's extracted answers that are the same text as this one; 0 without an answer. Needs no reference",
			Formula: "number of equal answers / number of scored completions in the group", Source: "majority vote as a reward: TTRL, arXiv 2504.16084"},
		func(b *batch, call formula.Call) formula.Column {
			return b.agreement(slices.Index(b.terms, call.Arguments[0]))
		},
	},
}

// repetition is the share of repeated runs of what parts cuts completions into.
func (b *batch) repetition(call formula.Call, parts func(c *Completion) []string) formula.Column {
	out := b.column()
	n, _ := strconv.Atoi(call.Arguments[0]) // a number: the formula was checked
	for i := range out.V {
		out.V[i] = repeated(parts(&b.Completions[i]), n)
	}
	return out
}

// repeated is the share of the runs of n parts that are not the first of their
// kind. A part holds no white space but at its end, or has a fixed length, so
// that runs joined with line feeds are equal only if their parts are.
func repeated(parts []string, n int) float64 {
	runs := len(parts) - n + 1
	if runs < 1 {
		return 0
	}
	different := make(map[string]struct{}, runs)
	for i := range runs {
		different[strings.Join(parts[i:i+n], "\n")] = struct{}{}
	}
	return 1 - float64(len(different))/float64(runs)
}

// agreement compares the answers that verifier k found.
func (b *batch) agreement(k int) formula.Column {
	out := b.scores(k)
	answers, scored := make([]map[string]int, len(b.first)), make([]int, len(b.first))
	for i, g := range b.group {
		if !math.IsNaN(out.V[i]) {
			if answers[g] == nil {
				answers[g] = map[string]int{}
			}
			scored[g]++
			answers[g][answerOf(b.verdict(k, i))]++
		}
	}
	for i, g := range b.group {
		if !math.IsNaN(out.V[i]) {
			answer := answerOf(b.verdict(k, i))
			out.V[i] = float64(answers[g][answer]) / float64(scored[g]) * holds(answer != "")
		}
	}
	return out
}

// answerOf is the answer that a verifier read; one that it could not read counts
// as none.
func answerOf(v *verify.Verdict) string { return strings.TrimSpace(v.Extracted) }
