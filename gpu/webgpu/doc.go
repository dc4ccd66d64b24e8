// Package webgpu runs the kernels of package shaders through WebGPU: over Metal on macOS, Direct3D
// 12 on Windows, Vulkan elsewhere, and in browsers over whatever they use. Importing it registers
// the backend "webgpu".
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
// WebGPU is compiled in on macOS and, elsewhere, with -tags webgpu. It needs cgo and a C++
// compiler, since wgpu-native is a static library (package internal/wgpu). Nothing has to be
// installed where the program runs. With GOOS=js the package uses the browser's own WebGPU. All
// other builds list no device and say how to get one.
//
// # Kernels
//
// Every device runs tier T0, CPU adapters too, since WGSL has no 64-bit integers and promises no
// subgroup size. Limits are WebGPU's defaults (https://www.w3.org/TR/webgpu/#limits) except for the
// size of a buffer. Timestamps are the only optional feature in use. An adapter that offers less is
// listed as not usable, with the limit's name. RLZERO_TIER=T1 takes the wider kernels where an
// adapter has 32 KiB of workgroup memory: they pass the same tests, and no card has been measured
// with them through WebGPU.
//
// # Ordering
//
// A program is one encoder with one compute pass; WebGPU makes each dispatch of a
// pass see the writes of those before it. Command buffers cannot be used twice,
// so Submit encodes again, in one call of the library; buffers, bind groups and
// the uniform buffer with the parameters (256 bytes an op) are made by Record.
// WebGPU tracks whole buffers: where an op reads one part of a buffer and writes
// another, it gets a pipeline whose reading binding is read_write.
//
// # Memory
//
// WebGPU does not tell how much memory an adapter has. On a CPU adapter it is the
// system's (gpu/internal/host), on a GPU half of that or, if larger, the largest
// buffer that the adapter allows. Write is ordered after what was submitted and
// returns at once; Read goes through a staging buffer of 16 MiB and waits.
//
// # Threads
//
// As package gpu says. Every call holds one lock, also while it waits for the device. Prepare uses
// several goroutines inside.
//
// # Browsers
//
// The device belongs in a dedicated worker: the event loop goes on while Go waits, but not while Go
// computes. There is one adapter, "webgpu:0". Browsers offer it to pages whose address begins with
// https: or names this machine. Caps.Name is what the browser says of the adapter, often only
// vendor and architecture; Caps.Driver is the browser and the system.
//
// A browser's device cannot do what others can:
//
//   - Numbers. WGSL lets an implementation contract a*b+c and treat denormals as zero, and allows
//     2.5 ulp for x/y, 2 ulp for inverseSqrt, 3+2|x| ulp for exp
//     (https://www.w3.org/TR/WGSL/#floating-point-accuracy). Nothing can say NoContraction. So the
//     bits of one browser on one device need not be those of another. rlzero doctor checks that
//     sampler and trainer agree.
//   - Features. f16, subgroups and matrix cores are optional, and none is used. bf16 is
//     packed into u32, as elsewhere.
//   - Room. A binding is 128 MiB and a buffer what maxBufferSize says; Go itself has at
//     most 4 GiB. How much memory a GPU has is not told, see Memory.
//   - Time. Browsers round timestamps (Chromium to 0.1 ms), add a bounds check to each access, and
//     fill workgroup memory with zeros.
//   - Resets. The browser or the system resets a GPU that takes seconds for one submission: the
//     device is lost.
//
// # Caveats
//
// The library tells neither the driver's name nor its version; Caps.Driver names the library and
// its backend. It does not tell the unit of timestamps either: the first call of Timestamps
// measures it against the host's clock for a tenth of a second. On Metal the shader compiler may
// contract and reorder float operations within an expression ("fast math"): bits hold from run to
// run and between sampler and trainer, which share their kernels, but need not be those of another
// backend. A lost device is reported as gpu.ErrDeviceLost; wgpu-native first prints a message to
// stderr.
//
// Sources: https://www.w3.org/TR/webgpu/, https://github.com/gfx-rs/wgpu-native.
package webgpu
