package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	_ "github.com/rlzero/rlzero/verify/instruct"
	_ "github.com/rlzero/rlzero/verify/program" // its verifiers, which recipes name
)

// small is a stage on a built-in task whose method the tests replace.
func small(t *testing.T, method string, more ...string) (*Opened, error) {
	t.Helper()
	return load("chain-sum-tiny", append([]string{"stage.warm-up.skip=true", "stage.rl.algorithm={" + method + "}"}, more...)...)
}

// TestTrialOfStates: a trial has situations of turns, some of them equal.
func TestTrialOfStates(t *testing.T) {
	o, err := load("guess-tiny", "stage.rl.algorithm.advantage=own*if(same_count(state) > 1, turn_reward - same_mean(turn_reward, state), 0)")
	if err != nil || len(o.Notes) > 0 {
		t.Errorf("%v, %+v", err, o)
	}
}

// TestTrialOfRareProblems: a method that keeps a quarter of the problems is accepted with any seed.
func TestTrialOfRareProblems(t *testing.T) {
	for seed := range 8 {
		if _, err := small(t, `preset = "grpo", keep = "mod(row.answer, 4) == 0"`, fmt.Sprintf("seed=%d", seed)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestTrialOfOpponents: a method that learns only from games against one of several opponents is accepted.
func TestTrialOfOpponents(t *testing.T) {
	for _, name := range []string{"past", "older", "random"} {
		_, err := load("nim-tiny", `models={past = {copy = "policy", renew = 2}, older = {copy = "policy", renew = 3}}`,
			`stage.rl.seats={second = ["past", "older", "random"]}`, fmt.Sprintf(`stage.rl.algorithm={preset = "grpo", keep = "row.against == '%s'"}`, name))
		if err != nil {
			t.Errorf("against %s: %v", name, err)
		}
	}
}

// TestTrialOfSteps: what a judge says of a step is from 0 to 1 in a trial too.
func TestTrialOfSteps(t *testing.T) {
	o, err := small(t, `preset = "grpo", weight = "1 - good.step"`, `models={past = {copy = "policy"}}`,
		`stage.rl.verifier=[{name = "good", verifier = "judge", options = {model = "past", shows = "steps", steps = "[+=]", source = "{completion}{step}", read = {1 = 1, 2 = 0}}}]`)
	if err != nil || len(o.Notes) > 0 {
		t.Errorf("%v, %+v", err, o)
	}
}

// TestNoPresetIsFound: a trial finds nothing in the recipes and methods of the program.
func TestNoPresetIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: tries the method of every recipe")
	}
	for _, p := range presets.All() {
		r, err := recipe.Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Task.FromData() {
			continue // TestEveryDryRun of the command line has rows for them
		}
		if o, err := Open(r, nil); err != nil || len(o.Notes) > 0 {
			t.Errorf("%s: %v", p.Name, err)
			if err == nil {
				t.Errorf("%s: %q", p.Name, o.Notes)
			}
		}
	}
	tried := 0
	for _, name := range algo.MethodNames() {
		m, err := algo.LoadMethod(name)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Trains() {
			continue
		}
		o, err := small(t, `preset = "`+name+`"`)
		if err != nil || len(o.Notes) > 0 {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				t.Errorf("%s: %q", name, o.Notes)
			}
		}
		tried++
	}
	if tried < 40 {
		t.Errorf("%d methods were tried", tried)
	}
}

