// Package shaders holds the GPU kernels: their contracts, their WGSL templates
// and the SPIR-V made from them.
//
// The contract of every kernel (bindings, parameters, extent, formula) is a row
// of the table in kernels.go. The shaders for it are written in the .wgsl files
// beside it, once for each tier. `go generate ./shaders` turns them into spv/
// and manifest.json. Package gpu/refdev has a plain-Go twin of every kernel.
//
// # Template files
//
// A .wgsl file is a text/template file. It starts with a comment that gives, for all its kernels,
// the purpose, the bindings with their shapes, the order of every reduction, the variants that were
// tried, with figures, and the source (manifest_test.go reads it). Then come the declarations of
// variants, one comment line each,
//
//	//variant KERNEL TIER [LABEL] [key=value ...]
//
// and then {{define "KERNEL TIER"}} blocks, the bodies. The keys:
//
//	tile=x[,y[,z]]  extent of Op.Size that one workgroup does; 1 where not given
//	linear          one-dimensional extent whose workgroups may be spread over y:
//	                the body takes its index from {{group}}
//	max=x[,y[,z]]   the variant serves extents up to this; 0 or absent is no bound.
//	                Given twice, it serves what is within either
//	limit=PARAM:n   the variant cannot take more of this parameter
//	use=NAME        the {{define}} to run; "KERNEL TIER" where not given
//	texels=a+b      bindings that are only read and are bound as texel buffers of 4 words;
//	                pairs= and words= of 2 and 1, eights= of 8 elements or 4 words. Factors of
//	                blocks are bound with their numbers, as texel buffers of 1 word
//	lanes=n         the lanes of the subgroups that the variant must get; read as {{.lanes}}
//	NAME=integer    a number that the body reads as {{.NAME}}
//
// The first declared variant of a kernel and tier whose bounds admit an extent runs it. Variants of
// one kernel and tier give equal bits: they may change which invocation computes an output, never
// the order of operations inside it.
//
// Functions for bodies (template.go): {{params}} declares the parameters as pc,
// {{bind "a" "f32"}} a binding of the table as an array ({{bind "do" "f32" "dout"}}
// where its name is a reserved word of WGSL), {{add}} {{mul}} {{div}} do integer
// arithmetic, {{range seq n}} repeats text, {{group}} is the linear workgroup
// index. A kernel whose name ends in _bf16, _q8_0 or _q4_0 runs the body of the one
// without, and a * after the name of a kernel in a declaration stands for all of its
// storages, a _* for those that are not f32: {{bits "b"}} is the size of an element of binding b, {{bf16 "b"}} and
// {{blocks "b"}} tell what it is, {{wide "b"}} is the type of 8 elements, {{wideblock "b"}}
// that of the 32 of a block, {{eight "b"}} names the function that takes 8 apart. On TL a
// binding comes with a function that loads an element: a_at(i) is a[i], and for 8 elements a
// value of type Eight, whether a is a storage buffer or a texel buffer.
// Templates in common.wgsl are shared by all files. While a shader is
// worked on, `go run ./internal/generate -only ID` makes its module alone.
//
// # Tiers
//
// TL is for CPU devices with 8-lane subgroups (Mesa lavapipe): one subgroup is a workgroup, no
// workgroup memory, no barriers, operands exchanged by subgroupShuffle. What a kernel only reads
// is bound as a texel buffer, but for a few that take little of any step: lavapipe gathers texels
// of all 8 lanes without a branch, while a load from a storage buffer is a loop over the lanes
// (docs/why/devices.md#why-does-lavapipe-have-shaders-of-its-own). Stores, and loads of what is
// also written, are 8 floats wide as vec4<u64>, since their cost is by lane and not by byte.
//
// T0 is for any device at WebGPU's default limits: at most 256 invocations and 16 KiB of workgroup
// memory, no subgroups, no 64-bit integers.
//
// T1 is for GPUs with 32 KiB of workgroup memory: products, backward attention and column sums
// whose loads are 16 bytes wide and whose tiles follow the extent alone
// (docs/why/devices.md#why-does-no-device-choose-its-tiles-by-measuring). As in T0, operands in 16
// bits or in blocks are taken apart as they are loaded. T1 uses no subgroups, so there is no tree
// of lanes whose order a driver could choose. Its sums have the order of T0, and so the same bits;
// gpu's TestWideTierKeepsBits compares them. All other kernels of T1 are those of T0.
//
// T2 is for matrix cores of 16 x 16 x 16, T2x8 for those of 8 x 8 x 8 (Mesa lavapipe, for tests):
// the products of matmul_t2.wgsl, with an arithmetic of their own that its head defines, and T1
// elsewhere.
//
// # Numbers
//
// All arithmetic is f32, except on matrix cores. bf16 and blocks of 32 small numbers with a factor
// are ways to store operands, several in a u32. Kernels unpack them by shifts as they load them,
// and sum in the order of the f32 kernels, so no device needs 8- or 16-bit types. Every sum is one
// chain or one fixed tree that does not depend on the variant, on the batch or on who computes it;
// chains use fma(). The generator marks every other float operation NoContraction, so that a driver
// may not fuse what the source does not. lavapipe computes fma(a, b, c) as a*b rounded, then added;
// GPUs round once. NumericsVersion names this set of orders, Numerics adds to it for matrix cores,
// and checkpoints store it.
//
// # Caveats
//
// lavapipe counts the iterations of all loops of an invocation together, including the failing
// tests at their ends. After 65535 it ends all of them without a word (Mesa's
// LP_MAX_TGSI_LOOP_ITERATIONS). A body that could get there declares a limit, which backends check
// (Variant.Check); docs/why/devices.md#what-is-the-limit-of-65535-iterations.
package shaders
