package recipe

import (
	"fmt"
	"strings"
	"testing"
)

// TestBase: a recipe says what it changes of another one; tables that say what they are stand
// alone, and faults are told where they stand.
func TestBase(t *testing.T) {
	base, err := Load("countdown-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse("mine.toml", `base = "countdown-tiny"
seed = 7
[task]
eval_samples = 4
[[stage]]
name = "rl"
steps = 5
[stage.algorithm]
advantage = "rloo"
[[stage]]
name = "more"
kind = "rl"
`, []string{"stage.warm-up.batch_size=8"})
	if err != nil {
		t.Fatal(err)
	}
	rl, under := r.Stages[1], base.Stages[1]
	switch {
	case len(base.Expect) == 0, len(r.Expect) > 0:
		t.Errorf("what the base expects: %+v; what the recipe does: %+v", base.Expect, r.Expect)
	case r.Name != "mine", r.About != base.About, r.Base != "", r.Seed != 7, r.Model.Width != base.Model.Width, r.Task.EvalSamples != 4, r.Task.EvalProblems != base.Task.EvalProblems:
		t.Errorf("%+v", r)
	case len(r.Stages) != 3, r.Stages[0].BatchSize != 8, r.Stages[0].HoldSteps != base.Stages[0].HoldSteps, r.Stages[2].Name != "more", r.Stages[2].Steps != 100:
		t.Errorf("%d stages: %+v", len(r.Stages), r.Stages)
	case rl.Steps != 5, rl.UpdatesPerRollout != under.UpdatesPerRollout, rl.Optimizer.LR != under.Optimizer.LR, rl.Algorithm.Values["advantage"] != "rloo", rl.Algorithm.Values["clip_high"] != 0.28:
		t.Errorf("%+v", rl)
	}
	sameAgain(t, r)
	if r, err = Parse("mine.toml", "base = \"countdown-tiny\"\n[task]\nname = \"chain_sum\"\n[[stage]]\nname = \"rl\"\nalgorithm = {preset = \"dr_grpo\"}\n", nil); err != nil {
		t.Fatal(err)
	}
	if values := r.Stages[1].Algorithm.Values; values["clip_high"] != 0.2 || values["loss"] != "fixed_length(weight*policy + penalty, max_tokens)" || r.Task.EvalSamples != defaults().Task.EvalSamples {
		t.Errorf("%v, %d samples", values, r.Task.EvalSamples)
	}
	if again, err := Load("countdown-tiny", nil); err != nil || again.Resolved() != base.Resolved() {
		t.Errorf("the base has changed: %v", err)
	}
}

// TestBaseFaults: faults of a recipe with a base are told with the text that has the key.
func TestBaseFaults(t *testing.T) {
	for _, c := range []struct{ text, set, want string }{
		{"base = \"countdwn-tiny\"", "seed=1", `mine.toml:1:1: base = "countdwn-tiny" is not a recipe of the program; did you mean countdown-tiny?`},
		{"base = \"raft\"", "seed=1", `mine.toml:1:1: base = "raft" has a base itself, chain-sum-tiny`},
		{"base = 3", "seed=1", "mine.toml:1:1: base"},
		{"base = \"countdown-tiny\"\n[[stage]]\nname = \"rl\"\nstep = 3", "seed=1", "mine.toml:4:1: "},
		{"base = \"countdown-tiny\"\n[[stage]]\nname = \"new\"\nkind = \"rl\"\nstep = 3", "seed=1", "mine.toml:5:1: "},
		{"base = \"countdown-tiny\"\n[[stage]]\nname = \"rl\"\nprompts_per_step = 1", "seed=1", "countdown-tiny:46:1: stage.rl.updates_per_rollout = 2 is out of range"},
		{"base = \"countdown-tiny\"", "stage.rl.step=3", "--set stage.rl.step=3: "},
		{"base = \"countdown-tiny\"", "base=lora-math", "--set base=lora-math: "},
	} {
		_, err := Parse("mine.toml", c.text, []string{c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %s: %v\nwant %s", c.text, c.set, err, c.want)
		}
	}
}

// TestBaseModel: another model in place of that of the base goes on with its adapter and its storage, as one that an
// override names does, and not with its shape.
func TestBaseModel(t *testing.T) {
	for text, want := range map[string]string{
		"base = \"lora-math\"\n[model]\npath = \"/mine\"":                            `{"/mine" 0 16 32}`,
		"base = \"lora-math\"\n[model]\npath = \"/mine\"\nlora = {rank = 4}":         `{"/mine" 0 4 32}`,
		"base = \"countdown-tiny\"\n[model]\npath = \"/mine\"\nlora = {alpha = 8.0}": `{"/mine" 0 0 8}`,
	} {
		r, err := Parse("mine.toml", text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := r.Model
		if got := fmt.Sprintf("{%q %d %d %v}", m.Path, m.Width, m.LoRA.Rank, m.LoRA.Alpha); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
