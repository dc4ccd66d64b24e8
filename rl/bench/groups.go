package bench

import (
	"fmt"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/seq"
)

// grouped is an update on completions that have their prompt in common and part after
// it.
type grouped struct {
	name               string
	config             hf.Config
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
// prompt, and in turns, but with b.Alone, the same with each completion for itself.
func Groups(b Bench) error {
	for _, g := range groups() {
		if err := g.measure(b, g.shape()); err != nil {
			return err
		}
	}
	return nil
}

// LongGroup measures an update as those of Groups, of one shape: 16 completions of 100 tokens after a prompt of 1,000.
func LongGroup(b Bench, s Shape) error {
	return grouped{s.Name, s.Config, 1000, 100, 16}.measure(b, s)
}

// shape is what the group is computed with.
func (g grouped) shape() Shape { return Shape{Name: g.name, Config: g.config} }

// rows are those of the trainer's batches: a prompt and what follows it once, and of each
// completion all but the last token. pairs are those of a row and one that it sees.
func (g grouped) rows() float64 {
	return float64(g.prompt + g.group*(g.completion-1))
}

func (g grouped) pairs() float64 {
	p, c, n := float64(g.prompt), float64(g.completion), float64(g.group)
	return p*p/2 + n*(c*p+c*c/2)
}

// apart is one completion for itself.
func (g grouped) apart() grouped {
	g.group = 1
	return g
}

const groupTurns = 2

// measure measures an update with the model of a shape.
func (g grouped) measure(b Bench, s Shape) error {
	s = b.kept(s)
	g.config, g.name = s.Config, s.Name
	n := float64(g.group)
	what := fmt.Sprintf("%s, %d + %d tokens, group of %d", g.name, g.prompt, g.completion, g.group)
	rows := max(8192, seq.GroupRows(g.prompt, g.completion, g.group))
	whole := g.learning()
	if !b.Alone {
		whole = whole.add(g.apart().learning().times(n))
	}
	use := memory.Use{Positions: g.prompt + g.completion, TrainRows: rows}
	if skipped, err := b.skips("groups", what, s, needs{times: groupTurns + 0.5, work: whole, use: use}); skipped || err != nil {
		return err
	}
	m, err := s.model(b.Device, g.prompt+g.completion, false)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := learn.NewTrainer(m, rows)
	if err != nil {
		return err
	}
	defer t.Close()
	update := func(number int) func() error {
		return func() error { _, err := g.update(t, number); return err }
	}
	ways := []func() error{update(1), update(0)}
	if b.Alone {
		ways = ways[:1]
	}
	logprob, err := g.update(t, 1) // pipelines are made at their first use
	if err != nil {
		return err
	}
	times, err := inTurns(groupTurns, 0, ways...)
	if err != nil {
		return err
	}
	shared := quantile(times[0], 0)
	r := result(b.Device, "groups", what, shared, "s")
	r.Logprob = logprob
	if b.Alone {
		b.Emit(r)
		return nil
	}
	apart := quantile(times[1], 0)
	r.Baseline, r.BaselineValue, r.Ratio = "computed separately", apart, shared/apart
	r.Detail = fmt.Sprintf("share of the rows computed %.3f, of the pairs of tokens %.3f", g.rows()/(n*g.apart().rows()), g.pairs()/(n*g.apart().pairs()))
	b.Emit(r)
	return nil
}

// learning is the work of an update on the group. Each row has three products with each
// weight of the blocks, each predicted token four with the vocabulary, as its logits are made
// again in the backward pass, and each pair nine products of a head's width (attentionWork).
func (g grouped) learning() work {
	blocks, vocabulary := g.shape().weights()
	predicted := float64(g.group * g.completion)
	return work{flops: 6*blocks*g.rows() + 8*vocabulary*predicted + 9*g.pairFlops(), bytes: g.shape().updateBytes()}
}

// sampling is the work of drawing the group: the same rows and pairs forward, with all weights
// read for each token.
func (g grouped) sampling() work {
	blocks, vocabulary := g.shape().weights()
	predicted := float64(g.group * g.completion)
	return work{flops: 2*blocks*g.rows() + 2*vocabulary*predicted + 2*g.pairFlops(), bytes: float64(g.completion) * g.shape().weightBytes()}
}

// pairFlops is one product of head width for each pair, in all layers.
func (g grouped) pairFlops() float64 {
	c := g.config
	return 2 * g.pairs() * float64(c.Layers*c.Heads*c.HeadDim)
}

// update is one update on the group, as a group of the trainer's with a number, or as
// sequences apart with 0. It returns what update does.
func (g grouped) update(t *learn.Trainer, number int) (float64, error) {
	seqs := make([]seq.Sequence, g.group)
	for i := range seqs {
		ids := make([]int, g.prompt+g.completion)
		for j := range ids {
			ids[j] = j * 17 % g.config.Vocab
			if j >= g.prompt {
				ids[j] = (i + j*17) % g.config.Vocab // differ from the first token on
			}
		}
		seqs[i] = seq.Predict(ids, g.prompt, 1)
		seqs[i].Group = number
	}
	return update(t, seqs, func(int) float64 { return -1 / float64(g.group*g.completion) })
}

// update is one update with a weight for the log-probs of each sequence. It returns their mean before it, nats.
func update(t *learn.Trainer, seqs []seq.Sequence, weight func(sequence int) float64) (float64, error) {
	var all average
	err := t.Accumulate(seqs, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
		all.add(stats)
		weights := make([]learn.Weights, len(stats))
		for i, s := range stats {
			weights[i].Logprob = make([]float64, len(s.Logprob))
			for j := range s.Logprob {
				weights[i].Logprob[j] = weight(first + i)
			}
		}
		return weights, nil
	})
	if err != nil {
		return 0, err
	}
	_, err = t.Step(learn.Optimizer{LR: 1e-4, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1})
	return all.value(), err
}
