package store

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

// TestFindModel: of a run it is the model that is named, else what the run's own result takes, and it
// is said which that is and why.
func TestFindModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r, err := Create(OS(), dir)
	must(t, err)
	files := map[string]func(io.Writer) error{"config.json": text("{}")}
	for step := 1; step <= 3; step++ {
		must(t, r.SaveCheckpoint(step, files))
	}
	model := filepath.Join(dir, checkpointsDir, stepName(3))
	result := func(take, why string) {
		must(t, r.WriteFile(ResultFile, []byte(`{"take": "`+take+`", "why": "`+why+`", "below_start": false}`)))
	}
	check := func(path, which, want, note string, onHeldOut bool) {
		t.Helper()
		found, err := FindModel(path, which)
		if err != nil || found.Dir != want || found.Note != note || found.OnHeldOut != onHeldOut {
			t.Errorf("%s, %q: %+v, %v\nwant %s, %q, %v", path, which, found, err, want, note, onHeldOut)
		}
	}
	refused := func(path, which, want string) {
		t.Helper()
		if found, err := FindModel(path, which); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %q: %+v, %v; want an error with %q", path, which, found, err, want)
		}
	}
	check(dir, "", model, dir+": the last checkpoint, from step 3", false)
	refused(dir, "best", "has kept no best model")
	result("best", "it is better")
	check(dir, "", model, dir+": the last checkpoint, from step 3, as the best is not available", false)

	must(t, r.SaveBest(2, files))
	best := filepath.Join(dir, bestDir, stepName(2))
	check(dir, "", best, dir+": the best model, from step 2: it is better", true)
	check(dir, "best", best, dir+": the best model, from step 2", true)
	check(dir, "last", model, dir+": the last checkpoint, from step 3", false)
	check(dir, "1", filepath.Join(dir, checkpointsDir, stepName(1)), dir+": the model of step 1", false)
	result("last", "no evaluation was better")
	check(dir, "", model, dir+": the last checkpoint, from step 3: no evaluation was better", false)
	refused(dir, "4", "has no model --checkpoint 4; accepted: last, best, and the steps 1, 2, 3")
	refused(dir, "bets", "has no model --checkpoint bets; accepted: last, best, and the steps 1, 2, 3")
	refused(best, "last", "no run folder")
	check(best, "", best, "", false)
	for _, text := range []string{"", "{", `{"take": "../..", "why": "x"}`} { // what no run wrote is no choice
		must(t, r.WriteFile(ResultFile, []byte(text)))
		check(dir, "", model, dir+": the last checkpoint, from step 3", false)
	}
	result("best", "it is better")
	must(t, os.WriteFile(filepath.Join(best, "config.json"), []byte("{ }"), 0o644))
	found, err := FindModel(dir, "")
	if err != nil || found.Dir != model || found.OnHeldOut || !strings.Contains(found.Note, "as the best is not available: the best model "+best+" is incomplete or damaged") {
		t.Errorf("a damaged best model: %+v, %v", found, err)
	}
	refused(dir, "best", "is incomplete or damaged")
	must(t, r.Close())
}

// TestMeant: a folder with one GGUF file is answered with the file, and one with none or with several with what is accepted,
// whatever lies beside it.
func TestMeant(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"one/model.gguf", "two/a.gguf", "two/b.gguf", "twa/config.json"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, file), nil, 0o644))
	}
	for name, want := range map[string]string{"one": "did you mean " + filepath.Join(root, "one", "model.gguf") + "?", "two": accepted} {
		if _, err := FindModel(filepath.Join(root, name), ""); !slices.Equal(hint.All(err), []string{want}) {
			t.Errorf("%s: %v, hints %q, want %q", name, err, hint.All(err), want)
		}
	}
}
