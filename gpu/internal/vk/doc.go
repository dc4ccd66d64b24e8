// Package vk binds the part of Vulkan 1.1 that compute needs, without cgo.
//
// Functions are called through github.com/ebitengine/purego
// (docs/why/devices.md#why-vulkan-bindings-of-our-own). Each wrapper builds
// its own create-info structures, so no pointer and no structure type of C leaves
// the package; handles are plain 64-bit values. Names are Vulkan's without the
// vk and VK_ prefixes, and the specification at
// https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html says what
// each does. Allocation callbacks are always null.
//
// # Memory
//
// C must not see Go memory that can move or be freed. Two rules ensure this:
//
//   - A pointer that is itself an argument is converted in the argument list of
//     invoke, whose go:uintptrescapes directive moves its target to the heap and
//     keeps it alive until the call returns (rule 4 of unsafe.Pointer).
//   - A pointer inside a structure, which that directive cannot see, is made by
//     pinned or pinnedSlice and stays pinned until the call returns.
//
// Vulkan keeps none of these pointers after the call.
//
// # Platforms
//
// 64-bit Linux, macOS and Windows: handles and VkDeviceSize must fit one machine
// word. On other platforms the package is empty.
//
// # Threads
//
// The functions are as thread-safe as Vulkan's: objects named "externally
// synchronized" in the specification need a lock of the caller.
package vk
