//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/verify"
)

// TestPythonReward: a function of the user's in Python judges in the box: what it sees, what it
// returns, and what becomes of its faults.
func TestPythonReward(t *testing.T) {
	row := verify.Problem{ID: "7", Question: "how many?", Answer: "12", Metadata: map[string]json.RawMessage{"numbers": json.RawMessage(`[1, 2.5, {"a": null}]`), "answer": json.RawMessage(`"no"`)}}
	for _, c := range []struct {
		body, completion string
		score            float64
		verdict, reason  string
	}{
		{"return completion == row['answer']", "12", 1, verify.Right, "judge.py says True"},
		{"return completion == row['answer']", "13", 0, verify.Wrong, "judge.py says False"},
		{"return row['question'] == 'how many?' and row['id'] == '7' and row['numbers'] == [1, 2.5, {'a': None}]", "", 1, verify.Right, ""},
		{"import re, json\nreturn len(re.findall('a', completion)) / 4, 'counted', {'n': 3}", "a b a", 0.5, verify.Graded, "counted"},
		{"return (1, {'n': 3})", "", 1, verify.Right, "judge.py says 1"},
		{"return None", "", math.NaN(), verify.NotScored, "judge.py says None"},
		{"return 'good'", "", math.NaN(), verify.NotScored, "judge.py: reward() returned string; accepted: a number"},
		{"return [1]", "", math.NaN(), verify.NotScored, "judge.py: reward() returned tuple"},
		{"return {1, 2}", "", math.NaN(), verify.NotScored, "judge.py: reward() returned a value such as {1, 2}"},
		{"return lambda: 1", "", math.NaN(), verify.NotScored, "judge.py: "},
		{"return 7", "", math.NaN(), verify.NotScored, "judge.py: reward() returned 7, but its range is 0 to 1"},
		{"return 1 / 0", "", math.NaN(), verify.NotScored, "judge.py: it fails: \"ZeroDivisionError: division by zero\""},
		{"while True: pass", "", math.NaN(), verify.NotScored, "judge.py: it needs more than 0.5 s of processor time"},
		{"import os\nos._exit(0)", "", math.NaN(), verify.NotScored, "judge.py: it ends before reward() returns"},
		{"import socket\nsocket.create_connection(('127.0.0.1', 1))", "", math.NaN(), verify.NotScored, "judge.py: it fails"},
		{"return open('/etc/passwd').read() != ''", "", math.NaN(), verify.NotScored, "judge.py: it fails: \"PermissionError"},
	} {
		source := "def reward(row, completion):\n    " + strings.ReplaceAll(c.body, "\n", "\n    ") + "\n"
		v, err := verify.New("code:python", map[string]any{"reward": "a/judge.py", "source": source, "timeout": 0.5})
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Check(v, row); err != nil {
			t.Error(err)
		}
		got := v.Verify(row, c.completion)
		if got.Verdict != c.verdict || got.Score != c.score && !math.IsNaN(c.score) || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %+v, want %v %s %q", c.body, got, c.score, c.verdict, c.reason)
		}
	}
	v, err := verify.New("code:python", map[string]any{"source": "def reward(row, completion):\n    while True: pass\n", "timeout": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if _, cost := v.(verify.Metered).Metered(row, ""); cost.Time < 500*time.Millisecond {
		t.Errorf("a limit that was met counts as %v", cost.Time)
	}
	if _, err := v.(verify.Portable).Engine(); err == nil {
		t.Error("another machine would run the user's function")
	}
	for _, options := range []map[string]any{{"reward": "none.py"}, {"source": "x", "range": []any{1, 1}}} {
		if _, err := verify.New("code:python", options); err == nil {
			t.Errorf("%v is accepted", options)
		}
	}
}
