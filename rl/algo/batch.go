package algo

import (
	"fmt"
	"math"
)

// Batch is what a loss is computed from: a micro-batch or a whole batch. All
// rows of one index have the same length. Optional streams may be nil.
type Batch struct {
	Logprob        [][]float64 // [sequence][token] policy now, nats
	OldLogprob     [][]float64 // [sequence][token] policy at rollout, nats; nil: equal to Logprob, ratio exactly 1
	SamplerLogprob [][]float64 // [sequence][token] as the sampler reported it, nats; optional, needed by mismatch. NaN: unknown
	RefLogprob     [][]float64 // [sequence][token] reference policy, nats; needed by kl_coef > 0
	Entropy        [][]float64 // [sequence][token] nats; needed by entropy_coef and top_entropy_share
	Mask           [][]bool    // [sequence][token] loss mask: tokens that count; nil: all
	Advantage      []float64   // [sequence]
	TokenAdvantage [][]float64 // [sequence][token] replaces Advantage; optional
	Weight         [][]float64 // [sequence][token] constant factor of the policy term; optional
	Global         *counts     // totals of the global batch this is a part of; nil: this is the whole
}

// counts are the totals of a global batch that is trained in micro-batches.
type counts struct {
	Tokens           int     // tokens under the loss mask
	Sequences        int     // rows, those without a token under the mask included
	MicroBatches     int     // number of parts
	EntropyThreshold float64 // nats; tokens below it are not trained (top_entropy_share < 1)
}

// totals counts a whole batch, to be shared as Batch.Global by its parts.
func totals(cfg Config, b Batch) counts {
	g := counts{Sequences: len(b.Logprob), MicroBatches: 1, EntropyThreshold: math.Inf(-1)}
	for i := range b.Logprob {
		g.Tokens += b.tokens(i)
	}
	if cfg.TopEntropyShare < 1 {
		g.EntropyThreshold = entropyThreshold(cfg, b)
	}
	return g
}

// counts reports whether token t of sequence i is under the loss mask.
func (b Batch) counts(i, t int) bool { return b.Mask == nil || b.Mask[i][t] }

// tokens is the number of tokens of sequence i under the loss mask.
func (b Batch) tokens(i int) int {
	n := 0
	for t := range b.Logprob[i] {
		if b.counts(i, t) {
			n++
		}
	}
	return n
}

// old is the log-probability at rollout of one token.
func (b Batch) old(i, t int) float64 {
	if b.OldLogprob == nil {
		return b.Logprob[i][t]
	}
	return b.OldLogprob[i][t]
}

// advantage is that of one token.
func (b Batch) advantage(i, t int) float64 {
	if b.TokenAdvantage != nil {
		return b.TokenAdvantage[i][t]
	}
	return b.Advantage[i]
}

// check reports a missing stream or a shape that does not fit.
func (b Batch) check(cfg Config) error {
	streams := []struct {
		name   string
		rows   [][]float64
		needed string // the reason, "" if optional
	}{
		{"OldLogprob", b.OldLogprob, ""},
		{"SamplerLogprob", b.SamplerLogprob, because(cfg.Mismatch != "off", "mismatch = %q", cfg.Mismatch)},
		{"RefLogprob", b.RefLogprob, because(cfg.KLCoef > 0 && cfg.KLIn == "loss", "kl_coef = %v", cfg.KLCoef)},
		{"Entropy", b.Entropy, because(cfg.EntropyCoef != 0 || cfg.TopEntropyShare < 1, "entropy_coef = %v and top_entropy_share = %v", cfg.EntropyCoef, cfg.TopEntropyShare)},
		{"TokenAdvantage", b.TokenAdvantage, because(b.Advantage == nil && len(b.Logprob) > 0, "Advantage being nil")},
		{"Weight", b.Weight, ""},
	}
	for _, s := range streams {
		if s.rows == nil {
			if s.needed != "" {
				return fmt.Errorf("batch has no %s, which is needed because of %s", s.name, s.needed)
			}
			continue
		}
		if err := sameShape(s.name, s.rows, b.Logprob); err != nil {
			return err
		}
	}
	if b.Mask != nil {
		if err := sameShape("Mask", b.Mask, b.Logprob); err != nil {
			return err
		}
	}
	if b.Advantage != nil && len(b.Advantage) != len(b.Logprob) {
		return fmt.Errorf("batch has %d values in Advantage for %d sequences in Logprob", len(b.Advantage), len(b.Logprob))
	}
	if g := b.Global; g != nil {
		if own := totals(cfg, b); g.Tokens < own.Tokens || g.Sequences < own.Sequences || g.MicroBatches < 1 {
			return fmt.Errorf("batch has Global totals of %d tokens, %d sequences, %d micro-batches, but holds %d tokens and %d sequences itself", g.Tokens, g.Sequences, g.MicroBatches, own.Tokens, own.Sequences)
		}
	}
	return nil
}

// because formats a reason that holds, or gives "".
func because(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func sameShape[T any](name string, rows [][]T, want [][]float64) error {
	if len(rows) != len(want) {
		return fmt.Errorf("batch has %d rows in %s for %d sequences in Logprob", len(rows), name, len(want))
	}
	for i := range rows {
		if len(rows[i]) != len(want[i]) {
			return fmt.Errorf("batch has %d tokens in %s[%d] for %d in Logprob[%d]", len(rows[i]), name, i, len(want[i]), i)
		}
	}
	return nil
}
