package rl

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/bench"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
)

// stepRepeats is how many steps BenchStep runs after one to warm up.
const stepRepeats = 6

// BenchStep measures whole reinforcement learning steps of a preset from random
// weights, rollouts of full length: the best of several, with its phases.
func BenchStep(ctx context.Context, dev gpu.Device, preset string, emit func(bench.Result)) error {
	r, err := recipe.Load(preset, nil)
	if err != nil {
		return err
	}
	opened, err := resolve.Open(r)
	if err != nil {
		return err
	}
	r = opened.Recipe
	s, err := newSession(opened, dev, io.Discard)
	if err != nil {
		return err
	}
	defer s.Close()
	s.state = s.fresh()
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Kind == "rl" {
			s.state.Stage = i
			return s.benchStage(ctx, st, preset, emit)
		}
	}
	return fmt.Errorf("%w: recipe %s has no rl stage", ErrInput, preset)
}

func (s *session) benchStage(ctx context.Context, st *recipe.Stage, preset string, emit func(bench.Result)) error {
	s.model.Config.EOS = nil // every completion runs to its full length
	st.Reward = "random"     // random weights solve nothing: without it no advantage would differ from 0
	program, err := programOf(st)
	if err != nil {
		return err
	}
	shortest, phases := math.Inf(1), map[string]float64{}
	for i := range stepRepeats + 1 {
		s.state.Step = i
		began := time.Now()
		cs, scores, err := s.collect(ctx, st, program)
		if err != nil {
			return err
		}
		sampled := time.Now()
		if _, _, err := s.learn(st, cs, scores); err != nil {
			return err
		}
		if total := time.Since(began).Seconds(); i > 0 && total < shortest {
			shortest = total
			phases = map[string]float64{"rollout": sampled.Sub(began).Seconds(), "train": time.Since(sampled).Seconds()}
		}
	}
	c := s.model.Device().Caps()
	emit(bench.Result{Bench: "step", Device: c.Name, Tier: string(c.Tier), Value: shortest, Unit: "s", Phases: phases,
		Case: fmt.Sprintf("%s, %d prompts x %d samples x %d tokens, %d updates", preset, st.PromptsPerStep, st.GroupSize, st.Sampling.MaxCompletionTokens, st.UpdatesPerRollout)})
	return nil
}
