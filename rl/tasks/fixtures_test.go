package tasks

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// fixtures is the folder of test data: $RLZERO_FIXTURES, else ../shared/fixtures
// beside the repository.
func fixtures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RLZERO_FIXTURES")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for root != filepath.Dir(root) { // up to the folder of go.mod
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared", "fixtures")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") != "" {
			t.Fatalf("no test data at %s: set RLZERO_FIXTURES", dir)
		}
		t.Skipf("no test data at %s: set RLZERO_FIXTURES", dir)
	}
	return dir
}

// otherwise lists the kinds of candidates that the original refuses and that
// are right: see "Right answers that are not paid" in the data's README.
var otherwise = map[string]map[string]string{
	"countdown": {
		"alt_eq":    "the expression, = and the target",
		"alt_latex": `\times for *`,
		"alt_times": "× for *",
		"dot":       "a full stop after a bracket",
	},
	"chain_sum": {},
}

// TestReasoningGym: the task verifiers on reasoning-gym's rows call right what
// the original scores as 1, and nothing else but the kinds above.
func TestReasoningGym(t *testing.T) {
	type candidate struct {
		Kind  string
		Text  *string
		Score float64
	}
	dir := filepath.Join(fixtures(t), "reasoning_gym", "entries")
	cases, rights, differ := 0, 0, 0
	for _, family := range []string{"countdown", "chain_sum"} {
		f, err := os.Open(filepath.Join(dir, family+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var entry struct {
				ID         string
				Candidates []candidate
			}
			if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
				t.Fatal(err)
			}
			for _, c := range entry.Candidates {
				line, err := json.Marshal(map[string]any{
					"verifier": "task:" + family, "task": json.RawMessage(lines.Bytes()), "completion": c.Text, "extract": "none",
				})
				if err != nil {
					t.Fatal(err)
				}
				v, err := verify.Grade(line, "")
				if err != nil {
					t.Fatal(err)
				}
				cases++
				_, known := otherwise[family][c.Kind]
				switch right := v.Verdict == verify.Right; {
				case v.Verdict == verify.NotScored:
					t.Errorf("%s %s: %+v", entry.ID, c.Kind, v)
				case right != (c.Score == 1) && known && right:
					differ++
				case right != (c.Score == 1):
					t.Errorf("%s %s: the original's score is %g, ours %+v", entry.ID, c.Kind, c.Score, v)
				}
				if v.Verdict == verify.Right {
					rights++
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("fixtures: reasoning_gym (countdown, chain_sum): %d cases, %d matched, %d right where the original errs; %d right in all", cases, cases-differ, differ, rights)
}
