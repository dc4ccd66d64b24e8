package model_test

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/model/text"
)

// published are fixtures of published models' settings whose vocabulary holds all bytes.
var published = []string{"llama_smollm2_tied", "llama3_rope_untied", "llama3_rope_headdim_bf16", "qwen2_tied_bf16", "qwen3_tied_f32", "smollm3_f32"}

// expressible are random models of every family as llama.cpp can have them: mistral has no
// window there, gemma3 has its own pattern and rotations. Their widths are whole blocks.
func expressible() []hf.Config {
	base := hf.Config{Vocab: 264, Width: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, MLP: 96,
		MaxPositions: 512, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, EOS: []int{2}, InitStd: 0.1}
	var all []hf.Config
	for _, family := range hf.Families() {
		c := base
		c.Family = family
		switch family {
		case "mistral":
			c.TieEmbeddings = false
		case "qwen3":
			c.QKNorm = true
		case "gemma3_text": // the sixth layer sees everything
			c.Layers, c.QKNorm, c.QueryScalar, c.Window, c.LocalTheta, c.RopeTheta = 6, true, float64(base.HeadDim), 8, 1e4, 1e6
		case "smollm3": // the fourth layer does not rotate
			c.Layers = 4
		}
		if err := c.Complete(); err != nil {
			panic(err)
		}
		all = append(all, c)
	}
	return all
}

// rounding is the largest relative error of a number that llama.cpp rounds in front of a
// product with a matrix of each type: half of the last place, or of a level of a block of 8
// bits, of its largest number (ggml-cpu.c: type_traits_cpu, vec_dot_type).
var rounding = map[string]float64{"f32": 0x1p-24, "f16": 0x1p-11, "bf16": 0x1p-8, "q8_0": 1. / 254, "q4_0": 1. / 254}

// TestLlamaCpp: llama.cpp loads the GGUF files of every family in every type and reads
// prompts as the same tokens. In f32 it continues them greedily with the same ones, where it
// can express the model. In other types it rounds what goes into a product too: a token it
// continues with is then as likely as the most likely one but for these roundings.
func TestLlamaCpp(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs llama.cpp")
	}
	const tokens = 16
	models, dev := fixtures.Dir(t, "models"), gputest.Devices(t)[0]
	tokenizer, err := text.ParseTokenizer(fixtures.ByteTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	var names, files []string
	write := func(name string, f *hf.Folder, typ hf.GGUFType) {
		t.Helper()
		f.Tokenizer = tokenizer
		file, notes := writeGGUF(t, f, typ)
		if notes != nil {
			t.Errorf("%s: notes %q", name, notes)
		}
		names, files = append(names, name+"/"+typ.Name), append(files, file)
	}
	for _, name := range published {
		write(name, openFolder(t, filepath.Join(models, name)), hf.GGUFTypes[0])
	}
	for _, c := range expressible() {
		f := folderOf(t, modeltest.Quirk{Config: c}.Open(t, dev))
		for _, typ := range hf.GGUFTypes {
			write("random "+c.Family, f, typ)
		}
	}
	prompts := []string{"the cat and", "Hello, 123 world!", "naïve 漢字"}
	for i, want := range llamacpp.Continue(t, files, tokens, prompts...) {
		t.Run(names[i], func(t *testing.T) {
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
			if typ := filepath.Base(names[i]); typ == "f32" {
				sameContinuations(t, m, want, tokens)
			} else {
				likelyContinuations(t, m, want, rounding[typ])
			}
		})
	}
}

// folderOf is a model as it is read from files.
func folderOf(t *testing.T, m *model.Model) *hf.Folder {
	t.Helper()
	var out bytes.Buffer
	if err := hf.WriteSafetensors(&out, m.Tensors()); err != nil {
		t.Fatal(err)
	}
	ts, err := hf.ReadTensors("test", bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return &hf.Folder{Config: m.Config, Tensors: ts}
}

// sameContinuations compares greedy continuations with llama.cpp's.
func sameContinuations(t *testing.T, m *model.Model, want []llamacpp.Continuation, tokens int) {
	t.Helper()
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: 64})
	for _, w := range want {
		out := modeltest.Generate(t, e, []sample.Request{{Prompt: w.IDs, MaxTokens: tokens}})[0]
		got := out[0].IDs
		if out[0].Stop == "eos" { // llama.cpp leaves the end token out
			got = got[:len(got)-1]
		}
		if !slices.Equal(got, w.Out) {
			t.Errorf("%v continues with %v, llama.cpp with %v", w.IDs, got, w.Out)
		}
	}
}

// likelyContinuations asks that the tokens of llama.cpp have the log-probs that it gives them, and
// are as likely as the most likely ones, up to errors of rounding, of at most u in what goes into
// each product.
//
// A token goes through n products one after the other, four of each block and the head. Errors
// of independent roundings, evenly spread within u, have the deviation u/√3 and add up as
// squares, and RMSNorm keeps the relative error of the whole: so the deviation of a logit is
// √n·u/√3 of that of the logits among each other, d, and the difference of two has √2 of it.
func likelyContinuations(t *testing.T, m *model.Model, want []llamacpp.Continuation, u float64) {
	t.Helper()
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: 64})
	scorer, err := m.NewScorer(64)
	if err != nil {
		t.Fatal(err)
	}
	defer scorer.Close()
	share, used := logitShare(m.Config, u), 0.0
	for _, w := range want {
		if len(w.Out) == 0 {
			t.Errorf("llama.cpp does not continue %v", w.IDs)
		}
		ids := slices.Concat(w.IDs, w.Out)
		var told []sample.Token
		modeltest.Generate(t, e, []sample.Request{{Prompt: ids, ScorePrompt: true, Top: 1, Each: func(_ int, k sample.Token) { told = append(told, k) }}})
		stats, err := scorer.Score([]seq.Sequence{seq.Predict(ids, len(w.IDs), 1)})
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range told[len(w.IDs)-1:] {
			best := k.Top[0]
			allowed := share * float64(best.Logprob-stats[0].MeanLogprob[i])
			off := math.Abs(float64(k.Logprob) - w.Logprobs[i])
			used = max(used, off/allowed)
			if off > allowed {
				t.Errorf("%v: token %d has the log-prob %v, llama.cpp's is %v; rounding explains %v", w.IDs, i, k.Logprob, w.Logprobs[i], allowed)
			}
			if less := float64(best.Logprob - k.Logprob); less > allowed {
				t.Errorf("%v: token %d is %d, %v nats less likely than %d; rounding explains %v", w.IDs, i, k.ID, less, best.ID, allowed)
			}
		}
	}
	t.Logf("log-probs differ from llama.cpp's by at most %.0f %% of what rounding explains", 100*used)
}

// logitShare is the part of the height of the most likely token above the mean that rounding may
// move the difference of two logits by. The largest of so many normal numbers as there are tokens
// lies z·d above the mean (2.8·d of 260), which is how d is known here. Ten deviations are
// allowed: some four come up among all these tokens, and attention adds to the errors where it
// is sharp.
func logitShare(c hf.Config, u float64) float64 {
	n := float64(c.Vocab)
	z := math.Sqrt2 * math.Erfinv(2*(n-0.375)/(n+0.25)-1) // Blom, Statistical Estimates and Transformed Beta-Variables, 1958
	return 10 * math.Sqrt(2*float64(4*c.Layers+1)/3) * u / z
}
