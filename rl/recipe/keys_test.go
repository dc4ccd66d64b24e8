package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/settings"
)

// everyKind is a recipe with a stage of each kind.
const everyKind = `[model]
path = "start"
[task]
name = "countdown"
[[stage]]
kind = "sft"
[[stage]]
kind = "rl"
[[stage.verifier]]
name = "form"
verifier = "format"
[[stage]]
kind = "eval"
`

// TestKeys: the reference and the decoder agree. Each key has a meaning, its
// default is accepted at its place, and a resolved recipe has no other keys.
func TestKeys(t *testing.T) {
	listed := map[string]bool{}
	for _, k := range Keys() {
		if listed[k.Table+"."+k.Key] {
			t.Errorf("%s.%s is listed twice", k.Table, k.Key)
		}
		listed[k.Table+"."+k.Key] = true
		if k.About == "" || strings.HasSuffix(k.About, ".") {
			t.Errorf("%s.%s is explained as %q; want a phrase without a full stop", k.Table, k.Key, k.About)
		}
		for kind, value := range k.Defaults {
			place := strings.TrimPrefix(k.Table+"."+k.Key, ".")
			if rest, inStage := strings.CutPrefix(place, "stage."); inStage {
				place = "stage." + kind + "." + rest
			}
			set := []string{place + "=" + value}
			if k.Table == "model" && !slices.Contains(besidePath, k.Key) { // a model to make
				set = append([]string{`model={family = "qwen3", layers = 1, width = 8, heads = 1, mlp = 8}`}, set...)
			}
			if _, err := Parse("r.toml", everyKind, set); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
	printed := map[string]bool{}
	var walk func(table string, values map[string]any)
	walk = func(table string, values map[string]any) {
		for key, value := range values {
			printed[table+"."+key] = true
			inner := strings.TrimPrefix(table+"."+key, ".")
			if t, ok := value.(map[string]any); ok && inner != "task.settings" && key != "options" {
				walk(inner, t)
			}
			for _, t := range settings.Tables(value) {
				walk(inner, t)
			}
		}
	}
	script := []string{`stage.rl.verifier=[{name = "a", source = "x"}, {name = "b", verifier = "format"}]`}
	fresh := append(script, `model={family = "qwen3", layers = 1, width = 8, heads = 1, mlp = 8}`)
	file := []string{`task={data = "x", verifier = "math", max_prompt_tokens = 9}`, "stage.rl.sampling.max_completion_tokens=9"}
	several := []string{`task={source = [{data = "x"}, {data = "y", share = 2}], verifier = "math", max_prompt_tokens = 9}`, file[1]}
	noSFT := strings.Replace(everyKind, "[[stage]]\nkind = \"sft\"\n", "", 1)
	for _, c := range []struct {
		text string
		sets []string
	}{{everyKind, fresh}, {noSFT, file}, {noSFT, several}} {
		r, err := Parse("r.toml", c.text, c.sets)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := settings.Parse("resolved.toml", r.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		walk("", doc.Tree())
	}
	for key := range printed {
		if !listed[key] {
			t.Errorf("%s is in a resolved recipe and not in the reference", key)
		}
	}
	for key := range listed {
		if !printed[key] {
			t.Errorf("%s is in the reference and in no resolved recipe", key)
		}
	}
}

// TestRenamedKey: a former name is refused with the new one.
func TestRenamedKey(t *testing.T) {
	_, err := Parse("r.toml", strings.Replace(everyKind, `kind = "sft"`, "kind = \"sft\"\nfinal_lr_frac = 0.1", 1), nil)
	if err == nil || !strings.Contains(err.Error(), "r.toml:7:1: stage.sft.final_lr_frac is now called stage.sft.final_lr_share; rename the key") {
		t.Errorf("%v", err)
	}
}

// TestIdleKeys: what a run could not act on is refused, although the algorithm
// knows it.
func TestIdleKeys(t *testing.T) {
	for set, want := range map[string]string{
		"preset=bnpo":                `--set stage.rl.algorithm.preset=bnpo: stage.rl.algorithm.preset = "bnpo" would do nothing: an update of a run is normalised as a whole`,
		"normalize=micro_token_mean": `stage.rl.algorithm.normalize = "micro_token_mean" would do nothing: an update of a run is normalised as a whole, however it is cut into micro-batches; write normalize = "token_mean"`,
		"mismatch=token_mask":        `stage.rl.algorithm.mismatch = "token_mask" would do nothing: the sampler of a run computes the same log-probs as the trainer, to the last bit; leave the key out`,
		"mismatch_cap=2":             "stage.rl.algorithm.mismatch_cap = 2.0 would do nothing: ",
		"mismatch_min=0.5":           "stage.rl.algorithm.mismatch_min = 0.5 would do nothing: ",
	} {
		if _, err := Parse("r.toml", everyKind, []string{"stage.rl.algorithm." + set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", set, err, want)
		}
	}
	for _, set := range []string{"preset=dapo", "normalize=token_mean", "mismatch=off", "mismatch_cap=inf"} {
		if _, err := Parse("r.toml", everyKind, []string{"stage.rl.algorithm." + set}); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}
