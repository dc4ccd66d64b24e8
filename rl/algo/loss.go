package algo

import (
	"fmt"
	"math"
)

// Result is the loss of a batch and its derivatives, which the backward pass
// takes as weights of the three quantities a model returns per token. Tokens
// outside the mask have derivative 0.
type Result struct {
	Loss         float64     // this batch's part of the global batch's loss
	DLogprob     [][]float64 // [sequence][token] dLoss/dlogprob
	DEntropy     [][]float64 // [sequence][token] dLoss/dentropy; nil: all 0
	DMeanLogprob [][]float64 // [sequence][token] dLoss/d(mean log-softmax over the vocabulary); nil: all 0
	Metrics      Metrics     // sums over the batch's tokens
}

// Local says whether a sequence's derivatives depend on that sequence and on counts
// known in advance alone. A loss that is local can be computed in parts, see Sum.
func (c Config) Local() bool {
	return c.TopEntropyShare == 1 && c.Normalize != "micro_token_mean"
}

// Sum is a local loss that is computed in parts, each of which holds whole
// sequences: values, derivatives and metrics have the bits of the loss in one part.
type Sum struct {
	cfg    Config
	global counts
	total  Result // loss and metrics alone
}

// NewSum begins the loss of a batch of sequences with so many tokens under the loss
// mask.
func NewSum(cfg Config, sequences, tokens int) *Sum {
	return &Sum{cfg: cfg, global: counts{Tokens: tokens, Sequences: sequences, MicroBatches: 1, EntropyThreshold: math.Inf(-1)}}
}

// Add computes the next part. Of its result, loss and metrics are those of all parts
// so far, derivatives those of this one.
func (s *Sum) Add(b Batch) (Result, error) {
	b.Global = &s.global
	res, err := lossFrom(s.cfg, b, s.total)
	s.total = Result{Loss: res.Loss, Metrics: res.Metrics}
	return res, err
}

// Loss computes the loss that cfg describes over b. It returns an error for a
// config that is not valid, a stream that is missing or of another shape, and
// a value that is not finite (naming sequence and token).
func Loss(cfg Config, b Batch) (Result, error) { return lossFrom(cfg, b, Result{}) }

// lossFrom continues the sums of a result.
func lossFrom(cfg Config, b Batch, res Result) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if err := b.check(cfg); err != nil {
		return Result{}, err
	}
	g := totals(cfg, b)
	local := g.Tokens
	if b.Global != nil {
		g = *b.Global
	}
	res.DLogprob = zeros(b.Logprob)
	if cfg.EntropyCoef != 0 {
		res.DEntropy = zeros(b.Logprob)
	}
	for i := range b.Logprob {
		n := b.tokens(i)
		if n == 0 {
			continue
		}
		norm := tokenNorm(cfg, g, local, n)
		res.Loss += res.addPolicy(cfg, b, g, i, n, norm) + res.addEntropy(cfg, b, g, i)
		res.observe(b, i)
		for t, d := range res.DLogprob[i] {
			if math.IsNaN(d) || math.IsInf(d, 0) || math.IsNaN(res.Loss) || math.IsInf(res.Loss, 0) {
				return Result{}, fmt.Errorf("the loss is not finite from sequence %d, token %d on: logprob %v, old %v, advantage %v give loss %v, derivative %v",
					i, t, b.Logprob[i][t], b.old(i, t), b.advantage(i, t), res.Loss, d)
			}
		}
	}
	res.Metrics.Loss = res.Loss
	return res, nil
}

// addPolicy returns the policy and KL terms of sequence i and adds their
// derivatives and metrics.
func (res *Result) addPolicy(cfg Config, b Batch, g counts, i, n int, norm float64) (loss float64) {
	surrogate := surrogates[cfg.Loss]
	lvl := ratioLevel(cfg, b, i, n)
	w := weights(cfg, b, g, i, n)
	shared := 0.0 // derivative with respect to the log-ratio all tokens share
	for t := range b.Logprob[i] {
		if !b.counts(i, t) {
			continue
		}
		r := math.Exp(lvl.x[t])
		var sum term
		if adv := b.advantage(i, t); adv != 0 { // an advantage of 0 has no loss, however large the ratio
			sum = surrogate(cfg, r, b.Logprob[i][t], adv)
			sum.scale(w[t])
		}
		if cfg.KLCoef != 0 && cfg.KLIn == "loss" {
			sum.addKL(cfg, r, b.Logprob[i][t]-b.RefLogprob[i][t])
		}
		loss += norm * sum.value
		res.DLogprob[i][t] += norm * sum.dLogprob
		if lvl.share {
			shared += norm * sum.dRatio
		} else {
			res.DLogprob[i][t] += norm * sum.dRatio * lvl.slope[t]
		}
		res.Metrics.addToken(r, sum.low || lvl.held[t] < 0, sum.high || lvl.held[t] > 0)
	}
	if lvl.share {
		for t := range b.Logprob[i] {
			if b.counts(i, t) {
				res.DLogprob[i][t] += shared * lvl.slope[t]
			}
		}
	}
	return loss
}

// scale multiplies the term by a constant; 0 removes it, however large it is.
func (s *term) scale(w float64) {
	if w == 0 {
		s.value, s.dRatio, s.dLogprob = 0, 0, 0
		return
	}
	s.value *= w
	s.dRatio *= w
	s.dLogprob *= w
}

// addKL adds kl_coef·kl, times the ratio if kl_times_ratio says so, for
// x = log π − log π_ref.
func (s *term) addKL(cfg Config, r, x float64) {
	value, slope := kl(cfg.KLEstimator, x)
	if cfg.KLTimesRatio {
		s.dRatio += cfg.KLCoef * value * r
		value, slope = value*r, slope*r
	}
	s.value += cfg.KLCoef * value
	s.dLogprob += cfg.KLCoef * slope
}

// addEntropy returns the entropy term of sequence i and sets its derivatives:
// −entropy_coef × the mean entropy over the tokens of the global batch (whatever
// normalize says); tokens that top_entropy_share leaves out earn no bonus.
func (res *Result) addEntropy(cfg Config, b Batch, g counts, i int) (loss float64) {
	if cfg.EntropyCoef == 0 {
		return 0
	}
	share := cfg.EntropyCoef / float64(g.Tokens)
	for t := range b.Logprob[i] {
		if b.counts(i, t) && !lowEntropy(cfg, b, g, i, t) {
			loss -= share * b.Entropy[i][t]
			res.DEntropy[i][t] = -share
		}
	}
	return loss
}

func zeros(like [][]float64) [][]float64 {
	out := make([][]float64, len(like))
	for i := range like {
		out[i] = make([]float64, len(like[i]))
	}
	return out
}
