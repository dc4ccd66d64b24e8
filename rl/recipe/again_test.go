package recipe

import (
	"slices"
	"strings"
	"testing"
)

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
