//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// checkResult turns the result of a Vulkan function into an error that names the
// function, what it worked on, and what to do.
func checkResult(r vk.Result, call, label string) error {
	switch r {
	case vk.Success:
		return nil
	case vk.DeviceLost:
		return fmt.Errorf("%w: %s of %s: %s; open the device again, a run continues from its last checkpoint; if it happens again, update the driver or let each step do less work",
			gpu.ErrDeviceLost, call, label, r)
	case vk.OutOfHostMemory, vk.OutOfDeviceMemory, vk.OutOfPoolMemory, vk.FragmentedPool, vk.Fragmentation, vk.TooManyObjects, vk.MemoryMapFailed:
		return fmt.Errorf("%w: %s of %s: %s; close other programs that use the device or make the run smaller",
			gpu.ErrOutOfMemory, call, label, r)
	case vk.FeatureNotPresent, vk.ExtensionNotPresent, vk.IncompatibleDriver:
		return fmt.Errorf("%w: %s of %s: %s; update the driver or choose another device",
			gpu.ErrUnsupported, call, label, r)
	default:
		return fmt.Errorf("%s of %s: %s", call, label, r)
	}
}
