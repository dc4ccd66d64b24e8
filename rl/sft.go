package rl

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
)

// probeProblems are the training problems on which the warm-up tests whether
// the model has learned the form.
const probeProblems = 128

// trainSFT imitates the task's demonstrations: the mean negative log-prob of
// the completion's tokens, the end token included.
//
// The rate is held after its ramp until a share until_valid of samples has the
// form of an answer, or for hold_steps; then it falls linearly for decay_steps.
func (s *session) trainSFT(ctx context.Context, st *recipe.Stage) error {
	cfg := st.SFT
	total := cfg.HoldSteps + cfg.DecaySteps
	if s.state.HoldEnd >= 0 {
		total = s.state.HoldEnd + cfg.DecaySteps
	}
	s.show.Begin(st.Name, s.state.Step, total)
	for s.state.Step < total {
		began := time.Now()
		seqs, err := s.demonstrations(s.state.Step, cfg.BatchSize)
		if err != nil {
			return err
		}
		lr := st.Optimizer.LR * sftRate(s.state.Step, s.state.HoldEnd, cfg.DecaySteps, st.Optimizer.WarmupSteps, cfg.FinalLRShare)
		trained := s.tokens
		row, err := s.imitate(seqs, adamw(st.Optimizer, lr))
		if err != nil {
			return err
		}
		s.phase("time/train_s", time.Since(began))
		s.timing["train/tokens_per_s"] = float64(s.tokens-trained) / s.timing["time/train_s"]
		s.state.Step++
		row["optim/lr"] = lr
		if s.state.HoldEnd < 0 && (s.state.Step%cfg.TestEvery == 0 || s.state.Step >= cfg.HoldSteps) {
			valid, err := s.probe(ctx, s.state.Step)
			if err != nil {
				return err
			}
			row["eval/valid"] = valid
			if valid >= cfg.UntilValid || s.state.Step >= cfg.HoldSteps {
				s.state.HoldEnd = s.state.Step
				total = s.state.Step + cfg.DecaySteps
				s.show.Extend(total)
			}
		}
		s.show.Step(s.state.Step, fmt.Sprintf("loss %.3f", row["sft/loss"]), validText(row), s.rate())
		if err := s.endStep(ctx, st, row); err != nil {
			return err
		}
	}
	return nil
}

func validText(row metrics.Row) string {
	if v, ok := row["eval/valid"]; ok {
		return fmt.Sprintf("valid %.0f %%", 100*v)
	}
	return ""
}

// sftRate is the learning rate of a step, as a share of the full one.
func sftRate(step, holdEnd, decaySteps, ramp int, final float64) float64 {
	rate := 1.0
	if ramp > 0 {
		rate = math.Min(1, float64(step+1)/float64(ramp))
	}
	if holdEnd >= 0 {
		rate *= 1 - (1-final)*float64(step-holdEnd)/float64(decaySteps)
	}
	return rate
}

// demonstrations are the sequences of one step.
func (s *session) demonstrations(step, n int) ([]model.Sequence, error) {
	seqs := make([]model.Sequence, n)
	eos := s.model.Config.EOS[0]
	for i := range seqs {
		r := random.At(s.recipe.Seed, random.Stream(random.Draw, s.state.Stage), uint64(step)*uint64(n)+uint64(i))
		row := s.task.Draw(r)
		text, err := s.recipe.Task.Demonstrator().Demonstration(r, row)
		if err != nil {
			return nil, err
		}
		prompt, err := s.tok.Encode(row.Question)
		if err != nil {
			return nil, fmt.Errorf("prompt %q: %w", row.Question, err)
		}
		answer, err := s.tok.Encode(text)
		if err != nil {
			return nil, fmt.Errorf("demonstration %q: %w", text, err)
		}
		ids := append(append(append([]int(nil), prompt...), answer...), eos)
		seqs[i] = model.Sequence{IDs: ids, From: len(prompt)}
	}
	return seqs, nil
}

// imitate makes one update toward the sequences.
func (s *session) imitate(seqs []model.Sequence, h model.AdamW) (metrics.Row, error) {
	stats, err := s.trainer.Forward(seqs, 1)
	if err != nil {
		return nil, err
	}
	tokens := 0
	for _, st := range stats {
		tokens += len(st.Logprob)
	}
	weights := make([]model.TokenWeights, len(seqs))
	loss, entropy := 0.0, 0.0
	for i, st := range stats {
		weights[i].Logprob = make([]float64, len(st.Logprob))
		for j := range st.Logprob {
			weights[i].Logprob[j] = -1 / float64(tokens)
			loss -= float64(st.Logprob[j]) / float64(tokens)
			entropy += float64(st.Entropy[j]) / float64(tokens)
		}
	}
	if err := s.trainer.Backward(weights); err != nil {
		return nil, err
	}
	norm, err := s.trainer.Step(h)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", s.state.Step+1, err)
	}
	s.tokens += tokens
	return metrics.Row{"sft/loss": loss, "policy/entropy": entropy, "policy/grad_norm": norm}, nil
}

// probe is the share of samples, one for each of a few training problems, that
// have the form of an answer.
func (s *session) probe(ctx context.Context, step int) (float64, error) {
	rows := s.problems(random.Probe, s.state.Stage, 0, probeProblems)
	sampling := model.Sampling{Temperature: 1, Seed: s.seedOf(random.Probe, s.state.Stage, step)}
	// Not cut short by an interrupt: the step's update has been made.
	cs, err := s.rollout(context.WithoutCancel(ctx), rows, 1, s.recipe.Task.Demonstrator().CompletionTokens(), sampling, nil)
	if err != nil {
		return 0, err
	}
	valid := 0
	for _, c := range cs {
		if s.valid(c) {
			valid++
		}
	}
	return float64(valid) / float64(len(cs)), nil
}
