package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// lengthen puts a line that is too long after so many lines of a log. It is a hole, which takes
// no room on the disk.
func lengthen(t *testing.T, dir, name, head string, after int) {
	t.Helper()
	file := filepath.Join(dir, name)
	text, err := os.ReadFile(file)
	must(t, err)
	all := bytes.SplitAfter(text, []byte{'\n'})
	f, err := os.OpenFile(file, os.O_TRUNC|os.O_WRONLY, 0)
	must(t, err)
	n, err := f.Write(append(bytes.Join(all[:after], nil), head...))
	must(t, err)
	must(t, f.Truncate(int64(n)+record.MaxBytes))
	_, err = f.WriteAt(append([]byte{'\n'}, bytes.Join(all[after:], nil)...), int64(n)+record.MaxBytes)
	must(t, err)
	must(t, f.Close())
}

// TestLongLine: a line that is too long is left out of index, search and file, which say so.
func TestLongLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "about = \"x\"\n")
	write(t, dir, "completions.jsonl", line(1, 0, 0, "a", "1", "right")+line(1, 0, 1, "a", "2", "wrong")+line(2, 0, 0, "b", "1", "wrong"))
	write(t, dir, "metrics.jsonl", "{\"step\":1,\"stage\":\"rl\"}\n{\"step\":2,\"stage\":\"rl\"}\n")
	lengthen(t, dir, "completions.jsonl", `{"step":1,"stage":"rl",`, 1)
	lengthen(t, dir, "metrics.jsonl", "", 1)
	runs, err := Open(dir)
	must(t, err)
	steps, err := runs.list[0].stepsFrom("completions.jsonl", 0)
	must(t, err)
	var told []string
	for _, s := range steps {
		told = append(told, fmt.Sprint(s.Step, s.Counts, s.Skipped))
	}
	if want := "1 [1 0 0 0] [2], 1 [0 1 0 0] [], 2 [0 1 0 0] []"; strings.Join(told, ", ") != want {
		t.Errorf("%q, want %q", told, want)
	}
	found, err := runs.list[0].search(t.Context(), search{Text: "1", Limit: 9})
	if err != nil || found.Count != 2 || len(found.Lines) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	data, err := runs.File(20_000)
	must(t, err)
	for _, want := range []string{"completions.jsonl: line 2 has more than 67108864 bytes", "metrics.jsonl: line 2 has more than 67108864 bytes"} {
		if strings.Count(string(data), want) != 1 {
			t.Errorf("the file does not say that %s", want)
		}
	}
	if len(data) > 1<<20 {
		t.Errorf("the file has %d bytes", len(data))
	}
}

// TestLongLineShown: the page passes over a line that is too long, and tells it.
func TestLongLineShown(t *testing.T) {
	root := shown(t)
	dir := filepath.Join(root, "sums-1")
	points, err := metrics.Read(filepath.Join(dir, "metrics.jsonl"))
	must(t, err)
	lengthen(t, dir, "metrics.jsonl", "", 3)
	lengthen(t, dir, "completions.jsonl", `{"step":1,"stage":"rl",`, 1)
	b := browser.Start(t)
	b.Open(served(t, root)+"#/run/sums-1/completions", "window.shownHash === '#/run/sums-1/completions'")
	visit(b, "#/run/sums-1/machine")
	if got := text(b, "main"); !strings.Contains(got, "1 line of metrics.jsonl") || !strings.Contains(got, "1 line of completions.jsonl") {
		t.Errorf("the page says %q", got)
	}
	var rows int
	b.Eval("R.runs.get('sums-1').rows.length", &rows)
	if rows != len(points) {
		t.Errorf("%d rows, want %d", rows, len(points))
	}
	quiet(t, b, "the page")
}
