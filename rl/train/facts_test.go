package train

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestRunFacts: every fact that formulas may read after sampling has a row, and is of each update
// where formulas say so; and no row is there that they cannot name.
func TestRunFacts(t *testing.T) {
	supplied := map[string]bool{}
	for _, row := range suppliers {
		name, pattern := strings.CutSuffix(row.fact, "(")
		if !pattern && strings.HasSuffix(name, ".") {
			name += "*"
		}
		supplied[name] = true
		if (row.known == updated) != (row.token != nil) || (row.known == updated) != (row.columns == nil) {
			t.Errorf("%s: known from %d on", row.fact, row.known)
		}
	}
	delete(supplied, "prompt_chance") // before sampling alone
	delete(supplied, "probed")
	var facts []string
	for _, f := range slices.Concat(algo.RunFacts(), algo.StaleFacts(), algo.TurnFacts(), algo.TreeFacts(), algo.AngleFacts(), algo.PathFacts(), []formula.Fact{algo.ScoreFact(), algo.LabelFact()}) {
		facts = append(facts, f.Name)
		if f.Now != (statisticOf(f.Name) != nil) {
			t.Errorf("%s: of now is %v here and %v there", f.Name, !f.Now, f.Now)
		}
	}
	slices.Sort(facts)
	if got := slices.Sorted(maps.Keys(supplied)); !slices.Equal(got, facts) {
		t.Errorf("supplied are %v, facts of a run are %v", got, facts)
	}
}

// TestKnown: a fact is supplied from its time on. Of two suppliers the later one holds as soon as it
// is known.
func TestKnown(t *testing.T) {
	f := &facts{recipe: &recipe.Recipe{}, stage: &recipe.Stage{}}
	for _, c := range []struct {
		fact  string
		by    when
		known when
		there bool
		later bool
	}{
		{"step", begun, begun, true, false}, {"row.level", begun, 0, false, true}, {"row.level", asked, posed, true, false},
		{"prompt_tokens", begun, 0, false, true}, {"prompt_tokens", posed, posed, true, true}, {"prompt_tokens", drawn, drawn, true, false},
		{"reward", posed, 0, false, true}, {"age", drawn, 0, false, true}, {"logp", asked, 0, false, true}, {"logp", updated, updated, true, false},
		{"unknown", updated, 0, false, false},
	} {
		row, later := f.supplierOf(c.fact, c.by)
		if (row != nil) != c.there || later != c.later || row != nil && row.known != c.known {
			t.Errorf("%s by %d: %+v, later %v", c.fact, c.by, row, later)
		}
	}
}

// TestPlaces: rows of a table are found again in a selection of it, whatever their order.
func TestPlaces(t *testing.T) {
	in := []bool{false, true, true, false, true}
	got := placed(in, []member{{row: 4}, {row: 1}, {row: 2}})
	if want := []member{{row: 2}, {row: 0}, {row: 1}}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestUpdates: metrics of formulas are weighted by tokens, the loss and the norm are not,
// and what is of the first update stays so.
func TestUpdates(t *testing.T) {
	row := map[string]float64{}
	updates{
		{tokens: 3, loss: 1, norm: 2, metrics: map[string]float64{"policy/entropy": 4, "policy/ratio_mean": 1, "policy/equal": 3}},
		{tokens: 1, loss: 3, norm: 4, metrics: map[string]float64{"policy/entropy": 8, "policy/ratio_mean": 2, "policy/equal": 0}},
	}.into(row)
	for name, want := range map[string]float64{
		"optim/updates": 2, "policy/loss": 2, "policy/grad_norm": 3, "policy/entropy": 5, "policy/ratio_mean": 1.25, "policy/ratio_first": 1, "policy/equal": 3,
	} {
		if row[name] != want {
			t.Errorf("%s is %v, want %v", name, row[name], want)
		}
	}
}

// TestUnevenGroups: groups of a step may differ in size. Their advantages are against their own
// mean, and each completion is trained once.
func TestUnevenGroups(t *testing.T) {
	rows := rowsOf(t, `{"prompt":"one","completion":"yes"}`, `{"prompt":"one","completion":"no, never"}`, `{"prompt":"one","completion":"or so"}`, `{"prompt":"two","completion":"2"}`, `{"prompt":"three","completion":"a"}`, `{"prompt":"three","completion":"abc"}`)
	s := stageOn(t, "sft", rows, "[stage.algorithm]\nadvantage = \"reward - group_mean(reward)\"\nloss = \"seq_mean(-A*logp)\"\n").(*imitation)
	cs, err := s.lessons(rows)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{2. / 3, -1. / 3, -1. / 3, 0, -0.5, 0.5}
	for i, place := range [][3]int{{0, 0, 1}, {0, 1, 0}, {0, 2, 0}, {1, 0, 1}, {2, 0, 0}, {2, 1, 1}} {
		cs[i].Group, cs[i].Sample, cs[i].Score.Reward = place[0], place[1], float64(place[2])
		cs[i].View.Group = place[0] + 1
	}
	b, _, err := s.learn(Position{}, cs, 0)
	if err != nil {
		t.Fatal(err)
	}
	learned := b.v.lessons(b.slopes, make([]map[string][]float64, len(cs)))
	if n, rows := groupsOf(cs), problemsOf(cs); n != 3 || len(rows) != 3 || rows[1].Question != "two" || len(b.members) != len(cs) {
		t.Errorf("%d groups of the problems %v, %d completions are trained", n, rows, len(b.members))
	}
	for i := range cs {
		if !near(learned[i].Advantage, want[i]) {
			t.Errorf("completion %d has the advantage %v, want %v", i, learned[i].Advantage, want[i])
		}
		for _, slope := range learned[i].Slope {
			if w := -want[i] / float64(len(cs)*len(learned[i].Slope)); !near(slope, w) {
				t.Errorf("completion %d: derivative %v, want %v", i, slope, w)
			}
		}
	}
	for i, at := range []int{7, 7, 7, 8, 9, 9} {
		if c := numbered(cs, 7)[i]; c.Group != at || c.View.Group != at+1 {
			t.Errorf("completion %d is numbered into group %d, want %d", i, c.Group, at)
		}
	}
}
