package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
)

// TestMerge: a model with its adapter merged, written as GGUF and read again, continues
// prompts as PEFT's model with the adapter beside it does.
func TestMerge(t *testing.T) {
	adapters, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "models"), "*", "adapters", "*"))
	if err != nil || len(adapters) == 0 {
		t.Fatalf("no adapters, %v", err)
	}
	for _, dir := range adapters {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			base := filepath.Dir(filepath.Dir(dir))
			plain, f := openFolder(t, base), openFolder(t, base)
			if err := f.Merge(dir); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				expected
				Modules map[string]any `json:"modules"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			changed := 0
			for _, name := range f.Tensors.Names() {
				a, err := f.Tensors.Read(name)
				if err != nil {
					t.Fatal(err)
				}
				b, err := plain.Tensors.Read(name)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a, b) {
					changed++
				}
			}
			if changed != len(want.Modules) {
				t.Errorf("%d tensors have changed, the adapter has %d modules", changed, len(want.Modules))
			}
			file, _ := writeGGUF(t, f, GGUFTypes[0])
			m, err := Load(gputest.Devices(t)[0], file, LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			checkGreedy(t, m, &want.expected)
		})
	}
}

// TestAdapterOverGGUF: the base of an adapter may be a GGUF file.
func TestAdapterOverGGUF(t *testing.T) {
	model := filepath.Join(fixtures.Dir(t, "models"), "qwen2_tied_bf16")
	file, _ := writeGGUF(t, openFolder(t, model), GGUFTypes[0])
	dir := adapterOver(t, model, file)
	f := openFolder(t, dir)
	if f.Adapter != dir || f.Dir != file {
		t.Errorf("adapter %q over %q", f.Adapter, f.Dir)
	}
	if err := f.Merge(""); err != nil {
		t.Error(err)
	}
}

// TestAdapterNamesModel: an adapter that is written for others names its model by an id of
// the hub, and never by a path.
func TestAdapterNamesModel(t *testing.T) {
	model, err := filepath.Abs(filepath.Join(fixtures.Dir(t, "models"), "qwen2_tied_bf16"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("models/mine", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base, origin string // of the adapter's config, and of the model's
		want         any
		notes        int
	}{
		{"Qwen/Qwen2.5-0.5B", "", "Qwen/Qwen2.5-0.5B", 0},
		{"Qwen/Qwen2.5-0.5B", "another/one", "Qwen/Qwen2.5-0.5B", 0},
		{"/models/qwen", "", nil, 1},
		{"models/mine", "", nil, 1},
		{"../runs/first", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B", 1},
		{"", "models/mine", nil, 1},
	} {
		f := openFolder(t, model)
		if c.origin != "" {
			f.Config.Raw["_name_or_path"] = json.RawMessage(strconv.Quote(c.origin))
		}
		small, _, notes, err := f.AdapterFiles(adapterOver(t, model, c.base), gguf.F32)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(small[adapterConfigFile], &keys); err != nil {
			t.Fatal(err)
		}
		if got := keys["base_model_name_or_path"]; got != c.want || len(notes) != c.notes {
			t.Errorf("%+v: named %v, notes %q", c, got, notes)
		}
	}
}

// adapterOver is a folder with the adapter of a fixture, which names a base.
func adapterOver(t *testing.T, model, base string) string {
	t.Helper()
	dir, from := t.TempDir(), filepath.Join(model, "adapters", "qv_rslora_r8")
	for _, name := range []string{adapterConfigFile, adapterFile} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == adapterConfigFile {
			var keys map[string]any
			if err := json.Unmarshal(data, &keys); err != nil {
				t.Fatal(err)
			}
			keys["base_model_name_or_path"] = base
			if data, err = json.Marshal(keys); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
