package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/store"
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

// loaded is the recipe of a preset, with the storage of the benchmark, and all that it changes of the preset, as set
// does; blocked says that its model cannot be trained in that storage, which is not asked for then.
func (b Bench) loaded(preset, from string, set ...string) (r *recipe.Recipe, all []string, blocked bool, err error) {
	set = slices.Clone(set)
	if from != "" {
		set = append(set, "model.path="+from)
	}
	r, err = recipe.Load(preset, set)
	if err != nil || b.Dtype == "" {
		return r, set, false, err
	}
	if b.Dtype.Blocked() && r.Model.LoRA.Rank == 0 {
		return r, set, true, nil
	}
	set = append(set, "model.dtype="+string(b.Dtype))
	r, err = recipe.Load(preset, set)
	return r, set, false, err
}

// Step measures whole reinforcement learning steps of a preset: the best of several, with
// its phases. from is a model to start from; "": that of the preset, or random weights and
// rollouts of full length.
func Step(ctx context.Context, b Bench, preset, from string) error {
	r, _, blocked, err := b.loaded(preset, from)
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
			if r.Model.Path == "" {
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
	l, err := openLoop(b, opened, index)
	if err != nil {
		return err
	}
	defer l.close()
	shortest, phases, tokens := math.Inf(1), map[string]float64{}, 0.0
	for i := range stepRepeats + 1 {
		e, err := l.step(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			for _, c := range e.Completions {
				tokens += float64(c.View.Tokens()) / float64(len(e.Completions))
			}
		}
		rollout, learning := e.Timing["time/rollout_s"], e.Timing["time/train_s"]
		if i > 0 && rollout+learning < shortest {
			shortest, phases = rollout+learning, map[string]float64{"rollout": rollout, "train": learning}
		}
	}
	out := result(b.Device, "step", what, shortest, "s")
	out.Phases, out.Tokens = phases, tokens
	out.againstTRL(trlStep(preset, l.cast.Policy.Model.Config), l.cast.Policy.Model.Config.Dtype)
	b.Emit(out)
	return nil
}

// loop is an rl stage of a recipe, step after step.
type loop struct {
	cast   *cast.Cast
	judges []recipe.Judging
	stage  train.Stage
	at     train.Position // of the next step
}

// openLoop opens the stage of an index, with the model of its recipe: of random weights, completions run to their full
// length.
func openLoop(b Bench, opened *resolve.Opened, index int) (*loop, error) {
	r := opened.Recipe
	var found store.Found
	var err error
	if r.Model.Path != "" {
		if found, err = store.FindModel(r.Model.Path, ""); err != nil {
			return nil, err
		}
	}
	c, err := cast.Open(r, found.Dir, b.Device)
	if err != nil {
		return nil, err
	}
	l := &loop{cast: c, judges: r.Judges(), at: train.Position{Stage: index}}
	renderer, err := prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, resolve.Style(r))
	if err == nil {
		if found.Dir == "" {
			c.Policy.Model.Config.EOS = nil
		}
		err = l.begin(opened, renderer)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// begin makes the stage.
func (l *loop) begin(opened *resolve.Opened, renderer *prompts.Renderer) error {
	r := opened.Recipe
	parts := train.Parts{Recipe: r, Source: opened.Source, Cast: l.cast, Prompts: renderer, Record: train.NewRecord(r)}
	var err error
	if parts.Collector, err = train.NewCollector(&resolve.Opened{Recipe: r, Source: opened.Source, Tools: opened.Tools, World: opened.World}, l.cast, renderer, nil); err != nil {
		return err
	}
	measuring := *parts.Collector
	if parts.HeldOut, err = train.NewHeldOut(r, opened.Source, &measuring); err != nil {
		return err
	}
	if err = l.cast.Begin(r, l.at.Stage); err != nil {
		return err
	}
	l.stage, err = train.New(parts, l.at.Stage)
	return err
}

// step does the next step.
func (l *loop) step(ctx context.Context) (*train.Event, error) {
	e, err := l.stage.Step(ctx, l.at)
	l.at.Step, l.at.Total = l.at.Step+1, l.at.Total+1
	return e, err
}

func (l *loop) close() { l.cast.Close() }
