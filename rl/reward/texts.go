package reward

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// texts are functions of what a completion says.
var texts = []Function{
	{
		Name: "repetition", Usage: "repetition(n)", Meaning: "share of the completion's n-grams of tokens that occur earlier in it; 0 if it is shorter. Multiply by -1 for a penalty",
		Formula: "1 - different n-grams / n-grams", Source: "on tokens as in arXiv 2502.03373, which penalizes each repeated token separately", params: "n",
		eval: func(b *batch, n *node) column {
			return b.eachCompletion(n, func(c *Completion, x []float64) float64 {
				tokens := make([]string, len(c.IDs))
				for i, id := range c.IDs {
					tokens[i] = string(binary.BigEndian.AppendUint64(nil, uint64(id)))
				}
				return repeated(tokens, int(x[0]))
			})
		},
	},
	{
		Name: "repetition_words", Usage: "repetition_words(n)", Meaning: "like repetition, on lower-cased words split at white space",
		Formula: "1 - different n-grams / n-grams", Source: "TRL, get_repetition_penalty_reward", params: "n",
		eval: func(b *batch, n *node) column {
			return b.eachCompletion(n, func(c *Completion, x []float64) float64 {
				return repeated(strings.Fields(strings.ToLower(c.Text)), int(x[0]))
			})
		},
	},
	{
		Name: "agreement", Usage: "agreement(verifier)", Meaning: "share of the group's extracted answers that are the same text as this one; 0 without an answer. Needs no reference",
		Formula: "number of equal answers / number of scored completions in the group", Source: "majority vote as a reward: TTRL, arXiv 2504.16084", params: "v",
		eval: func(b *batch, n *node) column { return b.agreement(int(n.args[0].value)) },
	},
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
func (b *batch) agreement(k int) column {
	out := b.column()
	for _, group := range b.groups {
		answers, scored := map[string]int{}, 0
		for _, i := range group {
			if out.take(i, b.terms[k]); !math.IsNaN(out.v[i]) {
				scored++
				answers[answerOf(b.verdict(k, i))]++
			}
		}
		for _, i := range group {
			if !math.IsNaN(out.v[i]) {
				answer := answerOf(b.verdict(k, i))
				out.v[i] = float64(answers[answer]) / float64(scored) * holds(answer != "")
			}
		}
	}
	return out
}

// answerOf is the answer that a verifier read; one that it could not read counts
// as none.
func answerOf(v *verify.Verdict) string { return strings.TrimSpace(v.Extracted) }
