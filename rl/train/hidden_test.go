package train

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// TestPath: where segments lie, how far they are apart, and where the path of each goes, of places that are
// easy to see; a segment without tokens lies nowhere.
func TestPath(t *testing.T) {
	states := [][]float32{{1, 0}, {3, 0}, {2, 4}, {5, 4}, {5, 4}}
	path := pathOf(states, []int{2, 1, 2})
	if want := [][]float64{{2, 0}, {2, 4}, {5, 4}}; !slices.EqualFunc(path, want, slices.Equal) {
		t.Fatalf("the path is %v, want %v", path, want)
	}
	none := math.NaN()
	for name, c := range map[string]struct {
		of   func(path [][]float64, k int) (float64, string)
		path [][]float64
		want []float64
	}{
		"net":                       {net, path, []float64{0, 4, 5}},
		"way":                       {way, path, []float64{0, 4, 3}},
		"toward":                    {toward, path, []float64{none, 0.8, 0.6}},
		"net of nothing":            {net, [][]float64{{1}, nil, {4}}, []float64{0, none, 3}},
		"way of nothing":            {way, [][]float64{{1}, nil, {4}}, []float64{0, none, none}},
		"toward of nothing":         {toward, [][]float64{{1}, nil, {4}}, []float64{none, none, none}},
		"toward where it came from": {toward, [][]float64{{1}, {4}, {1}}, []float64{none, none, none}},
		"toward without a step":     {toward, [][]float64{{1}, {1}, {4}}, []float64{none, none, 1}},
	} {
		for k, want := range c.want {
			got, why := c.of(c.path, k)
			if math.IsNaN(want) != math.IsNaN(got) || math.IsNaN(got) != (why != "") || !math.IsNaN(want) && !near(got, want) {
				t.Errorf("%s of segment %d is %v (%q), want %v", name, k, got, why, want)
			}
		}
	}
}

// TestConcentration: it is the mean cosine of all pairs, as the pairs themselves give it.
func TestConcentration(t *testing.T) {
	of := [][]float32{{1, 2, 0}, {-3, 1, 4}, {0, 0.5, -1}, {2, 2, 2}}
	sum := 0.0
	for _, a := range of {
		for _, b := range of {
			x, y := centre([][]float32{a}), centre([][]float32{b})
			sum += dot(x, y) / length(x) / length(y)
		}
	}
	if got := concentration(of); !near(got, sum/16) {
		t.Errorf("it is %v, the pairs give %v", got, sum/16)
	}
	if got := concentration([][]float32{{2, 0}, {8, 0}}); got != 1 {
		t.Errorf("of one direction it is %v", got)
	}
	if got := concentration([][]float32{{2, 0}, {-8, 0}, {0, 0}}); got != 0 {
		t.Errorf("of opposite ones, and of none, it is %v", got)
	}
}

