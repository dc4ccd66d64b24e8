package reward

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestVerifierErrors: what is wrong with a declared verifier, at which key.
func TestVerifierErrors(t *testing.T) {
	many := make([]Verifier, maxVerifiers+1)
	for i := range many {
		many[i] = Verifier{Name: fmt.Sprintf("v%d", i), Verifier: "format"}
	}
	for _, c := range []struct {
		declared  []Verifier
		index     int
		key, want string
	}{
		{[]Verifier{{Verifier: "format"}}, 0, "name", "a verifier needs a name"},
		{[]Verifier{{Name: "Form", Verifier: "format"}}, 0, "name", "lower-case letters"},
		{[]Verifier{{Name: "one", Verifier: "format"}}, 0, "name", `"one" is a named formula`},
		{[]Verifier{{Name: "pi", Verifier: "format"}}, 0, "name", `"pi" is a constant`},
		{[]Verifier{{Name: "reward", Verifier: "format"}}, 0, "name", `"reward" is the reward itself`},
		{[]Verifier{{Name: "lines", Verifier: "format"}}, 0, "name", `"lines" is a fact`},
		{[]Verifier{{Name: "task", Verifier: "format"}}, 0, "name", `"task" is the task's verdict`},
		{[]Verifier{{Name: "and", Verifier: "format"}}, 0, "name", `"and" is an operator`},
		{[]Verifier{{Name: "a", Verifier: "format"}, {Name: "a", Verifier: "format"}}, 1, "name", `two verifiers are called "a"`},
		{[]Verifier{{Name: "a"}}, 0, "verifier", "it does not say what to check"},
		{[]Verifier{{Name: "a", Verifier: "format", Source: "x"}}, 0, "verifier", "cannot be set together"},
		{[]Verifier{{Name: "a", Verifier: "fromat"}}, 0, "verifier", `"fromat" is not known`},
		{[]Verifier{{Name: "a", Verifier: "format", Options: map[string]any{"x": 1}}}, 0, "options", "unknown key x; known here: tags, pattern"},
		{[]Verifier{{Name: "a", Verifier: "format", Range: [2]float64{0, 2}}}, 0, "range", "range goes with starlark"},
		{[]Verifier{{Name: "a", Source: "x", Options: map[string]any{"x": 1}}}, 0, "options", "options go with verifier"},
		{[]Verifier{{Name: "a", Source: "x", Range: [2]float64{2, 2}}}, 0, "starlark", "the first below the second"},
		{[]Verifier{{Name: "a", Source: "x", Range: [2]float64{0, math.Inf(1)}}}, 0, "starlark", "two finite numbers"},
		{many, maxVerifiers, "", "17 verifiers; accepted: at most 16"},
	} {
		_, err := Compile("task", c.declared)
		all, ok := err.(Errors)
		if !ok || all[0].Verifier != c.index || all[0].Key != c.key || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.declared, err, c.want)
		}
	}
}

// TestJudge: the declared verifiers judge in their order.
func TestJudge(t *testing.T) {
	p, err := Compile("task*form - mine", []Verifier{
		{Name: "form", Verifier: "regex", Options: map[string]any{"pattern": "[0-9]+"}},
		{Name: "mine", Source: "def reward(row, completion):\n    return len(completion)\n", Range: [2]float64{0, 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Judge(verify.Problem{}, "123")
	if len(v) != 2 || v[0].Verdict != verify.Right || v[1].Score != 3 {
		t.Errorf("%+v", v)
	}
}
