package bench

import (
	"strings"
	"testing"
	"time"
)

// TestEpisodes: each answer is measured beside what it should take at most, and a step whose worlds take their time
// beside one whose worlds take none: it waits for the worlds of the longest episode.
func TestEpisodes(t *testing.T) {
	var got []Result
	b := Bench{Device: device(t), Only: "calculator", Emit: func(r Result) { got = append(got, r) }}
	if err := Episodes(t.Context(), b, "guess-tiny"); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Unit != "us" || got[0].Value <= 0 || got[0].BaselineValue != 5 || got[0].Ratio != got[0].Value/5 {
		t.Errorf("%+v", got)
	}
	for _, a := range answerers()[1:] {
		a.calls = 1
		if err := a.measure(t.Context(), b); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
	for _, r := range got[1:] {
		if (r.Value > 0) == (r.Skipped != "") {
			t.Errorf("%+v", r)
		}
	}
	const takes = 3 * time.Millisecond
	got, b.Only = nil, ""
	err := slowEpisodes(t.Context(), b, "guess-tiny", takes, []string{"model.layers=1", "model.width=32", "model.heads=1", "model.mlp=32", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2"})
	if err != nil {
		t.Fatal(err)
	}
	if r := got[0]; len(got) != 1 || r.Value < 4*takes.Seconds() || r.BaselineValue < 4*takes.Seconds() || r.Turns != slowTurns || r.Case != "guess-tiny, 2 x 2, worlds of 3ms" {
		t.Errorf("%+v", got)
	}
	if err := slowEpisodes(t.Context(), b, "countdown-tiny", takes, nil); err == nil {
		t.Error("a task of one answer is played in turns")
	} else if !strings.Contains(err.Error(), "episode") {
		t.Error(err)
	}
}
