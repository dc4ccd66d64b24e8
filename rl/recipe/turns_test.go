package recipe

import (
	"encoding/json"
	"math"
	"testing"
)

// TestAnchors: gigpo gives a turn the advantage of its paper, counted by hand: that of its episode in the
// group, and once more that of the turn among those in the same situation, in whichever episode or place.
func TestAnchors(t *testing.T) {
	r, err := Load("gigpo", nil)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := r.Stages[len(r.Stages)-1].Compiled()
	if err != nil {
		t.Fatal(err)
	}
	// Two episodes of a group, a third of another. The first comes back to the hall and wins in its
	// third turn; the second loses in its second.
	answered, err := compiled.Method.Evaluate([]byte(`{"formulas": {"loss": "token_mean(-A*logp)"}, "group": [0, 0, 1], "segments": [[2, 1, 1], [1, 1], [1]],
		"completion": {"reward": [1, 0, 1]},
		"segment": {"state": [["hall", "attic", "hall"], ["hall", "cellar"], ["hall"]], "last_turn": [[false, false, true], [false, true], [true]]},
		"token": {"logp": [[-1, -1, -1, -1], [-1, -1], [-1]], "old": [[-1, -1, -1, -1], [-1, -1], [-1]]}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(answered)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Parts struct{ Advantage [][]float64 }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	spread := func(x ...float64) (mean, std float64) {
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			std += (v - mean) * (v - mean) / float64(len(x)-1)
		}
		return mean, math.Sqrt(std)
	}
	first, again, other := 0.95*0.95, 1.0, 0.0 // what was earned from the hall on
	mean, std := spread(first, again, other)
	hall := func(earned float64) float64 { return (earned - mean) / (std + 1e-6) }
	_, ofTwo := spread(1, 0)
	episode := 0.5 / (ofTwo + 1e-4)
	want := [][]float64{{episode + hall(first), episode + hall(first), episode, episode + hall(again)}, {-episode + hall(other), -episode}, {0}}
	for i, row := range want {
		for j, w := range row {
			// both sides add the same few numbers: a rounding each, of numbers below 2
			if g := got.Parts.Advantage[i][j]; math.Abs(g-w) > 16*0x1p-52 {
				t.Errorf("episode %d, token %d: advantage %v, want %v", i+1, j+1, g, w)
			}
		}
	}
}
