package rl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/terminal"
)

// trainRL is reinforcement learning: sample groups, judge them, learn from
// them, step by step.
func (s *session) trainRL(ctx context.Context, st *recipe.Stage) error {
	program, err := programOf(st)
	if err != nil {
		return err
	}
	s.show.Line("%s", st.Algorithm.Formula())
	s.show.Begin(st.Name, s.state.Step, st.RL.Steps)
	told := "" // the last reason for not scoring that was shown
	for s.state.Step < st.RL.Steps {
		began := time.Now()
		cs, scores, err := s.collect(ctx, st, program)
		if err != nil {
			return err
		}
		if err := s.enoughScored(st, cs, scores); err != nil {
			return err
		}
		sampled := time.Now()
		row, adv, err := s.learn(st, cs, scores)
		if err != nil {
			return err
		}
		s.phase("time/rollout_s", sampled.Sub(began))
		s.phase("time/train_s", time.Since(sampled))
		s.timing["rollout/tokens_per_s"] = row["rollout/tokens"] / s.timing["time/rollout_s"]
		s.state.Step++
		if err := s.logCompletions(cs, scores, adv); err != nil {
			return err
		}
		if every := st.EvalEvery; every > 0 && s.state.Step%every == 0 && s.state.Step < st.RL.Steps {
			if err := s.checkHeldOut(ctx, st, row); err != nil {
				return err
			}
		}
		figures := []string{fmt.Sprintf("reward %.2f", row["reward/mean"])}
		if s.lastEval >= 0 {
			figures = append(figures, fmt.Sprintf("held-out %.0f %%", 100*s.lastEval))
		}
		if unscored, _, why := unscoredBy(scores); unscored > 0 {
			figures = append(figures, fmt.Sprintf("not scored %.0f %%", 100*float64(unscored)/float64(len(cs))))
			if why != told {
				told = why
				s.show.Line("  step %d: not scored: %s", s.state.Step, why)
			}
		}
		s.show.Step(s.state.Step, append(figures, s.rate())...)
		s.showSample(st, cs)
		if err := s.endStep(ctx, st, row); err != nil {
			return err
		}
	}
	return nil
}

// programOf is the stage's reward, ready to be run.
func programOf(st *recipe.Stage) (*reward.Program, error) {
	program, err := reward.Compile(st.Reward, st.Verifiers)
	if err != nil {
		return nil, fmt.Errorf("%w: stage %s: reward: %w", ErrInput, st.Name, err)
	}
	return program, nil
}

// collect samples a group of completions for each prompt of the step, judges
// them and gives them rewards.
func (s *session) collect(ctx context.Context, st *recipe.Stage, program *reward.Program) ([]completion, reward.Scores, error) {
	rows := s.problems(random.Draw, s.state.Stage, s.state.Step, st.RL.PromptsPerStep)
	sampling := samplingOf(st.Sampling)
	sampling.Seed = s.seedOf(random.Sample, s.state.Stage, s.state.Step)
	cs, err := s.rollout(ctx, rows, st.RL.GroupSize, st.Sampling.MaxCompletionTokens, sampling, program)
	if err != nil {
		return nil, reward.Scores{}, err
	}
	return cs, s.score(st, program, cs), nil
}

