package run

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
)

// plainGo is the device that receipts are tested on.
func plainGo(t *testing.T) gpu.Device {
	t.Helper()
	all := gputest.Devices(t)
	return all[slices.IndexFunc(all, func(d gpu.Device) bool { return d.Caps().Kind == gpu.Reference })]
}

// receiptRecipe is of a few steps.
func receiptRecipe(t *testing.T, overrides ...string) *recipe.Recipe {
	t.Helper()
	return shortRecipe(t, append([]string{
		"task.eval_problems=2", "task.eval_samples=2", "stage.warm-up.skip=true", "stage.rl.steps=2",
		"stage.rl.prompts_per_step=2", "stage.rl.group_size=4", "stage.rl.eval_every=0", "stage.rl.checkpoint_every=1", "stage.rl.reward=random",
	}, overrides...)...)
}

// receiptRun is a finished run of a few steps with its receipt.
func receiptRun(t *testing.T, overrides ...string) (dir string, made []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	o := Options{Opened: opened(t, receiptRecipe(t, overrides...)), Dir: dir, Device: plainGo(t), Show: io.Discard, Version: "v0"}
	if _, err := Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, receipt.File))
	if err != nil {
		t.Fatal(err)
	}
	return dir, text
}

// TestReceipt: a run's receipt fits it and its device; that of a second run is
// the same, byte for byte.
func TestReceipt(t *testing.T) {
	dir, text := receiptRun(t)
	r, err := receipt.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := r.Audit(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range audit {
		names = append(names, a.Name)
		if a.Err != nil || len(a.Hash) != 64 {
			t.Errorf("%s: hash %q, %v", a.Name, a.Hash, a.Err)
		}
	}
	want := "recipe.toml data metrics.jsonl completions.jsonl evaluations.jsonl heldout.jsonl tokens.jsonl alerts.jsonl updates.jsonl result.json step-000000 step-000001 step-000002 best/step-000002"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("audited %s, want %s", got, want)
	}
	if _, second := receiptRun(t); !bytes.Equal(text, second) {
		t.Errorf("receipts of two equal runs differ:\n%s\n%s", text, second)
	}
	caps := plainGo(t).Caps()
	if err := r.Repeatable(caps); err != nil || r.Program != "v0" {
		t.Errorf("on its own device: %v, program %q", err, r.Program)
	}
	for what, change := range map[string]func(*gpu.Caps){
		"device":           func(c *gpu.Caps) { c.Name = "another" },
		"driver":           func(c *gpu.Caps) { c.Driver = "another" },
		"tier":             func(c *gpu.Caps) { c.Tier = gpu.TierBase },
		"numerics version": func(c *gpu.Caps) { c.Numerics += "-mma16" },
	} {
		other := caps
		change(&other)
		if err := r.Repeatable(other); err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("another %s: %v", what, err)
		}
	}
}

// tamperings change a run after its end: a file, in which old becomes new, or
// what do does.
var tamperings = []struct {
	file, old, new string
	do             func(t *testing.T, dir string)
	want           []string // entries with an error: name, a part of it
}{
	{file: "metrics.jsonl", old: `"step":1`, new: `"step":3`, want: []string{"metrics.jsonl", "the receipt has"}},
	{file: "completions.jsonl", old: "}\n", new: "}\n{}\n", want: []string{"completions.jsonl", "the receipt has"}},
	{file: "recipe.toml", old: "group_size = 4", new: "group_size = 8", want: []string{"recipe.toml", "the receipt has"}},
	{file: "recipe.toml", old: "max_number = 22", new: "max_number = 21", want: []string{"recipe.toml", "the receipt has", "data", "the receipt has"}},
	{file: "checkpoints/step-000001/model.safetensors", old: "F32", new: "f32", want: []string{"step-000001", "model.safetensors is damaged"}},
	{file: "checkpoints/step-000002/trainer/state.json", old: `"total": 2`, new: `"total": 1`, want: []string{"step-000002", "trainer/state.json is damaged"}},
	{file: "checkpoints/step-000002/manifest.json", old: `"step": 2`, new: `"step": 1`, want: []string{"step-000002", "manifest.json is damaged"}},
	{
		do:   func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "evaluations.jsonl"))) },
		want: []string{"evaluations.jsonl", "no such file"},
	},
	{
		do: func(t *testing.T, dir string) {
			one, two := filepath.Join(dir, "checkpoints", "step-000001"), filepath.Join(dir, "checkpoints", "step-000002")
			must(t, os.RemoveAll(one))
			must(t, os.CopyFS(one, os.DirFS(two)))
		},
		want: []string{"step-000001", "belongs to step 2"},
	},
	{
		do: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "checkpoints", "step-000001")))
		},
		want: []string{"step-000001", "the folder does not exist"},
	},
	{
		do: func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "checkpoints", "step-000007"), 0o755))
		},
		want: []string{"step-000007", "does not list it"},
	},
}

