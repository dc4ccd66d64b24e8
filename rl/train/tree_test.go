package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// handMade is a tree of one prompt: a fork after token 2 of the first completion, and one after token 1
// of what branched off there.
//
//	1 2 ┬ 3 4      sample 0
//	    └ 5 ┬ 6    sample 1
//	        └ 7 8  sample 2
//	9              sample 3
func handMade(rewards ...float64) []Completion {
	segment := func(parent int, ids ...int) rollout.Segment {
		s := rollout.Segment{Parent: parent, Author: rollout.Policy, IDs: ids, Stop: rollout.Length}
		for _, id := range ids {
			s.Logprob, s.Entropy = append(s.Logprob, -float32(id)), append(s.Entropy, float32(id)/10)
		}
		return s
	}
	g := &rollout.Group{
		Segments: []rollout.Segment{{Parent: -1, IDs: []int{70}}, segment(0, 1, 2), segment(1, 3, 4), segment(1, 5), segment(3, 6), segment(3, 7, 8), segment(0, 9)},
		Paths:    []rollout.Path{{Leaf: 2}, {Leaf: 4}, {Leaf: 5}, {Leaf: 6}},
	}
	for i := range g.Paths {
		g.Paths[i].Verdicts = []verify.Verdict{verify.Accept("", "", "")}
	}
	cs := completionsOf([]rollout.Group{*g})
	for i, r := range rewards {
		cs[i].Score = reward.Score{Reward: r}
	}
	return cs
}

// growing is a drawer of a recipe with a tree.
func growing(t *testing.T, sets ...string) *drawer {
	t.Helper()
	d := drawerOf(t, smallest(t, append([]string{"stage.rl.tree.rounds=1", "stage.rl.tree.roots=2", "stage.rl.tree.open=2", "stage.rl.tree.width=1", "stage.rl.group_size=4", "stage.rl.reward=task", "stage.rl.tree.at=old_entropy > 1"}, sets...)...), &spoken{})
	d.collector.Renderer = inNumbers{}
	return d
}

// inNumbers is a text for any ids.
type inNumbers struct{ asToken }

func (inNumbers) Decode(ids []int) string { return fmt.Sprint(ids) }

// TestTreeFacts: node, depth and leaves of a tree, and TreeRL's advantages (arXiv 2506.11902)
// over it, against figures by hand.
func TestTreeFacts(t *testing.T) {
	d := growing(t, "stage.rl.algorithm.advantage=(2*v - group_mean(reward) - if(depth > 1, previous(v), group_mean(reward)))/sqrt(leaves)*own", "stage.rl.algorithm.v=same_mean(reward, node)")
	cs := handMade(1, 0, 1, 0)
	p := Plan{stage: d.whole}
	x := d.of(&p, cs, atOnce(cs))
	table, err := x.table(asked, append(d.reads, "node", "depth", "leaves"))
	if err != nil {
		t.Fatal(err)
	}
	for fact, want := range map[string][]float64{
		"node": {1, 2, 1, 3, 4, 1, 3, 5, 6}, "depth": {1, 2, 1, 2, 3, 1, 2, 3, 1}, "leaves": {3, 1, 3, 2, 1, 3, 2, 1, 1},
	} {
		if c, _ := table.Column(fact); !slices.Equal(c.V, want) {
			t.Errorf("%s is %v, want %v", fact, c.V, want)
		}
	}
	step, err := d.method.Step(table)
	if err != nil {
		t.Fatal(err)
	}
	// Below node 1 are the rewards 1, 0, 1; below 3 are 0 and 1; the mean of all is 1/2. Three completions go
	// through node 1, and each counts.
	root, one, three := 0.5, 2.0/3, 0.5
	a := func(v, parent, leaves float64) float64 { return (2*v - root - parent) / math.Sqrt(leaves) }
	want := []float64{
		a(one, root, 3), a(one, root, 3), a(1, one, 1), a(1, one, 1),
		a(one, root, 3), a(one, root, 3), a(three, one, 2), a(0, three, 1),
		a(one, root, 3), a(one, root, 3), a(three, one, 2), a(1, three, 1), a(1, three, 1),
		a(0, root, 1),
	}
	for i, got := range step.Advantage.V {
		if math.Abs(got-want[i]) > 0x1p-50 { // a few roundings of numbers below 2
			t.Errorf("the advantage of token %d is %v, want %v", i, got, want[i])
		}
	}
}

