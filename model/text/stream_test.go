package text

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// streamed is the text of ids, one at a time, and the parts it came in.
func streamed(tok *Tokenizer, ids []int) (text string, parts []string) {
	s := tok.NewStream()
	for _, id := range ids {
		parts = append(parts, s.Add(id))
	}
	parts = append(parts, s.Held())
	return strings.Join(parts, ""), parts
}

// TestStream: ids one at a time give the text of all at once, and no part of a
// character.
func TestStream(t *testing.T) {
	tok := bytesTokenizer(t, nil, nil)
	for _, text := range []string{"", "abc", "é", "日本語 😀!", "a\xffb", "\xff\xff\xff\xff\xff\xff\xe2\x82\xac", "\xe2\x82", "\xf0\x9f\x98", "\xf0\x9f\x98\x80\xf0\x9f",
		strings.Repeat("😀é", 100), strings.Repeat("\xff", 100) + "é", strings.Repeat("\xe2", 100) + "\x82\xac"} {
		ids := make([]int, len(text))
		for i := range len(text) {
			ids[i] = int(text[i])
		}
		got, parts := streamed(tok, ids)
		if want := tok.Decode(ids); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		for i, part := range parts[:len(parts)-1] {
			if utf8.ValidString(text) && strings.ContainsRune(part, utf8.RuneError) {
				t.Errorf("%q: part %d is %q", text, i, part)
			}
		}
	}
	if _, parts := streamed(tok, []int{'a', 0xe2, 0x82, 0xac, 'b'}); !slices.Equal(parts, []string{"a", "", "", "€", "b", ""}) {
		t.Errorf("%q", parts)
	}
}

// TestStreamApart: where a decoder allows to forget what was given, the parts of a text are
// those that they are with what was before.
func TestStreamApart(t *testing.T) {
	tok := bytesTokenizer(t, nil, map[string]any{"added_tokens": []map[string]any{{"id": 256, "content": "<é>"}}})
	if !tok.apart {
		t.Fatal("a decoder of bytes has its texts not depend on what was before")
	}
	kept := *tok
	kept.apart = false
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []int{'a', 'b', 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xff, 0xc3, 0xa9, 0xef, 0xbf, 0xbd, 256, 9999}
	for range 2000 {
		// Of few ids, so that there are long runs without a whole character, too.
		of := alphabet[rng.IntN(len(alphabet)):]
		ids := make([]int, 1+rng.IntN(100))
		for i := range ids {
			ids[i] = of[rng.IntN(len(of))]
		}
		text, parts := streamed(tok, ids)
		if want := tok.Decode(ids); text != want {
			t.Fatalf("%x: got %q, want %q", ids, text, want)
		}
		if _, want := streamed(&kept, ids); !slices.Equal(parts, want) {
			t.Fatalf("%x: got %q, want %q", ids, parts, want)
		}
	}
	strip := bytesTokenizer(t, nil, map[string]any{"decoder": map[string]any{"type": "Sequence", "decoders": []any{
		map[string]any{"type": "ByteLevel"}, map[string]any{"type": "Strip", "content": " ", "start": 1}}}})
	if text, _ := streamed(strip, []int{'a', 0x20, 'b'}); strip.apart || text != strip.Decode([]int{'a', 0x20, 'b'}) {
		t.Errorf("a decoder that drops a space in front: %q", text)
	}
}

// TestStreamFixtures: the same for the ids of published tokenizers.
func TestStreamFixtures(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads every tokenizer; TestTokenizers does too")
	}
	matched, failed := 0, 0
	for _, file := range glob(t, fixtures.Dir(t, "tokenizers"), "*/expected.json") {
		tok, err := ReadFolder(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			IDs     []int
			Decoded string
		}
		if err := json.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if got, _ := streamed(tok, c.IDs); got == c.Decoded {
				matched++
				continue
			}
			if failed++; failed <= 5 {
				got, _ := streamed(tok, c.IDs)
				t.Errorf("%s: got %q, want %q", fmt.Sprint(c.IDs), got, c.Decoded)
			}
		}
	}
	fixtures.Report(t, "tokenizers", matched, failed, 0)
}
