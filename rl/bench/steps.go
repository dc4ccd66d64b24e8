package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/model"
)

// rlStep is a step of reinforcement learning with random weights, whose completions run
// to their full length: groups of so many prompts are sampled, and one update is made.
type rlStep struct {
	grouped
	prompts int
}

// rlSteps are those that TRL 1.16 was measured with on torch on two cores (1.9 s and
// 10.5 s), and one group with long texts for each shape.
func rlSteps() []rlStep {
	list := []rlStep{
		{grouped{"0.86M", groups()[7].config, 8, 24, 8}, 64},
		{grouped{"25M", Shapes()[1].Config, 8, 32, 8}, 8},
	}
	for _, s := range Shapes() {
		s.Config.MaxPositions = 2048
		list = append(list, rlStep{grouped{s.Name, s.Config, 200, 200, 8}, 1})
	}
	return list
}

// Steps measures steps with random weights: the best of several, with its phases.
func Steps(b Bench) error {
	for _, s := range rlSteps() {
		if err := s.measure(b); err != nil {
			return err
		}
	}
	return nil
}

// rows is how many the trainer holds at once.
func (s rlStep) rows() int { return max(2048, model.GroupRows(s.prompt, s.completion, s.group)) }

// options are the capacity that sampling needs.
func (s rlStep) options() *model.EngineOptions {
	return &model.EngineOptions{Sequences: s.prompts * s.group, Context: s.prompt + s.completion}
}

// work is that of a round for each token, of the prompts, and of an update.
func (s rlStep) work() work {
	n := Shape{Config: s.config}.matrices()
	rows := float64(s.prompts * (s.prompt + s.group*(s.completion-1)))
	return work{flops: (2 + 6) * n * rows, bytes: 4 * n * float64(s.completion+12)}
}

func (s rlStep) measure(b Bench) error {
	const repeats = 3 // the first one compiles
	what := fmt.Sprintf("%s, %d prompts of %d tokens x %d samples x %d tokens", s.name, s.prompts, s.prompt, s.group, s.completion)
	use := model.Use{Positions: s.prompt + s.completion, TrainRows: s.rows(), Engine: s.options()}
	if skipped, err := b.skips("step", what, Shape{Config: s.config}, repeats, s.work(), use); skipped || err != nil {
		return err
	}
	m, err := model.New(b.Device, s.config, 1, s.prompt+s.completion)
	if err != nil {
		return err
	}
	defer m.Close()
	e, err := m.NewEngine(*s.options())
	if err != nil {
		return err
	}
	defer e.Close()
	t, err := m.NewTrainer(s.rows())
	if err != nil {
		return err
	}
	defer t.Close()
	r := result(b.Device, "step", what, math.Inf(1), "s")
	for range repeats {
		began := time.Now()
		seqs, err := s.rollout(e)
		if err != nil {
			return err
		}
		rollout := time.Since(began).Seconds()
		if err := s.learn(t, seqs); err != nil {
			return err
		}
		if sec := time.Since(began).Seconds(); sec < r.Value {
			r.Value, r.Phases = sec, map[string]float64{"rollout": rollout, "train": sec - rollout}
		}
	}
	r.Rate = b.rate(s.work(), r.Value)
	b.Emit(r)
	return nil
}

// rollout samples the groups, numbered from 1.
func (s rlStep) rollout(e *model.Engine) ([]model.Sequence, error) {
	reqs := make([]model.Request, s.prompts)
	for i := range reqs {
		ids := prompt(Shape{Prompt: s.prompt, Config: s.config}, i)
		reqs[i] = model.Request{Prompt: ids, N: s.group, MaxTokens: s.completion, Stream: uint32(i * s.group), Sampling: model.Sampling{Temperature: 1, Seed: 1}}
	}
	all, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		return nil, err
	}
	var seqs []model.Sequence
	for i, completions := range all {
		for _, c := range completions {
			seq := model.Predict(append(reqs[i].Prompt[:s.prompt:s.prompt], c.IDs...), s.prompt, 1)
			seq.Group = i + 1
			seqs = append(seqs, seq)
		}
	}
	return seqs, nil
}

// learn makes one update: every other completion is to become more likely, the others less.
func (s rlStep) learn(t *model.Trainer, seqs []model.Sequence) error {
	return update(t, seqs, func(i int) float64 { return float64(1-2*(i%2)) / float64(len(seqs)*s.completion) })
}
