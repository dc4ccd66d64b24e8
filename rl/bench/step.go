package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/train"
)

// stepRepeats is how many steps Step runs after one to warm up.
const stepRepeats = 6

// trlStep is the seconds that TRL takes for a step of a preset with a model, 0 if that was
// not measured: with the model of countdown-tiny alone, see againstTRL.
func trlStep(preset string, c hf.Config) float64 {
	size := func(c hf.Config) [5]int { return [...]int{c.Layers, c.Width, c.Heads, c.HeadDim, c.MLP} }
	if preset == "countdown-tiny" && size(c) == size(Shapes()[0].Config) {
		return 0.33
	}
	return 0
}

// loaded is the recipe of a preset for Step, with the storage of the benchmark; blocked says
// that its model cannot be trained in that one, which is not asked for then.
func (b Bench) loaded(preset, from string) (r *recipe.Recipe, blocked bool, err error) {
	var set []string
	if from != "" {
		set = append(set, "model.path="+from)
	}
	r, err = recipe.Load(preset, set)
	if err != nil || b.Dtype == "" {
		return r, false, err
	}
	if b.Dtype.Blocked() && r.Model.LoRA.Rank == 0 {
		return r, true, nil
	}
	r, err = recipe.Load(preset, append(set, "model.dtype="+string(b.Dtype)))
	return r, false, err
}

// Step measures whole reinforcement learning steps of a preset: the best of several, with
// its phases. from is the Hugging Face folder of a model to start from, or "": random
// weights, and rollouts of full length.
func Step(ctx context.Context, b Bench, preset, from string) error {
	r, blocked, err := b.loaded(preset, from)
	if err != nil {
		return err
	}
	opened, err := resolve.Open(r, b.Told)
	if err != nil {
		return err
	}
	defer opened.Close()
	r = opened.Recipe
	index := -1
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Kind == recipe.KindRL && index < 0 {
			index = i
			if from == "" {
				st.Reward = "random" // random weights solve nothing: without it no advantage would differ from 0
			}
			st.EvalEvery, st.RL.Steps = 0, stepRepeats+1
		}
	}
	if index < 0 {
		return fmt.Errorf("%w: recipe %s has no rl stage", lines.ErrInput, preset)
	}
	st := &r.Stages[index]
	what := fmt.Sprintf("%s, %d prompts x %d samples x %d tokens, %d updates", b.named(preset), st.PromptsPerStep, st.GroupSize, st.Sampling.MaxCompletionTokens, st.UpdatesPerRollout)
	if from != "" {
		what += ", from " + from
	}
	if b.leaves(what) {
		return nil
	}
	if blocked {
		b.skip("step", what, untrained(b.Dtype))
		return nil
	}
	c, err := cast.Open(r, from, b.Device)
	if err != nil {
		return err
	}
	defer c.Close()
	renderer, err := prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, resolve.Style(opened.Recipe))
	if err != nil {
		return err
	}
	if from == "" {
		c.Policy.Model.Config.EOS = nil // every completion runs to its full length
	}
	parts := train.Parts{Recipe: r, Source: opened.Source, Cast: c, Prompts: renderer, Record: train.NewRecord(r)}
	if parts.Collector, err = train.NewCollector(&resolve.Opened{Recipe: r, Source: opened.Source, Tools: opened.Tools, World: opened.World}, c, renderer, nil); err != nil {
		return err
	}
	measuring := *parts.Collector
	if parts.HeldOut, err = train.NewHeldOut(r, opened.Source, &measuring); err != nil {
		return err
	}
	stage, err := train.New(parts, index)
	if err != nil {
		return err
	}
	shortest, phases := math.Inf(1), map[string]float64{}
	for i := range stepRepeats + 1 {
		e, err := stage.Step(ctx, train.Position{Stage: index, Step: i, Total: i})
		if err != nil {
			return err
		}
		rollout, learning := e.Timing["time/rollout_s"], e.Timing["time/train_s"]
		if i > 0 && rollout+learning < shortest {
			shortest, phases = rollout+learning, map[string]float64{"rollout": rollout, "train": learning}
		}
	}
	out := result(b.Device, "step", what, shortest, "s")
	out.Phases = phases
	out.againstTRL(trlStep(preset, c.Policy.Model.Config), c.Policy.Model.Config.Dtype)
	b.Emit(out)
	return nil
}
