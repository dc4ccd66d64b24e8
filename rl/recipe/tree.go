package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/reward"
)

// Tree are the keys of completions that grow as trees: in rounds, each of which goes on from the best
// nodes of what was drawn so far (TreeRL, arXiv 2506.11902).
type Tree struct {
	// rounds after the first completions of a prompt; each opens some nodes of its tree, once all
	// completions of the round before are drawn; 0: no tree
	Rounds int `toml:"rounds" range:"[0,64]" unit:"rounds"`

	// completions of a prompt that are drawn first, from its beginning
	Roots int `toml:"roots" range:"[1,65536]" unit:"completions" default:"4"`

	// nodes of a prompt that a round opens: those with the greatest choose, of equal ones the first. A
	// node at which the tree forks already is not opened again; where there are fewer nodes, fewer are
	// opened
	Open int `toml:"open" range:"[1,65536]" unit:"nodes" default:"2"`

	// completions that are drawn from each opened node: they begin as its own does up to there, and are
	// drawn on from there to an end of their own
	Width int `toml:"width" range:"[1,65536]" unit:"completions" default:"4"`

	// where a node may begin: lines, sentences, forks (the tokens of the highest entropy) or another
	// condition on tokens; of a task that is played in turns always turns, each of which begins a node
	At string `toml:"at" default:"lines"`

	// formula of a segment, which begins at a node: a round opens the nodes with the greatest values, and
	// none without a value. It is evaluated over what was drawn so far, so it may read rewards. A node that
	// several completions share has the value of the first of them that has one; same_mean(reward, node) is
	// the same for all
	Choose string `toml:"choose" default:"segment_first(old_entropy)"`

	// completions that branch from one node begin with different tokens: each draw leaves out the first tokens
	// that are already taken there. Log-probs are still those of an ordinary draw. Whole completions begin
	// differently with roots = 1, choose = "-depth" and open = 1
	Distinct bool `toml:"distinct"`

	// node: a token that several completions share is learned once, in the first of them that learns from
	// it; leaf: it is learned in each
	Per string `toml:"per" choice:"node,leaf" default:"node"`
}

// Grows says whether completions of the stage grow as trees.
func (s *Stage) Grows() bool { return s.Tree.Rounds > 0 }

// Nodes says whether segments of the stage are the nodes of trees.
func (s *Stage) Nodes(a *algo.Algorithm) bool { return s.Grows() && !a.Cuts() }

// FirstDraw is how many completions of a prompt are drawn at once, at most.
func (s *Stage) FirstDraw() int {
	if s.Grows() {
		return s.Tree.Roots
	}
	return s.LargestGroup()
}

// leaves is how many completions a tree has at most.
func (t Tree) leaves() int { return t.Roots + t.Rounds*t.Open*t.Width }

// Growth compiles the formulas of the stage's tree, see [algo.Method.Tree]; nil: it has none.
func (s *Stage) Growth() (*formula.Program, error) {
	if !s.Grows() {
		return nil, nil
	}
	return s.method().Tree(s.Tree.At, s.Tree.Choose, s.facts())
}

// ChoosesBy says what choose of the stage's tree needs of completions before the tree has grown: their
// verdicts, and their rewards.
func (s *Stage) ChoosesBy() (verdicts, rewards bool) {
	reads, err := s.growthReads()
	if err != nil { // a stage that no recipe was read for
		return false, false
	}
	for _, fact := range reads {
		family, _, _ := strings.Cut(fact, ".")
		rewards = rewards || family == "reward"
		verdicts = verdicts || family == "task" || slices.ContainsFunc(s.Verifiers, func(v reward.Verifier) bool { return v.Name == family })
	}
	return verdicts || rewards, rewards
}

// growthReads are the facts that choose of a tree reads beside those of segments, which are others
// there than where the method reads them.
func (s *Stage) growthReads() ([]string, error) {
	program, err := s.Growth()
	if program == nil || err != nil {
		return nil, err
	}
	reads := program.Needs(growthParts(program)...)
	segments := slices.Concat(algo.OfTrees(reads), algo.OfTurns(reads))
	return slices.DeleteFunc(reads, func(name string) bool { return slices.Contains(segments, name) }), nil
}

// growthParts are the formulas of a tree that a program has.
func growthParts(program *formula.Program) []string {
	parts := []string{algo.TreeChoose}
	if _, _, there := program.Level(algo.TreeAt); there {
		parts = append(parts, algo.TreeAt)
	}
	return parts
}

