//go:build !((linux || darwin || windows) && (amd64 || arm64))

package vulkan

import (
	"fmt"
	"runtime"

	"github.com/rlzero/rlzero/gpu"
)

// List fails: there is no Vulkan binding for this platform.
func List() ([]gpu.Info, error) {
	return nil, fmt.Errorf("%w: Vulkan is not supported on %s/%s; 64-bit Linux, macOS and Windows are", gpu.ErrNoDevice, runtime.GOOS, runtime.GOARCH)
}

func openAny(int) (gpu.Device, error) {
	_, err := List()
	return nil, err
}

// Inspect fails likewise.
func Inspect(int) ([]gpu.Compiled, error) {
	_, err := List()
	return nil, err
}
