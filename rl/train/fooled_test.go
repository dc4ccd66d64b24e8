package train

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// TestFooledBy: equal texts count once, however many rows and attacks have them, and what cannot be read is no pay: an
// attack without a score is not the best one, and where too many attacks or right answers have none, the run is refused.
func TestFooledBy(t *testing.T) {
	made, err := judge.New(json.RawMessage(`{"model":"m","source":"{completion}","read":{"yes":1,"no":0},"max_fooled":0.5}`))
	if err != nil {
		t.Fatal(err)
	}
	st := &recipe.Stage{}
	j := recipe.Judging{Judge: made, Name: "good", Stage: st}
	cheats := [][]audit.Cheat{{{Attack: "empty", Text: ""}, {Attack: "flattery", Text: "right"}}, {{Attack: "blank", Text: ""}, {Attack: "flattery", Text: "right"}}}
	paid := func(x float64) verify.Verdict { return verify.Verdict{Score: x, Verdict: verify.Graded} }
	none, cut := verify.Abstain("no match"), verify.Abstain("cut")
	half := paid(0.1) // of one of several votes
	half.Opinions = []verify.Opinion{{Why: "connection refused", Missing: true}}
	for _, c := range []struct {
		right, empty, flattery verify.Verdict
		most                   float64 // without a score
		want                   string
	}{
		{paid(0.8), paid(0.1), paid(0.2), 0, `verifier good pays "right" 0.25 of what it pays a right answer: the best of 2 texts`},
		{paid(0.8), paid(0.1), paid(0.6), 0.5, `verifier good pays "right" 0.75 of what it pays a right answer (the attack flattery); max_fooled is 0.5`},
		{paid(0.8), none, paid(0), 0.5, `verifier good pays "right" 0.00 of what it pays a right answer: the best of 2 texts, 1 of which could not be scored`},
		{paid(0.8), none, paid(0), 0.4, "max_fooled holds attacks against right answers, and 2 of 4 attacks have no score, but max_not_scored is 0.4; the reason of 2 of them: no match"},
		{paid(0.8), none, none, 0.9, "max_fooled holds attacks against right answers, and 4 of 4 attacks have no score, but max_not_scored is 0.9; the reason of 4 of them: no match"},
		{paid(0.8), none, none, 1, "max_fooled holds attacks against right answers, and 4 of 4 attacks have no score, so that none is left; the reason of 4 of them: no match"},
		{paid(0.8), cut, none, 0.5, "and 4 of 4 attacks have no score, but max_not_scored is 0.5; the reason of 2 of them: cut"},
		{paid(0.8), half, paid(0), 1, "max_fooled holds attacks against right answers, and an answer of m is missing: connection refused"},
		{none, paid(0), paid(0), 0.5, "max_fooled holds attacks against right answers, and 2 of 2 right answers have no score, but max_not_scored is 0.5; the reason of 2 of them: no match"},
		{paid(0), paid(0), paid(0), 0.5, "max_fooled holds attacks against right answers, and these are paid 0"},
	} {
		row := []verify.Verdict{c.right, c.empty, c.flattery}
		st.RL.MaxNotScored = c.most
		got, err := fooled(j, [][]verify.Verdict{row, row}, cheats)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestUnread: what cannot be read of a judge is a share of its answers, under the name of the verifier, and
// under that of the task if this has a judge.
func TestUnread(t *testing.T) {
	x := 0.5
	said := func(readings ...*float64) (v verify.Verdict) {
		for _, r := range readings {
			v.Opinions = append(v.Opinions, verify.Opinion{Reading: r})
		}
		return v
	}
	g := rollout.Group{Paths: []rollout.Path{{Verdicts: []verify.Verdict{said(&x), said(), said(&x, nil)}}, {Verdicts: []verify.Verdict{said(nil), said(), said(&x, &x)}}}}
	st := &recipe.Stage{}
	st.Verifiers = []reward.Verifier{{Name: "form"}, {Name: "good"}}
	row := metrics.Row{}
	unreadMetrics(st, []Completion{{From: &g}, {From: &g, Sample: 1}}, row)
	if len(row) != 2 || row["judge/unread/task"] != 0.5 || row["judge/unread/good"] != 0.25 {
		t.Error(row)
	}
}
