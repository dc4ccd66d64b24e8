package algo

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// stateTable is a step of three prompts of two completions each.
func stateTable(t *testing.T, reward ...float64) *formula.Table {
	t.Helper()
	frame, err := formula.NewFrame([]int{0, 0, 1, 1, 2, 2}, [][]int{{1}, {1}, {1}, {1}, {1}, {1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := formula.NewTable(frame)
	if err := table.Add("reward", formula.Column{Level: formula.Completion, V: reward}); err != nil {
		t.Fatal(err)
	}
	return table
}

// TestStates: a number of the run and one for each key move by hand; what has no value
// stays, statistics are over the members of the key, and all states see what was before.
func TestStates(t *testing.T) {
	m := Method{Formulas: map[string]string{"advantage": "reward - rate - 0*level", "policy": "-A*0*level", "loss": "token_mean(policy)"}, State: map[string]State{
		"level": {Start: 1, Next: "level + step_mean(reward)"},
		"rate":  {Start: 0.5, Next: "0.5*rate + 0.5*step_mean(reward) + 0*level", By: "row.kind"},
		"twice": {Start: 0, Next: "2*level"},
	}}
	a, err := m.Compile(RunFacts())
	if err != nil {
		t.Fatal(err)
	}
	keys := func(string) []string { return []string{`"x"`, `"y"`, `"x"`} }
	var s States
	move := func(reward ...float64) *StepValues {
		table := stateTable(t, reward...)
		for name, c := range s.Columns(a, keys) {
			if err := table.Add(name, c); err != nil {
				t.Fatal(err)
			}
		}
		step, err := a.Step(table)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AfterStep(a, step.Table, keys); err != nil {
			t.Fatal(err)
		}
		return step
	}
	first := move(1, 0, 0, 0, 1, 1)
	if want := []float64{0.5, -0.5, -0.5, -0.5, 0.5, 0.5}; !slices.Equal(first.Advantage.V, want) {
		t.Errorf("advantages of the first step %v, want %v", first.Advantage.V, want)
	}
	check := func(name, key string, want float64) {
		t.Helper()
		if got := s.value(a, name, key); got != want {
			t.Errorf("%s of %s is %v, want %v", name, key, got, want)
		}
	}
	check("level", "", 1.5)
	check("twice", "", 2)
	check("rate", `"x"`, 0.625) // 0.25 + 0.5*3/4
	check("rate", `"y"`, 0.25)
	second := move(math.NaN(), math.NaN(), 1, 1, math.NaN(), math.NaN())
	if want := []float64{0.75, 0.75}; !slices.Equal(second.Advantage.V[2:4], want) {
		t.Errorf("advantages of the second step %v, want %v in the middle", second.Advantage.V, want)
	}
	check("rate", `"x"`, 0.625) // nothing was scored
	check("rate", `"y"`, 0.625)
	check("twice", "", 3)

	var saved bytes.Buffer
	if err := s.Save(&saved); err != nil {
		t.Fatal(err)
	}
	var again States
	if err := json.Unmarshal(saved.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if got := again.value(a, "rate", `"x"`); got != 0.625 || again.Moves != 2 {
		t.Errorf("after reading: %v of %d moves", got, again.Moves)
	}
}

// TestStateOfNow: a formula that reads values of now moves after an update and not after
// the step.
func TestStateOfNow(t *testing.T) {
	m := Method{Formulas: map[string]string{"policy": "-logp + 0*coef", "loss": "token_mean(policy)"}, State: map[string]State{
		"coef": {Start: 0, Next: "coef + update_token_mean(logp)"},
	}}
	a, err := m.Compile(RunFacts())
	if err != nil {
		t.Fatal(err)
	}
	table, none := stateTable(t, 0, 0, 0, 0, 0, 0), func(string) []string { return nil }
	var s States
	u := s.firstUpdate(t, a, table, none, -1, -2, -3, -1, -2, -3)
	if err := s.AfterStep(a, table, none); err != nil || s.value(a, "coef", "") != 0 {
		t.Errorf("after the step: %v, %v", s.value(a, "coef", ""), err)
	}
	if err := s.AfterUpdate(u, none); err != nil || s.value(a, "coef", "") != -2 {
		t.Errorf("after the update: %v, %v; want -2", s.value(a, "coef", ""), err)
	}
}

// firstUpdate begins a step over the table and the states, and its only update, whose kept tokens
// have these log-probs now.
func (s *States) firstUpdate(t *testing.T, a *Algorithm, table *formula.Table, keys func(string) []string, logp ...float64) *Update {
	t.Helper()
	for name, c := range s.Columns(a, keys) {
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
	if err := u.Table.Add("logp", formula.Column{Level: formula.Token, V: logp}); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestStateOfBoth: what moves after an update may read the step beside it, also by keys, and what
// keep left of both; a state has then its newest number, and not that of the step's beginning.
func TestStateOfBoth(t *testing.T) {
	m := Method{Formulas: map[string]string{"keep": "reward > 0", "policy": "-logp + 0*wide + 0*near", "loss": "token_mean(policy)"}, State: map[string]State{
		"wide": {Start: 1, Next: "wide + 10*step_mean(reward) + update_mean(reward) + 0*update_token_mean(logp)"},
		"near": {Start: 1, Next: "near + 10*step_mean(reward) + update_mean(reward)", By: "row.kind"},
	}}
	a, err := m.Compile(RunFacts())
	if err != nil {
		t.Fatal(err)
	}
	table, keys := stateTable(t, 0, 1, 2, 3, 0, 0), func(string) []string { return []string{"x", "y", "z"} }
	var s States
	u := s.firstUpdate(t, a, table, keys, -1, -2, -3)
	for n := range 2 { // of 0, 1, 2, 3, 0, 0 the mean is 1, of what is kept 2; of x 0.5 and 1, of y 2.5 and 2.5
		if err := s.AfterUpdate(u, keys); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name, key string
			by        float64
		}{{"wide", "", 12}, {"near", "x", 6}, {"near", "y", 27.5}, {"near", "z", 0}} {
			if got, want := s.value(a, c.name, c.key), 1+float64(n+1)*c.by; got != want {
				t.Errorf("%s of %s after %d updates: %v, want %v", c.name, c.key, n+1, got, want)
			}
		}
	}
}

// TestEviction: the keys that were used longest ago leave, and are counted.
func TestEviction(t *testing.T) {
	held := map[string]*Held{}
	for i := range maxKeys + 2 {
		held[strconv.Itoa(i)] = &Held{Used: i}
	}
	n := len(held)
	if left := evict(held); left != n-maxKeys || len(held) != maxKeys {
		t.Errorf("%d of %d left, %d stayed", left, n, len(held))
	}
	for _, h := range held {
		if h.Used < n-maxKeys {
			t.Errorf("a key of move %d stayed", h.Used)
		}
	}
}

func TestStateFaults(t *testing.T) {
	for want, m := range map[string]Method{
		"state/x: one value for each completion where one number is wanted": {State: map[string]State{"x": {Next: "reward"}}},
		"state/x: the name is given twice":                                  {State: map[string]State{"x": {Next: "1"}}, Formulas: map[string]string{"x": "1"}},
		"state/x: by = seat is not accepted; accepted: row.seat":            {State: map[string]State{"x": {Next: "1", By: "seat"}}},
		"state/x: by = \"prompt\" is not accepted; accepted: row":           {State: map[string]State{"x": {Next: "1", By: "prompt"}}},
		"state/x: start = +Inf is not accepted":                             {State: map[string]State{"x": {Next: "1", Start: math.Inf(1)}}},
		"state/x: column 1: unknown name rewrd; did you mean reward?":       {State: map[string]State{"x": {Next: "rewrd"}}},
	} {
		if m.Formulas == nil {
			m.Formulas = map[string]string{}
		}
		m.Formulas["policy"] = "-logp"
		if _, err := m.Compile(RunFacts()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
