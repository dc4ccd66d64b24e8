package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// rlStep is a step of reinforcement learning with random weights, whose completions run
// to their full length: groups of so many prompts are sampled, and one update is made.
type rlStep struct {
	grouped
	prompts int
	trl     float64 // seconds that TRL takes, see againstTRL; 0: it was not measured
}

// rlSteps are those that TRL was measured with, and one group with long texts for each shape.
func rlSteps() []rlStep {
	list := []rlStep{
		{grouped{"0.86M", groups()[7].config, 8, 24, 8}, 64, 1.9},
		{grouped{"25M", Shapes()[1].Config, 8, 32, 8}, 8, 10.5},
	}
	for _, s := range Shapes() {
		s.Config.MaxPositions = 2048
		list = append(list, rlStep{grouped{s.Name, s.Config, 200, 200, 8}, 1, 0})
	}
	return list
}

// againstTRL compares a result with the seconds that TRL 1.16 on torch 2.13 took for a step
// of the same size, float32, on two cores of an AMD EPYC. It ran on its own, not in turns with
// this (docs/why/speed.md). A step with matrices in another storage has
// nothing to be compared with.
func (r *Result) againstTRL(seconds float64, d hf.Dtype) {
	if seconds > 0 && cmp.Or(d, hf.F32) == hf.F32 {
		r.Baseline, r.BaselineValue, r.Ratio = "TRL 1.16 on torch", seconds, r.Value/seconds
		r.Detail = "measured on another machine, with two cores of an AMD EPYC"
	}
}

// Steps measures steps with random weights: the best of several, with its phases.
func Steps(b Bench) error {
	for _, s := range rlSteps() {
		r, err := s.measure(b, "step")
		if err != nil {
			return err
		}
		if r != nil {
			r.againstTRL(s.trl, b.Dtype)
			b.Emit(*r)
		}
	}
	return nil
}

// growthSteps vary one size of a step at a time. All are held against the first.
func growthSteps() []rlStep {
	tiny, small, large := groups()[0].config, groups()[7].config, Shapes()[1].Config
	return []rlStep{
		{grouped{"0.23M", tiny, 64, 32, 8}, 2, 0},
		{grouped{"0.23M", tiny, 128, 32, 8}, 2, 0}, {grouped{"0.23M", tiny, 256, 32, 8}, 2, 0}, {grouped{"0.23M", tiny, 512, 32, 8}, 2, 0},
		{grouped{"0.23M", tiny, 64, 64, 8}, 2, 0}, {grouped{"0.23M", tiny, 64, 128, 8}, 2, 0},
		{grouped{"0.23M", tiny, 64, 32, 16}, 2, 0}, {grouped{"0.23M", tiny, 64, 32, 32}, 2, 0},
		{grouped{"0.23M", tiny, 64, 32, 8}, 4, 0}, {grouped{"0.23M", tiny, 64, 32, 8}, 8, 0},
		{grouped{"0.86M", small, 64, 32, 8}, 2, 0}, {grouped{"25M", large, 64, 32, 8}, 2, 0},
	}
}

// Growth measures how the time of a step grows with the lengths of prompts and completions,
// with the size of groups and their number, and with the model. Beside each is what theory
// says, counted from the first: as many times its seconds as the limits of the device need
// for the work of a step.
func Growth(b Bench) error {
	var first *Result
	var least, rows, pairs float64 // of the first
	for _, s := range growthSteps() {
		r, err := s.measure(b, "growth")
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		_, sec := b.Limits.bound(total{work: s.kept(b).work()})
		n := float64(s.prompts)
		if first == nil {
			first, least, rows, pairs = r, sec, n*s.rows(), n*s.pairs()
		} else {
			r.Baseline, r.BaselineValue = "theory from the first", first.Value*sec/least
			r.Ratio = r.Value / r.BaselineValue
			r.Detail = fmt.Sprintf("%.2f times its rows, %.2f times its pairs of tokens", n*s.rows()/rows, n*s.pairs()/pairs)
		}
		b.Emit(*r)
	}
	return nil
}

// trainRows is how many the trainer holds at once.
func (s rlStep) trainRows() int {
	return max(2048, seq.GroupRows(s.prompt, s.completion, s.group))
}

// options are the capacity that sampling needs.
func (s rlStep) options() *sample.Options {
	return &sample.Options{Sequences: s.prompts * s.group, Context: s.prompt + s.completion}
}

// kept is the step in the storage of a benchmark.
func (s rlStep) kept(b Bench) rlStep {
	shape := b.kept(s.shape())
	s.config, s.name = shape.Config, shape.Name
	return s
}

// work is that of all groups. Weights are read for all of them at once.
func (s rlStep) work() work {
	sampling, learning := s.sampling(), s.learning()
	return work{flops: float64(s.prompts) * (sampling.flops + learning.flops), bytes: sampling.bytes + learning.bytes}
}

// measure is the best of several steps; nil if it is skipped.
func (s rlStep) measure(b Bench, name string) (*Result, error) {
	const repeats = 3 // the first one compiles
	s = s.kept(b)
	what := fmt.Sprintf("%s, %d prompts of %d tokens x %d samples x %d tokens", s.name, s.prompts, s.prompt, s.group, s.completion)
	use := memory.Use{Positions: s.prompt + s.completion, TrainRows: s.trainRows(), Engine: s.options()}
	if skipped, err := b.skips(name, what, s.shape(), needs{times: repeats, work: s.work(), use: use}); skipped || err != nil {
		return nil, err
	}
	m, err := model.New(b.Device, s.config, 1, s.prompt+s.completion)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	e, err := sample.NewEngine(m, *s.options())
	if err != nil {
		return nil, err
	}
	defer e.Close()
	t, err := learn.NewTrainer(m, s.trainRows())
	if err != nil {
		return nil, err
	}
	defer t.Close()
	r := result(b.Device, name, what, math.Inf(1), "s")
	for range repeats {
		began := time.Now()
		seqs, err := s.rollout(e)
		if err != nil {
			return nil, err
		}
		rollout := time.Since(began).Seconds()
		if err := s.learn(t, seqs); err != nil {
			return nil, err
		}
		if sec := time.Since(began).Seconds(); sec < r.Value {
			r.Value, r.Phases = sec, map[string]float64{"rollout": rollout, "train": sec - rollout}
		}
	}
	r.Rate = b.rate(s.work(), r.Value)
	return &r, nil
}

// rollout samples the groups, numbered from 1.
func (s rlStep) rollout(e *sample.Engine) ([]seq.Sequence, error) {
	reqs := make([]sample.Request, s.prompts)
	for i := range reqs {
		ids := prompt(Shape{Prompt: s.prompt, Config: s.config}, i)
		reqs[i] = sample.Request{Prompt: ids, N: s.group, MaxTokens: s.completion, Stream: uint32(i * s.group), Sampling: sample.Settings{Temperature: 1, Seed: 1}}
	}
	all, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		return nil, err
	}
	var seqs []seq.Sequence
	for i, completions := range all {
		for _, c := range completions {
			one := seq.Predict(append(reqs[i].Prompt[:s.prompt:s.prompt], c.IDs...), s.prompt, 1)
			one.Group = i + 1
			seqs = append(seqs, one)
		}
	}
	return seqs, nil
}

// learn makes one update: every other completion is to become more likely, the others less.
func (s rlStep) learn(t *learn.Trainer, seqs []seq.Sequence) error {
	_, err := update(t, seqs, func(i int) float64 { return float64(1-2*(i%2)) / float64(len(seqs)*s.completion) })
	return err
}
