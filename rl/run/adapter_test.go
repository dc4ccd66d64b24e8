package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/store"
)

// TestGoesOnWithAdapter: a run whose model is an adapter that another run trained begins with that adapter, over the same model, and
// ends in the same bytes when it is interrupted; its reference is the policy that it began with. It is not continued once either has changed. Another adapter than
// [model.lora] describes is refused.
func TestGoesOnWithAdapter(t *testing.T) {
	base, first, dir := t.TempDir(), t.TempDir(), t.TempDir()
	trainIn(t, base, false, append(slices.Clone(quiet), "stage.rl.skip=true")...)
	over := func(path string, more ...string) []string {
		return append(append(slices.DeleteFunc(slices.Clone(quiet), func(set string) bool { return strings.HasPrefix(set, "model.") }), "model.path="+path, "model.lora.rank=2"), more...)
	}
	trainIn(t, first, false, over(base, "stage.rl.skip=true")...)
	found, err := store.FindModel(first, "")
	must(t, err)
	adapter := t.TempDir() // a PEFT folder, as others have it
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(found.Dir, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(adapter, name), data, 0o644))
	}
	sets := over(adapter, "stage.warm-up.skip=true", "stage.rl.algorithm.penalty=kl_k3", "stage.rl.algorithm.beta=0.1", "stage.rl.updates_per_rollout=1")

	c, err := cast.Open(shortRecipe(t, sets...), adapter, tester(t))
	must(t, err)
	learned, err := cast.OpenModel(tester(t), adapter, "", "", "")
	must(t, err)
	for i, want := range learned.AdapterTensors() {
		got := c.Policy.Model.AdapterTensors()[i]
		has, err := got.Data()
		must(t, err)
		wants, err := want.Data()
		must(t, err)
		if got.Name != want.Name || !slices.Equal(has, wants) {
			t.Errorf("%s is not what the adapter has", want.Name)
		}
	}
	learned.Close()
	c.Close()

	_, said := trainIn(t, t.TempDir(), false, over(first, "stage.warm-up.skip=true")...)
	if !strings.Contains(said, "starts from "+first) {
		t.Errorf("a run is named as the model, and nobody says which of its checkpoints it is:\n%s", said)
	}
	interruptAt(t, dir, false, "step 2: ", sets)
	changed := copyRun(t, dir)
	trainIn(t, dir, true, sets...)
	whole := t.TempDir()
	trainIn(t, whole, false, sets...)
	got := runFiles(t, dir)
	for name, want := range runFiles(t, whole) {
		if got[name] != want && name != "receipt.json" { // which lists one more checkpoint, that of the interrupt
			t.Errorf("an interrupted run has another %s", name)
		}
	}
	_, step, _ := strings.Cut(runFiles(t, whole)["metrics.jsonl"], `{"step":1,`)
	if step, _, _ = strings.Cut(step, "\n"); !strings.Contains(step, `"policy/kl_ref":0,`) {
		t.Errorf("the reference is not the policy that the run began with:\n%s", step)
	}
	end, err := store.FindModel(dir, store.TakeLast)
	must(t, err)
	if text, err := os.ReadFile(filepath.Join(end.Dir, "adapter_config.json")); err != nil || !strings.Contains(string(text), base) {
		t.Errorf("the adapter of the run does not name the first model: %v\n%s", err, text)
	}

	for _, wrong := range []struct{ more, says, hint string }{
		{"model.lora.rank=3", "model.lora.rank is 3, and the adapter", "--set model.lora.rank=2"},
		{"model.lora.alpha=7", "model.lora.alpha is 7, and the adapter", "--set model.lora.alpha=32"},
		{"model.lora.rslora=true", "model.lora.rslora is true, and the adapter", "--set model.lora.rslora=false"},
		{`model.lora.modules=["q_proj"]`, "model.lora.modules means", ""},
		{`model.lora.modules=["query"]`, "model.lora.modules: the model has no module query; it has down_proj", ""},
		{"model.lora.rank=0", "is an adapter, but the recipe trains a whole model", "go on with the adapter: --set model.lora.rank=2 --set model.lora.alpha=32; or"},
	} {
		_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, append(slices.Clone(sets), wrong.more)...)), Dir: t.TempDir(), Device: tester(t), Show: &trigger{}})
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), wrong.says) || !strings.Contains(strings.Join(hint.All(err), "; "), wrong.hint) {
			t.Errorf("%s: %v (hint: %s)", wrong.more, err, strings.Join(hint.All(err), "; "))
		}
	}

	narrow := t.TempDir()
	trainIn(t, narrow, false, over(base, "stage.rl.skip=true", `model.lora.modules=["q_proj"]`)...)
	_, err = Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, over(narrow, "stage.warm-up.skip=true")...)), Dir: t.TempDir(), Device: tester(t), Show: &trigger{}})
	if advice := `--set 'model.lora.modules=["q_proj"]'`; err == nil || !slices.Contains(hint.All(err), advice) {
		t.Errorf("other modules: %v, hints %q, want %q", err, hint.All(err), advice)
	}

	again := func(says, advice string) {
		t.Helper()
		_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: changed, Resume: true, Device: tester(t), Show: &trigger{}})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(strings.Join(hint.All(err), "; "), advice) {
			t.Errorf("%v, hints %q; want %s, and %s", err, hint.All(err), says, advice)
		}
	}
	model, err := store.FindModel(base, store.TakeLast)
	must(t, err)
	for file, says := range map[string]string{filepath.Join(adapter, "adapter_model.safetensors"): adapter + " has changed since", filepath.Join(model.Dir, "model.safetensors"): "whose model.safetensors has changed since"} {
		data, err := os.ReadFile(file)
		must(t, err)
		other := slices.Clone(data)
		other[len(other)-1] ^= 1
		must(t, os.WriteFile(file, other, 0o644))
		again(says, "restore the model")
		must(t, os.WriteFile(file, data, 0o644))
	}
	for path, says := range map[string]string{adapter: "model " + adapter + ": no such file", model.Dir: "base_model_name_or_path: found \"" + model.Dir + "\", where there is no model"} {
		must(t, os.Rename(path, path+" moved"))
		again(says, "put ") // it back there
		must(t, os.Rename(path+" moved", path))
	}
	must(t, os.Remove(filepath.Join(model.Dir, "tokenizer.json")))
	if _, err := cast.Open(shortRecipe(t, sets...), adapter, tester(t)); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "has no tokenizer.json") {
		t.Errorf("the model below the adapter has no tokenizer: %v", err)
	}
}
