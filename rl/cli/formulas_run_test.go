package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvalRun: a recipe on the rows that its run recorded gives the advantages and the derivatives that
// the run recorded, to the bit, of answers and of episodes whose turns are paid; another recipe gives
// others.
func TestEvalRun(t *testing.T) {
	small := strings.Fields("model.width=16 model.heads=2 model.head_dim=8 model.mlp=24 task.eval_problems=2 task.eval_samples=2 stage.rl.updates_per_rollout=1 stage.rl.steps=2 stage.rl.token_every=1 stage.rl.eval_every=0")
	for _, c := range []struct {
		recipe string
		sets   string
		method string
	}{
		{"countdown-short", "stage.warm-up.skip=true stage.rl.prompts_per_step=4 stage.rl.group_size=4 stage.rl.reward=random", "stage.rl.algorithm.keep=not truncated or reward > 0.5"},
		{"countdown-short", "stage.warm-up.skip=true stage.rl.prompts_per_step=4 stage.rl.group_size=6 stage.rl.tree.rounds=2 stage.rl.tree.roots=2 stage.rl.tree.open=1 stage.rl.tree.width=2 stage.rl.tree.at=position>1 stage.rl.reward=random", "stage.rl.algorithm.advantage=own*(reward + same_mean(reward, node)/leaves + 0.1*depth)"},
		{"guess-tiny", "stage.warm-up.batch_size=4 stage.warm-up.hold_steps=3 stage.warm-up.until_valid=0 stage.warm-up.decay_steps=2 stage.rl.prompts_per_step=2 stage.rl.group_size=3 stage.rl.eval_problems=2", "stage.rl.algorithm.advantage=own*(turn_reward + turns/10 + if(last_turn, 1, 0) + default(turn.lost, 0))"},
	} {
		t.Run(c.recipe+" "+c.method, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			args := []string{"train", c.recipe, "--device", "ref", "--run", dir}
			for _, s := range append(strings.Fields(c.sets), small...) {
				args = append(args, "--set", s)
			}
			if c.method != "" {
				args = append(args, "--set", c.method)
			}
			if code, _, stderr := rlzero(t, args...); code != 0 {
				t.Fatal(stderr)
			}
			type result struct {
				Recorded struct {
					Step      int
					Group     []int
					Advantage []*float64
					Dlogp     [][]float32
				}
				Computed struct {
					Dlogp [][]float64
					Parts struct{ Advantage json.RawMessage }
				}
			}
			eval := func(args ...string) (r result) {
				t.Helper()
				code, stdout, stderr := rlzero(t, append([]string{"formulas", "eval", "--run", dir}, args...)...)
				if code != 0 {
					t.Fatal(stderr)
				}
				if err := json.Unmarshal([]byte(stdout), &r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := eval()
			taught := 0
			for i, row := range r.Recorded.Dlogp {
				for j, x := range row {
					if got := float32(r.Computed.Dlogp[i][j]); got != x {
						t.Errorf("row %d, token %d: derivative %g, recorded %g", i, j, got, x)
					}
					if x != 0 {
						taught++
					}
				}
			}
			if taught == 0 {
				t.Fatal("the step taught nothing")
			}
			if strings.Contains(c.method, "keep") {
				var advantages []float64
				if err := json.Unmarshal(r.Computed.Parts.Advantage, &advantages); err != nil {
					t.Fatal(err)
				}
				for i, want := range r.Recorded.Advantage {
					if advantages[i] != *want {
						t.Errorf("row %d: advantage %g, recorded %g", i, advantages[i], *want)
					}
				}
				if first := eval("--step", "1"); first.Recorded.Step != 1 || len(first.Recorded.Group) != 16 {
					t.Errorf("step 1: %+v", first.Recorded)
				}
				other := eval("--recipe", "rlcr")
				if string(other.Computed.Parts.Advantage) == string(r.Computed.Parts.Advantage) {
					t.Error("another recipe gives the same advantages")
				}
			}
		})
	}
}

// TestEvalRunRefused: what the logs of a run cannot answer is said with what can.
func TestEvalRunRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "countdown-short", "--device", "ref", "--run", dir}
	for _, s := range strings.Fields("model.width=16 model.heads=2 model.head_dim=8 model.mlp=24 task.eval_problems=2 task.eval_samples=2 stage.warm-up.skip=true stage.rl.steps=2 stage.rl.prompts_per_step=2 stage.rl.eval_every=0") {
		args = append(args, "--set", s)
	}
	if code, _, stderr := rlzero(t, args...); code != 0 {
		t.Fatal(stderr)
	}
	for want, args := range map[string][]string{
		"the tokens of step 2 of " + dir + " were not recorded\n":          {"--run", dir, "--step", "2"},
		"hint: the recipe's key token_every says which steps are recorded": {"--run", dir, "--step", "2"},
		"step 1 of " + dir + ": there is no column token.value":            {"--run", dir, "--recipe", "countdown-ppo"},
		"write columns: rlzero formulas eval --in FILE":                    {"--run", dir, "--recipe", "countdown-ppo"},
		"takes --in or --run, not both":                                    {"--run", dir, "--in", "-"},
		"--step needs --run RUN":                                           {"--step", "2", "--in", "-"},
		"run " + dir + "x: there is no such folder":                        {"--run", dir + "x"},
		"unknown stage \"no\"\nrlzero: hint: accepted: warm-up, rl":        {"--run", dir, "--stage", "no"},
		"rlzero formulas eval needs --in FILE":                             {},
	} {
		if code, stdout, stderr := rlzero(t, append([]string{"formulas", "eval"}, args...)...); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, want %q in %s", args, code, want, stderr)
		}
	}
}
