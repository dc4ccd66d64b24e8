package reward

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// golden are the rewards of an expression for the completions of each of the
// batches of goldenAnswers; null: not scored.
type golden struct {
	Expression string
	Rewards    [][]*float64 // [batch][completion]
}

// goldenAnswers are the batches that the stored values are of.
func goldenAnswers() [][]answer {
	out := [][]answer{group}
	r := rand.New(rand.NewPCG(27, 0))
	for range 3 {
		out = append(out, randomAnswers(r))
	}
	return out
}

// TestGolden: the values of testdata/values.json were stored when rewards had a
// language of their own. They stay the same bits.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Fatalf("%d expressions", len(all))
	}
	for _, g := range all {
		for k, answers := range goldenAnswers() {
			for i, got := range rewards(t, g.Expression, answers) {
				want := math.NaN()
				if g.Rewards[k][i] != nil {
					want = *g.Rewards[k][i]
				}
				if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%s of %v: completion %d has %v, want %v", g.Expression, answers, i, got, want)
				}
			}
		}
	}
}
