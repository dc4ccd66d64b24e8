package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: a run that was begun in the present goes on where the clock was set back by decades and
// stands still (testing/synctest), over files that were changed in its future. It comes to the bytes
// of a run that nothing happened to, and tells no time and no rate that is negative or no number.
func TestClock(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	trainIn(t, base, false, quiet...)
	interruptAt(t, dir, false, "warm-up    1/", quiet)
	ahead := time.Now().Add(time.Hour)
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, ahead, ahead)
	}))
	var shown string
	synctest.Test(t, func(t *testing.T) {
		if now := time.Now(); now.Year() != 2000 {
			t.Fatalf("it is %v", now)
		}
		_, shown = trainIn(t, dir, true, quiet...)
	})
	got, want := runFiles(t, dir), runFiles(t, base)
	withoutExtra(t, got, want)
	sameRun(t, got, want)
	if found := regexp.MustCompile(`NaN|Inf|-\d+(\.\d+)?k? ?(tok/s|[smh])`).FindString(shown); found != "" {
		t.Errorf("the run shows %q:\n%s", found, shown)
	}
	for _, row := range linesOf(t, filepath.Join(dir, "timing.jsonl")) {
		for name, v := range row {
			if x, is := v.(float64); name != "stage" && (!is || x < 0) {
				t.Errorf("step %v: %s is %v", row["step"], name, v)
			}
		}
	}
}
