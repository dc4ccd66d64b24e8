package store

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteFolder: whenever the machine loses power or the disk fails, the folder is there
// with every file whole, or it is not there and can be written again.
func TestWriteFolder(t *testing.T) {
	files := map[string]func(io.Writer) error{"a": text("first"), "b": text("second")}
	const dir = "out/of/here"
	whole := func(m *Mem) bool {
		t.Helper()
		if _, err := m.ReadDir(dir); errors.Is(err, fs.ErrNotExist) {
			return false
		}
		for name, want := range map[string]string{"a": "first", "b": "second"} {
			f, err := m.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(f); err != nil || string(got) != want {
				t.Fatalf("%s: %q, %v; want %q", name, got, err, want)
			}
		}
		return true
	}
	for last := 1; ; last++ {
		m := NewMem()
		m.Before = func(n int, _, _ string) error {
			if n == last {
				return syscall.ENOSPC
			}
			return nil
		}
		err := WriteFolder(m, dir, files)
		for seed := range uint64(5) {
			lost := m.CrashClone(rand.New(rand.NewPCG(seed, 0)))
			if !whole(lost) {
				if err := WriteFolder(lost, dir, files); err != nil || !whole(lost) {
					t.Fatalf("after operation %d failed and power was lost: %v", last, err)
				}
			}
		}
		if err == nil {
			if last < 10 || !whole(m) {
				t.Errorf("%d operations; is the folder whole? %v", last, whole(m))
			}
			break
		}
	}
}

func TestWriteFolderRefuses(t *testing.T) {
	m := NewMem()
	if err := WriteFolder(m, "taken", map[string]func(io.Writer) error{"a": text("kept")}); err != nil {
		t.Fatal(err)
	}
	if err := WriteFolder(m, "taken", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is there: %v", err)
	}
	if f, err := m.Open("taken/a"); err != nil {
		t.Errorf("what was there: %v", err)
	} else if data, _ := io.ReadAll(f); string(data) != "kept" {
		t.Errorf("what was there is now %q", data)
	}
	if err := WriteFolder(m, "other", map[string]func(io.Writer) error{"../a": text("")}); err == nil {
		t.Error("a name that leads out of the folder was accepted")
	}
	if _, err := m.ReadDir("other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that could not be written: %v", err)
	}
}
