package algo

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// enumerated is a policy over the tokens of a vocabulary: all that a completion can be, so
// that an expectation is a sum.
type enumerated struct {
	t              *testing.T
	theta          []float64 // logits
	start, rewards []float64 // log-probs at first, rewards
}

func (e *enumerated) logp() []float64 {
	sum := 0.0
	for _, x := range e.theta {
		sum += math.Exp(x)
	}
	out := make([]float64, len(e.theta))
	for i, x := range e.theta {
		out[i] = x - math.Log(sum)
	}
	return out
}

// slopes are dLoss/dlogit of a method on-policy: each completion counts as often as the
// policy draws it.
func (e *enumerated) slopes(formulas map[string]string, beta float64) []float64 {
	e.t.Helper()
	logp, n := e.logp(), len(e.theta)
	mask, column, share := make([][]float64, n), make([][]float64, n), make([]float64, n)
	ref, groups := make([][]float64, n), make([]int, n)
	for i, x := range logp {
		mask[i], column[i], ref[i], share[i] = []float64{1}, []float64{x}, []float64{e.start[i]}, math.Exp(x)
	}
	s := newStep(e.t, &goldenFile{}, mask, groups)
	for _, name := range []string{"logp", "old", "start"} {
		s.tokens(name, column)
	}
	s.tokens("ref", ref)
	s.completions("reward", e.rewards)
	s.completions("share", share)
	m := Method{Parameters: map[string]float64{"beta": beta}, Formulas: map[string]string{"loss": "token_sum(share*(policy + penalty))"}}
	_, found, err := s.update(m.With(nil, formulas, nil)).Loss()
	if err != nil {
		e.t.Fatal(err)
	}
	total := 0.0
	for _, d := range found["logp"].V {
		total += d
	}
	out := make([]float64, n)
	for i, d := range found["logp"].V { // dlogp of i by logit j is [i=j] - p(j)
		out[i] = d - share[i]*total
	}
	return out
}

// TestTiltedPolicy: training with a KL term ends at pi0 exp(reward/beta)/Z (Korbak et al.,
// arXiv 2205.11275), whichever form of the term has the gradient of the KL divergence:
// in the reward, as k2 in the loss, as k3 times the ratio. k3 alone has that of the other
// direction and ends elsewhere.
//
// Each step divides the gradient by the probabilities, which makes it the natural one of a
// softmax: the distance of the logits from their goal then shrinks by a constant factor.
// What is left of the gradient, e, bounds the error: reward - beta*log(p/pi0) differs from
// its mean by e/p, so log p is off by at most 2e/(beta p).
func TestTiltedPolicy(t *testing.T) {
	forms := map[string]map[string]string{
		"in the reward":  {advantagePart: "reward - beta*sum(old - ref)", "policy": "reinforce"},
		"k2":             {advantagePart: "reward", "policy": "ppo_clip", "penalty": "kl_k2"},
		"k3 times ratio": {advantagePart: "dr_grpo", "policy": "importance", "penalty": "kl_ratio"},
		"k3":             {advantagePart: "reward", "policy": "reinforce", "penalty": "kl_k3"},
	}
	for name, formulas := range forms {
		for _, beta := range []float64{1, 0.25, 3} {
			if beta != 1 && testing.Short() {
				break
			}
			t.Run(fmt.Sprintf("%s, beta %v", name, beta), func(t *testing.T) {
				e := &enumerated{t: t, theta: []float64{0.3, -1, 0.5, 0, -0.4}, rewards: []float64{0, 1, 0.25, 1, 0.5}}
				e.start = e.logp()
				e.tilt(formulas, beta, name != "k3")
			})
		}
	}
}

// tilt trains until the gradient is gone and compares the policy with the tilted one.
func (e *enumerated) tilt(formulas map[string]string, beta float64, reaches bool) {
	const gone = 1e-10
	left := math.Inf(1)
	for range 400 {
		slopes, logp := e.slopes(formulas, beta), e.logp()
		left = 0
		for i, d := range slopes {
			left = math.Max(left, math.Abs(d))
			e.theta[i] -= 0.2 / beta * d / math.Exp(logp[i])
		}
		if left < gone {
			break
		}
	}
	if left >= gone {
		e.t.Fatalf("the gradient is still %v", left)
	}
	want := &enumerated{theta: make([]float64, len(e.theta))}
	for i := range want.theta {
		want.theta[i] = e.start[i] + e.rewards[i]/beta
	}
	worst, least := 0.0, 0.0
	for i, x := range want.logp() {
		worst = math.Max(worst, math.Abs(e.logp()[i]-x))
		least = math.Min(least, x)
	}
	bound := 2*gone/(beta*math.Exp(least)) + roundings(len(e.theta))
	if reaches && worst > bound {
		e.t.Errorf("log-probs %v, want %v: off by %v, bound %v", e.logp(), want.logp(), worst, bound)
	}
	if !reaches && worst < 1e6*bound {
		e.t.Errorf("log-probs %v are those of the tilted policy, which k3 does not lead to", e.logp())
	}
}

