package algo

import (
	"math"
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

// byFormulas is the one update of a step.
func byFormulas(t testing.TB, m Method, groups []int, reward, logp, old []float64) *Update {
	t.Helper()
	a, err := m.Compile(RunFacts())
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([][]int, len(groups))
	for i := range tokens {
		tokens[i] = []int{len(logp) / len(groups)}
	}
	frame, err := formula.NewFrame(groups, tokens, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := formula.NewTable(frame)
	token := func(v []float64) formula.Column { return formula.Column{Level: formula.Token, V: v} }
	for name, c := range map[string]formula.Column{"reward": {Level: formula.Completion, V: reward}, "logp": token(logp), "entropy": token(old), "old": token(old), "start": token(old)} {
		if err := table.Add(name, c); err != nil {
			t.Fatal(err)
		}
	}
	step, err := a.Step(table)
	if err != nil {
		t.Fatal(err)
	}
	u, err := step.Update(nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// BenchmarkGRPO compares the formulas of GRPO, compiled each time, with a loss that is
// written by hand: advantages, loss, derivatives and metrics of a step.
func BenchmarkGRPO(b *testing.B) {
	groups, reward, logp, old := costly()
	b.Run("formulas", func(b *testing.B) {
		m, _ := LoadMethod("grpo")
		for b.Loop() {
			u := byFormulas(b, m, groups, reward, logp, old)
			if _, _, err := u.Loss(); err != nil {
				b.Fatal(err)
			}
			if _, err := u.Metrics(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		for b.Loop() {
			byHand(groups, reward, logp, old)
		}
	})
}

// byHand is GRPO written out for groups of neighbours of 8 and completions of 1,024
// tokens: loss, derivatives by logp, and what is measured beside it.
func byHand(groups []int, reward, logp, old []float64) (loss float64, slopes []float64, measured [4]float64) {
	const size, length, low, high = 8, 1024, 0.2, 0.2
	slopes = make([]float64, len(logp))
	norm := 1 / float64(len(groups)*length)
	for i := range groups {
		group := reward[i/size*size : i/size*size+size]
		mean, variance := 0.0, 0.0
		for _, r := range group {
			mean += r / size
		}
		for _, r := range group {
			variance += (r - mean) * (r - mean) / (size - 1)
		}
		a := (reward[i] - mean) / (math.Sqrt(variance) + 1e-4)
		for t := i * length; t < (i+1)*length; t++ {
			x := logp[t] - old[t]
			ratio := math.Exp(x)
			plain, clipped := ratio*a, min(max(ratio, 1-low), 1+high)*a
			loss -= norm * min(plain, clipped)
			if plain <= clipped {
				slopes[t] = -norm * plain
			}
			measured[0] += ratio
			measured[1] += math.Expm1(x) - x
			measured[2] += holds(a < 0 && ratio < 1-low)
			measured[3] += holds(a > 0 && ratio > 1+high)
		}
	}
	return loss, slopes, measured
}

func holds(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// The formulas of GRPO come to what is written by hand.
func TestByHand(t *testing.T) {
	groups, reward, logp, old := costly()
	m, _ := LoadMethod("grpo")
	u := byFormulas(t, m, groups, reward, logp, old)
	loss, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	wantLoss, want, measured := byHand(groups, reward, logp, old)
	n := len(logp)
	if math.Abs(loss-wantLoss) > roundings(n) {
		t.Errorf("loss %v, want %v", loss, wantLoss)
	}
	for i, d := range slopes["logp"].V {
		if math.Abs(d-want[i]) > roundings(1)*math.Abs(want[i]) {
			t.Fatalf("derivative of token %d is %v, want %v", i, d, want[i])
		}
	}
	got, err := u.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"policy/ratio_mean", "policy/mismatch_kl", "policy/clip_low_share", "policy/clip_high_share"} {
		if want := measured[i] / float64(n); math.Abs(got[name]-want) > roundings(n) {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}