// TestNothingLearned: a method that cannot learn is refused at the part that causes it, with the
// key that accepts it; what is likely not meant is a note.
func TestNothingLearned(t *testing.T) {
	for _, c := range []struct {
		method string
		more   []string
		part   string // of the refusal; "": it is accepted
		want   string
	}{
		{`preset = "grpo"`, nil, "", ""},
		{`preset = "grpo", advantage = "reward*row.difficulty"`, nil, "advantage", "no row has difficulty"},
		{`preset = "grpo", advantage = "reward - group_nth(reward, 9)"`, []string{"stage.rl.group_size=4"}, "advantage", "no completion of a trial has a value"},
		{`preset = "grpo", keep = "reward > 5"`, nil, "keep", "keep is false for every completion"},
		{`preset = "grpo", keep = "reward > 5"`, []string{"stage.rl.reward=10*task"}, "", ""},
		{`preset = "grpo", policy = "stop(-A*logp)"`, nil, "loss", "gradient is 0"},
		{`preset = "grpo", policy = "-A*floor(logp)"`, nil, "loss", "gradient is 0"},
		{`preset = "grpo"`, []string{"stage.rl.reward=one"}, "", ""}, // a control
		{`preset = "grpo", weight = "0"`, nil, "weight", "is 0 for every token"},
		{`preset = "grpo", weight = "position > 5000"`, nil, "weight", "is 0 for every token"},
		{`preset = "grpo", advantage = "reward - reward"`, nil, "advantage", "is 0 for every completion"},
		{`preset = "grpo", advantage = "reward*row.difficulty", as_written = true`, nil, "", ""},
		{`preset = "grpo", loss = "token_mean(-logp)", advantage = "2*reward"`, nil, "advantage", "would do nothing: no formula in force reads A"},
		{`preset = "grpo", loss = "token_mean(-logp)"`, nil, "", ""},
		{`preset = "grpo", policy = "A*ratio"`, nil, "", "is a sign missing?"},
		{`preset = "grpo_kl", beta = -0.1`, nil, "", "beta in [stage.algorithm]: it is below 0"},
		{`preset = "grpo_kl", beta = "-0.1*progress"`, nil, "", "beta in [stage.algorithm]: it is below 0"},
		{`preset = "grpo", weight = "reward - 0.5"`, nil, "", "weight in [stage.algorithm]: it is below 0"},
		{`preset = "grpo", weight = "1/gradient_norm"`, nil, "", ""},
		{`preset = "grpo", policy = "-ratio*A*logp"`, nil, "", "Write stop(...) around the ratio"},
		{`preset = "grpo", policy = "-stop(ratio)*A*logp"`, nil, "", ""},
	} {
		o, err := small(t, c.method, c.more...)
		switch {
		case c.part != "":
			if err == nil || !strings.Contains(err.Error(), "algorithm."+c.part) && !strings.Contains(err.Error(), "stage.rl.algorithm") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %q at %s", c.method, err, c.want, c.part)
			} else if !strings.Contains(strings.Join(hint.All(err), " ")+err.Error(), "as_written = true") {
				t.Errorf("%s: no hint: %q", c.method, hint.All(err))
			}
		case err != nil:
			t.Errorf("%s: %v", c.method, err)
		case (c.want == "") != (len(o.Notes) == 0) || !strings.Contains(strings.Join(o.Notes, "\n"), c.want):
			t.Errorf("%s: notes %q, want %q", c.method, o.Notes, c.want)
		}
	}
}

// TestSolutionsOfTeachers: each of the solutions that a second chance takes is one that some row has, or that
// the run makes for the rows that the stage draws.
func TestSolutionsOfTeachers(t *testing.T) {
	chance := `stage.rl.second_chance={when = "group_max(reward) <= 0", rows = "answer, other", choose = "mean(old)"}`
	one := `stage.rl.second_chance={when = "group_max(reward) <= 0", rows = "other"}`
	made := `stage.rl.make=[{rows = "guided", row = {question = "{question}", answer = "{answer}", other = "{completion}"}}]`
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{chance}, `stage.rl.second_chance.rows: second_chance.rows = "answer, other": no problem has other`},
		{[]string{chance, made}, "no problem has other"},
		{[]string{chance, made, `stage.rl.source=[{rows = "guided"}]`}, ""},
		{[]string{one, made}, `second_chance.rows = "other": no problem has other`},
		{[]string{one, made, `stage.rl.source=[{rows = "guided"}]`}, ""},
		{[]string{`stage.rl.second_chance={when = "group_max(reward) <= 0", rows = "answer,", choose = "mean(old)"}`}, "has no name at a comma"},
		{[]string{`stage.rl.second_chance={when = "group_max(reward) <= 0", rows = "answer", choose = "mean(old)"}`}, "second_chance.choose goes with several members in rows"},
		{[]string{`stage.rl.second_chance={when = "group_max(reward) <= 0", rows = "answer, id", choose = "old"}`}, "one value for each token where one for each completion is wanted"},
	} {
		r, err := recipe.Load("countdown-tiny", c.sets)
		if err == nil {
			_, err = Open(r, nil)
		}
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.sets, err, c.want)
		}
	}
}
