package train

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestAskedWithoutEnds: a model without an end token has nothing after which to score a completion alone,
// which ScoreOf tells as the reason.
func TestAskedWithoutEnds(t *testing.T) {
	m := &model.Model{}
	d, c := &drawer{facts: &facts{models: castModels{&cast.Cast{Policy: &cast.Policy{Model: m}}}}}, reward.Completion{View: rollout.View{IDs: []int{1, 2, 3}, Spans: []rollout.Span{{From: 1, To: 3}}}}
	ask := reward.Ask{After: "nothing"}
	if got := d.text(ask, &c); len(got.After) != 0 || !slices.Equal(got.IDs, []int{2, 3}) {
		t.Errorf("%+v", got)
	}
	m.Config.EOS = []int{7, 8}
	if got := d.text(ask, &c); !slices.Equal(got.After, []int{7}) {
		t.Errorf("%+v", got)
	}
}

// TestAskedAnew: of an episode whose context began anew there is no completion that is one text.
func TestAskedAnew(t *testing.T) {
	c := reward.Completion{View: rollout.View{IDs: []int{1, 2, 3, 4}, Spans: []rollout.Span{{From: 1, To: 2}, {From: 3, To: 4}}, Fresh: []int{2}}}
	for what, got := range map[string]cast.Text{
		"scored by itself": new(drawer).text(reward.Ask{After: "nothing"}, &c),
		"held against":     likened(reward.Shown{Completion: true}, &c),
	} {
		if got.IDs != nil || !strings.Contains(got.Lack, "began anew") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := likened(reward.Shown{Prompt: true}, &c); !slices.Equal(got.IDs, []int{1}) {
		t.Errorf("%+v", got)
	}
}

// rendererOf writes prompts for the model of a recipe.
func rendererOf(t *testing.T, r *recipe.Recipe, dev gpu.Device) *prompts.Renderer {
	t.Helper()
	c, err := cast.Open(r, "", dev)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	renderer, err := prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto})
	if err != nil {
		t.Fatal(err)
	}
	return renderer
}

// TestDemonstrationsWithHints: a share of them, and the others are as without. What stands
// after a hint is right, though demonstrations without one mostly are not.
func TestDemonstrationsWithHints(t *testing.T) {
	const n = 400
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	var r *recipe.Recipe
	drawn := func(set ...string) ([]Completion, *prompts.Renderer, error) {
		t.Helper()
		var err error
		r, err = recipe.Parse("r.toml", "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"countdown\"\nmax_prompt_tokens = 20\nsettings.aimed = 0.0\n[[stage]]\nkind = \"sft\"\n", set)
		if err != nil {
			t.Fatal(err)
		}
		renderer := rendererOf(t, r, dev)
		source, none := prompts.Of(r.Task.Settings), func(...verify.Problem) error { return nil }
		if err := Readable(&resolve.Opened{Recipe: r, Source: source}, renderer); err != nil {
			return nil, nil, err
		}
		cs, err := demonstrations(r, slices.Repeat([]prompts.Source{source}, n), none, nil, renderer, &r.Stages[0], 0, 0)
		return cs, renderer, err
	}
	plain, renderer, err := drawn()
	hinted, _, err2 := drawn("stage.sft.show={answer} {question}", "stage.sft.show_share=0.5")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	// hints counts the demonstrations with one; the others have to be those without.
	hints := func(plain, hinted []Completion) (with int) {
		for i := range hinted {
			problem, v := hinted[i].From.Problem, hinted[i].View
			if slices.Equal(v.IDs, plain[i].View.IDs) {
				continue
			}
			with++
			prompt, err := renderer.Asked(problem, "{answer} {question}")
			if err != nil {
				t.Fatal(err)
			}
			from := v.Spans[0].From
			if len(v.Spans) != 1 || v.Spans[0].To != len(v.IDs) || !slices.Equal(v.IDs[:from], prompt) || r.Task.Settings.Verify(problem, renderer.Decode(v.IDs[from:len(v.IDs)-1]), true).Verdict != verify.Right {
				t.Errorf("%q, learned from %d on, for %q", renderer.Decode(v.IDs), from, problem.Question)
			}
		}
		return with
	}
	// Five standard deviations of a share of a half.
	if with := hints(plain, hinted); with < n/2-50 || with > n/2+50 {
		t.Errorf("%d of %d have the hint", with, n)
	}
	if _, _, err = drawn("stage.sft.show={answer} {answer} {question}"); err == nil || !strings.Contains(err.Error(), "tokens; accepted: at most task.max_prompt_tokens = 20") || len(hint.All(err)) != 1 {
		t.Errorf("too long: %v", err)
	}
	// Of eight numbers a random working is right too rarely for most problems, which then have none.
	long := []string{"task.settings.numbers=8", "task.max_prompt_tokens=60"}
	if plain, renderer, err = drawn(long...); err != nil {
		t.Fatal(err)
	}
	if hinted, _, err = drawn(append(long, "stage.sft.show={answer} {question}", "stage.sft.show_share=1")...); err != nil {
		t.Fatal(err)
	}
	if with := hints(plain, hinted); with == 0 || with == n {
		t.Errorf("%d of %d have the hint", with, n)
	}
	// Told before the run, however rare.
	if _, _, err = drawn("stage.sft.show={nothing}", "stage.sft.show_share=1e-9"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a member that is not there: %v", err)
	}
}

