package train

import (
	"errors"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
)

// update is one optimizer update on completions, at a learning rate. The sampler's
// log-probs are the old policy's: the trainer would compute the same bits.
func (s *reinforcement) update(kept []*Completion, lr float64) (algo.Metrics, float64, error) {
	m, err := s.backward(kept)
	if err != nil {
		return m, 0, err
	}
	norm, err := s.Cast.Policy.Update(adamW(s.stage.Optimizer, lr))
	if errors.Is(err, model.ErrNotFinite) {
		err = failed(err, lr, s.stage.Optimizer.ClipNorm)
	}
	return m, norm, err
}

// backward computes the gradient of the loss: batch by batch if the loss is local, and
// after a forward pass over all completions if not.
func (s *reinforcement) backward(kept []*Completion) (algo.Metrics, error) {
	cfg, policy := s.stage.Algorithm.Config, s.Cast.Policy
	if !cfg.Local() {
		stats, err := policy.Forward(viewsOf(kept))
		if err != nil {
			return algo.Metrics{}, err
		}
		res, err := algo.Loss(cfg, batchOf(kept, stats))
		if err != nil {
			return algo.Metrics{}, err
		}
		taught(kept, res)
		return res.Metrics, policy.Backward(tokenWeights(res))
	}
	tokens := 0
	for _, c := range kept {
		tokens += c.View.Tokens()
	}
	sum := algo.NewSum(cfg, len(kept), tokens)
	var m algo.Metrics
	err := policy.Accumulate(viewsOf(kept), func(first int, stats []model.TokenStats) ([]model.TokenWeights, error) {
		part := kept[first : first+len(stats)]
		res, err := sum.Add(batchOf(part, stats))
		m = res.Metrics
		if err == nil {
			taught(part, res)
		}
		return tokenWeights(res), err
	})
	return m, err
}

// Slope is the fact that an update adds to a completion: dLoss/dlogprob of each token
// that the policy wrote. The update makes a token more likely where it is negative.
const Slope = "slope"

// taught keeps what a loss asks of each token.
func taught(cs []*Completion, res algo.Result) {
	for i, c := range cs {
		if c.Facts == nil {
			c.Facts = map[string][]float64{}
		}
		c.Facts[Slope] = res.DLogprob[i]
	}
}

// batchOf are completions with the statistics that the policy has of them now, as
// losses take them.
func batchOf(cs []*Completion, stats []model.TokenStats) algo.Batch {
	var b algo.Batch
	for i, c := range cs {
		b.Logprob = append(b.Logprob, cast.Widen(stats[i].Logprob))
		b.Entropy = append(b.Entropy, cast.Widen(stats[i].Entropy))
		b.OldLogprob = append(b.OldLogprob, cast.Widen(c.View.Logprob))
		b.Advantage = append(b.Advantage, c.Advantage)
		if ref := c.Facts["ref"]; ref != nil {
			b.RefLogprob = append(b.RefLogprob, ref)
		}
	}
	b.SamplerLogprob = b.OldLogprob
	return b
}

// tokenWeights are a loss's derivatives as the trainer takes them.
func tokenWeights(res algo.Result) []model.TokenWeights {
	weights := make([]model.TokenWeights, len(res.DLogprob))
	for i := range weights {
		weights[i].Logprob = res.DLogprob[i]
		if res.DEntropy != nil {
			weights[i].Entropy = res.DEntropy[i]
		}
		if res.DMeanLogprob != nil {
			weights[i].MeanLogprob = res.DMeanLogprob[i]
		}
	}
	return weights
}

// updates sums up what the updates of a step have measured.
type updates struct {
	total algo.Metrics
	first map[string]float64 // means of the first update
	norms float64            // of the gradients
	n     int
}

func (u *updates) add(m algo.Metrics, norm float64) {
	if u.n == 0 {
		u.first = m.Means()
	}
	u.total = u.total.Add(m)
	u.norms += norm
	u.n++
}

// into adds the metrics to a step's.
func (u *updates) into(row metrics.Row) {
	row["optim/updates"] = float64(u.n)
	for name, v := range u.total.Means() {
		row[name] = v
	}
	if u.n == 0 {
		return
	}
	row["policy/ratio_first"] = u.first["policy/ratio_mean"]
	for _, name := range []string{"policy/mismatch_kl", "policy/compared", "policy/equal"} { // later updates have other weights
		row[name] = u.first[name]
	}
	row["policy/loss"] /= float64(u.n)
	row["policy/grad_norm"] = u.norms / float64(u.n)
}
