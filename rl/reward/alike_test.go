package reward

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestAlike: a likeness is the cosine of a completion's own texts, or the mean over those of the other prompts;
// what has no place has no value, and is left out of the means of others.
func TestAlike(t *testing.T) {
	groups := []int{1, 1, 2, 2}
	a := []Place{{At: []float64{2, 0}}, {At: []float64{0, 3}}, {At: []float64{1, 1}}, {Why: "a is missing"}}
	b := []Place{{At: []float64{1, 0}}, {Why: "b is missing"}, {At: []float64{0, 5}}, {At: []float64{-1, 0}}}
	h := 1 / math.Sqrt2
	for name, c := range map[string]struct {
		of   Alike
		want []float64
		why  []string
	}{
		"own":    {Alike{}, []float64{1, 0, h, 0}, []string{"", "b is missing", "", "a is missing"}},
		"others": {Alike{others: true}, []float64{(0 - 1) / 2.0, (1 + 0) / 2.0, h, 0}, []string{"", "", "", "a is missing"}},
	} {
		for i, got := range c.of.Of(groups, a, b) {
			if math.Abs(got.Value-c.want[i]) > 1e-15 || got.Why != c.why[i] { // one rounding of numbers below 1
				t.Errorf("%s of completion %d: %+v, want %v %q", name, i, got, c.want[i], c.why[i])
			}
		}
	}
	if got := (&Alike{others: true}).Of([]int{3, 3}, a[:2], b[:2]); got[0].Why != "there is no other prompt" {
		t.Errorf("of one prompt: %+v", got[0])
	}
	if got := (&Alike{}).Of([]int{1}, []Place{{At: []float64{0, 0}}}, b[:1]); got[0].Value != 0 || got[0].Why != "" {
		t.Errorf("of a place without direction: %+v", got[0])
	}
}

// TestAlikeAsked: a formula asks a model about texts of a completion, and reads what it says.
func TestAlikeAsked(t *testing.T) {
	p, err := Compile(`similarity(completion, row.answer, ref) - group_similarity("x", prompt, teacher)`, nil, Model{Name: "teacher"})
	if err != nil {
		t.Fatal(err)
	}
	asks := p.Asks()
	if len(asks) != 2 || asks[0].Model != "ref" || !asks[0].Alike.A.Completion || asks[1].Model != "teacher" || !asks[1].Alike.B.Prompt || !asks[1].Alike.others {
		t.Fatalf("%+v", asks)
	}
	if text, why := asks[0].Alike.B.Text(verify.Problem{Answer: "7"}); text != "7" || why != "" {
		t.Errorf("the text is %q (%s)", text, why)
	}
	if text, why := asks[1].Alike.A.Text(verify.Problem{}); text != "x" || why != "" {
		t.Errorf("the text is %q (%s)", text, why)
	}
	c := Completion{Path: rollout.Path{Verdicts: make([]verify.Verdict, 1)}, Asked: map[string]Answer{asks[0].Column: {Value: 0.75}, asks[1].Column: {Value: 0.5}}}
	if scores, err := p.Score(Batch{Step: 1, Steps: 1, Completions: []Completion{c}}); err != nil || scores[0].Reward != 0.25 {
		t.Errorf("%+v (%v)", scores, err)
	}
	for text, want := range map[string]string{
		"similarity(reward, prompt, ref)":      "similarity(a, b, model) takes completion, prompt, a text in quotes, or a fact that is text, as a",
		"similarity(completion, prompt, them)": "takes one of the names policy, ref, ema, teacher as model",
		"similarity(completion, prompt)":       "similarity has 2 arguments; accepted: similarity(a, b, model)",
	} {
		if _, err := Compile(text, nil, Model{Name: "teacher"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
