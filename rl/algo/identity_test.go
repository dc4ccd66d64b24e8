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
		"gae(if(final, reward, 0), old, 1, 1) + old":                          "after(if(final, reward, 0))", // whatever the critic says
	} {
		x, y := s.advantage(a), s.advantage(b)
		for i := range x {
			if math.Abs(x[i]-y[i]) > roundings(8) {
				t.Errorf("%s = %v, %s = %v", a, x[i], b, y[i])
			}
		}
	}
}

// TestPresetIdentities: presets that a paper says are equal at some point have equal gradients there.
func TestPresetIdentities(t *testing.T) {
	same := map[string]string{"advantage": "dr_grpo", "loss": "seq_mean(weight*policy + penalty)"}
	for name, c := range map[string]struct {
		tokens int
		moved  float64
		a, b   Method
	}{
		"RLOO is 4/3 of mean-centred in groups of 4": {3, 1, known(t, "rloo", nil, nil), known(t, "rloo", nil, map[string]string{"advantage": "4/3*dr_grpo"})},
		"GSPO at one token is PPO": {1, 1, known(t, "gspo", map[string]float64{"clip_low": 0.2, "clip_high": 0.2}, nil),
			known(t, "grpo", map[string]float64{"clip_low": 0.2, "clip_high": 0.2}, nil)},
		"the clip at ratio 1 is REINFORCE":          {3, 0, known(t, "grpo", nil, same), known(t, "reinforce", nil, same)},
		"CISPO at ratio 1 is REINFORCE":             {3, 0, known(t, "cispo", nil, same), known(t, "reinforce", nil, same)},
		"CANON at 0.5 and equal halves is Dr. GRPO": {3, 1, known(t, "canon", map[string]float64{"canon_mu": 0.5}, map[string]string{"measure": "reward"}), known(t, "dr_grpo", nil, nil)},
		// Its advantages are returns, as those of GAE without a critic.
		"PPO with lambda 1 and no critic is REINFORCE++": {3, 1, known(t, "ppo", map[string]float64{"lambda": 1, "value_coef": 0}, nil), known(t, "reinforce_pp", map[string]float64{"beta": 0.01}, nil)},
	} {
		step := func(m Method) []float64 {
			s := plainStep(t, rand.New(rand.NewPCG(8, 8)), c.tokens, c.moved)
			s.add("max_tokens", formula.Column{Level: formula.Run, V: []float64{512}})
			n := s.table.Size(formula.Token)
			for _, name := range []string{"value", "old_value"} { // no critic
				s.add(name, formula.Column{Level: formula.Token, V: make([]float64, n)})
			}
			ref := make([]float64, n)
			for i := range ref {
				ref[i] = -1 - float64(i)/float64(n)
			}
			s.add("ref", formula.Column{Level: formula.Token, V: ref})
			return slopesOf(t, s, m)
		}
		x, y := step(c.a), step(c.b)
		for i := range x {
			if math.Abs(x[i]-y[i]) > roundings(12) {
				t.Errorf("%s: the gradient of token %d is %v and %v", name, i, x[i], y[i])
			}
		}
	}
	// Two prompts whose rates are so far apart that the beta density fitted to them is (1, 1).
	far := func(m Method) []float64 {
		s := newStep(t, &goldenFile{}, [][]float64{ones(2), ones(2), ones(2), ones(2)}, []int{0, 0, 1, 1})
		for _, name := range []string{"logp", "old", "start"} {
			s.tokens(name, [][]float64{{-1, -2}, {-3, -1}, {-2, -2}, {-1, -1}})
		}
		s.completions("reward", []float64{0, 0.2, 1, 0.8})
		return slopesOf(t, s, m)
	}
	plain := map[string]string{"advantage": "dr_grpo", "loss": "token_mean(weight*policy + penalty)"}
	for i, x := range far(known(t, "bnpo", nil, nil)) {
		if y := far(known(t, "reinforce", nil, plain))[i]; math.Abs(x-y) > roundings(12) || y == 0 {
			t.Errorf("bnpo at (1, 1): the gradient of token %d is %v, that of REINFORCE with a baseline %v", i, x, y)
		}
	}
}

