package run

import (
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestTreeResumes: a run whose completions grow as trees, with a lag, that is cut and resumed comes to the
// same bytes. Its log has each tree: what a completion shares with one before it, and where it went on by
// itself.
func TestTreeResumes(t *testing.T) {
	dir := resumed(t, "stage.rl.group_size=8", "stage.rl.tree.roots=2", "stage.rl.tree.rounds=2", "stage.rl.tree.open=1", "stage.rl.tree.width=3", "stage.rl.tree.at=old_entropy > 0.2",
		"stage.rl.lag=1", "stage.rl.algorithm.weight=tis", "stage.rl.token_every=1")
	type node struct{ step, group, number int }
	known, parent, ids := map[node]string{}, map[node]int{}, map[[3]int][]int{}
	branches, shared := 0, 0
	log, err := record.Open(filepath.Join(dir, record.TokensFile))
	must(t, err)
	clipped := 0
	for step := 1; step <= 4; step++ {
		must(t, record.Lines(log, step, record.AllGroups, func(_ int, l record.Tokens) error {
			ids[[3]int{l.Step, l.Group, l.Sample}] = l.IDs
			clipped += len(l.Clipped)
			return nil
		}))
	}
	log, err = record.Open(filepath.Join(dir, record.CompletionsFile))
	must(t, err)
	drawn := map[int]int{}
	for step := 1; step <= 4; step++ {
		must(t, record.Lines(log, step, record.AllGroups, func(_ int, l record.Completion) error {
			before, text, own := 0, "", 0
			for _, n := range l.Nodes {
				at := node{l.Step, l.Group, n.Node}
				if said, there := known[at]; there {
					if n.Text != "" || n.Parent != parent[at] {
						t.Errorf("node %+v is told twice: %+v", at, n)
					}
					text, shared = text+said, shared+n.Tokens
				} else {
					known[at], parent[at] = n.Text, n.Parent
					text, own = text+n.Text, own+n.Tokens
				}
				before += n.Tokens
			}
			drawn[l.Step] += own
			if l.Nodes != nil && (before != l.Tokens || text != l.Text) {
				t.Errorf("the nodes %+v have %d tokens, the text %q; the completion has %d, %q", l.Nodes, before, text, l.Tokens, l.Text)
			}
			if l.Branch != nil {
				branches++
				if l.Sample < 2 || l.Branch.After != before-own {
					t.Errorf("sample %d goes on after %d tokens; %d of its %d are its own", l.Sample, l.Branch.After, own, before)
				}
			}
			return nil
		}))
	}
	if branches < 50 || shared < 100 {
		t.Errorf("%d branches with %d shared tokens: the test shows little", branches, shared)
	}
	for i, row := range metricRows(t, dir, "rollout/tokens") {
		if row["rollout/tokens"] != float64(drawn[i+1]) || row["policy/equal"] != row["policy/compared"] || i == 0 && row["policy/equal"] != row["rollout/tokens"] {
			t.Errorf("step %d: %v", i+1, row)
		}
		if share := row["rollout/shared_share"].(float64); share <= 0 || share >= 1 {
			t.Errorf("step %d: a share of %v of the tokens is shared", i+1, share)
		}
	}
	if clipped > 0 {
		t.Errorf("%d tokens count as clipped that another completion learned", clipped)
	}
}

// TestTreeAgain: trees are drawn in place of refused groups, and stored ones take part again, with the
// same bytes after a resume.
func TestTreeAgain(t *testing.T) {
	dir := resumed(t, "stage.rl.group_size=6", "stage.rl.tree.roots=2", "stage.rl.tree.rounds=2", "stage.rl.tree.open=1", "stage.rl.tree.width=2", "stage.rl.tree.at=old_entropy > 0.2", "stage.rl.tree.choose=same_mean(reward, node)", "stage.rl.tree.distinct=true",
		"stage.rl.refill.tries=1", "stage.rl.algorithm.keep=group_mean(reward) > 0.5", "stage.rl.replay={store = \"group_max(reward) > 0\", share = 0.5}")
	refused, replayed := 0.0, 0.0
	for _, row := range metricRows(t, dir, "rollout/tokens") {
		refused, replayed = refused+row["rollout/refused_groups"].(float64), replayed+row["rollout/replayed_groups"].(float64)
		if row["policy/equal"] != row["policy/compared"] || row["rollout/forks"].(float64) <= 0 {
			t.Errorf("%v", row)
		}
	}
	if refused == 0 || replayed == 0 {
		t.Errorf("%v groups refused, %v replayed: the test shows nothing", refused, replayed)
	}
}
