package algo

import "math"

// term is the policy loss of one token before weights and normaliser.
type term struct {
	value     float64 // to be minimised
	dRatio    float64 // d value / d log-ratio (the ratio of ratio_level)
	dLogprob  float64 // d value / d logprob of the token itself
	low, high bool    // the clip holds the token back, below or above
}

// surrogates maps loss names to their functions: r is the ratio at
// ratio_level, logprob that of the token, adv its advantage (not 0).
var surrogates = map[string]func(cfg Config, r, logprob, adv float64) term{
	"clip":      clip,
	"reinforce": reinforce,
	"cispo":     cispo,
	"sapo":      sapo,
	"geometric": geometric,
	"topr":      topr,
}

// clip is the clipped ratio of PPO (arXiv 1707.06347),
//
//	−min( min(r, ratio_cap)·A, clip(r, 1−clip_low, 1+clip_high)·A ),
//
// for A < 0 at most dual_clip·|A| (arXiv 1912.09729). Two clip ranges:
// DAPO (arXiv 2503.14476). ratio_cap: TRL's delta (INTELLECT-2, arXiv
// 2505.07291); unlike dual_clip it also caps A > 0.
func clip(cfg Config, r, _, adv float64) term {
	lo, hi := 1-cfg.ClipLow, 1+cfg.ClipHigh
	capped, clipped := math.Min(r, cfg.RatioCap), math.Min(math.Max(r, lo), hi)
	t := term{low: adv < 0 && r < lo, high: adv > 0 && r > hi}

	chosen, moves := capped, r <= cfg.RatioCap
	if clipped*adv < capped*adv {
		chosen, moves = clipped, r >= lo && r <= hi
	}
	if adv < 0 && chosen > cfg.DualClip {
		chosen, moves = cfg.DualClip, false
	}
	t.value = -chosen * adv
	if moves {
		t.dRatio = t.value
	}
	return t
}

// reinforce is −A·log π (Williams 1992): no ratio, hence only on-policy. With
// advantages 1 and 0 it is the likelihood of the successes (RAFT).
func reinforce(_ Config, _, logprob, adv float64) term {
	return term{value: -adv * logprob, dLogprob: -adv}
}

// cispo is −[w]·A·log π with the ratio as a bounded constant weight
// w = min(clip(r, 1−clip_low, 1+clip_high), ratio_cap) (arXiv 2506.13585).
// TRL's epsilon_high is the absolute cap: clip_low 1, clip_high inf,
// ratio_cap epsilon_high.
func cispo(cfg Config, r, logprob, adv float64) term {
	lo, hi := 1-cfg.ClipLow, math.Min(1+cfg.ClipHigh, cfg.RatioCap)
	w := math.Min(math.Max(r, lo), hi)
	return term{value: -w * adv * logprob, dLogprob: -w * adv, low: r < lo && adv < 0, high: r > hi && adv > 0}
}

// sapo is a soft gate in place of the clip, −A·(4/τ)·σ(τ(r−1)) (arXiv
// 2511.20347), whose slope at r = 1 is that of the plain ratio.
func sapo(cfg Config, r, _, adv float64) term {
	tau := cfg.SapoTauPos
	if adv <= 0 {
		tau = cfg.SapoTauNeg
	}
	gate := 1 / (1 + math.Exp(-tau*(r-1)))
	t := term{value: -adv * 4 / tau * gate}
	if slope := 4 * gate * (1 - gate); slope > 0 { // 0·Inf where the gate is shut
		t.dRatio = -adv * slope * r
	}
	return t
}

// geometric is −A·r, r the geometric mean of the ratios, each clipped before
// (see ratioLevel).
func geometric(_ Config, r, _, adv float64) term {
	return term{value: -adv * r, dRatio: -adv * r}
}

// topr is −[w]·A·log π with w = 1 for A >= 0 and elsewhere the ratio cut as
// cispo's weight: successes are imitated however old they are, failures are
// pushed away only as far as the policy still makes them (arXiv
// 2503.14286: ratio_level sequence_sum, clip_low 1, clip_high 0).
func topr(cfg Config, r, logprob, adv float64) term {
	if adv < 0 {
		return cispo(cfg, r, logprob, adv)
	}
	return term{value: -adv * logprob, dLogprob: -adv}
}
