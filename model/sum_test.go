package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// another is a model with the vocabulary of the small one, and other numbers and sizes.
func another(t *testing.T, dev gpu.Device, seed uint64, wider int) *model.Model {
	t.Helper()
	cfg := modeltest.SmallConfig(hf.F32, hf.F32)
	cfg.Layers, cfg.MLP = cfg.Layers+wider, cfg.MLP+4*wider
	m, err := model.New(dev, cfg, seed, invarianceContext)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestSums: a sum of logits has the same bits in sampler, scorer and trainer, in any batch. A sum that is one model
// is that model, to the bit, whoever's place it has; what adds and takes away the same is nothing; other factors are
// other bits, and afterwards the model's own are there again.
func TestSums(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m, a, b := modeltest.Small(t, dev, invarianceContext), another(t, dev, 11, 1), another(t, dev, 12, 0)
		others := []*model.Model{a, b}
		ps := modeltest.Prompts(6, 40)
		if gputest.Slow(dev) || testing.Short() {
			ps = ps[:3]
		}
		one := modeltest.Requests(ps, 1)
		engine := func(of *model.Model, batch int, others ...*model.Model) *sample.Engine {
			return modeltest.EngineOf(t, of, sample.Options{Sequences: batch, Context: invarianceContext, Prefixes: sample.EveryPage, Others: others})
		}
		hash := func(c []sample.Completion) uint64 { return modeltest.HashTokens(c) }
		alone := modeltest.GenerateFirst(t, engine(m, 8), one)
		other := modeltest.GenerateFirst(t, engine(a, 8), one)
		e := engine(m, 8, others...)
		same := func(what string, got, want []sample.Completion) {
			t.Helper()
			if hash(got) != hash(want) {
				t.Errorf("%s: other bits%s", what, modeltest.FirstOther(got, want))
			}
		}
		same("no sum yet", modeltest.GenerateFirst(t, e, one), alone)
		e.Sum(0, []float64{1, 0})
		same("the sum is another model", modeltest.GenerateFirst(t, e, one), other)
		e.Sum(1, []float64{0, 0})
		same("the sum is the model", modeltest.GenerateFirst(t, e, one), alone)

		factors := []float64{0.5, -0.5}
		e.Sum(1, factors)
		summed := modeltest.GenerateFirst(t, e, one)
		if hash(summed) == hash(alone) {
			t.Error("a sum with others is the model alone")
		}
		same("the sum again, from its prefixes", modeltest.GenerateFirst(t, e, one), summed)
		apart := engine(m, 1, others...)
		apart.Sum(1, factors)
		same("one by one", modeltest.GenerateFirst(t, apart, one), summed)

		seqs := modeltest.Sequences(ps, summed)
		restated := func(what string, score func([]seq.Sequence) ([]seq.Stats, error)) {
			t.Helper()
			stats, err := score(seqs)
			same(what, modeltest.Restated(t, summed, stats, err), summed)
		}
		tr := modeltest.TrainerOf(t, m, invarianceContext)
		if err := tr.Mix(others); err != nil {
			t.Fatal(err)
		}
		tr.Sum(1, factors)
		if _, err := tr.Influence(nil, nil); err == nil || !strings.Contains(err.Error(), "others are added") {
			t.Errorf("the influence by a sum: %v", err)
		}
		restated("trainer", tr.Forward)
		s, err := m.NewScorer(invarianceContext)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Sum(1, others, factors); err != nil {
			t.Fatal(err)
		}
		restated("scorer", s.Score)

		for _, own := range []float64{0, 2, -0.5} {
			e.Sum(own, []float64{0.25, 1})
			tr.Sum(own, []float64{0.25, 1})
			drawn := modeltest.GenerateFirst(t, e, one)
			stats, err := tr.Forward(modeltest.Sequences(ps, drawn))
			same("trainer and sampler with other factors", modeltest.Restated(t, drawn, stats, err), drawn)
		}
		e.Sum(1, nil)
		tr.Sum(1, nil)
		same("no sum any more", modeltest.GenerateFirst(t, e, one), alone)
		stats, err := tr.Forward(modeltest.Sequences(ps, alone))
		same("no sum any more in the trainer", modeltest.Restated(t, alone, stats, err), alone)
	})
}

