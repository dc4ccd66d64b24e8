package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// TestTokenizers compares ids and decoded text with those of the Rust library.
func TestTokenizers(t *testing.T) {
	dir := fixtures.Dir(t, "tokenizers")
	files, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	matched, failed := 0, 0
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			m, f := compareTokenizer(t, file)
			matched, failed = matched+m, failed+f
		})
	}
	fixtures.Report(t, "tokenizers", matched, failed, 0)
}

func compareTokenizer(t *testing.T, expected string) (matched, failed int) {
	tok := readTokenizerFile(t, filepath.Join(filepath.Dir(expected), "tokenizer.json"))
	var cases []struct {
		Text    string
		IDs     []int
		Decoded string
	}
	readJSON(t, expected, &cases)
	for _, c := range cases {
		ids, err := tok.Encode(c.Text)
		decoded := tok.Decode(c.IDs)
		if err == nil && slices.Equal(ids, c.IDs) && decoded == c.Decoded {
			matched++
			continue
		}
		if failed++; failed <= 5 {
			t.Errorf("%q: got %v, %q, %v; want %v, %q", c.Text, ids, decoded, err, c.IDs, c.Decoded)
		}
	}
	return matched, failed
}

func readTokenizerFile(t testing.TB, path string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseTokenizer(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tok
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

var _ = strings.Repeat
