// Package webgpu runs the kernels of package shaders through WebGPU: Metal on
// macOS, Direct3D 12 on Windows, Vulkan elsewhere. Importing it for its effect
// registers the backend "webgpu".
//
//	traits.go      what an adapter offers, judged once: limits, memory, tier
//	device.go      open, submit, wait, close
//	memory.go      buffers and their copies
//	pipeline.go    pipelines from package shaders' WGSL, in the WebGPU dialect
//	record.go      ops to bind groups and dispatches
//	timestamps.go  time of each op
//	none.go        what stands here in builds without WebGPU
//
// # Builds
//
// WebGPU is compiled in on macOS and, elsewhere, with -tags webgpu, and needs cgo
// with a C++ compiler: wgpu-native is a static library, package internal/wgpu.
// Nothing has to be installed where the program runs. All other builds list no
// device and say how to get one.
//
// # Kernels
//
// Every device runs tier T0, CPU adapters too: WGSL has no 64-bit integers and
// promises no subgroup size. Limits are WebGPU's defaults
// (https://www.w3.org/TR/webgpu/#limits) save the size of a buffer, and no
// optional feature is used but timestamps. An adapter that offers less is listed
// as not usable, with the limit's name.
//
// # Ordering
//
// A program is one encoder with one compute pass; WebGPU makes each dispatch of a
// pass see the writes of those before it. Command buffers cannot be used twice,
// so Submit encodes again, in one call of the library; buffers, bind groups and
// the uniform buffer with the parameters (256 bytes an op) are made by Record.
// WebGPU tracks whole buffers: an op that reads one part of a buffer and writes
// another gets a pipeline whose bindings are all read_write.
//
// # Memory
//
// WebGPU does not tell how much memory an adapter has. On a CPU adapter it is the
// system's (gpu/internal/host), on a GPU half of that or, if larger, the largest
// buffer that the adapter allows. Write is ordered behind what was submitted and
// returns at once; Read goes through a staging buffer of 16 MiB and waits.
//
// # Threads
//
// As package gpu says; one lock is held by each call, also while it waits for the
// device. Prepare uses several goroutines within.
//
// # Caveats
//
// The library does not tell the driver's name and version; Caps.Driver names the
// library and its backend. Nor does it tell the unit of timestamps: the first
// call of Timestamps measures it against the host's clock for a tenth of a second.
// On Metal the shader compiler may contract and reorder float operations within
// an expression ("fast math"): bits hold from run to run and between sampler and
// trainer, which share their kernels, but need not be those of another backend.
// A lost device shows as gpu.ErrDeviceLost, after a message of the library on
// stderr.
//
// Sources: https://www.w3.org/TR/webgpu/, https://github.com/gfx-rs/wgpu-native.
package webgpu
