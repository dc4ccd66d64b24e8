package algo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// plainStep is a step of groups of 4 completions of n tokens at ratio 1 (old is
// logp) or off it, with rewards between 0 and 1.
func plainStep(t *testing.T, rng *rand.Rand, n int, moved float64) *step {
	t.Helper()
	var mask, logp, old [][]float64
	var groups []int
	var reward []float64
	for i := range 12 {
		groups = append(groups, i/4)
		reward = append(reward, rng.Float64())
		mask = append(mask, ones(n))
		var a, b []float64
		for range n {
			a = append(a, -2*rng.Float64())
			b = append(b, a[len(a)-1]+moved*(rng.Float64()-0.5))
		}
		logp, old = append(logp, a), append(old, b)
	}
	s := newStep(t, &goldenFile{}, mask, groups)
	s.tokens("logp", logp)
	s.tokens("old", old)
	s.tokens("start", old)
	s.completions("reward", reward)
	return s
}

// roundings is the bound of a comparison of sums of n terms near 1.
func roundings(n int) float64 { return 64 * float64(n) * 0x1p-52 }

func (s *step) advantage(text string) []float64 {
	s.t.Helper()
	a, err := (Method{Formulas: map[string]string{advantagePart: text, "loss": "0"}}).Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	probe := formula.NewTable(s.frame)
	for _, f := range s.facts {
		c, _ := s.table.Column(f.Name)
		if err := probe.Add(f.Name, c); err != nil {
			s.t.Fatal(err)
		}
	}
	v, err := a.Step(probe)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Advantage.V
}

func TestAdvantageIdentities(t *testing.T) {
	s := plainStep(t, rand.New(rand.NewPCG(1, 1)), 3, 0)
	for a, b := range map[string]string{
		"rloo": "4/3*dr_grpo", // groups of 4
		"(reward - group_mean(reward))*beta_weight(group_mean(reward), 1, 1)": "dr_grpo",
		"canon(group_rank(tokens*0 + reward) > 0.5)":                          "dr_grpo",                     // equal halves
		"gae(if(final, reward, 0), 0*old, 1, 1)":                              "after(if(final, reward, 0))", // returns
	} {
		x, y := s.advantage(a), s.advantage(b)
		for i := range x {
			if math.Abs(x[i]-y[i]) > roundings(8) {
				t.Errorf("%s = %v, %s = %v", a, x[i], b, y[i])
			}
		}
	}
}

// gradient is that of a method with the advantage of Dr. GRPO.
func gradient(t *testing.T, seed uint64, n int, moved float64, policy string) []float64 {
	t.Helper()
	s := plainStep(t, rand.New(rand.NewPCG(seed, 2)), n, moved)
	u := s.update(Method{Formulas: map[string]string{advantagePart: "dr_grpo", "policy": policy, "loss": "seq_mean(policy)"}})
	_, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	return slopes["logp"].V
}

func TestLossIdentities(t *testing.T) {
	for seed := range uint64(5) {
		want := gradient(t, seed, 4, 0, "reinforce")
		for _, policy := range []string{"ppo_clip", "cispo", "importance", "dual_clip"} { // at ratio 1
			if got := gradient(t, seed, 4, 0, policy); !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= roundings(12) }) {
				t.Errorf("%s at ratio 1 has gradient %v, reinforce %v", policy, got, want)
			}
		}
		if got, want := gradient(t, seed, 1, 1, "gspo"), gradient(t, seed, 1, 1, "ppo_clip"); !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= roundings(12) }) {
			t.Errorf("gspo of one token has gradient %v, ppo_clip %v", got, want)
		}
	}
}

// DPO on a pair is -log(sigmoid(beta*(gain of the better - gain of the worse))).
func TestDPOClosedForm(t *testing.T) {
	s := newStep(t, &goldenFile{}, [][]float64{{1, 1}, {1, 1}}, []int{0, 0})
	s.tokens("logp", [][]float64{{-1, -2}, {-0.5, -3}})
	s.tokens("ref", [][]float64{{-1.5, -2}, {-0.25, -2}})
	s.completions("reward", []float64{1, 0})
	u := s.update(known(t, "dpo", nil, nil))
	loss, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	x := 0.1 * (0.5 - (-1.25))
	want, slope := math.Log1p(math.Exp(-x)), -0.1/(1+math.Exp(x))
	if math.Abs(loss-want) > roundings(2) {
		t.Errorf("loss %v, want %v", loss, want)
	}
	for i, sign := range []float64{1, 1, -1, -1} {
		if got := slopes["logp"].V[i]; math.Abs(got-sign*slope) > roundings(2) {
			t.Errorf("derivative %v, want %v", got, sign*slope)
		}
	}
}

// Names that a Config has too keep its values. bnpo is another method now: the
// paper of that name, not TRL's loss type.
func TestMethodsKeepValues(t *testing.T) {
	for _, name := range PresetNames() {
		if name == "bnpo" {
			continue
		}
		cfg, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(7, 7))
		s := plainStep(t, rng, 4, 0.8)
		reward, _ := s.table.Column("reward")
		for i := range reward.V { // 0 and 1, a group of each alone, one not scored
			reward.V[i] = math.Round(reward.V[i])
		}
		copy(reward.V[:8], []float64{1, 1, 1, 1, 1, 0, math.NaN(), 0})
		groups := []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}
		adv, keep, _, err := Advantages(cfg, reward.V, groups)
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		var rows []int
		for i, k := range keep {
			if k {
				from, to := s.frame.Tokens(i)
				logp, _ := s.table.Column("logp")
				old, _ := s.table.Column("old")
				b.Logprob, b.OldLogprob = append(b.Logprob, logp.V[from:to]), append(b.OldLogprob, old.V[from:to])
				b.Advantage = append(b.Advantage, adv[i])
				rows = append(rows, i)
			}
		}
		want, err := Loss(cfg, b)
		if err != nil {
			t.Fatal(err)
		}
		u := s.update(known(t, name, nil, nil))
		loss, slopes, err := u.Loss()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(loss-want.Loss) > roundings(48) {
			t.Errorf("%s: loss %v, want %v", name, loss, want.Loss)
		}
		got := s.matrixOf(u, slopes["logp"])
		for k, i := range rows {
			for j := range got[i] {
				if math.Abs(got[i][j]-want.DLogprob[k][j]) > roundings(48) {
					t.Errorf("%s: derivative of completion %d, token %d is %v, want %v", name, i, j, got[i][j], want.DLogprob[k][j])
				}
			}
		}
	}
}
