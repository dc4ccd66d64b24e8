package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// holdLock, in the environment, makes the test binary a process that writes the
// run in this folder until it is killed.
const holdLock = "RLZERO_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdLock); dir != "" {
		_, err := Open(OS(), dir)
		fmt.Println(err)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLock(t *testing.T) {
	for name, fsys := range map[string]FS{"os": OS(), "mem": NewMem()} {
		dir := "run"
		if name == "os" {
			dir = filepath.Join(t.TempDir(), "runs", "a")
		}
		r, err := Create(fsys, dir)
		must(t, err)
		if _, err := Open(fsys, dir); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: Open of a run in use: %v", name, err)
		}
		if _, err := Create(fsys, dir); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: Create of a run in use: %v", name, err)
		}
		must(t, r.SaveCheckpoint(1, nil))
		if c, _, err := Latest(fsys, dir); err != nil || c.Step() != 1 {
			t.Errorf("%s: reading a run in use: %v", name, err)
		}
		must(t, r.Close())
		noLockFile(t, fsys, dir)
		r, err = Open(fsys, dir)
		must(t, err)
		must(t, r.WriteFile("recipe.toml", []byte("x")))
		must(t, r.Close())
		noLockFile(t, fsys, dir)
		if _, err := Create(fsys, dir); !errors.Is(err, ErrExists) {
			t.Errorf("%s: Create of a run that is there: %v", name, err)
		}
		noLockFile(t, fsys, dir)
	}
}

// noLockFile: neither a finished run nor a refused one leaves the lock.
func noLockFile(t *testing.T, fsys FS, dir string) {
	t.Helper()
	infos, err := fsys.ReadDir(dir)
	must(t, err)
	for _, info := range infos {
		if info.Name() == lockFile {
			t.Errorf("%s is still there", lockFile)
		}
	}
}

// One process at a time holds the lock, though its file comes and goes.
func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockFile)
	var holders, taken atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				l, err := OS().Lock(path)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				taken.Add(1)
				runtime.Gosched()
				holders.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever held the lock")
	}
}

// A lock ends with its process, also when that is killed.
func TestLockOfKilledProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	r, err := Create(OS(), dir)
	must(t, err)
	must(t, r.Close())
	exe, err := os.Executable()
	must(t, err)
	other := exec.Command(exe)
	other.Env = append(os.Environ(), holdLock+"="+dir)
	in, err := other.StdinPipe() // closed with this process: no orphan stays
	must(t, err)
	defer in.Close()
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = Open(OS(), dir)
	if !errors.Is(err, ErrLocked) {
		t.Errorf("Open of a run in use by another process: %v", err)
	}
	if want := fmt.Sprintf("run %s: in use by another process (process %d)", dir, other.Process.Pid); runtime.GOOS != "windows" && (err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want) {
		t.Errorf("error %q does not begin with %q", err, want)
	}
	must(t, other.Process.Kill())
	other.Wait()
	r, err = Open(OS(), dir)
	must(t, err)
	must(t, r.Close())
}

// The same work on the disk and in memory leaves the same files.
func TestDiskAndMemoryAgree(t *testing.T) {
	m, dir := NewMem(), filepath.Join(t.TempDir(), "runs", "a")
	must(t, drive(m, "runs/a", &progress{}))
	must(t, drive(OS(), dir, &progress{}))
	want, got := tree(t, m, "runs/a"), tree(t, OS(), dir)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q on disk, %q in memory", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files on disk, %d in memory", len(got), len(want))
	}
}

// TestGoneMeanwhile: a run's folder that goes away while a checkpoint is written, or a best model, is
// what the error says, and not which file could not be made. A missing file alone is told as it is.
func TestGoneMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder with open files is not moved on Windows")
	}
	for name, save := range map[string]func(*Run, int, map[string]func(io.Writer) error) error{"checkpoint": (*Run).SaveCheckpoint, "best": (*Run).SaveBest} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "run")
		r, err := Create(OS(), dir)
		must(t, err)
		nothing := func(io.Writer) error { return nil }
		missing := func(io.Writer) error { _, err := os.Open(filepath.Join(parent, "missing")); return err }
		if err := save(r, 1, map[string]func(io.Writer) error{"a": missing}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file that is missing: %v", name, err)
		}
		moves := func(io.Writer) error { return os.Rename(dir, filepath.Join(parent, "elsewhere")) }
		err = save(r, 2, map[string]func(io.Writer) error{"a": moves, "b": nothing})
		if want := fmt.Sprintf("run folder %s was deleted, moved or replaced while the run was writing it", dir); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder was made again: %v", name, err)
		}
		must(t, os.Rename(filepath.Join(parent, "elsewhere"), dir))
		first := takenAway{OS(), func() { _ = os.Rename(dir, filepath.Join(parent, "elsewhere")) }}
		r.fs = &first
		err = save(r, 3, map[string]func(io.Writer) error{"a": nothing})
		if want := fmt.Sprintf("run folder %s was deleted, moved or replaced while the run was writing it", dir); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder was made again before the first file: %v", name, err)
		}
		_ = r.Close()
	}
}

// takenAway is a file system in which something happens before the first folder is made.
type takenAway struct {
	FS
	before func()
}

func (f *takenAway) Mkdir(path string) error {
	if f.before != nil {
		f.before()
		f.before = nil
	}
	return f.FS.Mkdir(path)
}
