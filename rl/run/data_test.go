package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
)

// sums are rows that ask for sums of two numbers.
func sums() []byte {
	var rows bytes.Buffer
	for a := 1; a < 11; a++ {
		for b := 1; b < 11; b++ {
			fmt.Fprintf(&rows, "{\"prompt\":\"%d %d > %d:\",\"answer\":\"%d\"}\n", a, b, a+b, a+b)
		}
	}
	return rows.Bytes()
}

// TestData: a model is trained on the rows of a file. The run is a function of the
// file's bytes, resumes to the same ones, can be audited, and is not continued on
// another file.
func TestData(t *testing.T) {
	start := t.TempDir()
	trainIn(t, start, false, quiet...)
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := sums()
	must(t, os.WriteFile(file, rows, 0o644))
	name := filepath.Join(filepath.Dir(file), "recipe.toml")
	must(t, os.WriteFile(name, fmt.Appendf(nil, `model.path = %q
checkpoint.keep = 10
[task]
data = "rows.jsonl"
verifier = "number"
options = {extract = "last_number"}
max_prompt_tokens = 12
eval_samples = 2
[[stage]]
kind = "rl"
steps = 3
prompts_per_step = 4
group_size = 4
checkpoint_every = 1
sampling.max_completion_tokens = 12
`, start), 0o644))
	train := func(dir string, resume bool) error {
		r, err := recipe.Load(name, nil)
		must(t, err)
		opened, err := resolve.Open(r, nil)
		if err == nil {
			_, err = Train(t.Context(), Options{Opened: opened, Dir: dir, Resume: resume, Device: tester(t), Show: io.Discard})
		}
		return err
	}
	base := filepath.Join(t.TempDir(), "run")
	must(t, train(base, false))
	want := runFiles(t, base)
	for _, line := range completionLines(t, base) {
		if !bytes.Contains(rows, []byte(`"`+line.Prompt+`"`)) || line.Verdict == "not_scored" {
			t.Errorf("completion %+v", line)
		}
	}

	cut := copyRun(t, base)
	must(t, os.RemoveAll(filepath.Join(cut, "checkpoints", "step-000003")))
	must(t, train(cut, true))
	sameRun(t, runFiles(t, cut), want)

	report, err := audit.Run(base, audit.Options{Limit: 2})
	must(t, err)
	if report.Stored.N != 3*4*4 || report.Stored.Differ != 0 {
		t.Errorf("stored verdicts %+v", report.Stored)
	}

	refused := filepath.Join(t.TempDir(), "run")
	for want, row := range map[string]string{
		"120 of 120 rows (lines 1, 2, 3, 4, 5, ...): prompt \"a question in words 0\"": `{"prompt":"a question in words %d","answer":"1"}`,
		"max_prompt_tokens is": `{"prompt":"1 1 1 1 1 1 1 1 1 1 1 1 1 1 %d","answer":"1"}`,
	} {
		var bad bytes.Buffer
		for i := range 120 {
			fmt.Fprintf(&bad, row+"\n", i%10+i/10*10)
		}
		must(t, os.WriteFile(file, bad.Bytes(), 0o644))
		if err := train(refused, false); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("rows %s: error %v, want %q", row, err, want)
		}
	}
	if _, err := os.Stat(refused); err == nil {
		t.Error("a run that is refused has a folder")
	}

	must(t, os.WriteFile(file, bytes.Replace(rows, []byte(`"answer":"2"`), []byte(`"answer":"3"`), 1), 0o644))
	must(t, os.RemoveAll(filepath.Join(cut, "checkpoints", "step-000003")))
	if err := train(cut, true); err == nil || !strings.Contains(err.Error(), "rows.jsonl has changed since the run began") {
		t.Errorf("resumed on another file: error %v", err)
	}
}
