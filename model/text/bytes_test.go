package text

import (
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestTokenBytes: the bytes of the tokens of a text, joined, are the text.
func TestTokenBytes(t *testing.T) {
	for name, open := range map[string]func() (*Tokenizer, error){
		"bytes": func() (*Tokenizer, error) { return ReadFolder(fixtures.Selection(t, "chat")) },
		"fallback": func() (*Tokenizer, error) {
			return ParseTokenizer([]byte(`{"model":{"type":"BPE","byte_fallback":true,"vocab":{"a":0,"▁":1,"b":2,"<0xC3>":3,"<0xA9>":4,"<s>":5},"merges":[]},
				"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},"added_tokens":[{"id":5,"content":"<s>","special":true}],
				"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := open()
			if err != nil {
				t.Fatal(err)
			}
			all := tok.TokenBytes()
			const text = "a b é"
			ids, err := tok.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, id := range ids {
				got = append(got, all[id]...)
			}
			if string(got) != text {
				t.Errorf("%q, want %q of %v", got, text, ids)
			}
			for id := range all {
				if tok.Special(id) && all[id] != nil {
					t.Errorf("control token %q has bytes", tok.Token(id))
				}
			}
		})
	}
	words, err := NewWords([]string{"<pad>", "<eos>", "12"})
	if err != nil {
		t.Fatal(err)
	}
	if got := words.TokenBytes(); got[2] != nil { // no character to stand after
		t.Errorf("a word: %q", got[2])
	}
}
