package run

import (
	"math"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
)

// tokens observes a run and writes what its steps taught each token to tokens.jsonl,
// for one step in every token_every.
type tokens struct {
	log    *store.Log
	recipe *recipe.Recipe
	decode func(ids []int) string
}

// tokenLine is a line of tokens.jsonl: a completion of completions.jsonl, which has the
// same step, group and sample, token by token.
type tokenLine struct {
	Step    int       `json:"step"`
	Stage   string    `json:"stage"`
	Group   int       `json:"group"`
	Sample  int       `json:"sample"`
	Prompt  []int     `json:"prompt_ids"`
	IDs     []int     `json:"ids"`               // [token] that the policy wrote, end token included
	Text    []string  `json:"text"`              // [token] by itself: a part of a character is U+FFFD
	Logprob []float32 `json:"logprob"`           // [token] nats, as sampled
	Entropy []float32 `json:"entropy"`           // [token] nats, of the distribution it was drawn from
	Weight  []float32 `json:"weight"`            // [token] dLoss/dlogprob; below 0: made more likely; null: left out of the step's updates
	Clipped []int     `json:"clipped,omitempty"` // tokens, from 0, that have an advantage and no weight
}

// on implements observer.
func (t *tokens) on(e event) error {
	if e.Kind != stepped || len(e.Completions) == 0 {
		return nil
	}
	every := t.recipe.Stages[e.At.Stage].TokenEvery
	if every == 0 || (e.At.Step-1)%every != 0 {
		return nil
	}
	for i := range e.Completions {
		if err := t.log.Append(t.line(e, &e.Completions[i])); err != nil {
			return err
		}
	}
	return nil
}

func (t *tokens) line(e event, c *train.Completion) tokenLine {
	l := tokenLine{
		Step: e.At.Total, Stage: e.Stage, Group: c.Group, Sample: c.Sample,
		Prompt: c.View.IDs[:c.View.Prompt()], IDs: c.View.Drawn(), Logprob: c.View.Logprob, Entropy: c.View.Entropy,
	}
	for _, id := range l.IDs {
		l.Text = append(l.Text, t.decode([]int{id}))
	}
	for i, w := range c.Slope {
		l.Weight = append(l.Weight, float32(w))
		if w == 0 && c.Advantage != 0 && !math.IsNaN(c.Advantage) {
			l.Clipped = append(l.Clipped, i)
		}
	}
	return l
}