// size says how large the groups of a stage with a tree are, and where its nodes begin if nobody says so.
func (d decoder) size(s *Stage, t map[string]any, at settings.Path) {
	own, _ := t["tree"].(map[string]any)
	if s.Grows() && s.played && own["at"] == nil {
		s.Tree.At = algo.TurnsCut
	}
	if !s.Grows() {
		if p := at.With("tree"); own["rounds"] == nil && s.Tree != stageDefaults(s.Kind).Tree {
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s does nothing without rounds: how often the tree grows, such as rounds = 2", d.Name(p)), "--set %s.rounds=2", d.Name(p)))
		}
		return
	}
	whole := s.Tree.leaves()
	switch p := at.With("group_size"); {
	case whole > mostCompletions:
		p = at.With("tree")
		d.Fail(p, "%s has %s; accepted: at most %d", d.Name(p), s.Tree.sum(), mostCompletions)
		return
	case d.Written(p) && s.RL.GroupSize != whole:
		d.Fail(p, "%w", hint.With(fmt.Errorf("%s = %d is not the size of the tree; accepted: %s", d.Name(p), s.RL.GroupSize, s.Tree.sum()), "leave group_size out, or --set %s=%d", d.Name(p), whole))
	}
	s.RL.GroupSize = whole
}

// mostCompletions is the largest group_size.
const mostCompletions = 1 << 16

// sum is the number of completions in words.
func (t Tree) sum() string {
	return fmt.Sprintf("%d completions: roots %d + rounds %d x open %d x width %d", t.leaves(), t.Roots, t.Rounds, t.Open, t.Width)
}

// grows refuses what a stage with a tree cannot do.
func (d decoder) grows(s *Stage, task Task, at settings.Path) {
	if !s.Grows() {
		return
	}
	p := at.With("tree")
	for _, other := range []struct {
		given     bool
		key, says string
	}{
		{s.SecondChance.When != "", "second_chance.when", "which replaces completions that others may go on from"},
		{s.Arrives(), "order = \"arrival\"", "which takes groups as they come, while a round waits for all"},
		{s.Curriculum.Completions != "", "curriculum.completions", "which gives prompts groups of other sizes"},
		{s.Numbers.GroupSize != "", "numbers.group_size", "which changes the size of the groups"},
	} {
		if other.given {
			d.Fail(p, "%s does not go with %s, %s", d.Name(p), other.key, other.says)
		}
	}
	switch q := p.With("at"); {
	case task.Played() && s.Tree.At != algo.TurnsCut:
		d.Fail(q, "%w", hint.With(fmt.Errorf("%s = %q does not go with a task that is played in turns, whose world sees whole turns; accepted: turns", d.Name(q), s.Tree.At), "--set %s=turns", d.Name(q)))
		return
	case task.Played() && slices.ContainsFunc(task.Tools, func(t Tool) bool { return !t.Spec().Pure }):
		d.Fail(p, "%s does not go with tools whose answers may differ, since a branch plays the turns before it again; accepted: tools that are pure (rlzero tools)", d.Name(p))
		return
	case !task.Played() && s.Tree.At == algo.TurnsCut:
		d.Fail(q, "%w", hint.With(fmt.Errorf("%s = \"turns\" needs a task that is played in turns; %s has one answer to a problem; accepted: lines, sentences, forks or a condition on tokens", d.Name(q), task.label()), "--set %s=lines", d.Name(q)))
		return
	}
	reads, err := s.growthReads()
	if err != nil {
		d.beforeFaults(err, at)
		return
	}
	q := p.With("choose")
	if slices.Contains(reads, "greedy_reward") {
		d.Fail(q, "%s reads greedy_reward, which is drawn once the tree has grown; accepted: facts of the completions drawn so far", d.Name(q))
	}
	if verdicts, _ := s.ChoosesBy(); verdicts && (task.JudgedBy() != "" || len(s.judgedBy()) > 0) {
		d.Fail(q, "%s reads verdicts, but a judge of this stage reads whole groups, which are not there before the tree has grown; accepted: facts that no verifier gives, such as segment_mean(old_entropy)", d.Name(q))
	}
	if program, err := s.Growth(); err == nil {
		for _, part := range growthParts(program) {
			for _, fact := range program.Needs(part) {
				if q := pathOf(part, at); algo.Influences(fact) || algo.OfPath(fact) {
					d.Fail(q, "%s reads %s, which is known once the tree has grown; accepted: facts of tokens and of nodes", d.Name(q), fact)
				}
			}
		}
		d.told(task, algo.OfTurns(program.Needs(algo.TreeChoose)), func(fact, guard string) string { return program.Bare(algo.TreeChoose, fact, guard) }, q)
	}
	if a, err := s.Compiled(); err == nil && a.Cuts() {
		for _, fact := range algo.OfTrees(a.Reads()) {
			q := at.With("algorithm").With("segments")
			d.Fail(q, "%s does not cut completions into nodes, but formulas read %s, which is a fact of a node; accepted: leave it out, since nodes are the segments of a stage with a tree", d.Name(q), fact)
		}
	}
}
