package algo

import (
	"fmt"
	"math"
	"slices"
)

// AdvantageStats describes the rewards of a step before any filter. Groups
// without a scored member are not counted. RewardMean and RewardStd are over
// the scored completions, in units of the rewards given.
type AdvantageStats struct {
	Groups         int     // groups with at least one scored member
	Uniform        int     // groups whose scored rewards are all equal: no signal
	AllRight       int     // groups whose scored members are all right (reward >= right_reward)
	AllWrong       int     // groups whose scored members are all wrong
	Singleton      int     // groups with one scored member
	Scored         int     // completions
	NotScored      int     // completions with reward NaN
	Filtered       int     // scored completions that a filter dropped or masked
	RewardMean     float64 // NaN without a scored completion
	RewardStd      float64 // divisor n−1; 0 for fewer than two
	RewardGroupStd float64 // mean over groups of the group's standard deviation (n−1)
}

// Means gives the statistics under their published names: reward/mean,
// reward/std, reward/group_std, groups/uniform_share, groups/all_right_share,
// groups/all_wrong_share (shares of the groups) and rollout/not_scored
// (completions).
func (s AdvantageStats) Means() map[string]float64 {
	out := map[string]float64{"rollout/not_scored": float64(s.NotScored)}
	if s.Groups > 0 {
		n := float64(s.Groups)
		out["reward/mean"] = s.RewardMean
		out["reward/std"] = s.RewardStd
		out["reward/group_std"] = s.RewardGroupStd
		out["groups/uniform_share"] = float64(s.Uniform) / n
		out["groups/all_right_share"] = float64(s.AllRight) / n
		out["groups/all_wrong_share"] = float64(s.AllWrong) / n
	}
	return out
}

// Advantages turns the rewards of one step into advantages. rewards[i] is that
// of completion i, NaN if it was not scored; groups[i] is the id of its prompt
// (any numbers, members need not be neighbours, groups may differ in size).
//
// With R = reward_scale·reward + reward_offset, μ the mean and σ the standard
// deviation with divisor n−1, over the group (g) or the step (b):
//
//	none           R                               REINFORCE
//	batch_mean     R − μ_b                         REINFORCE with a baseline
//	group_mean     R − μ_g                         Dr. GRPO (arXiv 2503.20783)
//	group_std      (R − μ_g)/(σ_g + std_eps)       GRPO (arXiv 2402.03300), TRL's constant 1e-4
//	batch_std      (R − μ_g)/(σ_b + std_eps)       TRL's scale_rewards = "batch"
//	leave_one_out  R − mean of the others          RLOO (arXiv 2402.14740)
//
// then times positive_weight or negative_weight by sign, then whitened, then
// filtered. All statistics are taken before filtering. A completion that was
// not scored is no part of any statistic; it gets 0 and keep false. The only
// scored member of its group gets 0 from the four estimators that compare
// within a group, as in TRL (verl gives it R). Members of a group with equal
// rewards get exactly 0 from them.
//
// keep[i] false: leave completion i out of the training batch. With
// filter_mode = "mask" filtered completions are kept with advantage 0, so that
// they still count in the normaliser and feel KL and entropy terms.
func Advantages(cfg Config, rewards []float64, groups []int) (adv []float64, keep []bool, stats AdvantageStats, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, stats, err
	}
	if len(rewards) != len(groups) {
		return nil, nil, stats, fmt.Errorf("%d rewards for %d group ids", len(rewards), len(groups))
	}
	members, scored := byGroup(rewards, groups)
	keep = make([]bool, len(rewards))
	mapped := make([]float64, len(rewards))
	for i, r := range rewards {
		if math.IsInf(r, 0) {
			return nil, nil, stats, fmt.Errorf("reward %d is %v; accepted: finite numbers, and NaN for not scored", i, r)
		}
		keep[i] = !math.IsNaN(r)
		mapped[i] = cfg.RewardScale*r + cfg.RewardOffset
	}
	stats = describe(cfg, rewards, members, scored)
	adv = estimate(cfg, mapped, members, scored)
	for _, i := range scored {
		switch {
		case adv[i] > 0:
			adv[i] *= cfg.PositiveWeight
		case adv[i] < 0:
			adv[i] = cfg.NegativeWeight*adv[i] + 0 // 0·negative is −0, which would show in logs
		}
	}
	if cfg.Whiten {
		mean, std := meanStd(adv, scored)
		for _, i := range scored {
			adv[i] = (adv[i] - mean) / (std + cfg.StdEps)
		}
	}
	for _, i := range filtered(cfg, rewards, adv, members, scored) {
		stats.Filtered++
		adv[i] = 0
		keep[i] = cfg.FilterMode == "mask"
	}
	return adv, keep, stats, nil
}

