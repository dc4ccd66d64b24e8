//go:build linux && cgo && webgpu

package blackbox

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReleaseBinary: what make release builds is one file of bounded size that
// needs nothing but the C library. Through WebGPU it trains, with the same bytes twice and the ratio exactly 1.
func TestReleaseBinary(t *testing.T) {
	const most = 60 << 20
	// A glibc before 2.34 has libdl and libpthread apart.
	accepted := []string{"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
	file := filepath.Join(t.TempDir(), "rlzero")
	build := exec.Command("go", "build", "-tags", "webgpu", "-trimpath", "-ldflags", "-s -w", "-o", file, "github.com/rlzero/rlzero")
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
	t.Logf("%.1f MiB", float64(info.Size())/(1<<20))
	binary, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	if err != nil || len(libraries) == 0 {
		t.Fatalf("libraries %v, %v", libraries, err)
	}
	for _, library := range libraries {
		if !slices.Contains(accepted, library) {
			t.Errorf("the binary needs %s; accepted are %v", library, accepted)
		}
	}
	// It runs without the machine's environment, and WebGPU is in it.
	list := exec.Command(file, "devices", "--json")
	list.Env = []string{"HOME=" + t.TempDir()}
	out, err := list.CombinedOutput()
	if err != nil || !slices.ContainsFunc(strings.Split(string(out), "\n"), usableWebGPU) {
		t.Errorf("rlzero devices --json: %v, want a WebGPU device that can be used\n%s", err, out)
	}
	t.Setenv("RLZERO_DEVICE", "webgpu")
	folder, runs := t.TempDir(), []map[string]string{}
	for _, name := range []string{"first", "second"} {
		dir := filepath.Join(folder, name)
		if p := (program{path: file}).run(t, append(small(dir, 12), "--set", "stage.rl.checkpoint_every=2")...); p.wait() != 0 {
			t.Fatalf("through WebGPU:\n%s", p.shown())
		}
		runs = append(runs, filesOf(t, dir))
	}
	sameFiles(t, runs[1], runs[0])
	exactOnPolicy(t, filepath.Join(folder, "first"))
}

// usableWebGPU tells of a line of devices --json.
func usableWebGPU(line string) bool {
	return strings.Contains(line, `"id":"webgpu:`) && strings.Contains(line, `"usable":true`)
}