// TestHintedEpisodes: an episode after a hint is that of the best player, on the problem as it is asked there.
func TestHintedEpisodes(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	const n = 400
	drawn := func(sets ...string) ([]Completion, *prompts.Renderer, *recipe.Recipe) {
		r, err := recipe.Load("library-tiny", append(sets, "task.max_prompt_tokens=6"))
		if err != nil {
			t.Fatal(err)
		}
		renderer := rendererOf(t, r, dev)
		cs, err := demonstrations(r, slices.Repeat([]prompts.Source{prompts.Of(r.Task.Settings)}, n), func(...verify.Problem) error { return nil }, nil, renderer, &r.Stages[0], 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return cs, renderer, r
	}
	cs, renderer, r := drawn("stage.warm-up.show=/ {question}", "stage.warm-up.show_share=0.5")
	hinted := 0
	for i := range cs {
		problem, v := cs[i].From.Problem, cs[i].View
		prompt, err := renderer.Asked(problem, "/ {question}")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.IDs[:v.Spans[0].From], prompt) {
			continue
		}
		hinted++
		last := v.Spans[len(v.Spans)-1]
		if text := renderer.Decode(v.IDs[last.From : last.To-1]); len(v.Spans) != 3 || r.Task.Settings.Verify(problem, text, true).Verdict != verify.Right {
			t.Errorf("%q ends with %q", renderer.Decode(v.IDs), text)
		}
	}
	if hinted < n/2-50 || hinted > n/2+50 { // five standard deviations of a share of a half
		t.Errorf("%d of %d have the hint", hinted, n)
	}
}

// TestDemonstrationsOfSettings: what a curriculum sets is set for the demonstrations too, not for the problems alone.
func TestDemonstrationsOfSettings(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	r, err := recipe.Parse("r.toml", "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"chain_sum\"\nsettings.careless = 1.0\n[[stage]]\nkind = \"sft\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	renderer, source := rendererOf(t, r, dev), prompts.Of(r.Task.Settings)
	careful, err := source.Changed(map[string]float64{"careless": 0})
	if err != nil {
		t.Fatal(err)
	}
	none := func(...verify.Problem) error { return nil }
	for s, want := range map[prompts.Source]int{source: 0, careful: 100} {
		cs, err := demonstrations(r, slices.Repeat([]prompts.Source{s}, 100), none, nil, renderer, &r.Stages[0], 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for i := range cs {
			v := cs[i].View
			if s.Verify(cs[i].From.Problem, renderer.Decode(v.IDs[v.Spans[0].From:len(v.IDs)-1]), true).Verdict == verify.Right {
				right++
			}
		}
		if right != want && !(want == 0 && right < 50) { // a term that leads out of range is read rightly
			t.Errorf("%d of 100 demonstrations are right, want %d", right, want)
		}
	}
}