// byGroup lists the scored completions of each group, in order of the group's
// first appearance, and all scored completions.
func byGroup(rewards []float64, groups []int) (members [][]int, scored []int) {
	place := map[int]int{}
	for i, r := range rewards {
		if math.IsNaN(r) {
			continue
		}
		at, seen := place[groups[i]]
		if !seen {
			at = len(members)
			place[groups[i]] = at
			members = append(members, nil)
		}
		members[at] = append(members[at], i)
		scored = append(scored, i)
	}
	return members, scored
}

// estimate applies cfg.Estimator to the mapped rewards r.
func estimate(cfg Config, r []float64, members [][]int, scored []int) []float64 {
	adv := make([]float64, len(r))
	batchMean, batchStd := meanStd(r, scored)
	for _, group := range members {
		mean, std := meanStd(r, group)
		for _, i := range group {
			switch cfg.Estimator {
			case "none":
				adv[i] = r[i]
			case "batch_mean":
				adv[i] = r[i] - batchMean
			case "group_mean":
				adv[i] = r[i] - mean
			case "leave_one_out": // R_i − (n·μ − R_i)/(n − 1)
				if n := float64(len(group)); n > 1 {
					adv[i] = (r[i] - mean) * n / (n - 1)
				}
			case "group_std":
				adv[i] = ratioOrZero(r[i]-mean, std+cfg.StdEps)
			case "batch_std":
				adv[i] = ratioOrZero(r[i]-mean, batchStd+cfg.StdEps)
			}
		}
	}
	return adv
}

// ratioOrZero is a/b, and 0 where the deviation a is 0 (b may be 0 too then).
func ratioOrZero(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// meanStd is the mean and the standard deviation (divisor n−1) of x at the
// given indices. Equal values give exactly their value and 0.
func meanStd(x []float64, at []int) (mean, std float64) {
	if len(at) == 0 {
		return math.NaN(), 0
	}
	if uniform(x, at) {
		return x[at[0]], 0
	}
	for _, i := range at {
		mean += x[i]
	}
	mean /= float64(len(at))
	for _, i := range at {
		std += (x[i] - mean) * (x[i] - mean)
	}
	return mean, math.Sqrt(std / float64(len(at)-1))
}

// uniform reports whether x is the same at all given indices.
func uniform(x []float64, at []int) bool {
	return !slices.ContainsFunc(at, func(i int) bool { return x[i] != x[at[0]] })
}

// allRight reports whether every completion of a group is right, allWrong
// whether none is.
func allRight(cfg Config, rewards []float64, group []int) bool {
	return !slices.ContainsFunc(group, func(i int) bool { return rewards[i] < cfg.RightReward })
}

func allWrong(cfg Config, rewards []float64, group []int) bool {
	return !slices.ContainsFunc(group, func(i int) bool { return rewards[i] >= cfg.RightReward })
}

// describe computes the statistics, but for Filtered.
func describe(cfg Config, rewards []float64, members [][]int, scored []int) AdvantageStats {
	s := AdvantageStats{Groups: len(members), Scored: len(scored), NotScored: len(rewards) - len(scored)}
	s.RewardMean, s.RewardStd = meanStd(rewards, scored)
	for _, group := range members {
		_, std := meanStd(rewards, group)
		s.RewardGroupStd += std / float64(len(members))
		count(&s.Uniform, uniform(rewards, group))
		count(&s.AllRight, allRight(cfg, rewards, group))
		count(&s.AllWrong, allWrong(cfg, rewards, group))
		count(&s.Singleton, len(group) == 1)
	}
	return s
}

func count(n *int, holds bool) {
	if holds {
		*n++
	}
}

// filtered lists the scored completions that a filter removes.
func filtered(cfg Config, rewards, adv []float64, members [][]int, scored []int) []int {
	var out []int
	for _, group := range members {
		whole := slices.ContainsFunc(cfg.Filters, func(filter string) bool {
			return filter == "uniform_groups" && uniform(rewards, group) ||
				filter == "all_right" && allRight(cfg, rewards, group) ||
				filter == "all_wrong" && allWrong(cfg, rewards, group)
		})
		for _, i := range group {
			if whole || adv[i] == 0 && slices.Contains(cfg.Filters, "zero_advantage") {
				out = append(out, i)
			}
		}
	}
	return out
}
