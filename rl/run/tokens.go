package run

import (
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/train"
)

// tokens observes a run and writes what its steps taught each token to tokens.jsonl,
// for one step in every token_every.
type tokens struct {
	log    record.Writer[record.Tokens]
	recipe *recipe.Recipe
	decode func(ids []int) string
}

// on implements observer.
func (t *tokens) on(e event) error {
	if e.Kind != stepped || len(e.Completions) == 0 {
		return nil
	}
	if !t.recipe.Stages[e.At.Stage].RecordsTokens(e.At.Step - 1) {
		return nil
	}
	for i := range e.Completions {
		if err := t.log.Append(t.line(e, &e.Completions[i], e.Lesson(i))); err != nil {
			return err
		}
	}
	return nil
}

func (t *tokens) line(e event, c *train.Completion, learned train.Lesson) record.Tokens {
	l := record.Tokens{
		Step: e.At.Total, Stage: e.Stage, Group: c.Group, Sample: c.Sample,
		Prompt: c.View.IDs[:c.View.Prompt()], IDs: c.View.Drawn(), Logprob: c.View.Logprob, Entropy: c.View.Entropy,
	}
	for i, s := range c.View.Spans[1:] {
		n := 0 // tokens that the policy wrote before it
		for _, own := range c.View.Spans[:i+1] {
			n += own.To - own.From
		}
		read := c.View.IDs[c.View.Spans[i].To:s.From]
		l.Read = append(l.Read, record.Read{Before: n, IDs: read, Text: t.decode(read), Fresh: slices.Contains(c.View.Fresh, c.View.Spans[i].To)})
	}
	for _, id := range l.IDs {
		l.Text = append(l.Text, t.decode([]int{id}))
	}
	for i, w := range learned.Slope {
		l.Weight = append(l.Weight, float32(w))
		if w == 0 && learned.Advantage != 0 && !math.IsNaN(learned.Advantage) && (learned.Elsewhere == nil || !learned.Elsewhere[i]) {
			l.Clipped = append(l.Clipped, i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(learned.Parts)) {
		if l.Parts == nil {
			l.Parts = map[string][]*float64{}
		}
		for _, v := range learned.Parts[name] {
			l.Parts[name] = append(l.Parts[name], finite(v))
		}
	}
	return l
}