// TestLearnedOnce: a token that completions of a tree share is learned in the first of them that learns
// from it; with per = leaf in each.
func TestLearnedOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		want []float64 // [token of the step] it is learned
	}{
		{"node", nil, []float64{1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1}},
		{"leaf", []string{"stage.rl.tree.per=leaf"}, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"the first is refused", []string{"stage.rl.algorithm.keep=reward < 1"}, []float64{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1}},
		{"a token is refused", []string{"stage.rl.algorithm.keep=old < -1 or reward < 1"}, []float64{0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1}},
	} {
		d := growing(t, append(c.sets, "stage.rl.algorithm.advantage=reward")...)
		cs := handMade(1, 0.5, 0.25, 0.75)
		p := Plan{stage: d.whole}
		table, err := d.of(&p, cs, atOnce(cs)).table(asked, d.reads)
		if err != nil {
			t.Fatal(err)
		}
		step, err := d.method.StepBeside(table, nil, d.shared(d.whole, cs))
		if err != nil {
			t.Fatal(err)
		}
		u, err := step.Update(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		row := 0
		for i := range cs {
			for range cs[i].View.Tokens() {
				if !u.Rows[i] {
					got = append(got, 0)
					continue
				}
				got = append(got, holds(u.Table.Trained(row)))
				row++
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: learned are %v, want %v", c.name, got, c.want)
		}
	}
	if n := tokensOf(handMade()); n != 9 {
		t.Errorf("%v tokens were drawn, want 9", n)
	}
}

// TestChoose: a round opens the nodes with the greatest values, of equal ones the first, none where the
// tree forks already and none without a value; a node that completions share counts once.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		at, choose string
		want       []rollout.Fork
	}{
		{"old_entropy > 0.15", "segment_first(old_entropy)", []rollout.Fork{{Segment: 5, Token: 1}, {Segment: 2, Token: 1}}}, // 6, 7 and 9 begin where the tree forks
		{"old_entropy > 0.15", "-segment_first(old_entropy)", []rollout.Fork{{Segment: 1, Token: 1}, {Segment: 2, Token: 1}}},
		{"old_entropy > 0.15", "if(segment_first(old_entropy) > 0.5, 0/(depth - depth), 1)", []rollout.Fork{{Segment: 1, Token: 1}, {Segment: 2, Token: 1}}},
		{"old_entropy > 0.15", "step", []rollout.Fork{{Segment: 1, Token: 1}, {Segment: 2, Token: 1}}},
		{"old_entropy > 5", "segment_mean(old_entropy)", nil},
		{"old_entropy > 0.15", "same_mean(task, node)", []rollout.Fork{{Segment: 5, Token: 1}, {Segment: 1, Token: 1}}}, // of the verdicts 0, 0, 1, 0
		{"old_entropy > 0.15", "leaves - 10*(depth == 2)", []rollout.Fork{{Segment: 2, Token: 1}, {Segment: 5, Token: 1}}},
	} {
		d := growing(t, "stage.rl.tree.at="+c.at, "stage.rl.tree.choose="+c.choose)
		cs := handMade()
		groups := []rollout.Group{*cs[0].From}
		groups[0].Paths = slices.Clone(groups[0].Paths)
		for i := range groups[0].Paths {
			if groups[0].Paths[i].Verdicts = []verify.Verdict{verify.Reject("", "", "")}; i == 2 {
				groups[0].Paths[i].Verdicts = []verify.Verdict{verify.Accept("", "", "")}
			}
		}
		p := Plan{stage: d.whole}
		got, err := d.choose(t.Context(), &p, 0, groups)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if !slices.Equal(got[0], c.want) {
			t.Errorf("at %s by %s: %+v is opened, want %+v", c.at, c.choose, got[0], c.want)
		}
	}
}

// TestTreeBits: in trees that grow by chance, draws, log-probs and entropies of each path are those of an
// engine that reads it alone, and of the trainer.
func TestTreeBits(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	forks := 0
	for seed := range 6 {
		rng := rand.New(rand.NewPCG(uint64(seed), 0))
		rounds, roots, open, width := 1+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(2), 1+rng.IntN(2)
		r := smallest(t, fmt.Sprint("seed=", seed), fmt.Sprint("stage.rl.tree.rounds=", rounds), fmt.Sprint("stage.rl.tree.roots=", roots), fmt.Sprint("stage.rl.tree.open=", open), fmt.Sprint("stage.rl.tree.width=", width),
			fmt.Sprint("stage.rl.group_size=", roots+rounds*open*width), "stage.rl.tree.at=noise > 0.5", "stage.rl.tree.choose=segment_first(noise)", "stage.rl.sampling.max_completion_tokens=9", "stage.rl.sampling.temperature=0.9",
			"stage.rl.sampling.top_p=0.97", "stage.rl.algorithm.advantage=reward - 0.3")
		c, err := cast.Open(r, "", dev)
		if err != nil {
			t.Fatal(err)
		}
		drawn := drawnBy(t, partsOf(t, r, c), factsOf(t, r, c))
		stats, err := c.Policy.Forward(column(drawn.Completions, func(c *Completion) rollout.View { return c.View }))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := sample.NewEngine(c.Policy.Model, sample.Options{Sequences: 1, Context: 49})
		if err != nil {
			t.Fatal(err)
		}
		sampler := &cast.Sampler{Engine: alone, Seed: c.Sampler.(*cast.Sampler).Seed, Role: "policy"}
		for i := range drawn.Completions {
			one := &drawn.Completions[i]
			v, leaf := one.View, &one.From.Segments[one.Path().Leaf]
			if !equalBits(stats[i].Logprob, v.Logprob) || !equalBits(stats[i].Entropy, v.Entropy) {
				t.Fatalf("seed %d, completion %d: the trainer computes %v and %v, drawn were %v and %v", seed, i, stats[i].Logprob, stats[i].Entropy, v.Logprob, v.Entropy)
			}
			after := 0
			for _, at := range one.From.Nodes(one.Sample) {
				if s := &one.From.Segments[at]; s.Drawn.Key != leaf.Drawn.Key {
					after += len(s.IDs)
				}
			}
			if after > 0 {
				forks++
			}
			request := rollout.Request{Prompt: v.IDs[:v.Prompt()+after], N: 1, Params: leaf.Drawn.Params, Key: leaf.Drawn.Key}
			out, err := sampler.Sample(t.Context(), []rollout.Request{request})
			if err != nil {
				t.Fatal(err)
			}
			if got := out[0][0]; !slices.Equal(got.IDs, v.IDs[v.Prompt()+after:]) || !equalBits(got.Logprob, v.Logprob[after:]) || !equalBits(got.Entropy, v.Entropy[after:]) || got.Stop != v.Stop {
				t.Fatalf("seed %d, completion %d: %+v, alone %+v", seed, i, v, got)
			}
		}
		alone.Close()
		c.Close()
	}
	if forks < 20 {
		t.Errorf("%d completions go on from a fork: the test shows little", forks)
	}
}

