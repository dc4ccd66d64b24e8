package recipe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBounds: a text that the parser could not cope with is refused before, and a
// value with many dots is none.
func TestBounds(t *testing.T) {
	if _, err := Parse("r.toml", strings.Repeat("a.", 100_000)+"a = 1", nil); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "r.toml:1:32: a key of more than 16 parts") {
		t.Errorf("%.200v", err)
	}
	if _, err := Load("countdown-tiny", []string{strings.Repeat("a.", 10_000) + "a=1"}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "a key of more than 16 parts") {
		t.Errorf("%.200v", err)
	}
	far := strings.Repeat("../", 20)
	want, err := filepath.Abs(far)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Load("countdown-tiny", []string{"model.path=" + far}); err != nil || r.Model.Path != filepath.ToSlash(want) {
		t.Errorf("a path with many dots: %v", err)
	}
}

// TestIrregularRecipe: what is no file, or too large, is refused and not read.
func TestIrregularRecipe(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.toml")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{dir: "is a folder; accepted: a regular file", os.DevNull: "is a device; accepted: a regular file", large: "large.toml has 1099511627776 bytes; accepted: at most 1048576"} {
		if _, err := Load(name, nil); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
