package train

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// grow has the trees of a draw grow: after each round the best nodes are opened, and completions are
// drawn that go on from there. The groups that it returns are judged as far as that chose nodes.
func (d *drawer) grow(ctx context.Context, p *Plan, try int, groups []rollout.Group) ([]rollout.Group, error) {
	for round := range p.stage.Tree.Rounds {
		var err error
		if groups, err = d.round(ctx, p, try, round, groups); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// round has the trees of a draw grow once; rounds count from 0.
func (d *drawer) round(ctx context.Context, p *Plan, try, round int, groups []rollout.Group) ([]rollout.Group, error) {
	at, err := d.choose(ctx, p, try, groups)
	if err != nil {
		return nil, err
	}
	tree := p.stage.Tree
	key := BranchKey(d.index, p.At.Step, try)
	key.Stream = uint32(round * len(groups) * tree.Open * tree.Width)
	return d.collector.Branch(ctx, groups, rollout.Forks{At: at, Most: tree.Open, Width: tree.Width, Distinct: tree.Distinct}, StepParams(p.stage), key)
}

// BranchKey has the random numbers of the branches that a try of a step draws; try 0 is the step itself.
func BranchKey(stage, step, try int) random.Key {
	return random.Key{Purpose: random.Branch, Stage: stage, Step: step*maxTries + try}
}

// choose finds the nodes of each group that a round opens, the best first.
func (d *drawer) choose(ctx context.Context, p *Plan, try int, groups []rollout.Group) ([][]rollout.Fork, error) {
	cs := completionsOf(groups)
	verdicts, rewards := p.stage.ChoosesBy()
	if verdicts {
		if err := d.collector.Judge(ctx, groups, d.program.Verifiers()...); err != nil {
			return nil, err
		}
	}
	if rewards {
		if err := d.pay(p, cs, d.coins(p.At, try)); err != nil {
			return nil, err
		}
	}
	x := d.of(p, cs, atOnce(cs))
	if err := x.cutForTree(d.growth); err != nil {
		return nil, err
	}
	t, err := x.table(asked, d.growth.Needs(algo.TreeChoose))
	if err != nil {
		return nil, err
	}
	values, err := d.growth.On(t).At(algo.TreeChoose, formula.Segment)
	if err != nil {
		return nil, d.blamed(err)
	}
	out, row := make([][]rollout.Fork, len(groups)), 0
	best := make([][]node, len(groups))
	places := x.places()
	for i := range cs {
		g := cs[i].Group
		for _, at := range places[i] {
			if !at.open() && !math.IsNaN(values.V[row]) && !slices.ContainsFunc(best[g], func(n node) bool { return n.at == at.Fork }) {
				best[g] = append(best[g], node{at.Fork, values.V[row]})
			}
			row++
		}
	}
	for g, nodes := range best {
		slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(b.value, a.value) })
		for _, n := range nodes[:min(p.stage.Tree.Open, len(nodes))] {
			out[g] = append(out[g], n.at)
		}
	}
	return out, nil
}

// node is one that may be opened.
type node struct {
	at    rollout.Fork
	value float64
}

// cutForTree cuts completions where nodes may begin, and where their trees fork.
func (x *subject) cutForTree(growth *formula.Program) error {
	begins := make([][]bool, len(x.cs)) // [completion][token]
	x.cut = column(x.cs, nodeLengths)
	if _, _, there := growth.Level(algo.TreeAt); there {
		t, err := x.table(asked, growth.Needs(algo.TreeAt))
		if err != nil {
			return err
		}
		c, err := growth.On(t).At(algo.TreeAt, formula.Token)
		if err != nil {
			return x.blamed(err)
		}
		for i := range x.cs {
			from, to := t.Tokens(i)
			for row := from; row < to; row++ {
				begins[i] = append(begins[i], c.V[row] == 1)
			}
		}
	}
	cut := make([][]int, len(x.cs))
	for i, nodes := range x.cut {
		at := 0
		for _, n := range nodes {
			cut[i] = append(cut[i], 0)
			for k := range n {
				if k > 0 && begins[i] != nil && begins[i][at] {
					cut[i] = append(cut[i], 0)
				}
				cut[i][len(cut[i])-1]++
				at++
			}
		}
	}
	x.cut = cut
	return nil
}

