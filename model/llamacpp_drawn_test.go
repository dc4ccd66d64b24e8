package model_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
)

// TestLlamaCppDrawn: models of random shapes, written as GGUF, have the log-probs of llama.cpp within what
// both round, and its tokens. A set is a folder of models with prompts.json, whose texts each
// model continues; types.json of a model names what it is written as. peers/differ draws more of
// them into $RLZERO_FIXTURES.
func TestLlamaCppDrawn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs llama.cpp")
	}
	sets, err := filepath.Glob(filepath.Join("testdata", "drawn", "*", "prompts.json"))
	if err != nil || len(sets) == 0 {
		t.Fatalf("no models: %v", err)
	}
	more, err := filepath.Glob(filepath.Join(os.Getenv(fixtures.Env), "drawn", "*", "prompts.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range append(sets, more...) {
		drawnSet(t, filepath.Dir(set))
	}
}

func drawnSet(t *testing.T, dir string) {
	const tokens = 8
	dev := gputest.Devices(t)[0]
	tokenizer, err := text.ParseTokenizer(fixtures.ByteTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	var prompts []string
	readJSON(t, filepath.Join(dir, "prompts.json"), &prompts)
	configs, err := filepath.Glob(filepath.Join(dir, "*", "config.json"))
	if err != nil || len(configs) == 0 {
		t.Fatalf("%s has no models: %v", dir, err)
	}
	var names, types, files []string
	for _, config := range configs {
		var wanted []string
		readJSON(t, filepath.Join(filepath.Dir(config), "types.json"), &wanted)
		for _, typ := range hf.GGUFTypes {
			if !slices.Contains(wanted, typ.Name) {
				continue
			}
			f := openFolder(t, filepath.Dir(config))
			f.Tokenizer = tokenizer
			file, notes := writeGGUF(t, f, typ)
			if notes != nil {
				t.Errorf("%s: notes %q", config, notes)
			}
			names, types, files = append(names, filepath.Base(dir)+"/"+filepath.Base(filepath.Dir(config))), append(types, typ.Name), append(files, file)
		}
	}
	for i, want := range llamacpp.Continue(t, files, tokens, prompts...) {
		t.Run(names[i]+"/"+types[i], func(t *testing.T) {
			m, err := model.Load(dev, files[i], model.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for j, prompt := range prompts {
				if ids, err := m.Tokenizer.Encode(prompt); err != nil || !slices.Equal(ids, want[j].IDs) {
					t.Errorf("%q has the tokens %v, %v; llama.cpp has %v", prompt, ids, err, want[j].IDs)
				}
			}
			u := rounding[types[i]]
			if types[i] == "f32" {
				u = math.Sqrt2 * summed(m.Config) // both programs round
				if m.Config.Family == "gemma3_text" {
					u = withGELU(m.Config, u)
				}
			}
			likelyContinuations(t, m, want, u)
		})
	}
}

// withGELU is u of a model with gelu. llama.cpp has it in a table from f16 to f16 on the CPU, so that one product in four of a
// block takes numbers that were rounded twice to f16 (ggml/src/ggml-cpu/vec.h, GGML_GELU_FP16). Errors of all products add
// up as squares.
func withGELU(c hf.Config, u float64) float64 {
	products := float64(4*c.Layers + 1)
	return math.Sqrt(u*u + 2*rounding["f16"]*rounding["f16"]*float64(c.Layers)/products)
}
