package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

var (
	update   = flag.Bool("update", false, "rewrite the golden files")
	seedFlag = flag.Uint64("seed", 0, "repeat the injected faults of this seed; 0: a new one")
)

// text is a checkpoint file of this content.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, fsys FS, path string) string {
	t.Helper()
	in, err := fsys.Open(path)
	must(t, err)
	defer in.Close()
	data, err := io.ReadAll(in)
	must(t, err)
	return string(data)
}

func write(t *testing.T, fsys FS, path, data string) {
	t.Helper()
	must(t, create(fsys, path, text(data)))
}

func list(t *testing.T, fsys FS, dir string) []string {
	t.Helper()
	infos, err := fsys.ReadDir(dir)
	must(t, err)
	var names []string
	for _, info := range infos {
		names = append(names, info.Name())
	}
	return names
}

func newRun(t *testing.T, fsys FS) *Run {
	t.Helper()
	r, err := Create(fsys, "runs/a")
	must(t, err)
	return r
}

func TestCheckpointOperations(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	r.Keep(1)
	l, err := r.Log("metrics.jsonl")
	must(t, err)
	files := map[string]func(io.Writer) error{"model.safetensors": text("weights"), "config.json": text("{}"), "trainer/state.json": text("1")}
	var trace bytes.Buffer
	m.Before = func(_ int, op, path string) error {
		fmt.Fprintf(&trace, "%s %s\n", op, path)
		return nil
	}
	for i, title := range []string{"first checkpoint", "next checkpoint, which pushes the first out", "the same step again"} {
		fmt.Fprintf(&trace, "# %s\n", title)
		must(t, l.Append(i))
		must(t, r.SaveCheckpoint(10*min(i+1, 2), files))
	}
	golden := filepath.Join("testdata", "checkpoint-ops.txt")
	if *update {
		must(t, os.WriteFile(golden, trace.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if trace.String() != string(want) {
		t.Errorf("operations differ from %s (rewritten by -update):\n%s", golden, trace.String())
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	_, err := r.Log("metrics.jsonl")
	must(t, err)
	must(t, r.Close())
	r = newRun(t, m) // a start that was cut short left nothing worth keeping
	must(t, r.WriteFile("recipe.toml", []byte("seed = 1")))
	must(t, r.Close())
	_, err = Create(m, "runs/a")
	if advice := fmt.Sprint(hint.All(err)); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "recipe.toml") || !strings.Contains(advice, "--resume") || !strings.Contains(advice, "--run") {
		t.Errorf("error %v, hints %s: want ErrExists that names recipe.toml, --resume and --run", err, advice)
	}
	must(t, m.Mkdir("other"))
	write(t, m, "other/notes.txt", "not a run")
	if _, err = Create(m, "other"); !errors.Is(err, ErrExists) || strings.Contains(fmt.Sprint(hint.All(err)), "--resume") {
		t.Errorf("a folder that is no run: error %v, hints %q", err, hint.All(err))
	}
	if got := read(t, m, "runs/a/recipe.toml"); got != "seed = 1" {
		t.Errorf("recipe.toml is now %q", got)
	}
	if r, err = Open(m, "runs/a"); err != nil {
		t.Errorf("the refusal kept the lock: %v", err)
	}
	must(t, r.SaveCheckpoint(1, nil))
	must(t, m.Remove("runs/a/recipe.toml"))
	must(t, r.Close())
	if _, err = Create(m, "runs/a"); !errors.Is(err, ErrExists) {
		t.Errorf("a folder with a checkpoint: %v", err)
	}
}

func TestOpenWhatIsNoRun(t *testing.T) {
	m := NewMem()
	must(t, m.Mkdir("other"))
	for _, dir := range []string{"other", "absent"} {
		if _, err := Open(m, dir); !errors.Is(err, ErrNotRun) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open(%s): %v", dir, err)
		}
		if _, _, err := Latest(m, dir); !errors.Is(err, ErrNotRun) {
			t.Errorf("Latest(%s): %v", dir, err)
		}
	}
	if got := list(t, m, "other"); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestRetention(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	save := func(step int, more ...string) {
		files := map[string]func(io.Writer) error{"w": text("x")}
		for _, name := range more {
			files[name] = text("")
		}
		must(t, r.SaveCheckpoint(step, files))
	}
	has := func(want ...string) {
		t.Helper()
		if got := list(t, m, "runs/a/checkpoints"); !slices.Equal(got, want) {
			t.Errorf("checkpoints %v, want %v", got, want)
		}
	}
	for step := 1; step <= 5; step++ {
		save(step)
	}
	has("step-000003", "step-000004", "step-000005")
	r.Keep(1)
	save(6, KeepFile)
	save(7)
	write(t, m, "runs/a/checkpoints/step-000007/keep", "") // a person marks it
	save(8)
	has("step-000006", "step-000007", "step-000008")
	save(8, KeepFile)
	save(8) // replaces the marked one
	has("step-000006", "step-000007", "step-000008")
	save(1000000)
	has("step-000006", "step-000007", "step-1000000")
	c, _, err := r.Latest()
	must(t, err)
	if c.Step() != 1000000 {
		t.Errorf("latest is step %d", c.Step())
	}
}

// A damaged newer checkpoint must not push whole ones out after a resume.
func TestRetentionAfterDamage(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	r.Keep(1)
	must(t, r.SaveCheckpoint(5, map[string]func(io.Writer) error{KeepFile: text("")}))
	must(t, r.SaveCheckpoint(9, map[string]func(io.Writer) error{"w": text("weights")}))
	write(t, m, "runs/a/checkpoints/step-000009/w", "wrong")
	must(t, r.SaveCheckpoint(6, nil))
	c, warnings, err := r.Latest()
	must(t, err)
	if c == nil || c.Step() != 6 || len(warnings) != 1 {
		t.Errorf("latest %+v, warnings %q", c, warnings)
	}
	must(t, r.SaveCheckpoint(9, nil))
	if c, warnings, err = r.Latest(); err != nil || c.Step() != 9 || len(warnings) != 0 {
		t.Errorf("latest %+v, warnings %q, error %v", c, warnings, err)
	}
}

func TestDamageIsDetected(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	l, err := r.Log("metrics.jsonl")
	must(t, err)
	must(t, l.Append(1))
	files := map[string]func(io.Writer) error{"config.json": text("{}"), "trainer/state.json": text("state"), "empty": text("")}
	must(t, r.SaveCheckpoint(1, files))
	must(t, r.SaveCheckpoint(2, files))
	dir := "runs/a/checkpoints/step-000002"
	passedOver := func(what, file string) {
		t.Helper()
		c, warnings, err := r.Latest()
		must(t, err)
		if c == nil || c.Step() != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], file) || !strings.Contains(warnings[0], "step-000002") {
			t.Errorf("%s: took %+v, warnings %q", what, c, warnings)
		}
	}
	for _, name := range append(slices.Sorted(maps.Keys(files)), manifestFile) {
		path := dir + "/" + name
		good := read(t, m, path)
		for i := range len(good) {
			for bit := range 8 {
				flipped := []byte(good)
				flipped[i] ^= 1 << bit
				write(t, m, path, string(flipped))
				passedOver(fmt.Sprintf("%s with bit %d of byte %d flipped", name, bit, i), name)
			}
			write(t, m, path, good[:i])
			passedOver(fmt.Sprintf("%s cut to %d bytes", name, i), name)
			if _, warnings, _ := r.Latest(); name != manifestFile && !strings.Contains(warnings[0], fmt.Sprintf("has a size of %d bytes, expected %d", i, len(good))) {
				t.Errorf("the warning does not say what is missing: %s", warnings[0])
			}
		}
		write(t, m, path, good+" ")
		passedOver(name+" with a byte more", name)
		if name == manifestFile {
			write(t, m, path, good+strings.Repeat(" ", mostManifest))
			passedOver("a manifest that is too large", fmt.Sprintf("%s has more than %d bytes", name, mostManifest))
		}
		must(t, m.Remove(path))
		passedOver(name+" missing", name)
		write(t, m, path, good)
	}
	if c, warnings, err := r.Latest(); err != nil || c.Step() != 2 || len(warnings) != 0 {
		t.Errorf("whole again, but took %+v, warnings %q, error %v", c, warnings, err)
	}
	must(t, m.Rename("runs/a/checkpoints/step-000001/config.json", "runs/a/checkpoints/step-000001/gone"))
	must(t, m.Remove(dir))
	if c, warnings, err := r.Latest(); err != nil || c != nil || len(warnings) != 1 {
		t.Errorf("nothing whole, but took %+v, warnings %q, error %v", c, warnings, err)
	}
}

func TestCheckpointFileNames(t *testing.T) {
	for _, name := range []string{manifestFile, "../x", "/x", "a/b/c", "", "a//b", "."} {
		r := newRun(t, NewMem())
		err := r.SaveCheckpoint(1, map[string]func(io.Writer) error{name: text("")})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	must(t, r.SaveCheckpoint(1, nil))
	m.Before = func(_ int, op, path string) error {
		if op == "write" && strings.HasSuffix(path, "model.safetensors") {
			return syscall.ENOSPC
		}
		return nil
	}
	err := r.SaveCheckpoint(2, map[string]func(io.Writer) error{"model.safetensors": text("weights")})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "write runs/a/checkpoints/step-000002.tmp/model.safetensors") || !strings.Contains(fmt.Sprint(hint.All(err)), "free some space") {
		t.Errorf("error %v: want ENOSPC, operation, path and what to do", err)
	}
	if got := list(t, m, "runs/a/checkpoints"); !slices.Equal(got, []string{"step-000001"}) {
		t.Errorf("the half-written checkpoint still takes space: %v", got)
	}
}

// What a failed checkpoint could not clear away does not get into the next.
func TestSaveAfterFailure(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	m.Before = func(_ int, op, path string) error {
		if op == "remove" || strings.HasSuffix(path, manifestFile) {
			return syscall.EIO
		}
		return nil
	}
	if err := r.SaveCheckpoint(1, map[string]func(io.Writer) error{"a": text("a")}); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), manifestFile) {
		t.Errorf("error %v: want the one about the manifest", err)
	}
	m.Before = nil
	must(t, r.SaveCheckpoint(1, map[string]func(io.Writer) error{"b": text("b")}))
	if got := list(t, m, "runs/a/checkpoints/step-000001"); !slices.Equal(got, []string{"b", manifestFile}) {
		t.Errorf("the checkpoint holds %v", got)
	}
}

