package text

import (
	"encoding/json"
	"fmt"
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

// TestStreamFixtures: the same for the ids of published tokenizers.
func TestStreamFixtures(t *testing.T) {
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