// TestHiddenColumns: facts of the path are of the segments that the method cuts, and the models are asked
// once for all facts of one layer.
func TestHiddenColumns(t *testing.T) {
	r := smallest(t, "stage.rl.reward=task", `stage.rl.algorithm.segments="position > 1"`,
		`stage.rl.algorithm.advantage="reward + last(net(policy, 1)) + sum(way(policy, 1)) + mean(toward(policy, 1))"`)
	said := &spoken{}
	d := drawerOf(t, r, said)
	f := *d.facts
	p := Plan{Problems: []verify.Problem{{Question: "a"}, {Question: "c"}}, stage: &r.Stages[0]}
	drawn, err := d.draw(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	said.asked = 0
	x := f.of(&p, drawn.Completions, atOnce(drawn.Completions))
	table, err := x.table(asked, []string{"reward", "net(policy, 1)", "way(policy, 1)", "toward(policy, 1)"})
	if err != nil {
		t.Fatal(err)
	}
	if said.asked != 1 || table.Size(formula.Segment) != 2*len(drawn.Completions) {
		t.Errorf("asked %d times about %d segments", said.asked, table.Size(formula.Segment))
	}
	for fact, want := range map[string]func(first, second int) [2]float64{
		"net(policy, 1)":    func(a, b int) [2]float64 { return [2]float64{0, float64(2 * (a - b))} },
		"way(policy, 1)":    func(a, b int) [2]float64 { return [2]float64{0, float64(2 * (a - b))} },
		"toward(policy, 1)": func(a, b int) [2]float64 { return [2]float64{math.NaN(), 1} },
	} {
		c, _ := table.Column(fact)
		for i := range drawn.Completions {
			ids := drawn.Completions[i].View.Drawn()
			for k, w := range want(ids[0], ids[1]) {
				if got := c.V[2*i+k]; math.IsNaN(got) != math.IsNaN(w) || !math.IsNaN(w) && !near(got, w) {
					t.Errorf("%s of segment %d of completion %d is %v, want %v", fact, k, i, got, w)
				}
			}
		}
	}
}

// TestAngleColumns: the angle of a prompt that is drawn is of what was read, and a problem that a world asks has none
// before.
func TestAngleColumns(t *testing.T) {
	r := smallest(t, "stage.rl.reward=task", `stage.rl.algorithm.advantage="reward*angle(policy, 1)"`)
	d := drawerOf(t, r, &spoken{})
	p := Plan{Problems: []verify.Problem{{Question: "a"}, {Question: "c"}}, stage: &r.Stages[0]}
	drawn, err := d.draw(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range drawn.Completions {
		c := &drawn.Completions[i]
		c.From.Segments[0].IDs = []int{1, 3 + c.Group} // what a world said first
	}
	columns, err := d.of(&p, drawn.Completions, atOnce(drawn.Completions)).columns("angle(policy, 1)", asked)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{concentration([][]float32{{2, 1}, {6, 1}}), concentration([][]float32{{2, 1}, {8, 1}})}; !slices.Equal(columns[0].V, want) {
		t.Errorf("the angles are %v, want %v", columns[0].V, want)
	}
	x := subject{facts: d.facts, stage: p.stage, problems: []verify.Problem{{ID: "1735"}}}
	if columns, err = x.columns("angle(policy, 1)", posed); err != nil {
		t.Fatal(err)
	}
	if c := columns[0]; !math.IsNaN(c.V[0]) || c.Why[0] != "a world asks it: there is no prompt yet" {
		t.Errorf("without a question the angle is %v: %q", c.V[0], c.Why[0])
	}
}

// TestInfluenceColumns: each group is asked by itself about its tokens, with what the formula says of each; of a
// completion alone where the influence is its own. Where nothing has a weight nobody is asked. A formula that
// reads an influence can itself have one.
func TestInfluenceColumns(t *testing.T) {
	r := smallest(t, "stage.rl.reward=task", `stage.rl.algorithm.good="position*reward"`, `stage.rl.algorithm.second="influence(good)"`,
		`stage.rl.algorithm.advantage="reward + own_influence(reward) + influence(second) + gradient_norm"`)
	said := &spoken{}
	d := drawerOf(t, r, said)
	p := Plan{Problems: []verify.Problem{{Question: "a"}, {Question: "x"}}, stage: &r.Stages[0]} // x is never paid
	drawn, err := d.draw(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	said.asked = 0
	table, err := d.of(&p, drawn.Completions, atOnce(drawn.Completions)).table(asked, d.reads)
	if err != nil {
		t.Fatal(err)
	}
	const of2, n = 3 + 3, 3 // positions 1 and 2 of two right completions; of a group
	for fact, want := range map[string][]float64{
		"influence(good)":       {100*n + of2, 100*n + of2, 0, 0},
		"own_influence(reward)": {0, 100 + 2, 0, 0},
		"influence(second)":     {100*n + 6*(100*n+of2), 100*n + 6*(100*n+of2), 0, 0},
	} {
		c, _ := table.Column(fact)
		for i, at := range []int{0, 1, 3, 5} { // completions: the first is wrong, the second right, and those of x
			if got := c.V[2*at : 2*at+2]; got[0] != want[i] || got[1] != want[i] {
				t.Errorf("%s of completion %d is %v, want %v", fact, at, got, want[i])
			}
		}
	}
	if c, _ := table.Column("gradient_norm"); !slices.Equal(c.V, []float64{2, 2, 2, 2, 2, 2}) || said.asked != 1+2+1 {
		t.Errorf("norms %v, asked %d times", c.V, said.asked)
	}
}

// TestLikened: a completion is held against its prompt, and against texts of the others, by the tokens of each.
func TestLikened(t *testing.T) {
	r := smallest(t, "stage.rl.reward=similarity(completion, prompt, ref) + 10*group_similarity(completion, prompt, ref)")
	said := &spoken{}
	drawn, err := drawerOf(t, r, said).draw(t.Context(), Plan{Problems: []verify.Problem{{Question: "a"}, {Question: "b"}}, stage: &r.Stages[0]})
	if err != nil {
		t.Fatal(err)
	}
	h := 1 / math.Sqrt2
	for i, want := range []float64{ // the prompts are the ids 97 and 98, the completions these and 0, 1 or 2
		h + 10*h, 1, h + 10*h,
		1, h + 10*h, 1,
	} {
		if got := drawn.Completions[i].Score.Reward; !near(got, want) {
			t.Errorf("completion %d is paid %v, want %v", i, got, want)
		}
	}
	if said.asked != 2 {
		t.Errorf("asked %d times", said.asked)
	}
}