// An error of the caller's own writer is passed on and leaves nothing.
func TestWriterError(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	mine := errors.New("no tensors")
	err := r.SaveCheckpoint(1, map[string]func(io.Writer) error{"w": func(io.Writer) error { return mine }})
	if !errors.Is(err, mine) || len(list(t, m, "runs/a/checkpoints")) != 0 {
		t.Errorf("error %v, left %v", err, list(t, m, "runs/a/checkpoints"))
	}
}

func TestWriteFile(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	must(t, r.WriteFile("curves/loss.svg", []byte("one")))
	must(t, r.WriteFile("curves/loss.svg", []byte("two")))
	after := m.CrashClone(nil)
	if got := read(t, after, "runs/a/curves/loss.svg"); got != "two" {
		t.Errorf("after a crash the file is %q", got)
	}
	m.Before = func(n int, op, _ string) error {
		if op == "fsync" {
			return syscall.EIO
		}
		return nil
	}
	err := r.WriteFile("curves/loss.svg", []byte("three"))
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "fsync runs/a/curves/loss.svg") {
		t.Errorf("error %v", err)
	}
	if got := read(t, m, "runs/a/curves/loss.svg"); got != "two" {
		t.Errorf("after a failed write the file is %q", got)
	}
	if got := list(t, m, "runs/a/curves"); !slices.Equal(got, []string{"loss.svg"}) {
		t.Errorf("left %v", got)
	}
}

