package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

func init() {
	verify.Register(verify.Entry{Name: "test:files", Paths: map[string]string{"folder": ".", "runtime": ""}})
}

const withPaths = `[model]
path = "start"
[task]
data = "rows.jsonl"
verifier = "test:files"
max_prompt_tokens = 9
[[stage]]
kind = "rl"
[stage.sampling]
max_completion_tokens = 9
[[stage.verifier]]
name = "mine"
starlark = "sub/mine.star"
[[stage.verifier]]
name = "program"
verifier = "test:files"
options = {runtime = "python.wasm", folder = "sub"}
`

// TestPaths: every path in a file begins at the file's folder, every path in an
// override at the current folder, and the resolved recipe has absolute ones. The
// files need not be there: loading opens none.
func TestPaths(t *testing.T) {
	dir, here := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "r.toml")
	if err := os.WriteFile(file, []byte(withPaths), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	r, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	paths := func(r *Recipe) []string {
		st := r.Stages[0]
		return []string{r.Model.Path, r.Task.Data, r.Task.Options["folder"].(string), st.Verifiers[0].Starlark, st.Verifiers[1].Options["runtime"].(string)}
	}
	in := func(dir string, names ...string) (out []string) {
		for _, name := range names {
			out = append(out, filepath.ToSlash(filepath.Join(dir, name)))
		}
		return out
	}
	same := func(got, want []string) {
		t.Helper()
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("paths\n%q\nwant\n%q", got, want)
		}
	}
	same(paths(r), in(dir, "start", "rows.jsonl", "", "sub/mine.star", "python.wasm"))
	if _, there := r.Task.Options["runtime"]; there {
		t.Error("an option without a default was given a path")
	}
	t.Chdir(t.TempDir())
	sameAgain(t, r)

	t.Chdir(here)
	r, err = Load(file, []string{"model.path=start", "task.options.folder=dbs", "task.data=rows.jsonl",
		`stage.rl.verifier=[{name = "mine", starlark = "sub/mine.star"}, {name = "program", verifier = "test:files", options = {runtime = "python.wasm"}}]`})
	if err != nil {
		t.Fatal(err)
	}
	same(paths(r), in(here, "start", "rows.jsonl", "dbs", "sub/mine.star", "python.wasm"))

	r, err = Load("countdown-short", []string{"model.path=start"})
	if err != nil {
		t.Fatal(err)
	}
	same([]string{r.Model.Path}, in(here, "start"))
}
