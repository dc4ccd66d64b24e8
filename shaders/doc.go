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
// A .wgsl file is a text/template file. It starts with a comment that says, for
// all its kernels: purpose, bindings with shapes, order of every reduction,
// variants tried with figures, source (manifest_test.go reads it). Then come the
// declarations of variants, one comment line each,
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
//	lanes=n         the lanes of the subgroups that the variant must get; read as {{.lanes}}
//	NAME=integer    a number that the body reads as {{.NAME}}
//
// The first declared variant of a kernel and tier whose bounds admit an extent
// runs it. Variants of one kernel and tier give equal bits: they may change who
// computes an output, never the order of operations inside it.
//
// Functions for bodies (template.go): {{params}} declares the parameters as pc,
// {{bind "a" "f32"}} a binding of the table as an array ({{bind "do" "f32" "dout"}}
// where its name is a reserved word of WGSL), {{add}} {{mul}} {{div}} do integer
// arithmetic, {{range seq n}} repeats text, {{group}} is the linear workgroup
// index. A kernel whose name ends in _bf16, _q8_0 or _q4_0 runs the body of the one
// without, and a * after the name of a kernel in a declaration stands for all of its
// storages: {{bits "b"}} is the size of an element of binding b, {{bf16 "b"}} and
// {{blocks "b"}} tell what it is, {{wide "b"}} is the type of 8 elements, {{wideblock "b"}}
// that of the 32 of a block, {{even "b"}} and {{odd "b"}} name the functions that take 8
// apart.
// Templates in common.wgsl are shared by all files. While a shader is
// worked on, `go run ./internal/generate -only ID` makes its module alone.
//
// # Tiers
//
// TL is for CPU devices with 8-lane subgroups (Mesa lavapipe): one subgroup is
// a workgroup, no workgroup memory, no barriers, loads 8 floats wide as
// vec4<u64>, operands exchanged by subgroupShuffle. lavapipe's loads cost 25 ns
// whether they bring 8 or 64 floats, and it looks at every one of 8 lanes in
// each, so loads are few and wide and stand in loops, which also bounds the time
// of its compiler. T0 is for any device at WebGPU's default limits: at most
// 256 invocations and 16 KiB of workgroup memory, no subgroups, no 64-bit
// integers. T1 is for GPUs with 32 KiB of workgroup memory: products,
// backward attention and column sums whose loads are 16 bytes wide and whose tiles follow
// the extent alone (docs/why/devices.md#why-does-no-device-choose-its-tiles-by-measuring). Operands in
// 16 bits or in blocks are taken apart as they are loaded, as in T0; subgroups are not used,
// so there is no tree of lanes whose order a driver could choose. Its sums have the
// order of T0, so its bits are those of T0, whose shaders it takes for all other
// kernels; gpu's TestWideTierKeepsBits compares them. T2 is for matrix cores of
// 16 x 16 x 16, T2x8 for those of 8 x 8 x 8 (Mesa lavapipe, for tests): the products of
// matmul_t2.wgsl, with an arithmetic of their own that its head defines, and T1 elsewhere.
//
// # Numbers
//
// All arithmetic but that of matrix cores is f32; bf16 and blocks of 32 small numbers with a factor are ways to
// store operands, several in a u32, unpacked by shifts where they are loaded, in kernels
// with the order of those of f32. No device needs 8- or 16-bit types for it. Every sum is
// one chain or one fixed tree that does not depend on the variant, on the batch or on who
// computes it; chains use fma().
// The generator marks every other float operation NoContraction, so that a
// driver may not fuse what the source does not. lavapipe computes fma(a, b, c)
// as a*b rounded, then added; GPUs round once. NumericsVersion names this set
// of orders, Numerics adds to it for matrix cores, and checkpoints store it.
//
// # Caveats
//
// lavapipe counts the iterations of all loops of an invocation together, the
// failing tests at their ends included, and ends them all after 65535, without a
// word (Mesa's LP_MAX_TGSI_LOOP_ITERATIONS). A body that could get there declares
// a limit, which backends check (Variant.Check);
// docs/why/devices.md#what-is-the-limit-of-65535-iterations.
package shaders