// TestWriteBeside: another process holds the run.
func TestWriteBeside(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	must(t, WriteBeside(m, "runs/a", "curves/loss.svg", []byte("one")))
	must(t, r.WriteFile("curves/loss.svg", []byte("two")))
	must(t, WriteBeside(m, "runs/a", "curves/loss.svg", []byte("three")))
	if got := read(t, m, "runs/a/curves/loss.svg"); got != "three" {
		t.Errorf("the file is %q", got)
	}
	if got := list(t, m, "runs/a/curves"); !slices.Equal(got, []string{"loss.svg"}) {
		t.Errorf("left %v", got)
	}
	if err := WriteBeside(m, "runs", "report.html", nil); !errors.Is(err, ErrNotRun) {
		t.Errorf("into a folder that is no run's: %v", err)
	}
}

// TestSetAside: a run continues from no checkpoint that was set aside, whatever it was kept
// for, and may write one of the same step again.
func TestSetAside(t *testing.T) {
	m := NewMem()
	r, err := Create(m, "run")
	must(t, err)
	defer r.Close()
	for step := range 4 {
		must(t, r.SaveBest(step, map[string]func(io.Writer) error{"a": text("x")}))
		must(t, r.SaveCheckpoint(step, map[string]func(io.Writer) error{"a": text("x"), KeepFile: text("")}))
	}
	from := func(least string) func(string) bool {
		return func(dir string) bool { return filepath.Base(dir) >= least }
	}
	for _, want := range []struct {
		least   string
		n, left int
	}{{"step-000002", 2, 1}, {"step-000002", 0, 1}, {"", 2, -1}} {
		n, left, err := r.SetAside(from(want.least))
		must(t, err)
		step := -1
		if left != nil {
			step = left.Step()
		}
		if n != want.n || step != want.left {
			t.Errorf("%d checkpoints are set aside, step %d is left; want %+v", n, step, want)
		}
	}
	if best, err := BestModel(m, "run"); best != nil || err != nil {
		t.Errorf("a best model is left: %v, %v", best, err)
	}
	must(t, r.SaveCheckpoint(2, map[string]func(io.Writer) error{"a": text("y")}))
	if n, left, err := r.SetAside(from("step-000002")); n != 1 || left != nil || err != nil {
		t.Errorf("a second time: %d, %v, %v", n, left, err)
	}
	if got := list(t, m, "run/checkpoints"); !slices.Equal(got, []string{"step-000000.aside", "step-000001.aside", "step-000002.aside", "step-000003.aside"}) {
		t.Errorf("there are %q", got)
	}
}
