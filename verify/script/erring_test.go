package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestErringFiles: a file of the other verifier is named by an absolute path, since no recipe makes it one.
func TestErringFiles(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("mine.star", []byte("def reward(row, completion):\n    return 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"mine.star": `option options has file = "mine.star", which names another file when the folder is another; accepted: an absolute path`, filepath.Join(folder, "mine.star"): ""} {
		_, err := verify.New("erring", map[string]any{"verifier": "starlark", "options": map[string]any{"file": path}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
