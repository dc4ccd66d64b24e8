package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
)

// TestGGUF: tokenizers of published models read back from GGUF metadata give the same
// ids and texts, from their tokens and merges alone where llama.cpp has them so.
func TestGGUF(t *testing.T) {
	for name, pre := range map[string]string{"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen3": "qwen2"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "llama3" {
				t.Skip("-short: a table like qwen3's")
			}
			data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "tokenizers"), name, "tokenizer.json"))
			if err != nil {
				t.Fatal(err)
			}
			tok, err := ParseTokenizer(data)
			if err != nil {
				t.Fatal(err)
			}
			m, err := tok.GGUF(tok.Vocab() + 3)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := m.Text(ggufPre); err != nil || found != pre {
				t.Errorf("pre %q, %v; want %q", found, err, pre)
			}
			types, err := m.Ints(ggufTypes)
			if err != nil || len(types) != tok.Vocab()+3 || types[tok.Vocab()] != tokenUnused {
				t.Fatalf("%d types, %v", len(types), err)
			}
			back, err := ReadGGUF(slices.DeleteFunc(m, func(p gguf.Pair) bool { return p.Key == ggufJSON }))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"Hello, world!\n\n  x = 12345;", "naïve café — 漢字🙂\t…", "it's don't <|endoftext|><|im_end|><|eot_id|><bos>", " a\r\n b", "e\u0301"} {
				want, err := tok.Encode(text)
				if err != nil {
					t.Fatal(err)
				}
				got, err := back.Encode(text)
				if err != nil || !slices.Equal(got, want) || back.Decode(got) != tok.Decode(want) {
					t.Errorf("%q: %v, %v; want %v", text, got, err, want)
				}
			}
		})
	}
}

