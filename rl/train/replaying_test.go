package train

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
)

// TestReplayIsCorrected: a method that replays groups without reading old is warned of; an advantage
// that asks whether its group is replayed is refused, as it is computed when the group is sampled.
func TestReplayIsCorrected(t *testing.T) {
	for _, c := range []struct {
		method string
		warns  bool
	}{{`preset = "grpo"`, true}, {`preset = "grpo", ratio = "exp(logp - old)"`, false}, {`preset = "tis"`, false}, {`preset = "grpo", loss = "token_mean(policy, fresh)"`, false}} {
		r, err := recipe.Load("chain-sum-tiny", []string{"stage.rl.replay.store=group_std(reward) > 0", "stage.rl.algorithm={" + c.method + "}"})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(Lagging(r), "\n"); strings.Contains(notes, "nothing corrects the age of replayed groups") != c.warns {
			t.Errorf("%s: notes %q", c.method, notes)
		}
	}
	_, err := recipe.Load("chain-sum-tiny", []string{"stage.rl.replay.store=group_std(reward) > 0", `stage.rl.algorithm.advantage=if(replayed, 0, reward - group_mean(reward))`})
	if err == nil || !strings.Contains(err.Error(), "algorithm.advantage reads replayed, but advantage and keep of a group are computed once") {
		t.Errorf("%v", err)
	}
}
