package eval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestRounds: figures of trees by hand: a shared token counts once, what is not scored is left out, and the rivals
// are as many completions as have the same tokens, of the same problems.
func TestRounds(t *testing.T) {
	score := func(x float64) []verify.Verdict { return []verify.Verdict{{Verdict: verify.Right, Score: x}} }
	none := []verify.Verdict{verify.Abstain("no reference")}
	policy := func(parent, tokens int) rollout.Segment {
		return rollout.Segment{Parent: parent, Author: rollout.Policy, IDs: make([]int, tokens)}
	}
	// two tokens, then 4 or 3 more, and 1 beside them; the reply between does not count
	first := rollout.Group{Segments: []rollout.Segment{{Parent: -1, IDs: []int{1}}, policy(0, 2), {Parent: 1, Author: rollout.Outside, IDs: make([]int, 9)}, policy(2, 4), policy(0, 1), policy(2, 3)},
		Paths: []rollout.Path{{Leaf: 3, Verdicts: score(0.25)}, {Leaf: 4, Verdicts: none}, {Leaf: 5, Verdicts: score(1)}}}
	second := rollout.Group{Segments: []rollout.Segment{{Parent: -1, IDs: []int{1}}, policy(0, 5), policy(0, 2)},
		Paths: []rollout.Path{{Leaf: 1, Verdicts: score(0.5)}, {Leaf: 2, Verdicts: score(0)}}}
	plain := &Result{Length: 2, Groups: []rollout.Group{judgedAs(score(0)[0], score(1)[0], score(0.5)[0]), judgedAs(score(1)[0], none[0], score(1)[0])}}
	groups := []rollout.Group{first, second}
	for i, want := range []Round{
		{Leaves: 2, Tokens: 7, Best: 0.25, Mean: (0.25 + 0.25) / 2, Plain: 3, Rival: 1}, // best of the first alone, which has 3 rivals
		{Leaves: 2.5, Tokens: 8.5, Best: (1 + 0.5) / 2, Mean: (0.625 + 0.25) / 2, Plain: 4, Rival: math.NaN()},
	} {
		got := roundOf(groups, []int{2 + i, 2}, plain)
		if math.Float64bits(got.Rival) != math.Float64bits(want.Rival) && !(math.IsNaN(got.Rival) && math.IsNaN(want.Rival)) {
			t.Errorf("round %d: the rivals reach %v, want %v", i, got.Rival, want.Rival)
		}
		if got.Rival, want.Rival = 0, 0; got != want { // the sums are exact
			t.Errorf("round %d is %+v, want %+v", i, got, want)
		}
	}
	// of two of 0, 1/2, 1 the best is 1 twice and 1/2 once; of two of 1, 1 it is 1
	two := roundOf([]rollout.Group{second, second}, []int{1, 1}, &Result{Length: 2.5, Groups: plain.Groups})
	if want := (2.5/3 + 1) / 2; two.Plain != 2 || math.Abs(two.Rival-want) > 0x1p-50 { // some roundings of numbers of at most 1
		t.Errorf("%+v, want a rival of %v of two", two, want)
	}
	unscored := rollout.Group{Segments: second.Segments, Paths: []rollout.Path{{Leaf: 1, Verdicts: none}}}
	one := roundOf([]rollout.Group{second, unscored}, []int{1, 1}, &Result{Length: 2.5, Groups: plain.Groups})
	if want := 2.5 / 3; one.Plain != 2 || one.Best != 0.5 || math.Abs(one.Rival-want) > 0x1p-50 { // likewise
		t.Errorf("%+v, want a rival of %v of two, of the problem whose tree is scored", one, want)
	}
	g := &Grown{Stage: "rl", Rounds: []Round{{Leaves: 2, Tokens: 7, Best: 0.375, Mean: 0.25, Plain: 3, Rival: 1}, {Leaves: 2.5, Tokens: 8.5, Best: math.NaN(), Mean: 0.5, Plain: 4, Rival: math.NaN()}}}
	raw, err := json.Marshal(Report{Task: "task", Result: new(Evaluator).summarise(plain.Groups, 3, []int{1}), ks: []int{1}, Grown: g})
	if want := `"tree":{"stage":"rl","rounds":[{"leaves":2,"tokens":7,"best":0.375,"mean":0.25,"plain":3,"best_of_plain":1},{"leaves":2.5,"tokens":8.5,"best":null,"mean":0.5,"plain":4,"best_of_plain":null}]}`; err != nil || !strings.Contains(string(raw), want) {
		t.Errorf("%s, %v", raw, err)
	}
	if table := g.table(); !strings.Contains(table, "round 1           2.5      8.5        -   50.0 %   - of 4\n") || strings.Contains(table, "No tree has grown") {
		t.Errorf("%s", table)
	}
	const silent = "No tree has grown"
	if g.Rounds[1].Leaves = 2; !strings.Contains(g.table(), silent) || strings.Contains((&Grown{Rounds: g.Rounds[:1]}).table(), silent) {
		t.Errorf("no node opens:\n%s", g.table())
	}
}

// TestNoTree: a task without a tree is refused with what gives it one, and too many distinct completions are.
func TestNoTree(t *testing.T) {
	r, err := recipe.Load("countdown-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := growing(r, "countdown-tiny", 99); err == nil || !strings.Contains(err.Error(), "no stage of countdown-tiny has one") {
		t.Errorf("%v", err)
	}
	if _, err := growing(&recipe.Recipe{}, "countdown", 99); err == nil || !strings.Contains(err.Error(), "countdown has no stage of kind rl") {
		t.Errorf("%v", err)
	}
	if r, err = recipe.Load("countdown-tiny", []string{"stage.rl.tree.rounds=1", "stage.rl.tree.width=9", "stage.rl.tree.distinct=true"}); err != nil {
		t.Fatal(err)
	}
	if i, err := growing(r, "countdown-tiny", 10); err != nil || r.Stages[i].Name != "rl" {
		t.Errorf("stage %d, %v", i, err)
	}
	if _, err := growing(r, "countdown-tiny", 9); err == nil || !strings.Contains(err.Error(), "stage.rl.tree.width: 9 completions of a node cannot begin with different tokens") {
		t.Errorf("%v", err)
	}
}
