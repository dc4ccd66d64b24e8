package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// What the bits are compared over: sampledPrompts prompts of at most longestPrompt tokens, fewer and
// shorter ones where time is short, with samplesEach completions of sampledTokens tokens each.
const (
	sampledPrompts = 32
	quickPrompts   = 10
	samplesEach    = 2
	sampledTokens  = 6
	longestPrompt  = 150
	quickLongest   = 70 // some pages of keys and values
	temperature    = 0.9
)

// cut is one way of dividing the work.
type cut struct {
	sequences  int  // in flight
	promptRows int  // prompt tokens in one device step
	shared     bool // the samples of a prompt are one request, with its pages in common
	goroutines int
	reuse      bool // once more on the same engine, whose pages have been used
}

var cuts = []cut{
	{sequences: 1, promptRows: 512, goroutines: 1},
	{sequences: 3, promptRows: 7, goroutines: 1},
	{sequences: 16, promptRows: 64, goroutines: 8, shared: true, reuse: true},
	{sequences: 64, promptRows: 512, goroutines: 1, shared: true},
	{sequences: 64, promptRows: 64, goroutines: 8, reuse: true},
}

func (c cut) String() string {
	text := fmt.Sprintf("%d sequences in flight, prompts in chunks of %d, %d goroutines", c.sequences, c.promptRows, c.goroutines)
	if c.shared {
		text += ", shared prompt pages"
	}
	return text
}

// samplerBits is the check that ids, log-probs and entropies do not depend on how
// work is cut, and that trainer and scorer compute the sampler's bits again, with
// matrices, and keys and values, kept as dtype and kvDtype say.
func samplerBits(dtype, kvDtype hf.Dtype) func(*subject) (string, error) {
	return func(p *subject) (string, error) {
		m, err := small(p.dev, longestPrompt+sampledTokens, dtype, kvDtype)
		if err != nil {
			return "", err
		}
		defer m.Close()
		return equalBitsOf(p, m)
	}
}

func equalBitsOf(p *subject, m *model.Model) (string, error) {
	n, longest := sampledPrompts, longestPrompt
	if p.quick {
		n, longest = quickPrompts, quickLongest
	}
	ps := somePrompts(n, longest, m.Config.Vocab)
	var first []sample.Completion
	for _, c := range cuts {
		rounds, err := c.generate(p.ctx, m, ps)
		if err != nil {
			return "", fmt.Errorf("%v: %w", c, err)
		}
		for i, got := range rounds {
			if first == nil {
				first = got
				continue
			}
			where := ""
			if i > 0 {
				where = ", used pages"
			}
			if err := equalCompletions(got, first); err != nil {
				return "", fmt.Errorf("%v%s against %v: %w", c, where, cuts[0], err)
			}
		}
	}
	rows := []int{200, 4096}
	for _, n := range rows {
		if err := again(m, ps, first, n); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d completions equal to the bit over %d ways to sample and %d batch sizes of trainer and scorer, weights %s, keys and values %s",
		len(first), len(cuts), len(rows), m.Config.Dtype, m.Config.KVDtype), nil
}

// generate samples all completions, in order, once or twice.
func (c cut) generate(ctx context.Context, m *model.Model, ps [][]int) ([][]sample.Completion, error) {
	e, err := sample.NewEngine(m, sample.Options{Sequences: c.sequences, Context: longestPrompt + sampledTokens,
		StepRows: max(c.promptRows, c.sequences, 64), PromptRows: c.promptRows})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	rounds := 1
	if c.reuse {
		rounds = 2
	}
	var out [][]sample.Completion
	for range rounds {
		all, err := c.round(ctx, e, ps)
		if err != nil {
			return nil, err
		}
		out = append(out, all)
	}
	return out, nil
}

// round shares the requests among the goroutines.
func (c cut) round(ctx context.Context, e *sample.Engine, ps [][]int) ([]sample.Completion, error) {
	each := 1
	if c.shared {
		each = samplesEach
	}
	var reqs []sample.Request
	for i, ids := range ps {
		for j := 0; j < samplesEach; j += each {
			r := sample.Request{Prompt: ids, N: each, MaxTokens: sampledTokens, Stream: uint32(samplesEach*i + j),
				Sampling: sample.Settings{Temperature: temperature, Seed: 5}}
			if i%3 == 1 {
				r.Sampling.TopK, r.Sampling.TopP = 20, 0.9
			}
			reqs = append(reqs, r)
		}
	}
	results, errs := make([][]sample.Completion, len(reqs)), make([]error, c.goroutines)
	var wg sync.WaitGroup
	for g := range c.goroutines {
		wg.Go(func() {
			for i := g; i < len(reqs) && errs[g] == nil; i += c.goroutines {
				results[i], errs[g] = e.Generate(ctx, reqs[i])
			}
		})
	}
	wg.Wait()
	var all []sample.Completion
	for _, r := range results {
		all = append(all, r...)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func equalCompletions(got, want []sample.Completion) error {
	for i, w := range want {
		for j := range w.IDs {
			g := got[i]
			if j >= len(g.IDs) || g.IDs[j] != w.IDs[j] {
				return fmt.Errorf("completion %d, token %d: another token was drawn", i, j)
			}
			if err := equalBits(g.Logprob[j], w.Logprob[j]); err != nil {
				return fmt.Errorf("completion %d, token %d: log-prob %w", i, j, err)
			}
			if err := equalBits(g.Entropy[j], w.Entropy[j]); err != nil {
				return fmt.Errorf("completion %d, token %d: entropy %w", i, j, err)
			}
		}
	}
	return nil
}

func equalBits(got, want float32) error {
	if math.Float32bits(got) != math.Float32bits(want) {
		return fmt.Errorf("is %v, was %v", got, want)
	}
	return nil
}

// again computes the completions' statistics with trainer and scorer, in batches
// of at most rows tokens: the trainer with completions of a prompt that share the rows of
// their beginnings, the scorer with each for itself.
func again(m *model.Model, ps [][]int, sampled []sample.Completion, rows int) error {
	seqs := make([]seq.Sequence, len(sampled))
	for i, c := range sampled {
		prompt := ps[i/samplesEach]
		seqs[i] = seq.Predict(append(append([]int(nil), prompt...), c.IDs...), len(prompt), temperature)
	}
	trainer, err := learn.NewTrainer(m, rows)
	if err != nil {
		return err
	}
	defer trainer.Close()
	scorer, err := m.NewScorer(rows)
	if err != nil {
		return err
	}
	defer scorer.Close()
	grouped := slices.Clone(seqs)
	for i := range grouped {
		grouped[i].Group = 1 + i/samplesEach
	}
	for _, by := range []struct {
		name    string
		compute func([]seq.Sequence) ([]seq.Stats, error)
		seqs    []seq.Sequence
	}{{"trainer", trainer.Forward, grouped}, {"scorer", scorer.Score, seqs}} {
		stats, err := by.compute(by.seqs)
		if err != nil {
			return err
		}
		got := make([]sample.Completion, len(stats))
		for i, st := range stats {
			got[i] = sample.Completion{IDs: sampled[i].IDs, Logprob: st.Logprob, Entropy: st.Entropy}
		}
		if err := equalCompletions(got, sampled); err != nil {
			return fmt.Errorf("the %s, in batches of %d tokens, differs from the sampler: %w", by.name, rows, err)
		}
	}
	return nil
}
