package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// TestJudgedSteps: a token has the number of the step in which its last character stands, also where the
// beginning of the text was given; others have none, with the reason.
func TestJudgedSteps(t *testing.T) {
	renderer := stageOn(t, "sft", rowsOf(t, pairs...), "").(*imitation).Prompts
	const part = "</think>"
	st := &recipe.Stage{}
	st.Verifiers = []reward.Verifier{{Name: "good", Verifier: "judge", Options: map[string]any{"model": "m", "source": "{step}", "shows": "steps", "steps": "=", "part": part, "read": map[string]any{"yes": 1.0, "no": 0.0}}}}
	f := &facts{recipe: &recipe.Recipe{}, prompts: renderer, stage: st, judges: st.StepJudges()}
	ids := func(text string) []int {
		ids, err := renderer.Answer(text)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	scored := verify.Verdict{Verdict: verify.Graded, Values: map[string]float64{"1": 0.25, "2": 0.5, "3": 0.75}}
	const given, said = "a</think>19+", "5=24é=7"
	g := rollout.Group{Segments: []rollout.Segment{{Parent: -1, Author: rollout.Prompt, IDs: ids("?")}, {Parent: 0, Author: rollout.Given, IDs: ids(given)}}}
	add := func(parent int, text string, verdict verify.Verdict, more ...int) {
		s := rollout.Segment{Parent: parent, Author: rollout.Policy, IDs: append(ids(text), more...), Stop: rollout.EOS}
		if parent > 0 {
			text = given + text
		}
		g.Paths = append(g.Paths, rollout.Path{Leaf: len(g.Segments), Text: text, Verdicts: []verify.Verdict{{}, verdict}})
		g.Segments = append(g.Segments, s)
	}
	end := renderer.Ends()[0]
	add(1, said, scored, end)
	add(0, "b=</think>5=24", scored, end)
	add(0, "5=24", verify.Abstain("nonsense"), end)
	add(0, "</think>5=24", f.judges["good.step"].Unshown([]judge.Question{{About: "1"}, {About: "2"}}, 1, "it is too long"), end)
	x := subject{facts: f, cs: completionsOf([]rollout.Group{g})}
	row, _ := f.supplierOf("good.step", drawn)
	columns, err := row.columns(x, "good.step")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for i := range x.cs {
		pieces := pieces(renderer, &g, i)
		text := ""
		for _, piece := range pieces {
			text += piece
			v, why := columns[0].V[at], columns[0].Why[at]
			_, after, _ := strings.Cut(text, part)
			shown := after != ""
			want := []float64{0.25, 0.5, 0.75}[min(2, strings.Count(after, "="))]
			if i == 0 {
				want = []float64{0.25, 0.5, 0.75}[strings.Count(text, "=")]
			}
			switch i {
			case 2:
				want, shown = math.NaN(), true
			case 3:
				want, shown = 0, true
			case 0:
				shown = true
			}
			if !shown {
				want = math.NaN()
			}
			if v != want && !(math.IsNaN(v) && math.IsNaN(want) && why != "") {
				t.Errorf("completion %d, %q after %q: %v (%s), want %v", i, piece, text, v, why, want)
			}
			at++
		}
	}
	if at != len(columns[0].V) {
		t.Errorf("%d values of %d tokens", len(columns[0].V), at)
	}
}

// TestRawUnseen: formulas of a method read the number of a head as rewards do. The completion that could not be shown
// has that of the group's other one.
func TestRawUnseen(t *testing.T) {
	st := &recipe.Stage{}
	st.Verifiers = []reward.Verifier{{Name: "liked", Verifier: "judge", Options: map[string]any{"model": "m", "read": "head"}}}
	g := rollout.Group{Segments: []rollout.Segment{{Parent: -1, Author: rollout.Prompt, IDs: []int{1}}, {Parent: 0, Author: rollout.Policy, IDs: []int{2}}}}
	raw := -2.5
	for _, v := range []verify.Verdict{
		{Verdict: verify.Graded, Rule: "judge", Score: 0.1, Values: map[string]float64{"raw": raw}, Opinions: []verify.Opinion{{Raw: &raw}}},
		verify.Reject("", "judge", "it is too long"),
	} {
		g.Paths = append(g.Paths, rollout.Path{Leaf: 1, Verdicts: []verify.Verdict{{}, v}})
	}
	f := &facts{recipe: &recipe.Recipe{}, stage: st}
	row, _ := f.supplierOf("liked.raw", drawn)
	columns, err := row.columns(subject{facts: f, cs: completionsOf([]rollout.Group{g})}, "liked.raw")
	if err != nil || !slices.Equal(columns[0].V, []float64{raw, raw}) || len(columns[0].Why) > 0 {
		t.Errorf("%+v, %v", columns, err)
	}
}

// pieces are the texts of the tokens that the policy wrote in a path.
func pieces(r *prompts.Renderer, g *rollout.Group, path int) []string {
	return r.Pieces(g.View(path).Drawn())
}