// edit changes a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	changed := bytes.Replace(data, []byte(old), []byte(new), 1)
	if bytes.Equal(changed, data) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	must(t, os.WriteFile(path, changed, 0o644))
}

// TestTampered: whatever is changed after the run is named, and nothing else.
func TestTampered(t *testing.T) {
	original, _ := receiptRun(t)
	for _, c := range tamperings {
		dir := filepath.Join(t.TempDir(), "run")
		must(t, os.CopyFS(dir, os.DirFS(original)))
		if c.do != nil {
			c.do(t, dir)
		} else {
			edit(t, filepath.Join(dir, filepath.FromSlash(c.file)), c.old, c.new)
		}
		r, err := receipt.Read(dir)
		must(t, err)
		audit, err := r.Audit(dir, nil)
		must(t, err)
		want := c.want
		for _, a := range audit {
			switch {
			case len(want) > 0 && a.Name == want[0]:
				if a.Err == nil || !strings.Contains(a.Err.Error(), want[1]) {
					t.Errorf("%s: error %v, want %q in it", a.Name, a.Err, want[1])
				}
				want = want[2:]
			case a.Err != nil:
				t.Errorf("%v: unexpected: %s: %v", c.want, a.Name, a.Err)
			}
		}
		if len(want) > 0 {
			t.Errorf("no entry %s", want[0])
		}
	}
}

// TestReceiptInput: a folder without a receipt, or with one that cannot be read,
// is the user's to put right.
func TestReceiptInput(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "it is written when a run ends",
		"{":                             "unexpected EOF",
		`{"version":3,"recpie":"ab"}`:   "recpie",
		`{"version":1,"recipe":"0123"}`: "version 1, but this program reads version 3",
	} {
		dir := t.TempDir()
		if text != "" {
			must(t, os.WriteFile(filepath.Join(dir, receipt.File), []byte(text), 0o644))
		}
		_, err := receipt.Read(dir)
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
		if hints := strings.Join(hint.All(err), "\n"); text == "" && !strings.Contains(hints, "--resume --run") {
			t.Errorf("no receipt: hints %q, want the command that continues the run", hints)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, receipt.File), []byte(`{"version":3,"logs":[{"name":"../../etc/passwd","sha256":""}]}`), 0o644))
	r, err := receipt.Read(dir)
	must(t, err)
	if _, err := r.Audit(dir, nil); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "../../etc/passwd") {
		t.Errorf("a log outside the folder: %v", err)
	}
}

// problems are the entries of an audit that have an error or were left out.
func problems(t *testing.T, run string) (wrong, left []string) {
	t.Helper()
	r, err := receipt.Read(run)
	must(t, err)
	audit, err := r.Audit(run, nil)
	must(t, err)
	for _, a := range audit {
		if a.Err != nil {
			wrong = append(wrong, a.Name)
		}
		if a.LeftOut != "" {
			left = append(left, a.Name)
		}
		if a.Input != strings.HasPrefix(a.Name, "model") {
			t.Errorf("%s: input %v", a.Name, a.Input)
		}
	}
	return wrong, left
}

