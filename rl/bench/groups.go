package bench

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
)

// grouped is an update on completions that have their prompt in common and part after
// it.
type grouped struct {
	name               string
	config             model.Config
	prompt, completion int // tokens
	group              int
}

// groups vary one length at a time, and then the model.
func groups() []grouped {
	tiny := Shapes()[0].Config
	tiny.MaxPositions = 2048
	small := tiny
	small.Width, small.Layers, small.Heads, small.KVHeads, small.MLP = 128, 4, 4, 4, 384
	large := Shapes()[1].Config
	return []grouped{
		{"0.23M", tiny, 64, 32, 8},
		{"0.23M", tiny, 128, 32, 8}, {"0.23M", tiny, 256, 32, 8},
		{"0.23M", tiny, 64, 64, 8}, {"0.23M", tiny, 64, 128, 8},
		{"0.23M", tiny, 64, 32, 16}, {"0.23M", tiny, 64, 32, 32},
		{"0.86M", small, 64, 32, 8},
		{"0.23M", tiny, 1000, 100, 16},
		{"25M", large, 1000, 100, 16},
	}
}

// Groups measures updates on a group of completions that share the computation of their
// prompt, and in turns the same with each completion for itself. small leaves out the
// cases that take minutes on a CPU.
func Groups(dev gpu.Device, small bool, emit func(Result)) error {
	all := groups()
	if small {
		all = all[:len(all)-2]
	}
	for _, g := range all {
		if err := g.measure(dev, emit); err != nil {
			return err
		}
	}
	return nil
}

func (g grouped) measure(dev gpu.Device, emit func(Result)) error {
	m, err := model.New(dev, g.config, 1, g.prompt+g.completion)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := m.NewTrainer(max(8192, model.GroupRows(g.prompt, g.completion, g.group)))
	if err != nil {
		return err
	}
	defer t.Close()
	update := func(number int) func() error {
		return func() error { return g.update(t, number) }
	}
	if err := update(1)(); err != nil { // pipelines are made at their first use
		return err
	}
	times, err := inTurns(2, 0, update(1), update(0))
	if err != nil {
		return err
	}
	shared, apart := quantile(times[0], 0), quantile(times[1], 0)
	p, c, n := float64(g.prompt), float64(g.completion), float64(g.group)
	r := result(dev, "groups", fmt.Sprintf("%s, %d + %d tokens, group of %d", g.name, g.prompt, g.completion, g.group), shared, "s")
	r.Baseline, r.BaselineValue, r.Ratio = "computed separately", apart, shared/apart
	r.Detail = fmt.Sprintf("share of the rows computed %.3f, of the pairs of tokens %.3f", (p+n*(c-1))/(n*(p+c-1)), (p*p/2+n*(c*p+c*c/2))/(n*(p+c)*(p+c)/2))
	emit(r)
	return nil
}

// update is one update on the group, as a group of the trainer's with a number, or as
// sequences apart with 0.
func (g grouped) update(t *model.Trainer, number int) error {
	seqs := make([]model.Sequence, g.group)
	for i := range seqs {
		ids := make([]int, g.prompt+g.completion)
		for j := range ids {
			ids[j] = j * 17 % g.config.Vocab
			if j >= g.prompt {
				ids[j] = (i + j*17) % g.config.Vocab // differ from the first token on
			}
		}
		seqs[i] = model.Predict(ids, g.prompt, 1)
		seqs[i].Group = number
	}
	return update(t, seqs, func(int) float64 { return -1 / float64(g.group*g.completion) })
}

// update is one update with a weight for the log-probs of each sequence.
func update(t *model.Trainer, seqs []model.Sequence, weight func(sequence int) float64) error {
	err := t.Accumulate(seqs, func(first int, stats []model.TokenStats) ([]model.TokenWeights, error) {
		weights := make([]model.TokenWeights, len(stats))
		for i, s := range stats {
			weights[i].Logprob = make([]float64, len(s.Logprob))
			for j := range s.Logprob {
				weights[i].Logprob[j] = weight(first + i)
			}
		}
		return weights, nil
	})
	if err != nil {
		return err
	}
	_, err = t.Step(model.Optimizer{LR: 1e-4, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1})
	return err
}
