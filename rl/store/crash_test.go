package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// saves are the steps of the run that these tests drive, in order; the second
// of two equal ones replaces the first.
var saves = []int{1, 2, 3, 3, 4, 5, 5, 5, 6}

// keep is how many checkpoints that run keeps.
const keep = 2

// bests are the saves whose model is kept as the best, just before.
var bests = []int{1, 3, 6}

// progress is how far a run has come, in saves.
type progress struct {
	started int // the last SaveCheckpoint that was begun
	saved   int // the last that returned without an error
}

func filesOf(save int) map[string]string {
	return map[string]string{"trainer/save.json": fmt.Sprint(save), "model": strings.Repeat(fmt.Sprint("weights ", save, " "), 3), "config": "{}"}
}

// drive begins a run or continues it, to its end.
func drive(fsys FS, dir string, p *progress) (err error) {
	r, err := Open(fsys, dir)
	if errors.Is(err, ErrNotRun) {
		r, err = Create(fsys, dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.Keep(keep)
	c, _, err := r.Latest()
	if err != nil {
		return err
	}
	l, err := r.Log("metrics.jsonl")
	if err != nil {
		return err
	}
	if err := r.Rewind(c); err != nil {
		return err
	}
	done := 0
	if c != nil {
		if done, err = saveOf(c); err != nil {
			return err
		}
	}
	if err := bestIs(fsys, dir, done); err != nil {
		return err
	}
	for save := done + 1; save <= len(saves); save++ {
		for i := range 2 {
			if err := l.Append([]int{save, i}); err != nil {
				return err
			}
		}
		files := map[string]func(io.Writer) error{}
		for name, data := range filesOf(save) {
			files[name] = text(data)
		}
		p.started = save
		if slices.Contains(bests, save) {
			if err := r.SaveBest(saves[save-1], files); err != nil {
				return err
			}
		}
		if err := r.SaveCheckpoint(saves[save-1], files); err != nil {
			return err
		}
		p.saved = save
	}
	return r.WriteFile("receipt.json", []byte("done"))
}

// bestIs checks that a run which goes on after a save has the best model up to there.
func bestIs(fsys FS, dir string, done int) error {
	want, got := 0, 0
	for _, save := range bests {
		if save <= done {
			want = save
		}
	}
	b, err := BestModel(fsys, dir)
	if err == nil && b != nil {
		got, err = saveOf(b)
	}
	if err == nil && got != want {
		err = fmt.Errorf("after save %d the best model is that of save %d, want %d", done, got, want)
	}
	return err
}

// saveOf reads which save a checkpoint is of.
func saveOf(c *Checkpoint) (int, error) {
	in, err := c.Open("trainer/save.json")
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var save int
	return save, json.NewDecoder(in).Decode(&save)
}

// tree is every file below dir; temporary ones and the lock's text are left out.
func tree(t *testing.T, fsys FS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	infos, err := fsys.ReadDir(dir)
	must(t, err)
	for _, info := range infos {
		p := filepath.Join(dir, info.Name())
		switch {
		case info.Name() == lockFile:
		case info.IsDir():
			for name, data := range tree(t, fsys, p) {
				out[path.Join(info.Name(), name)] = data
			}
		default:
			out[info.Name()] = read(t, fsys, p)
		}
	}
	return out
}

// survives checks what is found after a crash or a failure: the newest whole
// checkpoint is the last that was saved or the one in flight, with its own
// bytes, and the run goes on from it to the end that an undisturbed run has.
func survives(t *testing.T, fsys FS, p progress, want map[string]string) {
	t.Helper()
	c, warnings, err := Latest(fsys, "runs/a")
	switch {
	case errors.Is(err, ErrNotRun) && p.started == 0:
	case err != nil:
		t.Fatalf("after %+v: %v", p, err)
	case c == nil && p.saved > 0:
		t.Fatalf("after %+v: no whole checkpoint, warnings %q", p, warnings)
	case len(warnings) > 0:
		t.Fatalf("after %+v: a checkpoint had its name before it was whole: %q", p, warnings)
	case c != nil:
		save, err := saveOf(c)
		must(t, err)
		if save != p.saved && save != p.started {
			t.Fatalf("after %+v: the newest whole checkpoint is of save %d", p, save)
		}
		for name, data := range filesOf(save) {
			if got := read(t, fsys, filepath.Join(c.Dir(), name)); got != data {
				t.Fatalf("after %+v: %s holds %q, want %q", p, name, got, data)
			}
		}
	}
	must(t, drive(fsys, "runs/a", &progress{}))
	got := tree(t, fsys, "runs/a")
	folders, err := listCheckpoints(fsys, "runs/a")
	must(t, err)
	for i, f := range folders {
		if _, err := load(fsys, f.dir); err != nil {
			t.Fatalf("after %+v %s is left in pieces: %v", p, f.dir, err)
		}
		if i >= keep { // cut short before it was removed, it waits for the next save
			maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, "checkpoints/"+filepath.Base(f.dir)+"/") })
		}
	}
	for name := range want {
		if got[name] != want[name] {
			t.Fatalf("after %+v the run went on to another end: %s holds %q, want %q", p, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("after %+v the run went on to another end: files %q, want %q", p, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// undisturbed is the end of a run that nothing happens to, and how many
// operations it takes.
func undisturbed(t *testing.T) (want map[string]string, operations int) {
	m := NewMem()
	must(t, drive(m, "runs/a", &progress{}))
	return tree(t, m, "runs/a"), m.count
}

func TestCrashAtEveryOperation(t *testing.T) {
	want, operations := undisturbed(t)
	const variants = 3 // of what reached the disk, besides what was fsynced only
	rng := rand.New(rand.NewPCG(1, 2))
	m, p := NewMem(), progress{}
	m.Before = func(n int, op, path string) error {
		survives(t, m.CrashClone(nil), p, want)
		for range variants {
			survives(t, m.CrashClone(rng), p, want)
		}
		return nil
	}
	must(t, drive(m, "runs/a", &p))
	survives(t, m.CrashClone(nil), p, want)
	t.Logf("crashed before each of %d operations", operations)
}

func TestInjectedFaults(t *testing.T) {
	const trials = 1000
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d: repeat with -seed", seed)
	want, operations := undisturbed(t)
	for trial := range uint64(trials) {
		rng := rand.New(rand.NewPCG(seed, trial))
		at, kind, lasting := 1+rng.IntN(operations), []error{syscall.EIO, syscall.ENOSPC}[rng.IntN(2)], rng.IntN(2) == 0
		m, p, failedOp := NewMem(), progress{}, ""
		m.Before = func(n int, op, path string) error {
			if n == at || n > at && lasting {
				if n == at {
					failedOp = path
				}
				return kind
			}
			return nil
		}
		err := drive(m, "runs/a", &p)
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), failedOp) {
			t.Fatalf("seed %d trial %d: operation %d on %s failed with %v, the run's error is %v", seed, trial, at, failedOp, kind, err)
		}
		m.Before = nil
		survives(t, m.CrashClone(rng), p, want)
		survives(t, m, p, want)
	}
}
