package recipe

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/tasks"
)

// TestPropose: a stage says what the policy is asked for a problem and what it is paid; the recipe is written out whole.
func TestPropose(t *testing.T) {
	r, err := Load("chain-sum-tiny", []string{`stage.rl.propose={say = "{answer}:"}`, `stage.warm-up.propose={say = "{answer}:", share = 0.25}`})
	if err != nil {
		t.Fatal(err)
	}
	sft, rl := &r.Stages[0], &r.Stages[len(r.Stages)-1]
	if !rl.Proposes() || rl.Propose.Count != 4 || rl.Propose.Reward != "task.valid*4*task*(1 - task)" || sft.Propose.Share != 0.25 || sft.Propose.Reward != "" {
		t.Errorf("%+v, %+v", rl.Propose, sft.Propose)
	}
	if p, err := rl.Paid(); err != nil || p == nil {
		t.Errorf("%v", err)
	}
	if p, err := sft.Paid(); err != nil || p != nil {
		t.Errorf("an imitation pays: %v", err)
	}
	sameAgain(t, r)
	if plain, err := Load("chain-sum-tiny", nil); err != nil || strings.Contains(plain.Resolved(), "propose") {
		t.Errorf("a recipe that writes no problems names them: %v", err)
	}
}

// TestProposeFaults: what is wrong with written problems is named with its place and what is accepted.
func TestProposeFaults(t *testing.T) {
	accepted := strings.Join(tasks.Posers(), ", ")
	for _, c := range []struct {
		from string
		sets []string
		want string
	}{
		{"countdown-tiny", []string{`stage.rl.propose={say = "1"}`}, "stage.rl.propose needs a task that accepts or refuses problems, and countdown does not; accepted: the tasks " + accepted},
		{"countdown-tiny", []string{`stage.rl.make=[{rows = "other", each = "group", by = "policy", say = "{question}", check = "problem", row = {question = "{said}"}}]`}, `stage.rl.make.0.check = "problem" needs a task that accepts or refuses problems, and countdown does not; accepted: the tasks ` + accepted},
		{"nim-tiny", []string{`stage.rl.propose={say = "1"}`}, "and nim does not; accepted"},
		{"chain-sum-tiny", []string{"stage.rl.propose.count=2"}, "stage.rl.propose does nothing without say, what the policy is asked for a problem"},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">{question"}`}, "stage.rl.propose.say: "},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">", count = 0}`}, "stage.rl.propose.count = 0 is out of range"},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">", share = 0.5}`}, "share"},
		{"chain-sum-tiny", []string{`stage.warm-up.propose={say = ">", share = 1.5}`}, "stage.warm-up.propose.share = 1.5 is out of range"},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">"}`, "stage.rl.refill.tries=1"}, "stage.rl.propose does not go with refill.tries"},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">"}`, "stage.rl.tree.rounds=1"}, "stage.rl.propose does not go with tree.rounds"},
		{"chain-sum-tiny", []string{`stage.rl.propose={say = ">"}`, "stage.rl.algorithm.advantage=own*(reward - greedy_reward)"}, "stage.rl.propose does not go with greedy_reward"},
	} {
		if _, err := Load(c.from, c.sets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q:\n%v\nwant\n%s", c.from, c.sets, err, c.want)
		}
	}
}