// ppoByHand is PPO over completions of one group, as plain loops.
type ppoByHand struct {
	reward                           []float64
	logp, old, ref, oldValue, value  [][]float64
	gamma, lambda, beta, clip, vclip float64
	coef                             float64 // of the value loss

	loss                     float64
	advantage, dlogp, dvalue []float64
}

// run computes what it comes to.
func (p *ppoByHand) run() {
	var targets []float64
	for i := range p.reward {
		a, following, next := make([]float64, len(p.old[i])), 0.0, 0.0
		for j := len(a) - 1; j >= 0; j-- {
			pay := -p.beta * (p.old[i][j] - p.ref[i][j])
			if j == len(a)-1 {
				pay += p.reward[i]
			}
			next = pay + p.gamma*following - p.oldValue[i][j] + p.gamma*p.lambda*next
			a[j], following = next, p.oldValue[i][j]
		}
		for j := range a {
			targets = append(targets, a[j]+p.oldValue[i][j])
		}
		p.advantage = append(p.advantage, a...)
	}
	mean, variance, n := 0.0, 0.0, float64(len(p.advantage))
	for _, a := range p.advantage {
		mean += a / n
	}
	for _, a := range p.advantage {
		variance += (a - mean) * (a - mean) / (n - 1)
	}
	k := 0
	for i := range p.logp {
		for j := range p.logp[i] {
			a := (p.advantage[k] - mean) / math.Sqrt(variance+1e-8)
			ratio, d, dv := math.Exp(p.logp[i][j]-p.old[i][j]), 0.0, 0.0
			surrogate := math.Min(ratio*a, math.Max(1-p.clip, math.Min(1+p.clip, ratio))*a)
			if surrogate == ratio*a {
				d = -ratio * a
			}
			v, old := p.value[i][j], p.oldValue[i][j]
			held := math.Max(old-p.vclip, math.Min(old+p.vclip, v))
			if math.Abs(v-targets[k]) >= math.Abs(held-targets[k]) {
				dv, held = v-targets[k], v
			}
			p.loss += (-surrogate + p.coef*0.5*math.Pow(held-targets[k], 2)) / n
			p.advantage[k], p.dlogp, p.dvalue = a, append(p.dlogp, d/n), append(p.dvalue, p.coef*dv/n)
			k++
		}
	}
}

// TestPPO: the preset's advantages, loss and derivatives are those of plain loops, with KL
// in what tokens earn and a critic that is wrong.
func TestPPO(t *testing.T) {
	p := ppoByHand{reward: []float64{1, 0, 0.5},
		logp:     [][]float64{{-0.5, -1, -0.2}, {-0.7, -2}, {-1.1}},
		old:      [][]float64{{-0.9, -1, -0.3}, {-0.7, -1.5}, {-1}},
		ref:      [][]float64{{-1, -1.2, -0.3}, {-0.6, -1.4}, {-1.3}},
		oldValue: [][]float64{{0.1, 0.4, 1.2}, {0.3, -0.6}, {0.2}},
		value:    [][]float64{{0.9, 0.5, 1.1}, {0.3, -0.2}, {-0.5}},
		gamma:    1, lambda: 0.95, beta: 0.01, clip: 0.2, vclip: 0.5, coef: 0.5}
	p.run()
	s := newStep(t, &goldenFile{}, [][]float64{{1, 1, 1}, {1, 1}, {1}}, []int{0, 0, 0})
	for _, c := range []struct {
		name string
		rows [][]float64
	}{{"logp", p.logp}, {"old", p.old}, {"start", p.old}, {"ref", p.ref}, {"old_value", p.oldValue}, {"value", p.value}} {
		s.tokens(c.name, c.rows)
	}
	s.completions("reward", p.reward)
	u := s.update(known(t, "ppo", map[string]float64{"beta": p.beta, "gamma": p.gamma, "lambda": p.lambda, "value_clip": p.vclip, "value_coef": p.coef}, nil))
	loss, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(loss-p.loss) > roundings(64) {
		t.Errorf("loss %v, want %v", loss, p.loss)
	}
	for name, c := range map[string]struct{ got, want []float64 }{
		"advantage": {s.taken.Advantage.V, p.advantage}, "dlogp": {slopes["logp"].V, p.dlogp}, "dvalue": {slopes["value"].V, p.dvalue},
	} {
		for i, x := range c.want {
			if math.Abs(c.got[i]-x) > roundings(64) {
				t.Errorf("%s of token %d is %v, want %v", name, i, c.got[i], x)
			}
		}
	}
	if !slices.Contains(p.dvalue, 0) || !slices.ContainsFunc(p.dvalue, func(d float64) bool { return d != 0 }) {
		t.Errorf("derivatives of values %v: the test shows no clip, or nothing else", p.dvalue)
	}
	all, err := u.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	if explained, ok := all["value/explained_variance"]; !ok || explained >= 1 {
		t.Errorf("value/explained_variance is %v", explained)
	}
}