// score gives each completion of the step its reward.
func (s *session) score(st *recipe.Stage, program *reward.Program, cs []completion) reward.Scores {
	b := reward.Batch{Step: s.state.Step + 1, Steps: st.RL.Steps, MaxTokens: st.Sampling.MaxCompletionTokens}
	for i, c := range cs {
		at := uint64(s.state.Step*len(cs) + i)
		coin := 0.0
		if random.At(s.recipe.Seed, random.Stream(random.Reward, s.state.Stage), at).Chance(0.5) {
			coin = 1
		}
		b.Completions = append(b.Completions, reward.Completion{
			Group: c.group, Row: c.row, Text: c.text, IDs: c.IDs, PromptTokens: len(c.prompt), Ended: c.Stop == "eos", Truncated: c.Stop == "length",
			MeanLogprob: mean(widen(c.Logprob)), Random: coin, Task: c.verdict, Verdicts: c.verdicts,
		})
	}
	return program.Score(b)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// ErrNotScored: a step had more completions without a score than its stage
// accepts. A checkpoint was written.
var ErrNotScored = errors.New("too many completions are not scored")

// enoughScored stops the run before a step that would learn from too few of its
// completions: what failed is the verifier or the data, not the model. Those that
// the reward leaves out itself do not count, unless nothing else is left.
func (s *session) enoughScored(st *recipe.Stage, cs []completion, scores reward.Scores) error {
	unscored, count, commonest := unscoredBy(scores)
	left := count[reward.LeftOut]
	if n := len(cs); unscored < n && float64(unscored-left) <= st.RL.MaxNotScored*float64(n-left) {
		return nil
	}
	s.show.End()
	if s.saved != s.state.Total {
		if err := s.save(false); err != nil {
			return err
		}
	}
	// Behind the checkpoint, for people to look at: a resumed run cuts it off.
	none := make([]float64, len(cs))
	for i := range none {
		none[i] = math.NaN()
	}
	if err := s.logCompletions(cs, scores, none); err != nil {
		return err
	}
	return fmt.Errorf("%w: %d of the %d completions of step %d of stage %s have no score, the stage accepts a share of %v (max_not_scored); %d of them: %s; they are the last in completions.jsonl; where the cause is this machine (no Python, an unreadable database), mend it and continue with --resume; where it is the recipe, a script or the data, start a new run%s",
		ErrNotScored, unscored, len(cs), s.state.Step+1, st.Name, st.RL.MaxNotScored, count[commonest], commonest, s.keepingLearnt())
}

// keepingLearnt tells how a new run goes on from what this one has learnt.
func (s *session) keepingLearnt() string {
	if s.state.Total == 0 {
		return ""
	}
	return " with --set model.path=" + terminal.ShellWord(s.run.Dir())
}

// unscoredBy counts the completions without a reward, by why.
func unscoredBy(scores reward.Scores) (unscored int, count map[string]int, commonest string) {
	count = map[string]int{}
	for i, why := range scores.Why {
		if !math.IsNaN(scores.Reward[i]) {
			continue
		}
		unscored++
		if count[why]++; count[why] > count[commonest] {
			commonest = why
		}
	}
	return unscored, count, commonest
}

// learn makes the step's updates: the prompts, in a random order, are dealt to
// updates_per_rollout updates, a group never being cut.
func (s *session) learn(st *recipe.Stage, cs []completion, scores reward.Scores) (metrics.Row, []float64, error) {
	rewards, groups := scores.Reward, make([]int, len(cs))
	for i, c := range cs {
		groups[i] = c.group
	}
	reference, err := s.referenceLogprobs(st, cs)
	if err != nil {
		return nil, nil, err
	}
	if rewards, err = s.penalise(st, rewards, cs, reference); err != nil {
		return nil, nil, err
	}
	adv, keep, stats, err := algo.Advantages(st.Algorithm.Config, rewards, groups)
	if err != nil {
		return nil, nil, err
	}
	row := rolloutMetrics(cs)
	for _, t := range scores.Terms {
		row["reward/term/"+t.Name] = t.Mean()
	}
	for name, v := range stats.Means() {
		row[name] = v
	}
	lr := st.LearningRate(s.state.Step)
	row["optim/lr"] = lr
	order := random.At(s.recipe.Seed, random.Stream(random.Order, s.state.Stage), uint64(s.state.Step)).Shuffled(st.RL.PromptsPerStep)
	var total algo.Metrics
	norms, updates := 0.0, 0
	for part := range st.RL.UpdatesPerRollout {
		lo, hi := part*len(order)/st.RL.UpdatesPerRollout, (part+1)*len(order)/st.RL.UpdatesPerRollout
		var idx []int
		for _, g := range order[lo:hi] {
			for i := g * st.RL.GroupSize; i < (g+1)*st.RL.GroupSize; i++ {
				if keep[i] {
					idx = append(idx, i)
				}
			}
		}
		if len(idx) == 0 {
			continue
		}
		m, norm, err := s.update(st, cs, idx, adv, reference, lr)
		if err != nil {
			return nil, nil, err
		}
		if updates == 0 {
			first := m.Means()
			row["policy/mismatch_kl"], row["policy/ratio_first"] = first["policy/mismatch_kl"], first["policy/ratio_mean"]
		}
		total = total.Add(m)
		norms += norm
		updates++
	}
	for name, v := range total.Means() {
		if _, done := row[name]; !done {
			row[name] = v
		}
	}
	if updates > 0 {
		row["policy/loss"] /= float64(updates)
		row["policy/grad_norm"] = norms / float64(updates)
	}
	row["optim/updates"] = float64(updates)
	return row, adv, nil
}

// update is one optimizer update on the completions idx. The sampler's
// log-probs are the old policy's: the trainer would compute the same bits.
func (s *session) update(st *recipe.Stage, cs []completion, idx []int, adv []float64, reference [][]float64, lr float64) (algo.Metrics, float64, error) {
	var b algo.Batch
	seqs := make([]model.Sequence, len(idx))
	for i, k := range idx {
		seqs[i] = cs[k].sequence()
		b.OldLogprob = append(b.OldLogprob, widen(cs[k].Logprob))
		b.Advantage = append(b.Advantage, adv[k])
		if reference != nil {
			b.RefLogprob = append(b.RefLogprob, reference[k])
		}
	}
	b.SamplerLogprob = b.OldLogprob
	stats, err := s.trainer.Forward(seqs, st.Sampling.Temperature)
	if err != nil {
		return algo.Metrics{}, 0, err
	}
	for _, t := range stats {
		b.Logprob = append(b.Logprob, widen(t.Logprob))
		b.Entropy = append(b.Entropy, widen(t.Entropy))
		s.tokens += len(t.Logprob)
	}
	res, err := algo.Loss(st.Algorithm.Config, b)
	if err != nil {
		return algo.Metrics{}, 0, fmt.Errorf("step %d: %w", s.state.Step+1, err)
	}
	weights := make([]model.TokenWeights, len(idx))
	for i := range weights {
		weights[i].Logprob = res.DLogprob[i]
		if res.DEntropy != nil {
			weights[i].Entropy = res.DEntropy[i]
		}
		if res.DMeanLogprob != nil {
			weights[i].MeanLogprob = res.DMeanLogprob[i]
		}
	}
	if err := s.trainer.Backward(weights); err != nil {
		return algo.Metrics{}, 0, err
	}
	norm, err := s.trainer.Step(adamw(st.Optimizer, lr))
	if errors.Is(err, model.ErrNotFinite) {
		err = fmt.Errorf("step %d: %w: nothing was updated; lower the learning rate (%v) or clip_norm (%v), and resume from the last checkpoint",
			s.state.Step+1, err, lr, st.Optimizer.ClipNorm)
	}
	return res.Metrics, norm, err
}

// referenceLogprobs are the frozen reference policy's, or nil if the recipe
// has no KL term.
func (s *session) referenceLogprobs(st *recipe.Stage, cs []completion) ([][]float64, error) {
	if st.Algorithm.KLCoef == 0 {
		return nil, nil
	}
	seqs := make([]model.Sequence, len(cs))
	for i, c := range cs {
		seqs[i] = c.sequence()
	}
	stats, err := s.reference.Score(seqs, st.Sampling.Temperature)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(stats))
	for i, t := range stats {
		out[i] = widen(t.Logprob)
	}
	return out, nil
}

