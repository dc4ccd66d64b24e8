package resolve

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// batchFor has twelve completions of three prompts: right, wrong, graded and not
// scored ones of different lengths, with a verdict of each verifier.
func batchFor(verifiers, step int) reward.Batch {
	b := reward.Batch{Step: step, Steps: 120, MaxTokens: 24}
	verdict := func(i int) verify.Verdict {
		return []verify.Verdict{verify.Accept("7", "", "yes"), verify.Reject("8", "", "no"), {Score: 0.25, Verdict: verify.Graded, Reason: "partly"}, verify.Abstain("no key")}[i%4]
	}
	for i := range 12 {
		c := reward.Completion{
			Group: i / 4, Random: float64(i % 2),
			Path: rollout.Path{Text: strings.Repeat("7 + 2 ", i), Verdicts: []verify.Verdict{verdict(i*i + i/4)}},
			View: rollout.View{IDs: make([]int, 6), Spans: []rollout.Span{{From: 6, To: 6 + 2*i}}, Stop: rollout.EOS},
		}
		if i%5 == 4 {
			c.View.Stop = rollout.Length
		}
		for k := range 2 * i {
			c.View.IDs = append(c.View.IDs, k*k%5)
			c.View.Logprob = append(c.View.Logprob, -float32(i)/7)
		}
		for k := range verifiers {
			c.Path.Verdicts = append(c.Path.Verdicts, verdict(i+k+i/3))
		}
		b.Completions = append(b.Completions, c)
	}
	return b
}

// TestRewardsOfRecipes: the rewards of the recipes that come with the program keep
// the bits that testdata/rewards.json stored when rewards had a language of their
// own. Null is not scored.
func TestRewardsOfRecipes(t *testing.T) {
	text, err := os.ReadFile("testdata/rewards.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string][][]*float64 // by recipe and stage; [step][completion]
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if len(stored) != 7 {
		t.Fatalf("testdata/rewards.json has the rewards of %d recipes, want 7", len(stored))
	}
	for name, want := range stored {
		got := rewardsOf(t, name)
		if len(got) != len(want) || len(want) == 0 {
			t.Errorf("%s: %d rewards, want %d", name, len(got), len(want))
			continue
		}
		for k, steps := range want {
			for i, w := range steps {
				if g := got[k][i]; (w == nil) != (g == nil) || w != nil && math.Float64bits(*g) != math.Float64bits(*w) {
					t.Errorf("%s: reward %d of completion %d differs from the stored one", name, k, i)
				}
			}
		}
	}
}

// rewardsOf are the rewards of every stage of a recipe, at several steps.
func rewardsOf(t *testing.T, name string) [][]*float64 {
	t.Helper()
	o, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]*float64
	for _, st := range o.Recipe.Stages {
		if st.Kind != recipe.KindRL {
			continue
		}
		p, err := reward.Compile(st.Reward, st.Verifiers)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, step := range []int{1, 33, 90} {
			var row []*float64
			scores, err := p.Score(batchFor(len(st.Verifiers), step))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, s := range scores {
				if math.IsNaN(s.Reward) {
					row = append(row, nil)
					continue
				}
				row = append(row, &s.Reward)
			}
			out = append(out, row)
		}
	}
	return out
}
