package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
)

// newTiny is the folder of a tiny model of a seed.
func newTiny(t *testing.T, seed int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprint("model", seed))
	if code, _, stderr := rlzero(t, "model", "new", dir, "--seed", fmt.Sprint(seed)); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

// tensorsOf are all numbers of a folder, with its adapter merged or as its base has them.
func tensorsOf(t *testing.T, dir string, merged bool) map[string][]float32 {
	t.Helper()
	f, err := hf.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Tensors.Close()
	if merged {
		if err := f.Merge(""); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string][]float32{}
	for _, spec := range hf.Tensors(f.Config) {
		if all[spec.Name], err = f.Tensors.Read(spec.Name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestWeights: the mean of two models has the mean of their numbers, says what was written, and can be
// sampled.
func TestWeights(t *testing.T) {
	one, two, out := newTiny(t, 1), newTiny(t, 2), filepath.Join(t.TempDir(), "new", "mean")
	code, stdout, stderr := rlzero(t, "weights", "(a + b)/2", "a="+one, "b="+two, "--out", out, "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	var line weightsLine
	if err := json.Unmarshal([]byte(stdout), &line); err != nil || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	a, b, got := tensorsOf(t, one, false), tensorsOf(t, two, false), tensorsOf(t, out, false)
	n, differ := 0, false
	for name, values := range got {
		for i, v := range values {
			if want := float32((float64(a[name][i]) + float64(b[name][i])) / 2); v != want {
				t.Fatalf("%s[%d] is %v, want %v", name, i, v, want)
			}
			differ = differ || a[name][i] != b[name][i]
			n++
		}
	}
	if !differ {
		t.Fatal("the two models are one")
	}
	if line.Out != out || line.Formula != "(a + b)/2" || !slices.Equal(line.Models, []string{"a", "b"}) || line.Tensors != len(got) || line.Parameters != n || line.Type != "f32" || line.Bytes <= int64(4*n) {
		t.Errorf("printed %s; want %d tensors with %d numbers", stdout, len(got), n)
	}
	if code, _, stderr := rlzero(t, "sample", out, "--greedy", "--prompt", "a", "--max-tokens", "2", "--device", "ref"); code != 0 {
		t.Error(stderr)
	}

	packed, again := filepath.Join(t.TempDir(), "packed"), filepath.Join(t.TempDir(), "again")
	if code, _, stderr := rlzero(t, "export", two, "--format", "gguf", "--type", "f32", "--out", packed); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, stderr := rlzero(t, "weights", "(a + b)/2", "a="+one, "b="+filepath.Join(packed, "model-f32.gguf"), "--out", again); code != 0 {
		t.Fatal(stderr)
	}
	want, err := os.ReadFile(filepath.Join(out, hf.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if same, err := os.ReadFile(filepath.Join(again, hf.WeightsFile)); err != nil || !bytes.Equal(same, want) {
		t.Errorf("with b as a .gguf file the weights are others, or cannot be read: %v", err)
	}

	half := filepath.Join(t.TempDir(), "half")
	code, stdout, stderr = rlzero(t, "weights", "a", "a="+one, "--type", "bf16", "--out", half)
	if want := fmt.Sprintf("%d tensors, %d parameters, bf16\n", len(got), n); code != 0 || stdout != half+"\n" || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit code %d, %s%s, want %s", code, stdout, stderr, want)
	}
	info, err := os.Stat(filepath.Join(half, hf.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if header := info.Size() - int64(2*n); header <= 0 || header >= int64(n) {
		t.Errorf("%d bytes for %d numbers of 16 bits", info.Size(), n)
	}
}

// withAdapter makes of a model a run's checkpoint in PEFT form: a folder with an adapter for it whose
// numbers are not zero.
func withAdapter(t *testing.T, model string) string {
	t.Helper()
	f, err := hf.ReadFolder(model)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Tensors.Close()
	c := f.Config
	const module, rank = "model.layers.0.mlp.down_proj", 2
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(part string, rows, cols int) hf.NamedTensor {
		return hf.NamedTensor{Name: hf.AdapterTensor(module, part), Shape: []int{rows, cols}, Type: gguf.F32, Data: func() ([]float32, error) {
			x := make([]float32, rows*cols)
			for i := range x {
				x[i] = float32(i%7-3) / 8
			}
			return x, nil
		}}
	}
	var tensors strings.Builder
	if err := hf.WriteSafetensors(&tensors, []hf.NamedTensor{numbers("A", rank, c.MLP), numbers("B", c.Width, rank)}); err != nil {
		t.Fatal(err)
	}
	write("adapter_model.safetensors", tensors.String())
	write("adapter_config.json", fmt.Sprintf(`{"peft_type": "LORA", "base_model_name_or_path": %q, "r": %d, "lora_alpha": 4, "target_modules": ["model.layers.0.mlp.down_proj"]}`, model, rank))
	return dir
}

// TestWeightsAdapter: an adapter is merged before the formula reads its model.
func TestWeightsAdapter(t *testing.T) {
	base := newTiny(t, 1)
	adapter, out := withAdapter(t, base), filepath.Join(t.TempDir(), "out")
	if code, _, stderr := rlzero(t, "weights", "base + 0.5*(tuned - base)", "base="+base, "tuned="+adapter, "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	plain, merged, got := tensorsOf(t, base, false), tensorsOf(t, adapter, true), tensorsOf(t, out, false)
	changed := 0
	for name, values := range got {
		for i, v := range values {
			x, y := float64(plain[name][i]), float64(merged[name][i])
			if want := float32(x + 0.5*(y-x)); v != want {
				t.Fatalf("%s[%d] is %v, want %v", name, i, v, want)
			}
			if x != y {
				changed++
			}
		}
	}
	if changed == 0 {
		t.Error("the adapter changes nothing")
	}
}

// TestWeightsOnly: the tensors that --only names are computed, and the others are those of the first model.
func TestWeightsOnly(t *testing.T) {
	one, two, out := newTiny(t, 1), newTiny(t, 2), filepath.Join(t.TempDir(), "out")
	if code, _, stderr := rlzero(t, "weights", "0.5*a + 0.5*b", "a="+one, "b="+two, "--only", `layers\.1\.mlp`, "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	a, b := tensorsOf(t, one, false), tensorsOf(t, two, false)
	computed := 0
	for name, values := range tensorsOf(t, out, false) {
		named := strings.Contains(name, "layers.1.mlp")
		for i, v := range values {
			want := a[name][i]
			if named {
				want = float32(0.5*float64(a[name][i]) + 0.5*float64(b[name][i]))
				computed++
			}
			if v != want {
				t.Fatalf("%s[%d] is %v, want %v", name, i, v, want)
			}
		}
	}
	if computed == 0 {
		t.Error("nothing was computed")
	}
}

// TestWeightsRefused: what cannot be computed is named, with a hint, and nothing is written.
func TestWeightsRefused(t *testing.T) {
	m, there := newTiny(t, 1), t.TempDir()
	chat := fixtures.ChatModel(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, r := range []struct {
		args        []string
		error, hint string
	}{
		{[]string{"a + c", "a=" + m}, "unknown name c", "the formula can read a; NAME=MODEL after it names another model"},
		{[]string{"a", "a=" + m, "b=" + m}, "the formula does not read the model b", "leave out b=MODEL"},
		{[]string{"a", "a=" + m, "a=" + chat}, "a is given twice, the second time as a=" + chat, "did you mean a2=" + chat + "?"},
		{[]string{"a", m}, "names no model; accepted: NAME=MODEL", "did you mean a=" + m + "?"},
		{[]string{"a", "=" + m}, "names no model; accepted: NAME=MODEL", "did you mean a=" + m + "?"},
		{[]string{"a", "a="}, "names no model; accepted: NAME=MODEL", "did you mean a=runs/first?"},
		{[]string{"a"}, "takes a formula and its models", "rlzero weights '(a + b)/2' a=MODEL b=MODEL --out mean"},
		{[]string{"a", "a=" + m, "--type", "q8_0"}, `--type is "q8_0"; accepted: f32, f16, bf16 for a Hugging Face folder`, ""},
		{[]string{"a + b", "a=" + m, "b=" + chat}, "config.json: ", ""},
		{[]string{"a", "a=" + m, "--only", "(mlp"}, `--only is "(mlp": error parsing regexp`, ""},
		{[]string{"a", "a=" + m, "--only", "vision"}, "--only vision matches none of the ", ""},
		{[]string{"a", "a=" + m, "--out", there}, "--out " + there + " already exists", "did you mean " + there + "-2?"},
	} {
		args := append([]string{"weights"}, r.args...)
		if !slices.Contains(args, "--out") {
			args = append(args, "--out", out)
		}
		code, stdout, stderr := rlzero(t, args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, r.error) || !strings.Contains(stderr, "rlzero: hint: "+r.hint) && r.hint != "" {
			t.Errorf("%q: exit code %d, %s%s\nwant %q, hint %q", r.args, code, stdout, stderr, r.error, r.hint)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused formula wrote a folder")
	}
	if code, _, stderr := rlzero(t, "weights", "a", "a="+m); code != exitUsage || !strings.Contains(stderr, "needs --out DIR") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
