package cast

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestWholeTrees: a tree that no batch may hold is refused with the rows that it may take and the key
// that gives it as many, and accepted with that; a plain group of that size is computed in parts. What
// branches begin with is kept by the engine.
func TestWholeTrees(t *testing.T) {
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 30, MaxAllocation: 1 << 31, Memory: 1 << 40}
	plan := func(sets ...string) error {
		r, err := recipe.Load("countdown-tiny", sets)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Plan(r, "", caps)
		return err
	}
	tree := []string{"micro_batch_tokens=100", "stage.rl.tree.rounds=2"}
	err := plan(tree...)
	// 20 completions have 14 tokens each to predict, which is more than they have rows
	const want = "--set stage.rl.tree.rounds=2: stage.rl.tree: 20 completions of up to 14 tokens may take 280 rows of one backward pass, but micro_batch_tokens is 100, and no batch holds the tree"
	if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(strings.Join(hint.All(err), "\n"), "--set micro_batch_tokens=280") {
		t.Fatalf("%v, %q, want %s", err, hint.All(err), want)
	}
	if err := plan(append(tree, "micro_batch_tokens=280")...); err != nil {
		t.Errorf("with the rows that it may take: %v", err)
	}
	const wide = "--set stage.rl.tree.width=64: stage.rl.tree.width: 64 completions of a node cannot begin with different tokens, of which the model has 53 and the node has one already; accepted with distinct: at most 52"
	if err := plan("stage.rl.tree.rounds=1", "stage.rl.tree.width=64", "stage.rl.tree.distinct=true", "micro_batch_tokens=8000"); err == nil || !strings.Contains(err.Error(), wide) {
		t.Errorf("more distinct completions than tokens: %v", err)
	}
	for set, want := range map[string]int{"stage.rl.tree.rounds=2": sample.EveryPage, "stage.rl.tree.rounds=0": 0} {
		r, err := recipe.Load("countdown-tiny", []string{set})
		if err != nil {
			t.Fatal(err)
		}
		if got := sizesOf(r).engine.Prefixes; got != want {
			t.Errorf("%s: the engine keeps %d prefixes, want %d", set, got, want)
		}
	}
	if err := plan("micro_batch_tokens=100", "stage.rl.group_size=20"); err != nil {
		t.Errorf("a plain group: %v", err)
	}
}