// penalise takes the KL to the reference off the rewards, where the recipe asks
// for it there.
func (s *session) penalise(st *recipe.Stage, rewards []float64, cs []completion, reference [][]float64) ([]float64, error) {
	if reference == nil || st.Algorithm.KLIn != "reward" {
		return rewards, nil
	}
	b := algo.Batch{RefLogprob: reference}
	for _, c := range cs {
		b.Logprob = append(b.Logprob, widen(c.Logprob))
	}
	return algo.PenalizeRewards(st.Algorithm.Config, rewards, b)
}

func rolloutMetrics(cs []completion) metrics.Row {
	tokens, truncated, right, scored := 0, 0, 0.0, 0
	for _, c := range cs {
		tokens += len(c.IDs)
		if c.Stop == "length" {
			truncated++
		}
		if !math.IsNaN(c.verdict.Score) {
			right += c.verdict.Score
			scored++
		}
	}
	n := float64(len(cs))
	row := metrics.Row{"rollout/tokens": float64(tokens), "rollout/length_mean": float64(tokens) / n, "rollout/truncated_frac": float64(truncated) / n}
	if scored > 0 {
		row["rollout/right_share"] = right / float64(scored)
	}
	return row
}

func widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// showSample prints a completion every so often: the first of the step, right or
// wrong.
func (s *session) showSample(st *recipe.Stage, cs []completion) {
	if st.SampleEvery == 0 || (s.state.Step-1)%st.SampleEvery != 0 {
		return
	}
	c := cs[0]
	s.show.Line("  step %d: %s  %s   %s: %s", s.state.Step, terminal.Line(c.row.Question, 120), terminal.Line(c.text, 120), c.verdict.Verdict, terminal.Line(c.verdict.Reason, 60))
}
