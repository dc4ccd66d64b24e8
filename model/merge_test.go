package model_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
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
				if !slices.Contains(plain.Tensors.Names(), name) { // a head that was the embedding
					changed++
					continue
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
			file, _ := writeGGUF(t, f, hf.GGUFTypes[0])
			m, err := model.Load(gputest.Devices(t)[0], file, model.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			checkGreedy(t, m, &want.expected)
		})
	}
}
