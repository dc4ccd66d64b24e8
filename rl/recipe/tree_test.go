package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	_ "github.com/rlzero/rlzero/rl/world/programs" // python
)

// TestTree: a tree says how large groups are, its formulas are in force, and it is written out whole.
func TestTree(t *testing.T) {
	tree := strings.Replace(example, "group_size = 8\n", "", 1)
	tree = strings.Replace(tree, "[stage.algorithm]", "tree = {rounds = 2, roots = 3, open = 2, width = 5, at = \"forks\", choose = \"segment_mean(old_entropy) + bonus*depth\"}\n[stage.algorithm]\nbonus = 0.1\nadvantage = \"reward - own*same_mean(reward, node)/sqrt(leaves)\"", 1)
	r, err := Parse("x.toml", tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := &r.Stages[len(r.Stages)-1]
	a, err := st.Compiled()
	if err != nil {
		t.Fatal(err)
	}
	reads, err := st.Reads()
	if err != nil || st.GroupSize != 23 || st.LargestGroup() != 23 || st.FirstDraw() != 3 || !st.Nodes(a) || !slices.Contains(reads, "old_entropy") || st.Tree.Per != "node" {
		t.Errorf("%+v reads %v, %v", st.RL, reads, err)
	}
	if v := st.Algorithm.Values; v["bonus"] != 0.1 || v["fork_share"] != 0.2 || v["forks"] == nil {
		t.Errorf("written out as %v", v)
	}
	sameAgain(t, r)
	if r, err = Parse("x.toml", tree, []string{"stage.rl.group_size=23"}); err != nil || r.Stages[len(r.Stages)-1].GroupSize != 23 {
		t.Errorf("the size of the tree as it is: %v", err)
	}
	if plain, err := Parse("x.toml", example, nil); err != nil || strings.Contains(plain.Resolved(), "tree") {
		t.Errorf("a recipe without a tree names it: %v", err)
	}
}

// TestTreePresets: published trees are those of their papers: TreeRL learns what completions share in each, CURE
// once, and the control of CURE has groups as large as its trees.
func TestTreePresets(t *testing.T) {
	for name, want := range map[string]Tree{
		"treerl": {Rounds: 1, Roots: 2, Open: 3, Width: 2, Per: "leaf"},
		"cure":   {Rounds: 1, Roots: 4, Open: 4, Width: 3, Per: "node"},
	} {
		r, err := Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		st := &r.Stages[slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Grows() })]
		if got := st.Tree; got.Rounds != want.Rounds || got.Roots != want.Roots || got.Open != want.Open || got.Width != want.Width || got.Per != want.Per {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	r, err := Load("cure", nil)
	if err != nil {
		t.Fatal(err)
	}
	sets := strings.Split(r.Expect[0].Than, "; ")
	control, err := Load(sets[0], sets[1:])
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Stages {
		tree, plain := &r.Stages[i], &control.Stages[i]
		if plain.Grows() || plain.Draws() && (tree.GroupSize != plain.GroupSize || tree.PromptsPerStep != plain.PromptsPerStep || tree.Steps != plain.Steps) {
			t.Errorf("stage %s draws %d x %d x %d, its control %d x %d x %d", tree.Name, tree.Steps, tree.PromptsPerStep, tree.GroupSize, plain.Steps, plain.PromptsPerStep, plain.GroupSize)
		}
	}
}

// TestTreeFaults: what is wrong with a tree is named with its place and what is accepted; the remedy is a
// line that can be pasted and works.
func TestTreeFaults(t *testing.T) {
	for _, c := range []struct{ tree, algorithm, want, remedy string }{
		{`roots = 2`, "", "x.toml:34:1: stage.rl.tree does nothing without rounds: how often the tree grows, such as rounds = 2", "stage.rl.tree.rounds=2"},
		{`rounds = 1, depth = 3`, "", "x.toml:34:21: unknown key stage.rl.tree.depth", ""},
		{`rounds = 1, wide = 3`, "", "x.toml:34:21: unknown key stage.rl.tree.wide; did you mean width?", ""},
		{`rounds = -1`, "", "x.toml:34:9: stage.rl.tree.rounds = -1 is out of range; accepted: a whole number from 0 to 64", ""},
		{`rounds = 1, per = "path"`, "", `x.toml:34:21: stage.rl.tree.per = "path" is not known; accepted: node, leaf`, ""},
		{`rounds = 1, at = "turns"`, "", `x.toml:34:21: stage.rl.tree.at = "turns" needs a task that is played in turns; countdown has one answer to a problem; accepted: lines, sentences, forks or a condition on tokens`, "stage.rl.tree.at=lines"},
		{`rounds = 1, at = "lins"`, "", "x.toml:34:21: stage.rl.tree.at: column 1: unknown name lins; did you mean lines?", ""},
		{`rounds = 1, at = "old_entropy"`, "", "stage.rl.tree.at: a number where a condition is wanted; write a comparison, such as old_entropy > 1", ""},
		{`rounds = 1, at = "reward > 0"`, "", "stage.rl.tree.at: one value for each completion where a condition on tokens is wanted", ""},
		{`rounds = 1, at = "segment_mean(old) > 0"`, "", "stage.rl.tree.at: one value for each segment where a condition on tokens is wanted", ""},
		{`rounds = 1, choose = "old_entropy"`, "", "x.toml:34:21: stage.rl.tree.choose: one value for each token where one for each segment is wanted; write segment_mean(...)", ""},
		{`rounds = 1, choose = "depth > 1"`, "", "stage.rl.tree.choose: a condition where a number is wanted", ""},
		{`rounds = 1, choose = "segment_mean(logp)"`, "", "stage.rl.tree.choose: it is evaluated while completions are drawn, and cannot read values of an update", ""},
		{`rounds = 1, choose = "greedy_reward"`, "", "x.toml:34:21: stage.rl.tree.choose reads greedy_reward, which is drawn once the tree has grown", ""},
		{`rounds = 1, choose = "net(policy, 1)"`, "", "x.toml:34:21: stage.rl.tree.choose reads net(policy, 1), which is known once the tree has grown; accepted: facts of tokens and of nodes", ""},
		{`rounds = 1, at = "influence(reward) > 0"`, "", "x.toml:34:21: stage.rl.tree.at reads influence(reward), which is known once the tree has grown", ""},
		{`rounds = 64, open = 1000, width = 1000`, "", "x.toml:34:1: stage.rl.tree has 64000004 completions: roots 4 + rounds 64 x open 1000 x width 1000; accepted: at most 65536", ""},
		{`rounds = 1}` + "\nsecond_chance = {when = \"group_max(reward) == 0\", again = 1.2", "", "x.toml:34:1: stage.rl.tree does not go with second_chance.when, which replaces completions that others may go on from", ""},
		{`rounds = 1}` + "\norder = \"arrival\"\nlag = 1\nnumbers = {", "", `stage.rl.tree does not go with order = "arrival", which takes groups as they come`, ""},
		{`rounds = 1}` + "\nnumbers = {group_size = \"4 + step\"", "", "stage.rl.tree does not go with numbers.group_size", ""},
		{`rounds = 1}` + "\ncurriculum = {completions = \"solved\"", "", "stage.rl.tree does not go with curriculum.completions", ""},
		{`rounds = 1`, "segments = \"lines\"\nadvantage = \"own*same_mean(reward, node)\"", "stage.rl.algorithm.segments does not cut completions into nodes, but formulas read node, which is a fact of a node; accepted: leave it out", ""},
	} {
		text := strings.Replace(example, "group_size = 8\n", "", 1)
		text = strings.Replace(text, "[stage.algorithm]", "tree = {"+c.tree+"}\n[stage.algorithm]\n"+c.algorithm, 1)
		_, err := Parse("x.toml", text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant\n%s", c.tree, err, c.want)
			continue
		}
		if c.remedy == "" {
			continue
		}
		if !strings.Contains(strings.Join(hint.All(err), "\n"), "--set "+c.remedy) {
			t.Errorf("%s: the hints are %q, want %q", c.tree, hint.All(err), c.remedy)
		}
		if _, err := Parse("x.toml", text, []string{c.remedy}); err != nil {
			t.Errorf("%s: the remedy %s does not help: %v", c.tree, c.remedy, err)
		}
	}
	for set, want := range map[string]string{
		"stage.rl.group_size=8":                  "stage.rl.group_size = 8 is not the size of the tree; accepted: 12 completions: roots 4 + rounds 1 x open 2 x width 4",
		"stage.rl.algorithm.advantage=own*depth": "",
	} {
		text := strings.Replace(example, "group_size = 8\n", "", 1)
		text = strings.Replace(text, "[stage.algorithm]", "tree = {rounds = 1}\n[stage.algorithm]", 1)
		if _, err := Parse("x.toml", text, []string{set}); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	inTurns := []string{"stage.rl.tree.rounds=1"}
	r, err := Load("guess-tiny", inTurns)
	if err != nil || r.Stages[len(r.Stages)-1].Tree.At != "turns" {
		t.Fatalf("a tree of turns: %v", err)
	}
	sameAgain(t, r)
	for set, want := range map[string]string{
		"stage.rl.tree.at=lines":                           `stage.rl.tree.at = "lines" does not go with a task that is played in turns, whose world sees whole turns; accepted: turns`,
		"stage.rl.tree.choose=segment_mean(old)*turn.bits": "stage.rl.tree.choose reads turn.bits, which task guess does not tell of a turn; accepted: turn.left, turn.lost",
		`task.tool=[{mcp = ["x"]}]`:                        "stage.rl.tree does not go with tools whose answers may differ",
		`task.tool=[{tool = "python"}]`:                    "stage.rl.tree does not go with tools whose answers may differ, since a branch plays the turns before it again; accepted: tools that are pure",
	} {
		from, sets := "guess-tiny", append(inTurns, set)
		if strings.HasPrefix(set, "task.tool") {
			from = "calculator-tiny"
		}
		if _, err := Load(from, sets); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	if _, err := Load("countdown-tiny", []string{"stage.rl.algorithm.advantage=own*leaves"}); err == nil || !strings.Contains(err.Error(), "reads leaves (completions that go through the node in which it begins; with [stage.tree]), which this stage does not supply") {
		t.Errorf("leaves without a tree: %v", err)
	}
}
