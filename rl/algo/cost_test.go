package algo

import (
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// costly is a step of 256 completions of 1,024 tokens in groups of 8.
func costly() (groups []int, reward []float64, logp, old []float64) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 256 {
		groups = append(groups, i/8)
		reward = append(reward, float64(rng.IntN(2)))
		for range 1024 {
			x := -2 * rng.Float64()
			logp, old = append(logp, x), append(old, x+0.2*(rng.Float64()-0.5))
		}
	}
	return groups, reward, logp, old
}

// BenchmarkGRPO compares the formulas of GRPO with the loss that is written by
// hand: advantages, loss, derivatives and metrics of a step.
func BenchmarkGRPO(b *testing.B) {
	groups, reward, logp, old := costly()
	b.Run("formulas", func(b *testing.B) {
		m, err := LoadMethod("grpo")
		if err != nil {
			b.Fatal(err)
		}
		token := func(v []float64) formula.Column { return formula.Column{Level: formula.Token, V: v} }
		var facts []formula.Fact
		for _, f := range Facts() {
			if f.Name == "reward" || f.Name == "logp" || f.Name == "old" || f.Name == "start" {
				facts = append(facts, f)
			}
		}
		a, err := m.Compile(facts)
		if err != nil {
			b.Fatal(err)
		}
		tokens := make([][]int, len(groups))
		for i := range tokens {
			tokens[i] = []int{1024}
		}
		for b.Loop() {
			frame, err := formula.NewFrame(groups, tokens, nil)
			if err != nil {
				b.Fatal(err)
			}
			t := formula.NewTable(frame)
			for name, c := range map[string]formula.Column{"reward": {Level: formula.Completion, V: reward}, "logp": token(logp), "old": token(old), "start": token(old)} {
				if err := t.Add(name, c); err != nil {
					b.Fatal(err)
				}
			}
			step, err := a.Step(t)
			if err != nil {
				b.Fatal(err)
			}
			u, err := step.Update(nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := u.Loss(); err != nil {
				b.Fatal(err)
			}
			if _, err := u.Metrics(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		cfg, err := Preset("grpo")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			adv, _, _, err := Advantages(cfg, reward, groups)
			if err != nil {
				b.Fatal(err)
			}
			batch := Batch{Advantage: adv}
			for i := range groups {
				batch.Logprob, batch.OldLogprob = append(batch.Logprob, logp[i*1024:(i+1)*1024]), append(batch.OldLogprob, old[i*1024:(i+1)*1024])
			}
			if _, err := Loss(cfg, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
}
