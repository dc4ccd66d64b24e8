// Package vulkan runs rlzero's kernels on any device that has a Vulkan 1.1
// driver: GPUs of every vendor, Apple's through MoltenVK or KosmicKrisp, and
// CPUs through Mesa's lavapipe. It needs no C compiler.
//
// Importing the package registers it with package gpu, where it is "vulkan".
// On platforms without support the package registers a backend that says so.
//
// # Pipelines
//
// A kernel's SPIR-V comes from package shaders. Its bindings are storage buffers, or uniform
// texel buffers where the variant says so (Variant.Texels), 0, 1, ... of set 0 in the order of the
// contract, its parameters are push constants in the order of Op.Params. A variant of a kernel becomes one
// pipeline, made by Prepare or by the first Record that needs it, and kept until
// Close. Mesa's lavapipe compiles a pipeline when it first runs, not when it is
// made, so the first Submit there takes longer in spite of Prepare.
//
// # Barriers
//
// Record notes the byte ranges that each op reads and writes. An op that touches a range that an op
// since the last barrier wrote, or writes one that such an op touched, gets a barrier before it;
// all others may overlap on the device. Two bindings of one op may overlap only if both are read. A
// program begins with a barrier after earlier programs and ends with one before reads of the host.
//
// # Memory
//
// Every buffer has an allocation of its own. Where host and device share memory
// (Caps.Unified) buffers stay mapped and Write and Read are plain copies;
// elsewhere they go through a staging buffer of 16 MiB. Writes and the zeros of new
// buffers are collected and submitted before the next program or read: an engine
// writes dozens of small lists between two programs. Read returns when the copy is
// done.
//
// # Threads
//
// As package gpu says. Every call holds one lock, also while it waits for the device. Prepare uses
// several goroutines inside.
//
// # Caveats
//
// A program is one submission. Some systems reset a GPU that takes seconds for one (Windows after 2
// s, its TdrDelay). The error is then gpu.ErrDeviceLost; more and shorter programs avoid it.
//
// Source: the Vulkan specification,
// https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html.
package vulkan
