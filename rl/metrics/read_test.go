package metrics

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const logText = `{"step":1,"stage":"warm-up","sft/loss":2.5,"policy/entropy":null}
{"step":2,"stage":"warm-up","sft/loss":1.5}

{"step":2,"stage":"warm-up","eval/pass@1":0.25}
{"step":3,"stage":"grpo","reward/mean":0.3,"tags":["a"]}
`

func logFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "metrics.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRead: rows of a step are one point, null is NaN, and half a line is none.
func TestRead(t *testing.T) {
	points, err := Read(logFile(t, logText+`{"step":4,"stage":"grpo","rew`))
	if err != nil || len(points) != 3 {
		t.Fatalf("%+v, %v", points, err)
	}
	if v := points[0].Values; !math.IsNaN(v["policy/entropy"]) || v["sft/loss"] != 2.5 || len(v) != 2 {
		t.Errorf("the first point is %+v", points[0])
	}
	if p := points[1]; p.Step != 2 || p.Stage != "warm-up" || p.Values["sft/loss"] != 1.5 || p.Values["eval/pass@1"] != 0.25 {
		t.Errorf("the second is %+v", p)
	}
	if p := points[2]; p.Stage != "grpo" || len(p.Values) != 1 {
		t.Errorf("the third is %+v", p)
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "metrics.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"torn", `{"step":5,` + "\n", "metrics.jsonl: line 6: not a JSON object"},
		{"no step", `{"stage":"rl"}` + "\n", `metrics.jsonl: line 6: no "step"`},
		{"a list", "[1]\n", "metrics.jsonl: line 6: not a JSON object"},
		{"text for a step", `{"step":"1"}` + "\n", "metrics.jsonl: line 6: not a JSON object with a whole step"},
	} {
		points, err := Read(logFile(t, logText+c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(points) != 3 {
			t.Errorf("%s: %d points and %v, want 3 and %q", c.name, len(points), err, c.want)
		}
	}
}
