package train

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestSavedStep: an open step that was saved and opened is saved alike again, what has no
// value included. A completion of no group is refused.
func TestSavedStep(t *testing.T) {
	kept := sampled(verify.Abstain("no reference <&>"), rollout.EOS, []int{1, 2}, reward.Term{Name: "task", Value: nan}, reward.Term{Name: "form", Value: 0.1})
	kept.NotScored, kept.View.Group = "task: no reference", 1
	again := sampled(verify.Accept("1", "", ""), rollout.Length, []int{3})
	again.Group, again.View.Group, again.Origin = 1, 2, Origin{Second: true, Hinted: true, Share: 1}
	again.View.Logprob = []float32{-0.1}
	o := &openStep{at: Position{1, 4, 9}, version: 7, numbers: map[string]float64{"temperature": 0.9}, told: map[string]float64{"curriculum/open": 3}, aside: newAside(),
		gathered: gathered{cs: []Completion{kept}, refused: []Completion{again}, stored: 2}}
	o.aside.greedy[kept.From], o.aside.second, o.aside.tokens = graded{nan, "not scored"}, 1, 5
	o.aside.replaced = []Completion{again}
	text, err := json.Marshal(o.saved())
	if err != nil {
		t.Fatal(err)
	}
	var saved savedStep
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	whole := &recipe.Stage{Kind: recipe.KindRL}
	whole.Sampling.TopP, whole.Sampling.MaxCompletionTokens = 1, 8
	got, err := saved.opened(whole)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(got.saved()); err != nil || string(second) != string(text) {
		t.Errorf("%v\n%s\nwant\n%s", err, second, text)
	}
	if v := got.cs[0].Verdict(); v.Score == v.Score || got.stage.Sampling.Temperature != 0.9 || got.version != 7 {
		t.Errorf("verdict %+v, temperature %v, version %d", v, got.stage.Sampling.Temperature, got.version)
	}
	if !reflect.DeepEqual(got.refused[0].View, again.View) || got.refused[0].From != got.aside.replaced[0].From {
		t.Errorf("%+v, want the view %+v of one group", got.refused[0], again.View)
	}
	saved.Lists[0][0].From = 2
	if _, err := saved.opened(whole); err == nil || !strings.Contains(err.Error(), "step 10 has a completion of no group: sample 0 of group 2") {
		t.Errorf("%v", err)
	}
}