// TestFilterBy: a filter that acts on the distribution of another model leaves what that model's own filter leaves, and
// of it the model draws by its own log-probs, which stay those of its whole distribution. A filter by a model of equal
// weights is the model's own, to the bit, in any batch; where no filter is on, or a guide allows one token, it changes
// nothing; and afterwards the model's own filter is there again.
func TestFilterBy(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m, twin, a := modeltest.Small(t, dev, invarianceContext), modeltest.Small(t, dev, invarianceContext), another(t, dev, 11, 1)
		ps := modeltest.Prompts(6, 40)
		if gputest.Slow(dev) || testing.Short() {
			ps = ps[:3]
		}
		requests := func(top int, ps [][]int) []sample.Request {
			reqs := modeltest.Requests(ps, 1)
			for i := range reqs {
				reqs[i].Sampling.TopK, reqs[i].Sampling.TopP = top, 0
			}
			return reqs
		}
		engine := func(of *model.Model, batch int, others ...*model.Model) *sample.Engine {
			return modeltest.EngineOf(t, of, sample.Options{Sequences: batch, Context: invarianceContext, Prefixes: sample.EveryPage, Others: others, Guides: true})
		}
		same := func(what string, got, want []sample.Completion) {
			t.Helper()
			if modeltest.HashTokens(got) != modeltest.HashTokens(want) {
				t.Errorf("%s: other bits%s", what, modeltest.FirstOther(got, want))
			}
		}
		few, all := requests(3, ps), requests(0, ps)
		own, free := modeltest.GenerateFirst(t, engine(m, 8), few), modeltest.GenerateFirst(t, engine(m, 8), all)
		e := engine(m, 8, twin, a)
		e.FilterBy(0)
		same("by a model of equal weights", modeltest.GenerateFirst(t, e, few), own)
		e.FilterBy(1)
		same("no filter is on", modeltest.GenerateFirst(t, e, all), free)
		drawn := modeltest.GenerateFirst(t, e, few)
		same("again, from its prefixes", modeltest.GenerateFirst(t, e, few), drawn)
		apart := engine(m, 1, a)
		apart.FilterBy(0)
		same("one by one", modeltest.GenerateFirst(t, apart, few), drawn)

		stats, err := modeltest.TrainerOf(t, m, invarianceContext).Forward(modeltest.Sequences(ps, drawn))
		same("the trainer's log-probs", modeltest.Restated(t, drawn, stats, err), drawn)

		// Each token is one of the three that the other model finds likeliest there, and where it is asked for one token, it is
		// that model's greedy choice, whatever the model that draws finds.
		likely, others := engine(a, 1), 0
		for i, c := range drawn {
			for j, id := range c.IDs {
				var top []sample.Alternative
				_, err := likely.Generate(t.Context(), sample.Request{Prompt: append(append([]int{}, ps[i]...), c.IDs[:j]...), MaxTokens: 1, Top: 3,
					Each: func(_ int, told sample.Token) { top = told.Top }})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(top, func(x sample.Alternative) bool { return x.ID == id }) {
					t.Errorf("prompt %d, token %d: %d is none of %v", i, j, id, top)
				}
			}
			if !slices.Equal(c.IDs, own[i].IDs) {
				others++
			}
		}
		if others == 0 {
			t.Error("the filter of another model left what the model's own leaves everywhere")
		}
		one, greedy := requests(1, ps), requests(0, ps)
		for i := range greedy {
			greedy[i].Sampling.Temperature = 0
		}
		choice := modeltest.GenerateFirst(t, engine(a, 8), greedy)
		for i, c := range modeltest.GenerateFirst(t, e, one) {
			if !slices.Equal(c.IDs, choice[i].IDs) {
				t.Errorf("prompt %d: %v, want the other model's greedy choice %v", i, c.IDs, choice[i].IDs)
			}
		}

		// With a guide both rank what it allows alone.
		for i := range one {
			one[i].Guide = only(7)
		}
		for i, c := range modeltest.GenerateFirst(t, e, one) {
			if slices.ContainsFunc(c.IDs, func(id int) bool { return id != 7 }) {
				t.Errorf("prompt %d: %v, where 7 alone is allowed", i, c.IDs)
			}
		}
		e.FilterBy(-1)
		same("its own again", modeltest.GenerateFirst(t, e, few), own)
	})
}

// only is a guide that allows one token.
type only int

func (o only) Allow(bits []uint32) error {
	clear(bits)
	bits[o/32] = 1 << (o % 32)
	return nil
}

func (o only) Next(int) sample.Guide { return o }
