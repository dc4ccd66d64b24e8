package cast

import (
	"encoding/binary"
	"fmt"

	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Text is a text and the tokens that it follows.
type Text struct {
	After []int // tokens that the text follows
	IDs   []int // of the text; nil: those of Text
	Text  string
	Lack  string // why there is no text; "" where there is
}

// Scored is what a model says of a text.
type Scored struct {
	Logprobs []float64 // [token] nats, at temperature 1
	Why      string    // there are none; "" where there are
}

// ScoreOf lets a member, given by its name, compute the log-probs of the tokens of texts, in their
// order. A text that no model can score has none, and a reason: it is missing, has no tokens, or is
// too long.
func (c *Cast) ScoreOf(model string, texts []Text) ([]Scored, error) {
	out := make([]Scored, len(texts))
	var views []rollout.View
	seen := map[string]int{} // equal questions are asked once
	place := make([]int, len(texts))
	for i, t := range texts {
		ids, err := t.IDs, error(nil)
		if ids == nil {
			ids, err = c.Tokenizer().Encode(t.Text)
		}
		why := &out[i].Why
		switch n := len(t.After) + len(ids); {
		case t.Lack != "":
			*why = t.Lack
		case err != nil:
			*why = fmt.Sprintf("the text has no tokens: %v", err)
		case len(ids) == 0 || len(t.After) == 0:
			*why = "the text, or the text before it, has no tokens"
		case n > c.positions:
			*why = fmt.Sprintf("the text ends at token %d; the run has room for %d", n, c.positions)
		}
		if *why != "" {
			continue
		}
		all := append(append([]int{}, t.After...), ids...)
		key := binary.AppendUvarint(nil, uint64(len(t.After)))
		for _, id := range all {
			key = binary.AppendUvarint(key, uint64(id))
		}
		at, known := seen[string(key)]
		if !known {
			at = len(views)
			seen[string(key)] = at
			views = append(views, rollout.View{IDs: all, Spans: []rollout.Span{{From: len(t.After), To: len(all)}}, Temperature: 1})
		}
		place[i] = at
	}
	if len(views) == 0 {
		return out, nil
	}
	rows, err := c.ask(model, logprob, views)
	if err != nil {
		return nil, err
	}
	for i := range texts {
		if out[i].Why == "" {
			out[i].Logprobs = rows[place[i]]
		}
	}
	return out, nil
}

// PlaceOf tells where a member, given by its name, has texts: the mean of the last hidden states that their tokens
// leave, each text read by itself. What they stand after does not count.
func (c *Cast) PlaceOf(model string, texts []Text) ([]reward.Place, error) {
	out := make([]reward.Place, len(texts))
	var views []rollout.View
	seen := map[string]int{} // equal texts are read once
	place := make([]int, len(texts))
	for i, t := range texts {
		ids, err := t.IDs, error(nil)
		if ids == nil {
			ids, err = c.Tokenizer().Encode(t.Text)
		}
		switch why := &out[i].Why; {
		case t.Lack != "":
			*why = t.Lack
		case err != nil:
			*why = fmt.Sprintf("the text has no tokens: %v", err)
		case len(ids) == 0:
			*why = "the text has no tokens"
		case len(ids) >= c.positions:
			*why = fmt.Sprintf("the text has %d tokens; the run has room for %d", len(ids), c.positions-1)
		}
		if out[i].Why != "" {
			continue
		}
		key := fmt.Sprint(ids)
		at, known := seen[key]
		if !known {
			at = len(views)
			seen[key] = at
			views = append(views, rollout.View{IDs: ids, Spans: []rollout.Span{{From: 0, To: len(ids)}}, Temperature: 1})
		}
		place[i] = at
	}
	places := make([][]float64, len(views))
	err := c.States(model, 0, views, func(i int, states [][]float32) error {
		places[i] = make([]float64, len(states[0]))
		for _, state := range states {
			for k, x := range state {
				places[i][k] += float64(x) / float64(len(states))
			}
		}
		return nil
	})
	for i := range out {
		if err == nil && out[i].Why == "" {
			out[i].At = places[place[i]]
		}
	}
	return out, err
}

// HeadOf is what the head of a member says after the last token of each view.
func (c *Cast) HeadOf(model string, views []rollout.View) ([]float64, error) {
	last := make([]rollout.View, len(views))
	for i, v := range views {
		ids := v.Last()
		last[i] = rollout.View{IDs: ids, Spans: []rollout.Span{{From: len(ids) - 1, To: len(ids)}}, Temperature: 1, Group: v.Group}
	}
	rows, err := c.ask(model, said, last)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = row[0]
	}
	return out, nil
}
