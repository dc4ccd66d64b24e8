//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// checkResult turns the result of a Vulkan function into an error that names the
// function and what it worked on, with a hint.
func checkResult(r vk.Result, call, label string) error {
	switch r {
	case vk.Success:
		return nil
	case vk.DeviceLost:
		return gpu.Advise(fmt.Errorf("%w: %s of %s: %s", gpu.ErrDeviceLost, call, label, r))
	case vk.OutOfHostMemory, vk.OutOfDeviceMemory, vk.OutOfPoolMemory, vk.FragmentedPool, vk.Fragmentation, vk.TooManyObjects, vk.MemoryMapFailed:
		return gpu.Advise(fmt.Errorf("%w: %s of %s: %s", gpu.ErrOutOfMemory, call, label, r))
	case vk.FeatureNotPresent, vk.ExtensionNotPresent, vk.IncompatibleDriver:
		return gpu.Advise(fmt.Errorf("%w: %s of %s: %s", gpu.ErrUnsupported, call, label, r))
	default:
		return fmt.Errorf("%s of %s: %s", call, label, r)
	}
}
