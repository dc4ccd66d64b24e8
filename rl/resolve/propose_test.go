package resolve

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
)

// TestProposeReward: a formula of what a written problem is paid is read with the stage's verifiers and told with its
// place.
func TestProposeReward(t *testing.T) {
	for formula, want := range map[string]string{
		"p":                 "x.toml:6:1: stage.rl.propose.reward: ",
		"sum(turn_reward)":  "x.toml:6:1: stage.rl.propose.reward: it reads turn_reward, which only tasks that are played in turns have",
		"task.valid*task":   "",
		"task.valid - task": "",
	} {
		r, err := recipe.Parse("x.toml", "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\n[stage.propose]\nsay = \">\"\nreward = \""+formula+"\"\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Open(r, nil); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", formula, err, want)
		}
	}
}