// TestUnequalRows: a group that a formula may make larger than a batch of the trainer is computed in parts, with a note
// that says from which size of the batch on it is not. Memory is planned for the largest group that is drawn.
func TestUnequalRows(t *testing.T) {
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 30, MaxAllocation: 1 << 31, Memory: 1 << 40}
	for sets, want := range map[string]int{
		"stage.rl.curriculum={completions = \"1\"} micro_batch_tokens=%d":                        4 * 10 * 14,
		"stage.rl.curriculum={completions = \"1\", completions_most = 30} micro_batch_tokens=%d": 30 * 14,
	} {
		for _, rows := range []int{want - 1, want} {
			r, err := recipe.Load("countdown-tiny", append(strings.Split(fmt.Sprintf(strings.ReplaceAll(sets, "} ", "}\n"), rows), "\n"), "stage.rl.group_size=10"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Plan(r, "", caps); err != nil {
				t.Errorf("%s, %d rows: %v", sets, rows, err)
			}
			notes, says := Divided(r), fmt.Sprintf("stage rl: a group may need %d tokens of one backward pass, but micro_batch_tokens is %d.", want, rows)
			if few := rows < want; few != (len(notes) == 1) || few && !strings.Contains(notes[0], says) {
				t.Errorf("%s, %d rows: %q, want %q: %t", sets, rows, notes, says, few)
			}
			if s := sizesOf(r); s.engine.Sequences < r.Stages[1].LargestGroup() {
				t.Errorf("%s: the engine draws %d completions at once, and a prompt may have %d", sets, s.engine.Sequences, r.Stages[1].LargestGroup())
			}
		}
	}
}

// TestLayers: formulas that read a layer which the model has not are refused at their key; the last one is
// accepted, and a sequence then has one more row, for the state that its last token leaves.
func TestLayers(t *testing.T) {
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 30, MaxAllocation: 1 << 31, Memory: 1 << 40}
	read := func(layer string) (*recipe.Recipe, error) {
		r, err := recipe.Parse("mine.toml", "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\ncurriculum = {candidates = 2, order = \"angle(ref, "+layer+")\"}\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Plan(r, "", caps)
		return r, err
	}
	_, err := read("9")
	if want := "mine.toml:4:31: stage.rl.curriculum.order: angle(ref, 9): layer 9; accepted: 1 to 2, the layers of the model ref"; !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	several := "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\ncurriculum = {candidates = 2, order = \"angle(ref, 1)\"}\n[stage.algorithm]\npreset = \"grpo\"\nadvantage = \"reward + angle(ref, 1)\"\nweight = \"angle(ref, 9)\"\n"
	r, err := recipe.Parse("mine.toml", several, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Plan(r, "", caps); err == nil || !strings.Contains(err.Error(), "mine.toml:8:1: stage.rl.algorithm.weight: angle(ref, 9): layer 9") {
		t.Errorf("beside others of another layer: %v", err)
	}
	shown, err := read("2")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := recipe.Load("chain-sum-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sizesOf(shown).positions, sizesOf(plain).positions+1; got != want {
		t.Errorf("there is room for %d tokens, want %d", got, want)
	}
}

// TestSeatRows: a step has the rows of each seat that the policy plays, whether the recipe names the seat or leaves it out,
// and those of one where a partner of the task plays the others.
func TestSeatRows(t *testing.T) {
	rows := func(seats string) int {
		r, err := recipe.Parse("mine.toml", "base = \"nim-tiny\"\nmicro_batch_tokens = 1000000\n[[stage]]\nname = \"warm-up\"\nbatch_size = 1\n[[stage]]\nname = \"rl\"\n"+seats, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sizesOf(r).trainRows
	}
	both, one := rows("[stage.seats]\nsecond = \"policy\""), rows("[stage.seats]\nfirst = \"random\"")
	if 2*one != both {
		t.Errorf("one seat has %d rows, and both %d", one, both)
	}
	r, err := recipe.Parse("mine.toml", "base = \"nim-tiny\"\nmicro_batch_tokens = 1000000\n[[stage]]\nname = \"warm-up\"\nbatch_size = 1\n[[stage]]\nname = \"rl\"", []string{"stage.rl.seats={}"})
	if err != nil {
		t.Fatal(err)
	}
	st := &r.Stages[1]
	if got, want := sizesOf(r).trainRows, (st.RL.PromptsPerStep/st.RL.UpdatesPerRollout+1)*groupRows(r, st); st.Sits() || got != want {
		t.Errorf("without seats there are %d rows, want %d", got, want)
	}
}

// TestProposedRows: problems that the policy writes count in the stage that writes them, and not in a longer one before it.
func TestProposedRows(t *testing.T) {
	rows := func(name string) int {
		r, err := recipe.Load(name, []string{"micro_batch_tokens=1000000000", "stage.warm-up.batch_size=10000", "task.max_prompt_tokens=9"})
		if err != nil {
			t.Fatal(err)
		}
		return sizesOf(r).trainRows
	}
	if got, want := rows("absolute-zero"), rows("chain-sum-tiny"); got != want {
		t.Errorf("a long batch before has %d rows, want %d", got, want)
	}
}

// twoWriters is a recipe with two judges of folders, who write longer answers, and more of them, than the policy.
const twoWriters = `base = "chain-sum-tiny"
[[stage]]
name = "rl"
reward = "a + b"
[[stage.verifier]]
name = "a"
verifier = "judge"
options = {model = "grader", source = "{completion}", read = "[0-9]", votes = 64, temperature = 1.0, context = 900}
[[stage.verifier]]
name = "b"
verifier = "judge"
options = {model = "critic", source = "{completion}", read = "[0-9]", votes = 64, temperature = 1.0, context = 900}
[models.grader]
path = "there"
[models.critic]
path = "there"
`

// TestLeaveTogether: where the largest phase is that of a model itself, it saves nothing to leave alone; two such models
// leave together, where the memory is too little for them side by side.
func TestLeaveTogether(t *testing.T) {
	r, err := recipe.Parse("mine.toml", twoWriters, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fresh(r)
	if err != nil {
		t.Fatal(err)
	}
	b = b.under(r)
	b.folders = map[string]folderOf{"grader": {config: b.config}, "critic": {config: b.config}}
	caps := gpu.Caps{ID: "test", MaxBinding: 1 << 30, MaxAllocation: 1 << 31, Memory: 1 << 40}
	total := func(leaving ...string) int {
		b.leaving = map[string]bool{}
		for _, name := range leaving {
			b.leaving[name] = true
		}
		p, err := b.count(r, caps)
		if err != nil {
			t.Fatal(err)
		}
		return p.Total()
	}
	stay, one, two, both := total(), total("grader"), total("critic"), total("grader", "critic")
	if one < stay || two < stay || both >= stay {
		t.Fatalf("%d bytes where both stay, %d and %d where one leaves, %d where both do", stay, one, two, both)
	}
	for memory, want := range map[int]int{stay: 0, stay - 1: 2, both: 2, both - 1: 2} {
		caps.Memory = memory
		p, err := b.plan(r, caps)
		if err != nil || len(b.leaving) != want || p.Total() != map[int]int{0: stay, 2: both}[want] {
			t.Errorf("of %d bytes %d are taken, %v leave, want %d: %v", memory, p.Total(), b.leaving, want, err)
		}
	}
}

// TestContext: a model of random weights is written for the longest sequence of its recipe, or for as many tokens as the
// recipe says, and one for fewer than that is refused.
func TestContext(t *testing.T) {
	for _, c := range []struct {
		sets []string
		want int // of the model that is written
		text string
	}{
		{nil, 64, ""},
		{[]string{"stage.rl.sampling.max_completion_tokens=200"}, 208, ""},
		{[]string{"model.context=300"}, 300, ""},
		{[]string{"model.context=20"}, 20, "sequences of 22 tokens, but the context of the model has 20"},
	} {
		r, err := recipe.Load("chain-sum-tiny", c.sets)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fresh(r)
		if err != nil || b.config.MaxPositions != c.want {
			t.Errorf("%s: the model is written for %d tokens, want %d: %v", c.sets, b.config.MaxPositions, c.want, err)
		}
		_, err = Plan(r, "", gpu.Caps{})
		if found, asked := fmt.Sprint(err), c.text != ""; asked != strings.Contains(found, "the context of the model") || !strings.Contains(found, c.text) {
			t.Errorf("%s: %v, want %q", c.sets, err, c.text)
		}
	}
}
