//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import "strconv"

// Result is VkResult: 0 success, above 0 a remark, below 0 an error.
type Result int32

// The results that compute functions return.
const (
	Success               Result = 0
	Incomplete            Result = 5
	OutOfHostMemory       Result = -1
	OutOfDeviceMemory     Result = -2
	InitializationFailed  Result = -3
	DeviceLost            Result = -4
	MemoryMapFailed       Result = -5
	LayerNotPresent       Result = -6
	ExtensionNotPresent   Result = -7
	FeatureNotPresent     Result = -8
	IncompatibleDriver    Result = -9
	TooManyObjects        Result = -10
	FragmentedPool        Result = -12
	OutOfPoolMemory       Result = -1000069000
	InvalidExternalHandle Result = -1000072003
	Fragmentation         Result = -1000161000
)

var resultNames = map[Result]string{
	Success:               "VK_SUCCESS",
	Incomplete:            "VK_INCOMPLETE",
	OutOfHostMemory:       "VK_ERROR_OUT_OF_HOST_MEMORY",
	OutOfDeviceMemory:     "VK_ERROR_OUT_OF_DEVICE_MEMORY",
	InitializationFailed:  "VK_ERROR_INITIALIZATION_FAILED",
	DeviceLost:            "VK_ERROR_DEVICE_LOST",
	MemoryMapFailed:       "VK_ERROR_MEMORY_MAP_FAILED",
	LayerNotPresent:       "VK_ERROR_LAYER_NOT_PRESENT",
	ExtensionNotPresent:   "VK_ERROR_EXTENSION_NOT_PRESENT",
	FeatureNotPresent:     "VK_ERROR_FEATURE_NOT_PRESENT",
	IncompatibleDriver:    "VK_ERROR_INCOMPATIBLE_DRIVER",
	TooManyObjects:        "VK_ERROR_TOO_MANY_OBJECTS",
	FragmentedPool:        "VK_ERROR_FRAGMENTED_POOL",
	OutOfPoolMemory:       "VK_ERROR_OUT_OF_POOL_MEMORY",
	InvalidExternalHandle: "VK_ERROR_INVALID_EXTERNAL_HANDLE",
	Fragmentation:         "VK_ERROR_FRAGMENTATION",
}

// String is the name in the specification.
func (r Result) String() string {
	if name, ok := resultNames[r]; ok {
		return name
	}
	return "VkResult " + strconv.Itoa(int(r))
}
