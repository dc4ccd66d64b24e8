package table

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzText: whatever a file of text holds, reading it ends in rows or in an error.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"{\"a\":1}\n", "[{\"a\":1},\n{\"a\":2}]", "\uFEFF[{}]", "a,b\n1,\"2\n3\"\n", "a;b\r\n1;2\r\n", "a\n\"", "[", "[[1]]", "\xff", "a,a\n", "",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		for _, ext := range []string{".json", ".jsonl", ".csv", ".tsv"} {
			name := filepath.Join(dir, "rows"+ext)
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			_ = d.Each(Train, func(int, Row) error { return nil })
		}
	})
}
