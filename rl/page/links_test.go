package page

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLinks: what a link in a run's folder leads to outside of it is read by no page, served or one
// file; a link inside the folder is followed.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "run")
	write(t, dir, "recipe.toml", "seed = 1\n")
	write(t, root, "outside.jsonl", `{"step":1,"stage":"secret"}`+"\n")
	write(t, dir, "kept.jsonl", `{"step":2,"stage":"inside"}`+"\n")
	for name, to := range map[string]string{"completions.jsonl": "../outside.jsonl", "tokens.jsonl": filepath.Join(root, "outside.jsonl"), "metrics.jsonl": "kept.jsonl"} {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	runs, err := Open(dir)
	must(t, err)
	h := runs.Handler()
	for _, path := range []string{"/run/run/completions.jsonl", "/run/run/tokens.jsonl", "/run/run/steps.json?file=completions.jsonl", "/run/run/search.json?text=secret"} {
		if r := get(t, h, path); strings.Contains(body(t, r), "secret") {
			t.Errorf("%s: status %d, and what is outside of the folder", path, r.StatusCode)
		}
	}
	if r := get(t, h, "/run/run/metrics.jsonl"); r.StatusCode != 200 || !strings.Contains(body(t, r), "inside") {
		t.Errorf("a link within the folder: status %d", r.StatusCode)
	}
	file, err := runs.File(Room)
	must(t, err)
	if strings.Contains(string(file), "secret") || !strings.Contains(string(file), "inside") {
		t.Error("the page that is one file has what is outside of the folder, or lacks what is inside")
	}
}