// nodeLengths are the numbers of tokens of the nodes of a completion.
func nodeLengths(c *Completion) []int {
	var lengths []int
	for _, at := range c.From.Nodes(c.Sample) {
		lengths = append(lengths, len(c.From.Segments[at].IDs))
	}
	return lengths
}

// place is where a segment of a completion begins in its group's tree.
type place struct {
	rollout.Fork
	length   int // of the node, tokens
	leaves   int // completions that go through the node
	siblings int // nodes that begin where it does, itself among them
}

// open says that the tree forks there already.
func (p place) open() bool { return p.Token == 0 && p.siblings > 1 }

// number tells places apart: that of the node, and the share of the node that stands before.
func (p place) number() float64 { return float64(p.Segment) + float64(p.Token)/float64(p.length) }

// places are where the segments of each completion begin.
func (x subject) places() [][]place {
	type shape struct{ leaves, children []int }
	shapes := map[*rollout.Group]shape{}
	out := make([][]place, len(x.cs))
	for i := range x.cs {
		c := &x.cs[i]
		s, known := shapes[c.From]
		if !known {
			s = shape{c.From.Leaves(), c.From.Children()}
			shapes[c.From] = s
		}
		segments := x.segments(c)
		if x.cut != nil {
			segments = x.cut[i]
		}
		nodes, at := c.From.Nodes(c.Sample), 0 // at: tokens of the first of nodes before the segment
		for _, n := range segments {
			for len(nodes) > 1 && at >= len(c.From.Segments[nodes[0]].IDs) {
				at -= len(c.From.Segments[nodes[0]].IDs)
				nodes = nodes[1:]
			}
			node := &c.From.Segments[nodes[0]]
			out[i] = append(out[i], place{rollout.Fork{Segment: nodes[0], Token: at}, len(node.IDs), s.leaves[nodes[0]], s.children[node.Parent]})
			at += n
		}
	}
	return out
}

// ofSegments is a number of each segment, from its place and the number of segments before it.
func ofSegments(value func(s place, before int) float64) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, _ string) (formula.Column, error) {
		c := formula.Column{Level: formula.Segment}
		for _, places := range x.places() {
			for before, s := range places {
				c.V = append(c.V, value(s, before))
			}
		}
		return c, nil
	}
}

// shared are the rows of the first tokens that are the same as each token of a step: tokens that
// several completions of a tree share, where the stage learns them once; nil: none are.
func (f *facts) shared(st *recipe.Stage, cs []Completion) []int {
	if !st.Grows() || st.Tree.Per == "leaf" {
		return nil
	}
	type token struct {
		of       *rollout.Group
		segment  int
		position int
	}
	first := map[token]int{}
	var rows []int
	for i := range cs {
		for _, at := range cs[i].From.Nodes(cs[i].Sample) {
			for k := range cs[i].From.Segments[at].IDs {
				t := token{cs[i].From, at, k}
				if _, known := first[t]; !known {
					first[t] = len(rows)
				}
				rows = append(rows, first[t])
			}
		}
	}
	return rows
}

// treeMetrics describe the trees of a step.
func treeMetrics(cs []Completion, row metrics.Row) {
	total, forks, groups := 0, 0, 0
	for i := range cs {
		c := &cs[i]
		total += c.View.Tokens()
		if c.Sample > 0 {
			continue
		}
		groups++
		for at, n := range c.From.Children() {
			if n > 1 && c.From.Segments[at].Parent >= 0 {
				forks++
			}
		}
	}
	row["rollout/forks"] = float64(forks) / float64(groups)
	row["rollout/shared_share"] = 1 - tokensOf(cs)/float64(total)
}
