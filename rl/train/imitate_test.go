package train

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// TestDemonstrationsWithHints: a share of them, and the others are as without. What stands
// behind a hint is right, though demonstrations without one mostly are not.
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
		c, err := cast.Open(r, "", dev)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		renderer, err := prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto})
		if err != nil {
			t.Fatal(err)
		}
		source, none := prompts.Of(r.Task.Settings), func(...verify.Problem) error { return nil }
		if err := Readable(r, source, renderer); err != nil {
			return nil, nil, err
		}
		cs, err := demonstrations(r, source, none, renderer, 0, 0, n)
		return cs, renderer, err
	}
	plain, renderer, err := drawn()
	if err != nil {
		t.Fatal(err)
	}
	hinted, _, err := drawn("stage.sft.show={answer} {question}", "stage.sft.show_share=0.5")
	if err != nil {
		t.Fatal(err)
	}
	with := 0
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
	// Five standard deviations of a share of a half.
	if with < n/2-50 || with > n/2+50 {
		t.Errorf("%d of %d have the hint", with, n)
	}
	if _, _, err = drawn("stage.sft.show={answer} {answer} {question}"); err == nil || !strings.Contains(err.Error(), "tokens; accepted: at most task.max_prompt_tokens = 20") || len(hint.All(err)) != 1 {
		t.Errorf("too long: %v", err)
	}
	if _, _, err = drawn("stage.sft.show={nothing}"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a member that is not there: %v", err)
	}
}
