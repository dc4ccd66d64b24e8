package train

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestForeignPlaces: each solution of the rows has a place in the run of its own, in the step that takes it. By it a
// journal knows what a judge was asked about the solution.
func TestForeignPlaces(t *testing.T) {
	r := smallest(t)
	d := drawerOf(t, r, &spoken{})
	seen := map[random.Key]bool{}
	n := 0
	for step := range 3 {
		for try := range 2 {
			given := [][]int{{'a', 1, 2}}
			all := []chance{
				{from: 0, to: 3, numbers: []int{1}, start: rollout.Start{Problem: verify.Problem{Question: "a"}, Prompt: []int{'a'}}, given: given},
				{from: 3, to: 6, numbers: []int{0}, start: rollout.Start{Problem: verify.Problem{Question: "b"}, Prompt: []int{'b'}}, given: given},
			}
			groups, err := d.replacements(t.Context(), &Plan{At: Position{Step: step}, stage: &r.Stages[0]}, try, all, make([]Completion, 6))
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				for _, p := range g.Paths {
					key := g.Segments[p.Leaf].Drawn.Key
					if of, after := StepOf(key.Purpose, key.Step); key.Purpose != random.SecondChance || key.Stage != d.index || of != step || after || seen[key] {
						t.Errorf("step %d, try %d: %+v", step, try, key)
					}
					seen[key] = true
					n++
				}
			}
		}
	}
	if n != 12 {
		t.Errorf("%d solutions", n)
	}
}

// TestLeaving: the worst of a group are replaced, of equal ones the last, or the last ones whatever they earned. A completion
// that was not scored is the worst.
func TestLeaving(t *testing.T) {
	var group []Completion
	for _, reward := range []float64{0, 1, 0, math.NaN(), 1} {
		c := Completion{}
		c.Score.Reward = reward
		group = append(group, c)
	}
	for _, c := range []struct {
		n    int
		last bool
		want []int
	}{
		{1, false, []int{3}}, {2, false, []int{2, 3}}, {4, false, []int{0, 2, 3, 4}}, {0, false, []int{0, 1, 2, 3, 4}},
		{1, true, []int{4}}, {2, true, []int{3, 4}}, {0, true, []int{0, 1, 2, 3, 4}}, {9, true, []int{0, 1, 2, 3, 4}},
	} {
		if got := leaving(group, c.n, c.last); !slices.Equal(got, c.want) {
			t.Errorf("%d, %v: %v, want %v", c.n, c.last, got, c.want)
		}
	}
}

// TestPartly: a share of the entries of each list that a text names is shown, in their order, drawn evenly; of tables
// their ask. A text that names no list is refused, and a share that is no entry, or has no value, shows nothing.
func TestPartly(t *testing.T) {
	row := verify.Problem{Question: "q", Metadata: map[string]json.RawMessage{"list": json.RawMessage(`["a",2,{"ask":"c","points":3},{"b":1}]`), "one": json.RawMessage(`["x"]`), "level": json.RawMessage("3")}}
	part := func(show, between string, share float64, seed uint64) (string, float64) {
		t.Helper()
		problem, shown, err := partly(show, between, row, share, random.At(seed, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		text, err := prompts.Filled(problem, show)
		if err != nil {
			t.Fatal(err)
		}
		return text, shown
	}
	for share, want := range map[float64]float64{1: 1, 2: 1, 0.5: 0.5, 0.4: 0.5, 0.3: 0.25, 0.1: 0, 0: 0, -1: 0, math.NaN(): 0} {
		if _, shown := part("{list} {level}", "", share, 1); shown != want {
			t.Errorf("of share %v %v is shown, want %v", share, shown, want)
		}
	}
	if text, _ := part("{list} {level}{question}", ">", 1, 1); text != `a>2>c>{"b":1} 3q` {
		t.Errorf("%q", text)
	}
	if text, shown := part("{list};{one}", "", 0.5, 1); shown != 0.6 || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, ";x") { // 2 of 4 and, of 0.5, 1
		t.Errorf("two lists: %q, %v", text, shown)
	}
	seen := map[string]int{}
	const draws = 6000
	for seed := range uint64(draws) {
		text, _ := part("{list}", ">", 0.5, seed)
		seen[text]++
	}
	// Each of the 6 choices of 2 of 4 comes about 1,000 times, with a standard deviation of 29; 6 of them are 174.
	for text, n := range seen {
		if len(seen) != 6 || math.Abs(float64(n)-draws/6) > 174 {
			t.Errorf("%q comes %d times, of %d choices", text, n, len(seen))
		}
	}
	if string(row.Metadata["list"])[:4] != `["a"` {
		t.Error("the row is changed")
	}
	if _, _, err := partly("{level}{question}", "", row, 1, nil); err == nil || !strings.Contains(err.Error(), `show = "{level}{question}" names no list; accepted: the name of a list in braces`) {
		t.Errorf("without a list: %v", err)
	}
}

// TestEntriesFit: a second chance by entries is refused before the run if a problem has no list, or is too long with all
// entries.
func TestEntriesFit(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for _, c := range []struct{ show, most, want, advice string }{
		{"{numbers} {question}", "40", "", ""},
		{"{target} {question}", "40", `stage rl: second_chance.entries: prompt `, ""},
		{"{numbers} {question}", "8", "with all entries it has ", "--set task.max_prompt_tokens="},
	} {
		p := opened(t, dev, "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"countdown\"\nmax_prompt_tokens = "+c.most+"\n[[stage]]\nname = \"rl\"\nkind = \"rl\"\nreward = \"random\"\n",
			`stage.rl.second_chance={when = "true", show = "`+c.show+`", entries = "0.5"}`)
		err := givesChances(p.Recipe, &p.Recipe.Stages[0], p.Source, p.Prompts)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.Join(hint.All(err), ""), c.advice)) {
			t.Errorf("%s, at most %s tokens: %v", c.show, c.most, err)
		}
	}
}
