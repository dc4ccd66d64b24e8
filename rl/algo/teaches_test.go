package algo

import "testing"

// TestCorrects: a loss that reads old corrects for the weights that drew; a clip of the ratio,
// or a reward or an advantage by old, does not.
func TestCorrects(t *testing.T) {
	for _, c := range []struct {
		method string
		set    map[string]string
		want   bool
	}{
		{"grpo", nil, false},
		{"ppo", nil, false},
		{"cispo", nil, false},
		{"tis", nil, true},
		{"areal", nil, true},
		{"mis", nil, true},
		{"grpo", map[string]string{"weight": "clip(exp(start - old), 0, 2)"}, true},
		{"grpo", map[string]string{"policy": "rollout_is"}, true},
		{"grpo", map[string]string{"loss": "token_mean(-A*exp(logp - old))"}, true},
		{"grpo", map[string]string{"advantage": "standard(reward - 0.1*sum(old - ref))"}, false},
		{"grpo", map[string]string{"keep": "mean(exp(abs(start - old))) <= 1.1"}, false},
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
	}
}