// TestAllWrongGroup: GPG makes up for groups without signal, once: beside one of equal length whose completions are all
// wrong, another has the gradient that it has alone.
func TestAllWrongGroup(t *testing.T) {
	step := func(groups []int, rewards []float64) []float64 {
		mask, logp := make([][]float64, len(groups)), make([][]float64, len(groups))
		for i := range mask {
			mask[i], logp[i] = ones(2), []float64{-1, -2 - float64(i)}
		}
		s := newStep(t, &goldenFile{}, mask, groups)
		s.tokens("logp", logp)
		s.completions("reward", rewards)
		return slopesOf(t, s, known(t, "gpg", nil, nil))
	}
	alone := step([]int{0, 0, 0, 0}, []float64{1, 0, 0, 1})
	for i, x := range step([]int{0, 0, 0, 0, 1, 1, 1, 1}, []float64{1, 0, 0, 1, 0, 0, 0, 0}) {
		want := 0.0
		if i < len(alone) {
			want = alone[i]
		}
		if math.Abs(x-want) > roundings(16) || i < len(alone) && want == 0 {
			t.Errorf("the gradient of token %d is %v, want %v", i, x, want)
		}
	}
}

func slopesOf(t *testing.T, s *step, m Method) []float64 {
	t.Helper()
	_, slopes, err := s.update(m).Loss()
	if err != nil {
		t.Fatal(err)
	}
	return slopes["logp"].V
}

// TestLonePrompt: BNPO fits nothing to a single prompt, so its density is 1.
func TestLonePrompt(t *testing.T) {
	s := newStep(t, &goldenFile{}, [][]float64{ones(2), ones(2), ones(2), ones(2)}, []int{0, 0, 0, 0})
	s.completions("reward", []float64{1, 0, 0.25, 0.5})
	if got, want := s.advantage("bnpo"), s.advantage("dr_grpo"); !slices.Equal(got, want) || got[0] == 0 {
		t.Errorf("bnpo = %v, dr_grpo = %v", got, want)
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

// CISPO within its bounds is REINFORCE with the ratio as a constant weight, in value too.
func TestCISPOWithinBounds(t *testing.T) {
	value := func(policy string, moved float64) float64 {
		s := plainStep(t, rand.New(rand.NewPCG(5, 2)), 4, moved)
		loss, _, err := s.update(Method{Formulas: map[string]string{advantagePart: "dr_grpo", "policy": policy, "loss": "seq_mean(policy)"}}).Loss()
		if err != nil {
			t.Fatal(err)
		}
		return loss
	}
	if got, want := value("cispo", 0), value("reinforce", 0); math.Abs(got-want) > roundings(12) {
		t.Errorf("at ratio 1 cispo is %v, reinforce %v", got, want)
	}
	if got, want := value("cispo", 1), value("-exp(logp - start)*A*logp", 1); math.Abs(got-want) > roundings(12) {
		t.Errorf("cispo is %v, weighted REINFORCE %v", got, want)
	}
	if got, want := gradient(t, 5, 4, 1, "cispo"), gradient(t, 5, 4, 1, "importance"); !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= roundings(12) }) {
		t.Errorf("cispo has gradient %v, importance %v", got, want)
	}
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

// TestAllPairs: over all pairs of a group the loss is the mean of DPO's on each pair whose
// rewards differ, and in groups of two it is that of the best against the worst.
func TestAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, size := range []int{2, 5} {
		var mask, logp, ref [][]float64
		var groups []int
		var reward []float64
		for i := range 2 * size {
			mask, groups = append(mask, ones(2)), append(groups, i/size)
			logp, ref = append(logp, []float64{-rng.Float64(), -2 * rng.Float64()}), append(ref, []float64{-rng.Float64(), -rng.Float64()})
			reward = append(reward, float64(i%size%3))
		}
		s := newStep(t, &goldenFile{}, mask, groups)
		s.tokens("logp", logp)
		s.tokens("ref", ref)
		s.completions("reward", reward)
		got, slopes, err := s.update(known(t, "online_dpo", nil, map[string]string{"pair": "all_pairs"})).Loss()
		if err != nil {
			t.Fatal(err)
		}
		want, slope := 0.0, make([]float64, 4*size)
		gain := func(i int) float64 { return logp[i][0] + logp[i][1] - ref[i][0] - ref[i][1] }
		for g := range 2 {
			var pairs [][2]int
			for i := g * size; i < (g+1)*size; i++ {
				for j := g * size; j < (g+1)*size; j++ {
					if reward[i] > reward[j] {
						pairs = append(pairs, [2]int{i, j})
					}
				}
			}
			for _, p := range pairs {
				d := 0.1 * (gain(p[0]) - gain(p[1]))
				want += math.Log1p(math.Exp(-d)) / float64(2*len(pairs))
				for token := range 2 {
					slope[2*p[0]+token] -= 0.1 / (1 + math.Exp(d)) / float64(2*len(pairs))
					slope[2*p[1]+token] += 0.1 / (1 + math.Exp(d)) / float64(2*len(pairs))
				}
			}
		}
		if math.Abs(got-want) > roundings(4*size) {
			t.Errorf("groups of %d: loss %v, want %v", size, got, want)
		}
		for i, d := range slopes["logp"].V {
			if math.Abs(d-slope[i]) > roundings(4*size) {
				t.Errorf("groups of %d: derivative %d is %v, want %v", size, i, d, slope[i])
			}
		}
		if size > 2 {
			continue
		}
		best, _, err := s.update(known(t, "online_dpo", nil, nil)).Loss()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-best) > roundings(4) {
			t.Errorf("groups of 2: loss %v, of the best against the worst %v", got, best)
		}
	}
}