// partsOf and factsOf are what a stage is made of, with models.
func partsOf(t *testing.T, r *recipe.Recipe, c *cast.Cast) Parts {
	t.Helper()
	p := Parts{Recipe: r, Source: prompts.Of(r.Task.Settings), Cast: c, HeldOut: &HeldOut{recipe: r}, Record: NewRecord(r)}
	var err error
	if p.Prompts, err = prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto}); err != nil {
		t.Fatal(err)
	}
	return p
}

func factsOf(t *testing.T, r *recipe.Recipe, c *cast.Cast) *facts {
	t.Helper()
	f, err := newFacts(partsOf(t, r, c), 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTreeOfOnePath: a tree that never forks is a plain group, to the bit: what is drawn, and the weights
// that are learned from it.
func TestTreeOfOnePath(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	var said, weights []byte
	for _, sets := range [][]string{
		{"stage.rl.group_size=2"},
		{"stage.rl.tree.rounds=2", "stage.rl.tree.roots=2", "stage.rl.tree.open=1", "stage.rl.tree.width=3", "stage.rl.group_size=8", "stage.rl.tree.at=old_entropy > 1000"},
	} {
		r := smallest(t, append(sets, "stage.rl.optimizer.lr=0.01", "stage.rl.optimizer.warmup_steps=0", "stage.rl.algorithm.advantage=reward - 0.3")...)
		c, err := cast.Open(r, "", dev)
		if err != nil {
			t.Fatal(err)
		}
		p, f := partsOf(t, r, c), factsOf(t, r, c)
		drawn := drawnBy(t, p, f)
		a, err := (&asker{f, &replay{}}).ask(drawn)
		if err != nil {
			t.Fatal(err)
		}
		l := &learner{facts: f, cast: c, who: c.Policy.Trainee}
		v, err := l.value(a)
		if err != nil {
			t.Fatal(err)
		}
		lessons, err := l.begin(&v)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := lessons.finish(); err != nil || e.Metrics["optim/updates"] != 1 {
			t.Fatalf("%+v, %v", e, err)
		}
		got, err := c.Policy.Weights()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Appendf(nil, "%+v", column(drawn.Completions, func(c *Completion) rollout.View { return c.View }))
		if said != nil && (!bytes.Equal(text, said) || !bytes.Equal(got, weights)) {
			t.Errorf("a tree that never forks draws\n%s\nas a plain group\n%s", text, said)
		}
		said, weights = text, got
		c.Close()
	}
}

// TestTreeCoins: a completion has the random reward by which its nodes were chosen when its tree has grown.
func TestTreeCoins(t *testing.T) {
	d := growing(t, "stage.rl.reward=random", "stage.rl.prompts_per_step=20")
	paid := func(size int) map[[2]int]float64 {
		var groups []rollout.Group
		for range d.whole.RL.PromptsPerStep {
			g := *handMade(0, 0, 0, 0)[0].From
			g.Paths = g.Paths[:size]
			groups = append(groups, g)
		}
		cs := completionsOf(groups)
		if err := d.pay(&Plan{stage: d.whole}, cs, d.coins(Position{Step: 3}, 0)); err != nil {
			t.Fatal(err)
		}
		out := map[[2]int]float64{}
		for i := range cs {
			out[[2]int{cs[i].Group, cs[i].Sample}] = cs[i].Score.Reward
		}
		return out
	}
	grown := paid(4)
	for at, reward := range paid(2) {
		if grown[at] != reward {
			t.Errorf("sample %d of group %d is paid %v when its tree has grown, and %v before", at[1], at[0], grown[at], reward)
		}
	}
}
