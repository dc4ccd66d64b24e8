package train

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestDrawnAsJSON: a drawn step that is written and read is the same value again, what has no
// value included. A completion of no group is refused.
func TestDrawnAsJSON(t *testing.T) {
	kept := sampled(verify.Abstain("no reference <&>"), rollout.EOS, []int{1, 2}, reward.Term{Name: "task", Value: nan}, reward.Term{Name: "form", Value: 0.1})
	kept.Score.NotScored, kept.View.Group, kept.Greedy = "task: no reference", 1, reward.Score{Reward: nan, NotScored: "not scored"}
	again := sampled(verify.Accept("1", "", ""), rollout.Length, []int{3})
	again.From.Segments[1].Logprob, again.View.Logprob = []float32{-0.1}, []float32{-0.1}
	again.Group, again.Place, again.Origin = 1, 1, Origin{Second: true, Hinted: true, Share: 1, Prompt: []int{7, 8}, Start: &Start{[]float32{-0.2}, []float32{0.5}}}
	again.View = viewOf(again.From, 0, 1, &again.Origin)
	d := Drawn{
		Plan:        Plan{At: Position{1, 4, 9}, Version: 7, Numbers: map[string]float64{"temperature": 0.9}, Metrics: map[string]float64{"curriculum/open": 3}, Stored: 2},
		Groups:      []*rollout.Group{kept.From, again.From},
		Completions: []Completion{kept}, Refused: []Completion{again}, Replaced: []Completion{again}, Chances: 1, Extra: 5,
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got Drawn
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(got); err != nil || string(second) != string(text) {
		t.Errorf("%v\n%s\nwant\n%s", err, second, text)
	}
	whole := &recipe.Stage{Kind: recipe.KindRL}
	whole.Sampling.TopP, whole.Sampling.MaxCompletionTokens = 1, 8
	if err := got.under(whole); err != nil || got.stage.Sampling.Temperature != 0.9 || got.Version != 7 {
		t.Errorf("temperature %v, version %d, %v", got.stage.Sampling.Temperature, got.Version, err)
	}
	if v := got.Completions[0].Verdict(); !math.IsNaN(v.Score) || !math.IsNaN(got.Completions[0].Score.Reward) || !math.IsNaN(got.Completions[0].Greedy.Reward) {
		t.Errorf("verdict %+v, completion %+v", v, got.Completions[0])
	}
	if !reflect.DeepEqual(got.Refused[0].View, again.View) || got.Refused[0].From != got.Replaced[0].From {
		t.Errorf("%+v, want the view %+v of one group", got.Refused[0], again.View)
	}
	bad := strings.Replace(string(text), `"Place":1`, `"Place":2`, 1)
	if err := json.Unmarshal([]byte(bad), &got); err == nil || !strings.Contains(err.Error(), "step 10 has a completion of no group: sample 0 of group 2") {
		t.Errorf("%v", err)
	}
}
