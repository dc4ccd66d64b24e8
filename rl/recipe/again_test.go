package recipe

import (
	"slices"
	"strings"
	"testing"
)

// TestConditionsOfInfluence: a condition reads an influence that the method reads too, and no other: what it weighs
// is computed with the method.
func TestConditionsOfInfluence(t *testing.T) {
	for _, c := range []struct{ stage, algorithm, want string }{
		{`second_chance = {when = "group_mean(mean(influence(reward))) > 0", again = 1.2}`, "", "stage.rl.second_chance.when: influence(reward) is computed with the method, which does not read it: write it as a formula of the method and read that"},
		{`replay = {store = "group_mean(mean(own_influence(reward))) > 0"}`, "", "stage.rl.replay.store: own_influence(reward) is computed with the method"},
		{`make = [{rows = "texts", each = "completion", where = "mean(influence(reward)) > 0", row = {prompt = "{question}", completion = "{completion}"}}]`, "", "stage.rl.make.0.where: influence(reward) is computed with the method"},
		{`make = [{rows = "texts", each = "completion", row = {prompt = "{question}", completion = "{completion}", gained = "{mean(influence(reward))}"}}]`, "", "stage.rl.make.0.row.gained: influence(reward) is computed with the method"},
		{`replay = {store = "group_mean(mean(gained)) > 0"}`, "gained = \"influence(reward)\"", ""},
	} {
		text := strings.Replace(example, "[stage.algorithm]", c.stage+"\n[stage.algorithm]\n"+c.algorithm, 1)
		if _, err := Parse("x.toml", text, nil); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.stage, err, c.want)
		}
	}
}

// TestConditionsUseParts: parts and parameters that a condition alone reads are in force, and
// are written out; without the condition they do nothing.
func TestConditionsUseParts(t *testing.T) {
	parts := "clip_high = 0.28\nhard = \"group_mean(reward) < hard_below\"\nhard_below = 0.25"
	for _, c := range []struct{ name, stage string }{
		{"second chance", `second_chance = {when = "hard", again = 1.2}`},
		{"store", `replay = {store = "hard"}`},
	} {
		text := strings.Replace(example, "clip_high = 0.28", parts, 1)
		if _, err := Parse("x.toml", text, nil); err == nil || !strings.Contains(err.Error(), "hard would do nothing") && !strings.Contains(err.Error(), "no formula in force reads") {
			t.Errorf("%s: without it: %v", c.name, err)
		}
		text = strings.Replace(text, "[stage.algorithm]", c.stage+"\n[stage.algorithm]", 1)
		r, err := Parse("x.toml", text, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sameAgain(t, r)
		st := &r.Stages[len(r.Stages)-1]
		if st.Algorithm.Values["hard_below"] != 0.25 {
			t.Errorf("%s: written out as %v", c.name, st.Algorithm.Values)
		}
		if reads, err := st.Reads(); err != nil || !slices.Contains(reads, "reward") {
			t.Errorf("%s: reads %v, %v", c.name, reads, err)
		}
	}
}
