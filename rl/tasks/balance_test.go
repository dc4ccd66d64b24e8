package tasks

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
)

// Of two answers one is right for half of the problems at least. Where there are more,
// no constant answer may be right for more than a third.
const twoAnswers, manyAnswers = 1.0 / 2, 1.0 / 3

var withTwoAnswers = []string{"circuit_logic", "course_schedule", "game_of_life_halting", "isomorphic_strings", "ransom_note"}

// TestBestConstant: no constant answer earns more than its bound, on the default settings
// and on the first level of the curriculum, which has the fewest different answers. Of n
// problems drawn with that share, the bound is exceeded by three standard deviations of
// a binomial distribution in one case of 700; the draws are the same each time.
func TestBestConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: tries many answers on many problems of every family")
	}
	for _, f := range Families() {
		n, bound := 200, manyAnswers
		if slices.Contains(slow, f.Name) {
			n = 60
		}
		if slices.Contains(withTwoAnswers, f.Name) {
			bound = twoAnswers
		}
		most := float64(n)*bound + 3*math.Sqrt(float64(n)*bound*(1-bound))
		for _, task := range []Task{validated(t, f.New()), validated(t, f.Level(0))} {
			if best := BestConstant(task, n); float64(best.Right) > most {
				t.Errorf("%s, %s: %s, want %.0f at most", f.Name, task.Difficulty(), best, most)
			}
		}
	}
}

// TestBalance: kinds are drawn in their shares, in both splits, and as chance has it
// where that is asked for.
func TestBalance(t *testing.T) {
	const n = 400
	for _, c := range []struct {
		family, set, answer string
		share               float64
	}{
		{"ransom_note", "p_solvable=0.5", "True", 0.5}, {"isomorphic_strings", "p_solvable=0.9", "True", 0.9}, {"isomorphic_strings", "p_solvable=1", "True", 1},
		{"ransom_note", "p_solvable=0", "False", 1}, {"circuit_logic", "neg_prob=0.3", "1", 0.5}, {"shortest_path", "p_blocked=0.5", "infeasible", 0.1},
		{"binary_alternation", "p_solvable=0.1", "-1", 0.1}, {"self_reference", "difficulty=1", "1", 0.25},
	} {
		task, err := New(c.family)
		if err != nil {
			t.Fatal(err)
		}
		key, value, _ := strings.Cut(c.set, "=")
		if err := Set(task, key, value); err != nil {
			t.Fatal(err)
		}
		for _, split := range []Split{Train, HeldOut} {
			right := 0
			for i := range n {
				if validated(t, task).Draw(random.At(3, uint64(split), uint64(i)), split).Answer == c.answer {
					right++
				}
			}
			// Four standard deviations of a binomial distribution.
			if d := math.Abs(float64(right) - n*c.share); d > 4*math.Sqrt(n*c.share*(1-c.share)) {
				t.Errorf("%s, %s, %s: %q is the answer to %d of %d", c.family, c.set, split, c.answer, right, n)
			}
		}
	}
	life, err := New("game_of_life_halting")
	if err != nil {
		t.Fatal(err)
	}
	if err := Set(life, "balanced", "false"); err != nil {
		t.Fatal(err)
	}
	if best := BestConstant(life, 200); best.Share() < 0.6 { // 64 % of 1000 boards die out
		t.Errorf("as chance has it: %s", best)
	}
}

// TestBalanceImpossible: settings that leave no problem of a kind are refused.
func TestBalanceImpossible(t *testing.T) {
	task, err := New("shortest_path")
	if err != nil {
		t.Fatal(err)
	}
	if err := Set(task, "p_blocked", "0"); err != nil {
		t.Fatal(err)
	}
	var wrong *settings.Error
	if err := task.Validate(); !errors.As(err, &wrong) || wrong.Key != "balanced" || !strings.Contains(err.Error(), "false: these settings gave no problem without a path") {
		t.Errorf("%v", err)
	}
	if err := Set(task, "balanced", "false"); err != nil {
		t.Fatal(err)
	}
	if err := task.Validate(); err != nil {
		t.Error(err)
	}
}
