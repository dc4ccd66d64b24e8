// Package gpu is the contract between rlzero and the devices it computes on.
//
// A Device runs named kernels (package shaders) over Buffers:
//
//	dev, err := gpu.Open("auto")                        // or "vulkan:1", "ref"
//	err = dev.Prepare([]string{"matmul_nt", "add"})     // compile, once
//	a, err := dev.NewBuffer("weights", 4*rows*columns)  // zeros
//	err = a.Write(0, bytes)
//	program, err := dev.Record("forward", []gpu.Op{...}) // check and record, once
//	err = dev.Submit(program)                            // as often as needed
//	err = dev.Wait()
//	err = c.Read(0, result)
//
// Backends live in folders of their own and register themselves when they are imported: gpu/vulkan
// (every GPU and, through Mesa's lavapipe, every CPU), gpu/webgpu (Metal and Direct3D 12 too, in
// builds with cgo, and browsers) and gpu/refdev (plain Go: the definition of each kernel, chosen
// only by name). Only package main and gputest import them.
//
// # Ordering
//
// Work runs in the order in which it was submitted, and each Op sees the writes
// of all Ops before it. Submit returns at once. Buffer.Write takes effect after
// the submitted programs that use the buffer, and Buffer.Read waits for them, so a
// host that reads what it computed needs no Wait of its own.
//
// # Units
//
// Sizes and offsets are bytes. Buffers are cut into 32-bit words, so both are
// multiples of 4; a View starts at a multiple of 256, which every Vulkan and
// WebGPU device accepts as a binding offset. Op.Size is in the units that the
// kernel's header names.
//
// # Threads
//
// Several goroutines may use a Device, as engines with adapters over one base do: each call ends
// before the next begins, and a submitted program runs without others in between. A Buffer or a
// Program belongs to one goroutine at a time. Different Devices are independent. Register, List and
// Open may be called from any goroutine.
//
// # Lifetimes
//
// Close frees everything. Free waits for submitted work that still uses the object. A Buffer must
// outlive the Programs that name it: Submit refuses a program whose buffer is gone.
//
// # Memory
//
// A Plan lists what a run will allocate before it allocates anything. Plan.Fits
// refuses what cannot fit.
//
// # Environment
//
//	RLZERO_DEVICE  the device that Open("") opens; "auto" when unset
//	RLZERO_TIER    T0, T1, T2, T2x8 or TL instead of the tier that the device would get
//
// T2 and T2x8 are tested when a device is opened (matrix.go), and refused with ErrUnsupported if
// the bits of an element depend on its place in the matrix.
package gpu
