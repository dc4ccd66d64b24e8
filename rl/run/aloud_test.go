package run

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// evaluated is an evaluation of two samples of each problem; stop ended them.
func evaluated(stop rollout.Stop, problems ...[2]verify.Verdict) *eval.Result {
	r := &eval.Result{Samples: 2}
	for _, verdicts := range problems {
		g := rollout.Group{Segments: []rollout.Segment{{Parent: -1, IDs: []int{1}}}}
		for _, v := range verdicts {
			g.Paths = append(g.Paths, rollout.Path{Leaf: len(g.Segments), Verdicts: []verify.Verdict{v}})
			g.Segments = append(g.Segments, rollout.Segment{Author: rollout.Policy, IDs: []int{2}, Stop: stop})
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

// TestReading: what an evaluation shows is said before the first step of an rl stage, and where
// no answer is right, what to do, the most likely remedy first.
func TestReading(t *testing.T) {
	right, wrong := verify.Accept("4", "", ""), verify.Reject("5", "", "5 is not 4")
	unread, half := verify.Reject("", "", "no number stands in it"), verify.Verdict{Verdict: verify.Graded, Score: 0.5}
	quoted := func(text string) verify.Verdict { return verify.Reject(text, "", "%q: not a number", text) }
	both := func(v verify.Verdict) [2]verify.Verdict { return [2]verify.Verdict{v, v} }
	procedural, skipped := shortRecipe(t), shortRecipe(t, "stage.warm-up.skip=true", "model.path=m")
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(rows, []byte(`{"prompt":"2+2","answer":"4"}`), 0o644))
	data, err := recipe.Load("lora-math", []string{"model.path=some model", "task.data=" + rows})
	must(t, err)
	played, err := recipe.Parse("r.toml", "[model]\npath = \"m\"\n[task]\nmax_prompt_tokens = 9\nepisode = {tokens = 9}\nworld = {command = [\"python3\", \"maze.py\"]}\n[[stage]]\nkind = \"rl\"\nsampling = {max_completion_tokens = 9}", nil)
	must(t, err)
	const dead = "! none of the 4 answers to 2 problems is right. "
	for _, c := range []struct {
		name   string
		recipe *recipe.Recipe
		result *eval.Result
		first  string
		order  []string // of what to do
	}{
		{"both", procedural, evaluated(rollout.EOS, [2]verify.Verdict{right, wrong}, both(right), both(wrong)), "  the model answers 1 problem right sometimes, 1 always, 1 never: ", nil},
		{"part of the score", procedural, evaluated(rollout.EOS, both(half), both(wrong)), "  the model sometimes earns something for 1 problem, always the full score for 0, nothing for 1: ", nil},
		{"all right", procedural, evaluated(rollout.EOS, both(right), both(right)), "! all 4 answers to 2 problems are right. Nothing is left", nil},
		{"nothing judged", procedural, evaluated(rollout.EOS, both(verify.Abstain("no reference"))), "! none of the 2 answers could be judged (no reference): ", nil},
		{"none right", procedural, evaluated(rollout.EOS, both(wrong), both(wrong)), dead,
			[]string{"--set stage.warm-up.hold_steps=300", "rlzero tasks show countdown", "what the model gets wrong: the most common"}},
		{"none right, all cut off, where the answers of the task fit", skipped, evaluated(rollout.Length, both(wrong), both(wrong)), dead,
			[]string{"--set stage.warm-up.skip=false", "rlzero tasks show countdown", "  3. a prompt that says how to answer"}},
		{"none right in a world of others", played, evaluated(rollout.EOS, both(wrong), both(wrong)), dead,
			[]string{"rlzero train sft-chat", "easier problems, or replies that help more: those of maze.py", "a prompt that says how to answer", "longer answers"}},
		{"cut off", data, evaluated(rollout.Length, both(wrong), both(unread)), dead,
			[]string{"4 of 4 are cut off at 512 tokens; --set stage.rl.sampling.max_completion_tokens=2048", "rlzero train sft-chat --set 'model.path=", "easier rows", "another verifier"}},
		{"without an answer", data, evaluated(rollout.EOS, both(unread), [2]verify.Verdict{unread, wrong}), dead,
			[]string{"the most common verdict (3 of 4) is like this one: no number stands in it", "sft-chat", "easier rows", "0 of 4 are cut off"}},
		{"what differs is quoted", data, evaluated(rollout.EOS, [2]verify.Verdict{quoted("7+1"), quoted("7+2")}, [2]verify.Verdict{quoted(`"`), wrong}), dead,
			[]string{"sft-chat", "easier rows", `the most common verdict (3 of 4) is like this one: "7+1": not a number`, "0 of 4 are cut off"}},
	} {
		got := reading(c.result, c.recipe, &c.recipe.Stages[len(c.recipe.Stages)-1])
		if len(got) == 0 || !strings.HasPrefix(got[0], c.first) {
			t.Errorf("%s: %q, want %q at first", c.name, got, c.first)
			continue
		}
		if len(got) != 1 && len(got) != 2+len(c.order) || len(got) == 1 && c.order != nil {
			t.Errorf("%s: %q", c.name, got)
			continue
		}
		for i, want := range c.order {
			if !strings.Contains(got[2+i], fmt.Sprintf("  %d. ", i+1)) || !strings.Contains(got[2+i], want) {
				t.Errorf("%s: %d: %q, want %q in it", c.name, i+1, got[2+i], want)
			}
		}
	}
}

// TestImitateFirst: what a run advises trains what the run trains, from where the run began, at a rate for an adapter if it
// is one.
func TestImitateFirst(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(rows, []byte(`{"prompt":"2+2","answer":"4"}`), 0o644))
	imitation, err := recipe.Load("sft-chat", []string{"task.data=" + rows})
	must(t, err)
	for _, sets := range [][]string{
		{"model.lora.rank=0"},
		{"model.lora.rank=0", "model.dtype=bf16"},
		{},
		{"model.lora.alpha=7.5", "model.lora.rslora=true", `model.lora.modules=["q_proj", "v_proj"]`, "model.dtype=q4_0"},
	} {
		r, err := recipe.Load("lora-math", append([]string{"model.path=runs/before", "task.data=" + rows}, sets...))
		must(t, err)
		advice := imitateFirst(r)
		words, command, _ := strings.Cut(advice, "): ")
		flags := strings.Split(strings.ReplaceAll(command, "FILE", rows), " --set ")
		for i := range flags {
			flags[i] = strings.Trim(flags[i], `'`)
		}
		advised, err := recipe.Load("sft-chat", flags[1:])
		if err != nil || flags[0] != "rlzero train sft-chat" || words != "imitate right answers first, then train on from that run (--set model.path=RUN" {
			t.Errorf("%q: %q: %v", sets, advice, err)
			continue
		}
		rate := imitation.Stages[0].Optimizer.LR
		if r.Model.LoRA.Rank > 0 {
			rate *= 10
		}
		if got := advised.Stages[0].Optimizer.LR; !reflect.DeepEqual(advised.Model, r.Model) || got != rate {
			t.Errorf("%q: %q trains %+v at a rate of %v, want %+v at %v", sets, advice, advised.Model, got, r.Model, rate)
		}
	}
}

// TestReadAloud: it is said once, after the evaluation and before the method of the stage, and
// its flag is accepted.
func TestReadAloud(t *testing.T) {
	_, shown := trainIn(t, t.TempDir(), false, quiet...)
	said := strings.Index(shown, "! none of the 24 answers to 6 problems is right. ")
	if after, formulas := strings.Index(shown, "after warm-up: "), strings.Index(shown, "method: "); said < after || after < 0 || formulas < said || strings.Count(shown, "! none of the") != 1 {
		t.Errorf("the evaluation is not read before the first step:\n%s", shown)
	}
	_, flag, _ := strings.Cut(shown, "imitate longer before rewards: --set ")
	flag, _, _ = strings.Cut(flag, "\n")
	if r := shortRecipe(t, append(slices.Clone(quiet), flag)...); r.Stages[0].SFT.HoldSteps != 2*shortRecipe(t, quiet...).Stages[0].SFT.HoldSteps {
		t.Errorf("the flag %q does not double the imitation", flag)
	}
}
