package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// alignment is what every Vulkan and WebGPU device accepts as the offset of a
// storage binding (minStorageBufferOffsetAlignment is at most 256 by both
// specifications).
const alignment = 256

// Kernels returns an error that names the first unknown kernel.
func Kernels(names []string) error {
	for _, name := range names {
		if _, ok := shaders.Lookup(name); !ok {
			return fmt.Errorf("unknown kernel %q; shaders/kernels.go lists them", name)
		}
	}
	return nil
}

// NoTier is the error about a tier that a device was asked for and does not have, with the
// reason and the tiers that it does have.
func NoTier(asked, why string, offers ...gpu.Tier) error {
	names := make([]string, len(offers))
	for i, tier := range offers {
		names[i] = string(tier)
	}
	return fmt.Errorf("no tier %q, which --tier or RLZERO_TIER asks for: %s; this device offers %s", asked, why, strings.Join(names, ", "))
}

// Ops returns an error that names the first op that breaks its kernel's
// contract or a limit of the device. live tells whether a buffer was made by
// the device and not freed.
func Ops(ops []gpu.Op, caps gpu.Caps, live func(gpu.Buffer) bool) error {
	for i, op := range ops {
		if err := checkOp(op, caps, live); err != nil {
			return fmt.Errorf("op %d (%s): %w", i, op.Kernel, err)
		}
	}
	return nil
}

func checkOp(op gpu.Op, caps gpu.Caps, live func(gpu.Buffer) bool) error {
	if err := Kernels([]string{op.Kernel}); err != nil {
		return err
	}
	kernel, _ := shaders.Lookup(op.Kernel)
	if len(op.Bind) != len(kernel.Bindings) {
		return fmt.Errorf("has %d bindings, but the kernel takes %d", len(op.Bind), len(kernel.Bindings))
	}
	if len(op.Params) != len(kernel.Params) {
		return fmt.Errorf("has %d parameters, but the kernel takes %d (%s)", len(op.Params), len(kernel.Params), strings.Join(kernel.Params, ", "))
	}
	for i, view := range op.Bind {
		if err := checkView(view, caps, live); err != nil {
			return fmt.Errorf("binding %d (%s): %w", i, kernel.Bindings[i].Name, err)
		}
	}
	if err := checkOverlap(op, kernel); err != nil {
		return err
	}
	if err := checkBlocks(op, kernel); err != nil {
		return err
	}
	want, err := Extent(kernel, op.Params)
	if err != nil {
		return err
	}
	got := op.Size
	for i := range got {
		got[i] = max(got[i], 1)
	}
	if got != want {
		return fmt.Errorf("the size is %v, but the parameters give %v (%s)", got, want, kernel.Size)
	}
	return nil
}

// checkBlocks refuses rows of blocks that end inside a block: kernels read whole ones.
func checkBlocks(op gpu.Op, kernel *shaders.Kernel) error {
	if !slices.ContainsFunc(kernel.Bindings, func(b shaders.Binding) bool { return b.Name == "scale" }) {
		return nil
	}
	for i, name := range kernel.Params {
		if whole := name == "ldb" || name == "K" && strings.HasPrefix(kernel.Name, "matmul_nt"); whole && op.Params[i]%32 != 0 {
			return fmt.Errorf("%s is %d, but the kernel reads blocks of 32 numbers: it has to be a multiple of 32", name, op.Params[i])
		}
	}
	return nil
}

func checkView(view gpu.View, caps gpu.Caps, live func(gpu.Buffer) bool) error {
	if view.Buffer == nil {
		return fmt.Errorf("no buffer")
	}
	if !live(view.Buffer) {
		return fmt.Errorf("the buffer was freed or belongs to another device")
	}
	end := view.Offset + view.Size
	if view.Size == 0 {
		end = view.Buffer.Size()
	}
	switch {
	case view.Offset < 0 || view.Offset%alignment != 0:
		return fmt.Errorf("offset %d is not a multiple of %d bytes", view.Offset, alignment)
	case view.Size < 0 || view.Size%4 != 0:
		return fmt.Errorf("size %d is not a multiple of 4 bytes", view.Size)
	case end > view.Buffer.Size() || end <= view.Offset:
		return fmt.Errorf("bytes %d to %d are outside the buffer of %d bytes", view.Offset, end, view.Buffer.Size())
	case end-view.Offset > caps.MaxBinding:
		return fmt.Errorf("%d bytes are more than a binding of this device may hold (%d): cut the table into slabs of whole rows", end-view.Offset, caps.MaxBinding)
	}
	return nil
}

// checkOverlap refuses an op that writes what another of its bindings covers:
// shaders read and write in an order of their own.
func checkOverlap(op gpu.Op, kernel *shaders.Kernel) error {
	for i, a := range op.Bind {
		if kernel.Bindings[i].Access == shaders.Read {
			continue
		}
		for j, b := range op.Bind {
			if i != j && a.Buffer == b.Buffer && a.Offset < viewEnd(b) && b.Offset < viewEnd(a) {
				return fmt.Errorf("bindings %s and %s overlap and %s is written (a view of size 0 reaches to the end of its buffer)", kernel.Bindings[i].Name, kernel.Bindings[j].Name, kernel.Bindings[i].Name)
			}
		}
	}
	return nil
}

func viewEnd(v gpu.View) int {
	if v.Size == 0 {
		return v.Buffer.Size()
	}
	return v.Offset + v.Size
}

// Extent is the Op.Size that a kernel's parameters make, by the expressions
// in Kernel.Size. Parts that come out as 0 are 1.
func Extent(kernel *shaders.Kernel, params []uint32) ([3]int, error) {
	size := [3]int{1, 1, 1}
	for i, text := range strings.Split(kernel.Size, ",") {
		n, err := kernel.Number(text, params)
		if err != nil {
			return size, fmt.Errorf("size of kernel %s: %w", kernel.Name, err)
		}
		size[i] = max(n, 1)
	}
	return size, nil
}

// Range checks a copy of length bytes at an offset of a buffer of size bytes.
func Range(offset, length, size int) error {
	switch {
	case offset < 0 || offset > size || length > size-offset:
		return fmt.Errorf("bytes %d to %d are outside its %d bytes", offset, offset+length, size)
	case offset%4 != 0 || length%4 != 0:
		return fmt.Errorf("offset %d and length %d must be multiples of 4", offset, length)
	}
	return nil
}
