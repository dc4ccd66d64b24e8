package model

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/llamacpp"
	"github.com/rlzero/rlzero/model/text"
)

// TestLlamaCpp: llama.cpp loads the GGUF files of every family that it can express, reads
// prompts as the same tokens, and continues them greedily with the same ones.
func TestLlamaCpp(t *testing.T) {
	models := fixtures.Dir(t, "models")
	for _, name := range []string{"llama_smollm2_tied", "llama3_rope_untied", "llama3_rope_headdim_bf16", "qwen2_tied_bf16", "qwen3_tied_f32", "smollm3_f32"} {
		t.Run(name, func(t *testing.T) {
			f := openFolder(t, filepath.Join(models, name))
			var err error
			if f.Tokenizer, err = text.ParseTokenizer(byteTokenizer(t)); err != nil {
				t.Fatal(err)
			}
			file, notes := writeGGUF(t, f, GGUFTypes[0])
			if notes != nil {
				t.Errorf("notes %q", notes)
			}
			sameContinuations(t, file)
		})
	}
}

// sameContinuations compares greedy continuations of a file with llama.cpp's.
func sameContinuations(t *testing.T, file string) {
	t.Helper()
	const tokens = 16
	prompts := []string{"the cat and", "Hello, 123 world!", "naïve 漢字"}
	want := llamacpp.Continue(t, file, tokens, prompts...)
	m, err := Load(gputest.Devices(t)[0], file, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	e, err := m.NewEngine(EngineOptions{Sequences: 1, Context: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i, prompt := range prompts {
		ids, err := m.Tokenizer.Encode(prompt)
		if err != nil || !slices.Equal(ids, want[i].IDs) {
			t.Errorf("%q has the tokens %v, %v; llama.cpp has %v", prompt, ids, err, want[i].IDs)
		}
		out, err := e.Generate(t.Context(), Request{Prompt: ids, MaxTokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		got := out[0].IDs
		if out[0].Stop == "eos" { // llama.cpp leaves the end token out
			got = got[:len(got)-1]
		}
		if !slices.Equal(got, want[i].Out) {
			t.Errorf("%q continues with %v, llama.cpp with %v", prompt, got, want[i].Out)
		}
	}
}

// byteTokenizer is a tokenizer.json of single bytes, with Llama 3's pattern. The ids of
// bytes begin at 3, so that the first ids are control tokens.
func byteTokenizer(t *testing.T) []byte {
	t.Helper()
	vocab := map[string]int{}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' && r <= 'ÿ') {
			r = next
			next++
		}
		vocab[string(r)] = int(b) + 3
	}
	type object = map[string]any
	var added []object
	for id, content := range []string{"<pad>", "<|bos|>", "<|eos|>"} {
		added = append(added, object{"id": id, "content": content, "special": true})
	}
	const pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	data, err := json.Marshal(object{
		"added_tokens": added,
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated"},
			{"type": "ByteLevel", "use_regex": false},
		}},
		"decoder": object{"type": "ByteLevel"},
		"model":   object{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