// Names keep the values that they had when each was a choice of hand-written functions:
// the loss, the sum of its derivatives, and the sum with each times its place from 1.
// The step has rewards of 0 and 1, a group with equal ones, and one that is not scored.
func TestMethodsKeepValues(t *testing.T) {
	for name, want := range map[string][3]float64{
		"cispo":         {-0.06369914995511676, 0.041303768464493823, 3.2600200210582457},
		"dapo":          {0.07009760678435098, 0.028865443462412849, 3.7852820688167599},
		"dr_grpo":       {0.00020412559378452468, 0.00022779983620876715, 0.013475732227094913},
		"gmpo":          {0.037229566704019043, 0.037229566704019057, 3.0670427384224617},
		"grpo":          {0.045247318078293408, 0.050495047955631006, 2.9870861909698414},
		"gspo":          {0.046357573055206706, 0.020200263481617509, 1.0038451215069863},
		"raft":          {0.90809931734034421, -0.99999999999999967, -18.5},
		"raft++":        {-0.94398887896352857, -0.72970316467781438, -13.83394543837557},
		"reinforce":     {0.23576099328266781, -0.27272727272727276, 0.77272727272727182},
		"reinforce-rej": {0.23456310966756139, 0.22027739538184712, 8.6161317127365944},
		"rloo":          {0.098598765813316211, 0.24894051779871931, 18.448253814638495},
		"sapo":          {0.01576165090497969, 0.038068655129300903, 3.1182137617464409},
	} {
		s := plainStep(t, rand.New(rand.NewPCG(7, 7)), 4, 0.8)
		s.add("max_tokens", formula.Column{Level: formula.Run, V: []float64{512}})
		reward, _ := s.table.Column("reward")
		for i := range reward.V {
			reward.V[i] = math.Round(reward.V[i])
		}
		copy(reward.V[:8], []float64{1, 1, 1, 1, 1, 0, math.NaN(), 0})
		loss, slopes, err := s.update(known(t, name, nil, nil)).Loss()
		if err != nil {
			t.Fatal(err)
		}
		sum, weighted := 0.0, 0.0
		u, err := s.taken.Update(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range u.Table.Restore(slopes["logp"], s.table.Size(formula.Token)).V {
			sum += d
			weighted += d * float64(i+1)
		}
		for i, got := range []float64{loss, sum, weighted} {
			if bound := roundings(48) * math.Pow(48, float64(i/2)); math.Abs(got-want[i]) > bound {
				t.Errorf("%s: figure %d is %v, want %v", name, i, got, want[i])
			}
		}
	}
}
