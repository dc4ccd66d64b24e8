package model_test

import (
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
		engine := func(of *model.Model, batch int, summands ...*model.Model) *sample.Engine {
			return modeltest.EngineOf(t, of, sample.Options{Sequences: batch, Context: invarianceContext, Prefixes: sample.EveryPage, Summands: summands})
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
