package tasks

import (
	"strings"
	"testing"
)

// TestChanged: numbers take the place of settings of each type, and of one that is true or false 1 and 0 do.
func TestChanged(t *testing.T) {
	search, err := Lookup("countdown_search")
	if err != nil {
		t.Fatal(err)
	}
	out, err := search.Changed(search.New(), map[string]float64{"tries": 3, "verifies": 0, "backward": 1, "wrong": 0.25})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, s := range Settings(out) {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]any{"tries": 3, "verifies": false, "backward": true, "subgoals": false, "wrong": 0.25, "numbers": 3} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	for key, want := range map[string]string{"verifies": "neither 1 nor 0", "tries": "not a whole number", "wrong": "out of range", "nosuch": "no setting nosuch"} {
		if _, err := search.Changed(search.New(), map[string]float64{key: 1.5}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