// TestGGUFScores: a tokenizer with byte fallback becomes one with scores, of which the
// pair that is merged first has the highest.
func TestGGUFScores(t *testing.T) {
	tok, err := ParseTokenizer([]byte(`{"added_tokens":[{"id":0,"content":"<bos>","special":true}],
		"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
		"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<bos>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]},
		"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},
		"model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,"vocab":{"<bos>":0,"<0x41>":1,"a":2,"b":3,"ab":4,"▁":5,"▁ab":6},"merges":["a b","▁ ab"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := tok.GGUF(8)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Get(ggufModel), m.Get(ggufTokens), m.Get(ggufTypes), m.Get(ggufScores), m.Get(ggufAddBOS)); got !=
		"llama[<bos> <0x41> a b ab ▁ ▁ab [PAD7]] [3 6 1 1 1 1 1 5] [0 0 0 0 -1 0 -2 0] true" {
		t.Error(got)
	}
	for _, skipped := range []string{"", ggufJSON} { // as it is, and from the scores
		back, err := ReadGGUF(slices.DeleteFunc(slices.Clone(m), func(p gguf.Pair) bool { return p.Key == skipped }))
		if err != nil || back.Vocab() != tok.Vocab() {
			t.Fatalf("%v", err)
		}
		for _, text := range []string{"ab ab", "<bos>Aba", "A  b"} {
			want, err := tok.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := back.Encode(text); err != nil || !slices.Equal(got, want) || back.Decode(got) != tok.Decode(want) {
				t.Errorf("%q: %v, %v; want %v", text, got, err, want)
			}
		}
	}
	prefixed := append(slices.DeleteFunc(slices.Clone(m), func(p gguf.Pair) bool {
		return p.Key == ggufJSON || p.Key == "tokenizer.ggml.add_space_prefix"
	}), gguf.Pair{Key: "tokenizer.ggml.add_space_prefix", Value: true})
	back, err := ReadGGUF(prefixed)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := back.Encode("ab"); err != nil || !slices.Equal(ids, []int{6}) || back.Decode(ids) != "ab" {
		t.Errorf("with a space in front: %v, %v", ids, err)
	}
}

// TestGGUFNumbers: libraries count added tokens on from the vocabulary, so those that stand before or within it, or
// after a hole, are part of it.
func TestGGUFNumbers(t *testing.T) {
	for _, c := range []struct {
		kind   string
		tokens []string
		types  []int32
		want   string
	}{
		{ggufBytes, []string{"<s>", "</s>", "a", "b"}, []int32{3, 3, 1, 1}, "map[</s>:1 <s>:0 a:2 b:3]"},
		{ggufBytes, []string{"a", "<s>", "b"}, []int32{1, 3, 1}, "map[<s>:1 a:0 b:2]"},
		{ggufBytes, []string{"a", "b", "<s>", "</s>"}, []int32{1, 1, 3, 4}, "map[a:0 b:1]"},
		{ggufBytes, []string{"a", "b", "unused", "<s>"}, []int32{1, 1, 5, 3}, "map[<s>:3 a:0 b:1]"},
		{ggufSPM, []string{"<s>", "s>", "<", "a"}, []int32{3, 1, 1, 1}, "map[<:2 <s>:0 a:3 s>:1]"},
	} {
		made, err := madeJSON(gguf.Metadata{{Key: ggufModel, Value: c.kind}, {Key: ggufPre, Value: "gpt-2"}, {Key: ggufTokens, Value: c.tokens}, {Key: ggufTypes, Value: c.types},
			{Key: ggufScores, Value: make([]float32, len(c.tokens))}})
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Model struct {
				Vocab  map[string]int `json:"vocab"`
				Merges []any          `json:"merges"`
			} `json:"model"`
		}
		if err := json.Unmarshal(made, &file); err != nil || fmt.Sprint(file.Model.Vocab) != c.want || len(file.Model.Merges) > 0 {
			t.Errorf("%v: %v, merges %v, %v; want %s", c.tokens, file.Model.Vocab, file.Model.Merges, err, c.want)
		}
	}
}

// TestGGUFWords: a tokenizer that llama.cpp does not have goes through as it is.
func TestGGUFWords(t *testing.T) {
	tok, err := NewWords([]string{"<pad>", "<eos>", "1", "+"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := tok.GGUF(4)
	if !errors.Is(err, ErrNotGGUF) {
		t.Fatalf("%v", err)
	}
	back, err := ReadGGUF(append(m, gguf.Pair{Key: specialKeys["eos_token"], Value: uint32(1)}))
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := back.Encode("1+1"); err != nil || !slices.Equal(ids, []int{2, 3, 2}) {
		t.Errorf("%v, %v", ids, err)
	}
	if config := string(back.Files()[configFile]); !strings.Contains(config, `"eos_token": "<eos>"`) {
		t.Errorf("%s", config)
	}
}

// TestGGUFRefuses: tokenizers that are not known are refused by name.
func TestGGUFRefuses(t *testing.T) {
	tokens := gguf.Pair{Key: ggufTokens, Value: []string{"a"}}
	kind := gguf.Pair{Key: ggufModel, Value: ggufBytes}
	for _, c := range []struct {
		m    gguf.Metadata
		want string
	}{
		{gguf.Metadata{{Key: ggufModel, Value: "bert"}}, `tokenizer.ggml.model: found "bert"; accepted: gpt2`},
		{gguf.Metadata{{Key: ggufModel, Value: ggufSPM}, tokens}, "tokenizer.ggml.scores: found 0 scores; accepted: one for each of 1 tokens"},
		{gguf.Metadata{kind, tokens, {Key: ggufPre, Value: "x"}}, `tokenizer.ggml.pre: found "x"; accepted: gpt-2, llama-bpe, qwen2, smollm`},
		{gguf.Metadata{kind, {Key: ggufPre, Value: "gpt-2"}}, "has 0 tokens"},
		{gguf.Metadata{kind, tokens, {Key: ggufPre, Value: "gpt-2"}, {Key: ggufTypes, Value: []int32{1, 1}}}, "has 1 tokens and tokenizer.ggml.token_type 2 types"},
		{gguf.Metadata{kind, {Key: ggufTokens, Value: []string{"a", "a"}}, {Key: ggufPre, Value: "gpt-2"}}, `"a" is token 0 and token 1`},
		{gguf.Metadata{kind, {Key: ggufTokens, Value: "a"}, {Key: ggufPre, Value: "gpt-2"}}, "tokenizer.ggml.tokens: found a string; accepted: a list of strings"},
	} {
		if _, err := ReadGGUF(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if tok, err := ReadGGUF(nil); tok != nil || err != nil {
		t.Errorf("%v, %v", tok, err)
	}
}
