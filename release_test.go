//go:build linux && cgo && webgpu

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestReleaseBinary: what make release builds is one file of bounded size that
// needs nothing but the C library.
func TestReleaseBinary(t *testing.T) {
	const most = 60 << 20
	accepted := []string{"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0"}
	file := filepath.Join(t.TempDir(), "rlzero")
	build := exec.Command("go", "build", "-tags", "webgpu", "-trimpath", "-ldflags", "-s -w", "-o", file, ".")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("the binary has %d bytes, at most %d are accepted", info.Size(), most)
	}
	binary, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range libraries {
		if !slices.Contains(accepted, library) && !slices.Contains([]string{"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, library) {
			t.Errorf("the binary needs %s; accepted are %v", library, accepted)
		}
	}
	if out, err := exec.Command(file, "devices").CombinedOutput(); err != nil {
		t.Errorf("rlzero devices: %v\n%s", err, out)
	}
}
