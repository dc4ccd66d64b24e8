package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

// TestRenews: a copy is made again after every so many steps, from a first one on.
func TestRenews(t *testing.T) {
	for m, want := range map[Member][]int{{}: nil, {Renew: 3}: {3, 6, 9}, {Renew: 4, RenewFirst: 1}: {1, 5, 9}, {Renew: 2, RenewFirst: 5}: {5, 7, 9}} {
		var got []int
		for step := 1; step < 10; step++ {
			if m.Renews(step) {
				got = append(got, step)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("renew %d from %d on: after %v, want %v", m.Renew, m.RenewFirst, got, want)
		}
	}
}

// TestSeats: a stage says who plays each seat of its task; a seat that it leaves out is the policy's, and a model that
// plays is one that the recipe uses.
func TestSeats(t *testing.T) {
	r, err := Load("nim-tiny", []string{`models.past={copy = "policy", renew = 3}`, "stage.rl.seats.second=past"})
	if err != nil {
		t.Fatal(err)
	}
	st := &r.Stages[len(r.Stages)-1]
	if !st.Sits() || !slices.Equal(st.SeatBy("first"), []string{PolicyModel}) || !slices.Equal(st.SeatBy("second"), []string{"past"}) || !st.Asks("past") || r.FirstUse("past") != len(r.Stages)-1 {
		t.Errorf("%+v", st.Seats)
	}
	if w := r.Writers(); len(w) != 1 || w[0].Model != "past" || w[0].Room != r.Task.MaxPromptTokens+r.MaxDrawn(st) {
		t.Errorf("writers %+v", w)
	}
	sameAgain(t, r)
	if _, err := Load("nim-tiny", []string{"stage.rl.seats.second=best", "stage.rl.curriculum.candidates=2", "stage.rl.curriculum.order=last_solved"}); err != nil {
		t.Errorf("what one seat scored, by prompt: %v", err)
	}
	if r, err = Load("guess-tiny", nil); err != nil || r.Task.Seats() != nil || strings.Contains(r.Resolved(), "seats") {
		t.Errorf("a recipe without seats names them: %v", err)
	}
}

// TestSeatFaults: what is wrong with seats is named with its place and what is accepted.
func TestSeatFaults(t *testing.T) {
	const game = "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"NAME\"\n[[stage]]\nkind = \"rl\"\n[stage.seats]\nSEATS\n[stage.algorithm]\npreset = \"grpo\"\n"
	for _, c := range []struct {
		name, seats string
		sets        []string
		want, hint  string
	}{
		{"countdown", `first = "policy"`, nil, "x.toml:11:8: stage.rl.seats needs a task with several seats, and countdown has none; accepted: the tasks nim, tictactoe", ""},
		{"grid", `first = "policy"`, nil, "stage.rl.seats needs a task with several seats, and grid has none", ""},
		{"nim", `secnd = "policy"`, nil, `x.toml:12:1: task nim has no seat "secnd"; did you mean second?`, ""},
		{"tictactoe", `first = "policy"`, nil, `task tictactoe has no seat "first"; known here: x, o`, ""},
		{"nim", `second = 3`, nil, "x.toml:12:1: stage.rl.seats.second = 3 is no name; accepted: policy, best, random, or a model of [models], or several but policy", ""},
		{"nim", `second = []`, nil, "x.toml:12:1: stage.rl.seats.second = [] leaves nobody to play it", ""},
		{"nim", `second = ["best", 3]`, nil, "stage.rl.seats.second = 3 is no name", ""},
		{"nim", `second = ["best", "besst"]`, nil, `stage.rl.seats.second = "besst": nobody of this name plays; did you mean best?`, ""},
		{"nim", `second = ["best", "policy"]`, nil, "stage.rl.seats.second: a seat is learned in every game or in none; accepted in a list: best, random, models of [models]", ""},
		{"nim", `second = "was"`, []string{`models.was={copy = "policy", renew_first = 2}`}, "models.was.renew_first = 2 would do nothing without renew", ""},
		{"nim", `second = "besst"`, nil, `stage.rl.seats.second = "besst": nobody of this name plays; did you mean best?`, `a table [models.past] with copy = "policy" and renew`},
		{"nim", `second = "ref"`, nil, "the reference is asked for log-probs; give a model that plays a name of its own", ""},
		{"nim", `second = "was"`, []string{`models.was={copy = "policy", prompt = "{question}"}`}, "who plays reads what its seat reads; take prompt out of [models.was]", ""},
		{"nim", "first = \"best\"\nsecond = \"random\"", nil, "x.toml:11:8: stage.rl.seats leaves the policy no seat, so nothing would be learned; accepted: policy in at least one of first, second", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.refill.tries=1"}, "stage.rl.seats does not go with refill.tries", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.tree.rounds=1"}, "stage.rl.seats does not go with tree.rounds", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.replay.store=group_mean(reward) > 0"}, "stage.rl.seats does not go with replay.store", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.algorithm.advantage=own*(reward - greedy_reward)"}, "stage.rl.seats does not go with greedy_reward", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.curriculum.candidates=2", "stage.rl.curriculum.order=last_solved"}, "stage.rl.seats does not go with last_solved, in which a prompt would have the mean score of all seats that the policy plays", ""},
		{"nim", `second = "policy"`, []string{"stage.rl.algorithm.advantage=own*(reward - solved)"}, "stage.rl.seats does not go with solved", ""},
	} {
		text := strings.NewReplacer("NAME", c.name, "SEATS", c.seats).Replace(game)
		_, err := Parse("x.toml", text, c.sets)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s, %q:\n%v\nwant\n%s", c.seats, c.name, c.sets, err, c.want)
			continue
		}
		if c.hint != "" && !slices.ContainsFunc(hint.All(err), func(h string) bool { return strings.Contains(h, c.hint) }) {
			t.Errorf("%s: the hints are %q", c.seats, hint.All(err))
		}
	}
}
