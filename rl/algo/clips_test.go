package algo

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// TestClips: a share stands for each part of the loss that a recipe writes and that clips, of the
// tokens that the policy wrote; the clips of presets and of what is not learned from have none.
func TestClips(t *testing.T) {
	const columns = `"group": [0, 0, 1], "completion": {"A": [0.7, -0.7, 0]}, "token": {"logp": [[-1.2, -0.3], [-0.9], [-2]], "old": [[-1.1, -0.4], [-0.9], [-2]], "start": [[-1.1, -0.4], [-0.9], [-2]], "own": [[true, true], [true], [false]]}`
	for _, c := range []struct {
		name, method string
		want         map[string]float64
	}{
		{"ratios exp(-0.1), exp(0.1) and 1; one is below 0.95", `"parameters": {"clip_low": 0.05, "clip_high": 0.2}, "formulas": {"loss": "token_mean(-min(ratio*A, clip(ratio, 1 - clip_low, 1 + clip_high)*A))"}`, map[string]float64{"loss": 1. / 3}},
		{"two in one part: 1 of 3 and 2 of 3", `"formulas": {"policy": "-clip(ratio, 0.95, 2)*A - 0*clip(ratio, 0.95, 1.05)"}`, map[string]float64{"policy": 0.5}},
		{"a bound is inside; completions count as such", `"formulas": {"policy": "-ratio*clip(A, -0.7, 0.1)"}`, map[string]float64{"policy": 1. / 3}},
		{"a part of a preset, and one that the loss does not read", `"preset": "grpo", "formulas": {"aside": "clip(ratio, 0.99, 1)"}`, nil},
	} {
		answer, err := Evaluate([]byte("{" + c.method + ", " + columns + "}"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Metrics map[string]*float64 }
		if err := json.Unmarshal(text, &said); err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for name, x := range said.Metrics {
			if part, is := strings.CutPrefix(name, "clip/"); is && x != nil {
				got[part] = *x
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
