package text

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestUnlike: of all pairs of published tokenizers, those with equal tokens are found equal whatever the height of their
// tables, and of others the first id that differs is found, whichever of the two is asked.
func TestUnlike(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads and compares large tokenizers")
	}
	var names []string
	var all []*Tokenizer
	for _, file := range glob(t, fixtures.Dir(t, "tokenizers"), "*/tokenizer.json") {
		tok, err := ReadFolder(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		names, all = append(names, filepath.Base(filepath.Dir(file))), append(all, tok)
	}
	var alike []string
	for i, a := range all {
		for j, b := range all[:i+1] {
			want := -1
			for id := 0; id < min(a.Vocab(), b.Vocab()) && want < 0; id++ {
				if x, y := a.Token(id), b.Token(id); x != y && x != "" && y != "" {
					want = id
				}
			}
			if got, back := a.Unlike(b), b.Unlike(a); got != want || back != want {
				t.Errorf("%s and %s: %d, and %d the other way round, want %d", names[j], names[i], got, back, want)
			}
			if want < 0 && i != j {
				alike = append(alike, names[j]+" "+names[i])
				if a.Vocab() == b.Vocab() {
					t.Errorf("%s and %s have tables of the same height, %d", names[j], names[i], a.Vocab())
				}
			}
		}
	}
	if want := []string{"qwen2_5 qwen3"}; !slices.Equal(alike, want) {
		t.Errorf("%q are alike, want %q", alike, want)
	}
}

// TestUnlikeBytes: it is the bytes that count, however a table writes them.
func TestUnlikeBytes(t *testing.T) {
	words := func(words string) *Tokenizer {
		tok, err := NewWords(append([]string{wordsPAD, wordsEOS}, strings.Fields(words)...))
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	parsed := func(text string) *Tokenizer {
		tok, err := ParseTokenizer([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	const fallback = `,"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
		"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]}`
	const bytewise = `,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},"decoder":{"type":"ByteLevel"}`
	space := parsed(`{"model":{"type":"BPE","byte_fallback":true,"vocab":{"a":0,"▁":1,"é":2},"merges":[]}` + fallback + `}`)
	level := parsed(`{"model":{"type":"BPE","vocab":{"a":0,"Ġ":1,"Ã":2,"©":3},"merges":[]}` + bytewise + `}`)
	control := parsed(`{"model":{"type":"BPE","vocab":{"a":0,"Ġ":1,"b":2},"merges":[]},"added_tokens":[{"id":2,"content":"b","special":true}]` + bytewise + `}`)
	plain := parsed(`{"model":{"type":"BPE","vocab":{"a":0,"Ġ":1,"b":2},"merges":[]}` + bytewise + `}`)
	for _, c := range []struct {
		about string
		a, b  *Tokenizer
		want  int
	}{
		{"the same words", words("1 2 +"), words("1 2 +"), -1},
		{"a table that goes on", words("1 2 +"), words("1 2 + - ="), -1},
		{"two words exchanged", words("1 2 +"), words("1 + 2"), 3},
		{"a space in two ways, and a byte of a character where the other has the whole", space, level, 2},
		{"a token that is control in one", control, plain, -1},
	} {
		if got, back := c.a.Unlike(c.b), c.b.Unlike(c.a); got != c.want || back != c.want {
			t.Errorf("%s: %d and %d, want %d", c.about, got, back, c.want)
		}
	}
}
