package cast

import (
	"encoding/binary"
	"fmt"

	"github.com/rlzero/rlzero/rl/rollout"
)

// Text is a text and the tokens that it stands behind.
type Text struct {
	Behind []int
	Text   string
}

// ScoreOf computes the log-probs of the tokens of texts, in nats at temperature 1 (logprobs:
// [text][token]): by the policy as it is now ("policy"), by the reference ("ref") or by the average
// of the policy ("ema"). A text that no model can score has none, and a reason in why: it has no
// tokens, or is too long.
func (c *Cast) ScoreOf(model string, texts []Text) (logprobs [][]float64, why []string, err error) {
	logprobs, why = make([][]float64, len(texts)), make([]string, len(texts))
	var views []rollout.View
	seen := map[string]int{} // equal questions are asked once
	place := make([]int, len(texts))
	for i, t := range texts {
		ids, err := c.Tokenizer().Encode(t.Text)
		switch n := len(t.Behind) + len(ids); {
		case err != nil:
			why[i] = fmt.Sprintf("the text has no tokens: %v", err)
		case len(ids) == 0 || len(t.Behind) == 0:
			why[i] = "the text, or the text before it, has no tokens"
		case n > c.positions:
			why[i] = fmt.Sprintf("the text ends at token %d; the run has room for %d", n, c.positions)
		}
		if why[i] != "" {
			continue
		}
		all := append(append([]int{}, t.Behind...), ids...)
		key := binary.AppendUvarint(nil, uint64(len(t.Behind)))
		for _, id := range all {
			key = binary.AppendUvarint(key, uint64(id))
		}
		at, known := seen[string(key)]
		if !known {
			at = len(views)
			seen[string(key)] = at
			views = append(views, rollout.View{IDs: all, Spans: []rollout.Span{{From: len(t.Behind), To: len(all)}}, Temperature: 1})
		}
		place[i] = at
	}
	if len(views) == 0 {
		return logprobs, why, nil
	}
	rows, err := c.logprobsBy(model, views)
	if err != nil {
		return nil, nil, err
	}
	for i := range texts {
		if why[i] == "" {
			logprobs[i] = rows[place[i]]
		}
	}
	return logprobs, why, nil
}

// logprobsBy are those of the tokens of the spans.
func (c *Cast) logprobsBy(model string, views []rollout.View) ([][]float64, error) {
	if model != "policy" {
		return c.Supply(model, views)
	}
	stats, err := c.Policy.Forward(views)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(stats))
	for i, s := range stats {
		rows[i] = Widen(s.Logprob)
	}
	return rows, nil
}
