//go:build amd64 || arm64

package vulkan

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
)

// TestNoDriver runs itself in a process whose Vulkan loader finds no driver: the
// loader reads the environment through C, which Setenv does not reach.
func TestNoDriver(t *testing.T) {
	const child = "RLZERO_TEST_NO_DRIVER"
	if os.Getenv(child) != "" {
		_, err := List()
		if !errors.Is(err, gpu.ErrNoDevice) || !slices.Contains(hint.All(err), installHint()) {
			t.Errorf("%v, want ErrNoDevice with %q", err, installHint())
		}
		if _, err := gpu.Open("vulkan"); !errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("gpu.Open: %v, want ErrNoDevice", err)
		}
		return
	}
	none := filepath.Join(t.TempDir(), "none.json")
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoDriver$")
	// Old and new name of the same variable
	// (https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderInterfaceArchitecture.md).
	cmd.Env = append(os.Environ(), child+"=1", "VK_ICD_FILENAMES="+none, "VK_DRIVER_FILES="+none)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