// TestReceiptModel: the receipt of a run that started from a model has the hashes
// of what the model was read from, as it was then; an audit says what of it has
// changed, and what is not there any more.
func TestReceiptModel(t *testing.T) {
	first, _ := receiptRun(t)
	start := filepath.Join(t.TempDir(), "start")
	must(t, os.CopyFS(start, os.DirFS(filepath.Join(first, "checkpoints", "step-000002"))))
	dir, _ := receiptRun(t, "model.path="+start)
	r, err := receipt.Read(dir)
	must(t, err)
	if r.Model == nil || r.Model.Folder != start {
		t.Fatalf("model %+v, want that of %s", r.Model, start)
	}
	for _, name := range []string{"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(start, name))
		must(t, err)
		want := hashed(data)
		if !slices.Contains(r.Model.Files, receipt.Hash{Name: name, SHA256: want}) {
			t.Errorf("%s, SHA-256 %s, is not among %v", name, want, r.Model.Files)
		}
	}
	if wrong, left := problems(t, dir); wrong != nil || left != nil {
		t.Errorf("wrong %q, left out %q, want none", wrong, left)
	}

	// Weights that change while the run lies still: it goes on from its checkpoint,
	// and its receipt has those that it began with.
	weights := filepath.Join(start, "model.safetensors")
	data, err := os.ReadFile(weights)
	must(t, err)
	data[len(data)-1] ^= 1
	must(t, os.WriteFile(weights, data, 0o644))
	must(t, os.RemoveAll(filepath.Join(dir, "checkpoints", "step-000002")))
	o := Options{Opened: opened(t, receiptRecipe(t, "model.path="+start)), Dir: dir, Resume: true, Device: plainGo(t), Show: io.Discard, Version: "v0"}
	if _, err := Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if again, err := receipt.Read(dir); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%v; the receipt became\n%+v, was\n%+v", err, again, r)
	}
	if wrong, _ := problems(t, dir); !slices.Equal(wrong, []string{"model model.safetensors"}) {
		t.Errorf("wrong %q, want the weights", wrong)
	}

	must(t, os.RemoveAll(start))
	wrong, left := problems(t, dir)
	if wrong != nil || !slices.Equal(left, []string{"model"}) {
		t.Errorf("wrong %q, left out %q, want the model left out", wrong, left)
	}
}

// TestOtherRecipe: a run does not go on with another recipe than it began with,
// but may cut its work otherwise: its files, receipt and recipe apart, are the same.
func TestOtherRecipe(t *testing.T) {
	dir, text := receiptRun(t)
	last := filepath.Join(dir, "checkpoints", "step-000002")
	state, err := os.ReadFile(filepath.Join(last, stateFile))
	must(t, err)
	resume := func() error {
		must(t, os.RemoveAll(last))
		r, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
		must(t, err)
		_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: true, Device: plainGo(t), Show: io.Discard, Version: "v0"})
		return err
	}
	edit(t, filepath.Join(dir, recipe.File), "group_size = 4", "group_size = 8")
	if err := resume(); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "recipe.toml has changed since the run began") {
		t.Errorf("another group size: %v", err)
	}
	edit(t, filepath.Join(dir, recipe.File), "group_size = 8", "group_size = 4")
	edit(t, filepath.Join(dir, recipe.File), "micro_batch_tokens = 8192", "micro_batch_tokens = 64")
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(last, stateFile)); err != nil || !bytes.Equal(again, state) {
		t.Errorf("%v; with other batches the state is\n%s, was\n%s", err, again, state)
	}
	edit(t, filepath.Join(dir, recipe.File), "micro_batch_tokens = 64", "micro_batch_tokens = 58")
	if err := resume(); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "recipe.toml has changed since the run began") {
		t.Errorf("batches that are smaller than a group: %v", err)
	}
	edit(t, filepath.Join(dir, recipe.File), "micro_batch_tokens = 58", "micro_batch_tokens = 8192")
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(dir, receipt.File)); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v; the receipt became\n%s, was\n%s", err, again, text)
	}
}

// TestOtherTokenizer: a run does not go on with another tokenizer or config than
// it began with.
func TestOtherTokenizer(t *testing.T) {
	first, _ := receiptRun(t)
	start := filepath.Join(t.TempDir(), "start")
	must(t, os.CopyFS(start, os.DirFS(filepath.Join(first, "checkpoints", "step-000002"))))
	dir, _ := receiptRun(t, "model.path="+start)
	must(t, os.RemoveAll(filepath.Join(dir, "checkpoints", "step-000002")))
	o := Options{Opened: opened(t, receiptRecipe(t, "model.path="+start)), Dir: dir, Resume: true, Device: plainGo(t), Show: io.Discard, Version: "v0"}
	edit(t, filepath.Join(start, "config.json"), "rope_theta", "rope_theta_of_no_one")
	if _, err := Train(t.Context(), o); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "config.json is not the one that the run began with") {
		t.Errorf("another config: %v", err)
	}
	edit(t, filepath.Join(start, "config.json"), "rope_theta_of_no_one", "rope_theta")
	if _, err := Train(t.Context(), o); err != nil {
		t.Errorf("the config put back: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
