package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/record"
)

// TestDue: every expectation of a recipe can be measured: its control loads and shares model, task
// and the stages before RL. What counts is not due again; what was measured before a change comes
// first, in the order of the file.
func TestDue(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: opens every recipe with expectations, several times")
	}
	all := 0
	for _, p := range presets.All() {
		all += len(p.Expects)
	}
	due, err := dueOf(nil, nil, nil)
	if err != nil || len(due) != all || all < 20 {
		t.Fatalf("%d of %d expectations are due: %v", len(due), all, err)
	}
	of := func(e expected, own string) compare.Measured {
		return compare.Measured{Recipe: e.recipe, Metric: e.says.Metric, Than: e.says.Than, Direction: e.says.Direction, Own: own, Control: e.control()}
	}
	last, first, other := due[len(due)-1], due[0], due[1]
	again, err := dueOf([]compare.Measured{of(last, "an older one"), of(first, "an older one"), of(other, other.own())}, nil, nil)
	if err != nil || len(again) != all-1 || again[0].recipe != last.recipe || again[1].recipe != first.recipe {
		t.Errorf("%d are due, first %s and %s: %v; want %d, first %s and %s", len(again), again[0].recipe, again[1].recipe, err, all-1, last.recipe, first.recipe)
	}
}

// TestDueNamed: recipes that are named are measured alone, in their order; one that expects nothing is
// refused.
func TestDueNamed(t *testing.T) {
	due, err := dueOf(nil, []string{"psr", "nsr"}, nil)
	if err != nil || len(due) != 2 || due[0].recipe != "psr" || due[1].recipe != "nsr" {
		t.Errorf("%d are due, %v; want psr and nsr", len(due), err)
	}
	for name, want := range map[string]string{"countdown-random": "countdown-random has no [[expect]]", "nrs": `unknown recipe "nrs"`} {
		if _, err := dueOf(nil, []string{name}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestOwnStarts: with starts of their own two sides may begin otherwise, with as many demonstrations;
// another task, other demonstrations and a budget that no step fits are refused.
func TestOwnStarts(t *testing.T) {
	for _, c := range []struct {
		own    bool
		budget int
		other  string
		want   string
	}{
		{true, 0, "chain-sum-tiny; stage.warm-up.optimizer.lr=1e-3", ""},
		{false, 0, "chain-sum-tiny; stage.warm-up.optimizer.lr=1e-3", "differ in the stages of their start"},
		{true, 0, "chain-sum-tiny; stage.warm-up.hold_steps=9", "differ in the number of demonstrations"},
		{true, 0, "chain-sum-tiny; task.settings.terms=3", "differ in [task]"},
		{true, 0, "chain-sum-tiny; task.settings.careless=0.2", ""},
		{false, 0, "chain-sum-tiny; task.settings.careless=0.2", "differ in [task]"},
		{true, 0, "chain-sum-tiny; task.settings.careless=0.2; task.settings.max_total=41", "differ in [task]"},
		{true, 0, "chain-sum-tiny; task.eval_problems=3", "differ in [task]"},
		{false, 255, "raft", "the first step of chain-sum-tiny samples 256 tokens or more, and the budget is 255: no step fits"},
		{false, 256, "raft", ""},
	} {
		of := contest{own: c.own, budget: c.budget}
		err := of.enter([]string{"chain-sum-tiny", c.other}, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with budget %d: %v, want %q", c.other, c.budget, err, c.want)
		}
	}
}

// TestBeforeFirst: a stage whose rows are drawn after it, by whoever learns there, is not of a shared start, nor is one
// that the rows of such a stage come from.
func TestBeforeFirst(t *testing.T) {
	const (
		own     = `stage.rl.source=[{rows = "made"}]`
		learner = `stage.rl.learn.policy={kind = "sft", weight = 0.1, rows = "made", max_tokens = 8}`
	)
	for _, c := range []struct {
		sets []string
		want int
	}{
		{nil, 3},
		{[]string{own}, 2},
		{[]string{learner}, 2},
		{[]string{own, "stage.make.source=[{rows = \"first\"}]"}, 0},
		{[]string{learner, "stage.make.source=[{rows = \"first\"}]"}, 0},
		{[]string{learner, "stage.rl.skip=true"}, 3},
		{[]string{learner, "stage.make.source=[{rows = \"first\"}]", "stage.first.skip=true", "stage.make.make.1.rows=first"}, 2},
	} {
		r, err := recipe.Parse("mine.toml", `base = "chain-sum-tiny"
[[stage]]
name = "first"
kind = "make"
make = [{rows = "first", row = {question = "{question}", answer = "{answer}"}}]
[[stage]]
name = "warm-up"
[[stage]]
name = "make"
kind = "make"
make = [{rows = "made", row = {question = "{question}", answer = "{answer}", prompt = "{question}", completion = "{completion}"}}, {rows = "more", row = {question = "{question}", answer = "{answer}"}}]
[[stage]]
name = "rl"
`, c.sets)
		if err != nil {
			t.Errorf("%s: %v", c.sets, err)
			continue
		}
		if got := beforeFirst(r.Stages, 3); got != c.want {
			t.Errorf("%s: stage %d is the first that is trained for each recipe, want %d", c.sets, got, c.want)
		}
	}
}

// TestSharedStart: recipes of different systems with equal stages before RL have one start, which the first makes and the
// second takes as it is.
func TestSharedStart(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	dir := t.TempDir()
	start := func(name string, sets ...string) string {
		t.Helper()
		of := contest{shared: true, dir: dir, device: dev, show: io.Discard}
		err := of.enter([]string{name}, append(sets, "task.eval_problems=1", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1", "stage.warm-up.test_every=9", "stage.rl.eval_problems=1"))
		if err == nil {
			err = of.starts(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return of.arms[0].start
	}
	one, other, third := start("esrl"), start("prof"), start("prof", "stage.warm-up.batch_size=8")
	if one == "" || one != other || one == third {
		t.Errorf("starts %s, %s; with other batches %s", one, other, third)
	}
}

// TestStartsAreLong: a model that a start makes has the context that those need who go on from it, also where its own
// stages need less.
func TestStartsAreLong(t *testing.T) {
	const short = 64
	given := contest{}
	if err := given.enter([]string{"chain-sum-tiny; model.context=300"}, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := given.opening(&given.arms[0]); err != nil || r.Model.Context != 300 {
		t.Errorf("a context of 300 that a recipe gives is another in its start: %v", err)
	}
	for _, own := range []bool{false, true} {
		of := contest{own: own}
		if err := of.enter([]string{"chain-sum-tiny", "chain-sum-tiny; stage.rl.sampling.max_completion_tokens=200"}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range of.arms {
			r, err := of.opening(&of.arms[i])
			if err != nil {
				t.Fatal(err)
			}
			need := cast.Context(of.arms[1].recipe)
			want := 0 // as many as its own stages need
			if !own || i == 1 {
				want = need
			}
			if need <= short || r.Model.Context != want {
				t.Errorf("own %v, recipe %d: the start is written for %d tokens, want %d of %d", own, i, r.Model.Context, want, need)
			}
		}
	}
}

// TestMeasuredActs: a run in which the metric never moves that a recipe is said to be seen in measures nothing of it,
// whatever else it has; one in which it moves does, and so does one whose start it moves in.
func TestMeasuredActs(t *testing.T) {
	run := func(lines ...string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, record.MetricsFile), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	p, _ := presets.Find("synlogic")
	metric := p.Head.ShownBy
	still, moves := run(`{"step":1,"stage":"rl","reward/mean":0.5,"`+metric+`":0}`), run(`{"step":1,"stage":"rl","`+metric+`":0}`, `{"step":2,"stage":"rl","`+metric+`":0.25}`)
	without := run(`{"step":1,"stage":"rl","reward/mean":0.5}`)
	for _, c := range []struct {
		name, recipe, start string
		runs                []string
		acts                bool
	}{
		{"it moves", "synlogic", "", []string{moves, moves}, true},
		{"it is always 0", "synlogic", "", []string{still}, false},
		{"it is always 0 with one seed", "synlogic", "", []string{moves, still}, false},
		{"it is not there", "synlogic", still, []string{without}, false},
		{"it moves in the start", "synlogic", moves, []string{without}, true},
		{"a recipe of no paper", "chain-sum-tiny", "", []string{without}, true},
	} {
		r, err := recipe.Load(c.recipe, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := contestant{recipe: r, start: c.start, runs: c.runs}
		if err := a.acts(); (err == nil) != c.acts || !c.acts && (!errors.Is(err, errIdle) || !strings.Contains(err.Error(), metric)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRowsAlone: recipes whose stages learn from rows alone are compared from their first one on, with as many
// demonstrations; one that learns from rewards is none of them, and nothing is said of tokens.
func TestRowsAlone(t *testing.T) {
	limited := contest{budget: 1000}
	if err := limited.enter([]string{"order-of-rows"}, nil); err == nil || !strings.Contains(err.Error(), "--budget bounds what is sampled") {
		t.Errorf("with a budget: %v", err)
	}
	for _, c := range []struct{ other, want string }{
		{`order-of-rows; stage.warm-up.curriculum.settings.terms="4"`, ""},
		{"order-of-rows; stage.warm-up.hold_steps=599", "differ in the number of demonstrations"},
		{"order-of-rows; stage.rl.skip=false", "differ in whether they learn from rewards"},
		{"order-of-rows; stage.warm-up.skip=true", "has no stage that learns"},
	} {
		of := contest{}
		err := of.enter([]string{"order-of-rows", c.other}, nil)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.other, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range of.arms {
			if start, err := of.opening(&of.arms[i]); start != nil || err != nil || of.arms[i].learns != 0 {
				t.Errorf("recipe %d begins at stage %d after a start %v, %v", i, of.arms[i].learns, start, err)
			}
		}
	}
	if got := sentence(compare.Measured{Recipe: "r", Metric: "m", Than: "o", Direction: "higher", Seeds: 3}); !strings.Contains(got, "3 seeds on rows alone") {
		t.Error(got)
	}
}
