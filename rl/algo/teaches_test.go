package algo

import "testing"

// TestCorrects: a loss that reads old corrects for the weights that drew; a clip of the ratio,
// or a reward or an advantage by old, does not. A weight that compares start with old alone is
// idle where nothing is stale.
func TestCorrects(t *testing.T) {
	for _, c := range []struct {
		method string
		set    map[string]string
		want   bool
		idle   bool
	}{
		{"grpo", nil, false, false},
		{"ppo", nil, false, false},
		{"cispo", nil, false, false},
		{"tis", nil, true, true},
		{"areal", nil, true, true},
		{"mis", nil, true, true},
		{"grpo", map[string]string{"weight": "clip(exp(start - old), 0, 2)"}, true, true},
		{"grpo", map[string]string{"weight": "tis*reward"}, true, false},
		{"grpo", map[string]string{"weight": "opsm"}, true, false},
		{"grpo", map[string]string{"policy": "rollout_is"}, true, false},
		{"grpo", map[string]string{"loss": "token_mean(-A*exp(logp - old))"}, true, false},
		{"grpo", map[string]string{"advantage": "standard(reward - 0.1*sum(old - ref))"}, false, false},
		{"grpo", map[string]string{"keep": "mean(exp(abs(start - old))) <= 1.1"}, false, false},
	} {
		m, err := LoadMethod(c.method)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.With(nil, c.set, nil).Compile(Facts())
		if err != nil {
			t.Fatalf("%s %v: %v", c.method, c.set, err)
		}
		if got := a.Corrects(); got != c.want {
			t.Errorf("%s %v: %v, want %v", c.method, c.set, got, c.want)
		}
		if got := a.WeighsLag(); got != c.idle {
			t.Errorf("%s %v: idle is %v, want %v", c.method, c.set, got, c.idle)
		}
	}
}
