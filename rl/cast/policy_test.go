package cast

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicyState: a checkpoint's file that says how far who learns has come is read as it is written, and refused where
// it cannot be one.
func TestPolicyState(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, filepath.FromSlash(policyFile))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, want string
		size       int64
	}{
		{text: `{"updates":3,"version":5}`},
		{text: `{"updates":0,"version":0,"summed":"policy","guest":"rm"}`},
		{text: `{"updates":-3,"version":5}`, want: "updates = -3, version = 5; accepted: numbers from 0 on"},
		{text: `{"updates":3,"version":-5}`, want: "updates = 3, version = -5; accepted: numbers from 0 on"},
		{text: `{"updates":"3"}`, want: "cannot unmarshal string"},
		{text: `{"updates":3`, want: "unexpected end of JSON input"},
		{text: `{}`, size: mostState + 1, want: "policy.json has 1048577 bytes; accepted: at most 1048576"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.size > 0 {
			if err := os.Truncate(file, c.size); err != nil {
				t.Fatal(err)
			}
		}
		state, err := readPolicyState(dir)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.text, err, c.want)
			}
			continue
		}
		if text, failed := json.Marshal(state); err != nil || failed != nil || string(text) != c.text {
			t.Errorf("%s: read as %s, %v, %v", c.text, text, err, failed)
		}
	}
}
