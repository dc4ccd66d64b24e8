package program

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestPaths: options that name files are declared, so that a recipe can make them
// absolute, and are texts.
func TestPaths(t *testing.T) {
	declared := 0
	for _, e := range verify.Entries() {
		for key := range e.Paths {
			declared++
			if _, err := verify.New(e.Name, map[string]any{key: 3}); err == nil || !strings.Contains(err.Error(), key+" = 3 is a whole number; accepted: text in quotes") {
				t.Errorf("%s: option %s: %v", e.Name, key, err)
			}
		}
	}
	// An error about the path itself comes first, whether a file lies there or not.
	for name, key := range map[string]string{"sql": "folder", "code:wasm": "folder", "code:python": "reward"} {
		_, err := verify.New("erring", map[string]any{"verifier": name, "options": map[string]any{key: "nowhere"}})
		if err == nil || !strings.Contains(err.Error(), key+` = "nowhere", which names another file when the folder is another; accepted: an absolute path`) {
			t.Errorf("erring of %s: %v", name, err)
		}
	}
	if declared != 5 {
		t.Errorf("%d options are declared, want folder of sql, runtime and folder of code:wasm, reward of code:python, and file of the script that judges", declared)
	}
}
