//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// buffer is a Vulkan buffer with its own memory.
type buffer struct {
	device  *Device
	label   string
	size    int
	handle  vk.Buffer
	memory  vk.DeviceMemory
	mapped  []byte // its bytes, where the host can reach them
	lastUse uint64 // number of the last submission that uses it
	freed   bool
}

const bufferUsage = vk.UsageStorageBuffer | vk.UsageTexelBuffer | vk.UsageTransferSrc | vk.UsageTransferDst

// largestTexel is the size of a texel of 4 words. Buffers are whole numbers of them, so that a view
// can be one too.
const largestTexel = 16

// up is n rounded up to a multiple of unit, a power of 2.
func up(n, unit int) int { return (n + unit - 1) &^ (unit - 1) }

// NewBuffer allocates a buffer of zeros.
func (d *Device) NewBuffer(label string, size int) (gpu.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.vk == nil {
		return nil, fmt.Errorf("buffer %q: %w", label, errClosed)
	}
	if size <= 0 || size > math.MaxInt-3 {
		return nil, fmt.Errorf("buffer %q: size %d; it must be above 0", label, size)
	}
	size = up(size, 4)
	if size > d.traits.caps.MaxAllocation {
		return nil, fmt.Errorf("%w: buffer %q has %d bytes, more than the %d that this device allows; cut it into slabs",
			gpu.ErrOutOfMemory, label, size, d.traits.caps.MaxAllocation)
	}
	b, err := d.allocate(label, size, d.traits.memoryType, d.traits.caps.Unified)
	if err != nil {
		return nil, err
	}
	if b.mapped != nil {
		clear(b.mapped)
		return b, nil
	}
	if err := d.queueZeros(b); err != nil {
		b.free()
		return nil, fmt.Errorf("buffer %q: %w", label, err)
	}
	return b, nil
}

// allocate makes a buffer of undefined content in memory of that type.
func (d *Device) allocate(label string, size, memoryType int, mapped bool) (*buffer, error) {
	what := fmt.Sprintf("buffer %q (%d bytes)", label, size)
	b := &buffer{device: d, label: label, size: size}
	var r vk.Result
	if b.handle, r = d.vk.CreateBuffer(uint64(up(size, largestTexel)), bufferUsage); r != vk.Success {
		return nil, checkResult(r, "vkCreateBuffer", what)
	}
	d.buffers[b] = struct{}{}
	need := d.vk.Requirements(b.handle)
	if b.memory, r = d.vk.Allocate(need.Size, uint32(memoryType)); r != vk.Success {
		b.free()
		return nil, checkResult(r, "vkAllocateMemory", what)
	}
	if r = d.vk.Bind(b.handle, b.memory); r != vk.Success {
		b.free()
		return nil, checkResult(r, "vkBindBufferMemory", what)
	}
	if mapped {
		if b.mapped, r = d.vk.Map(b.memory, size); r != vk.Success {
			b.free()
			return nil, checkResult(r, "vkMapMemory", what)
		}
	}
	return b, nil
}

// Size is the number of bytes, a multiple of 4.
func (b *buffer) Size() int { return b.size }

// Write copies data to the buffer: at once where the host can reach its bytes, else
// together with other writes, after what was submitted and before what will be.
func (b *buffer) Write(offset int, data []byte) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	err := b.check(offset, len(data))
	if err == nil && b.mapped != nil {
		if err = b.device.waitFor(b.lastUse); err == nil {
			copy(b.mapped[offset:], data)
		}
	} else if err == nil {
		err = b.device.queueWrite(b, offset, data)
	}
	if err != nil {
		return fmt.Errorf("write to buffer %q: %w", b.label, err)
	}
	return nil
}

// Read copies from the buffer.
func (b *buffer) Read(offset int, data []byte) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	err := b.check(offset, len(data))
	if err == nil && b.mapped != nil {
		if err = b.device.waitFor(b.lastUse); err == nil {
			copy(data, b.mapped[offset:])
		}
	} else if err == nil {
		err = b.device.download(b, offset, data)
	}
	if err != nil {
		return fmt.Errorf("read from buffer %q: %w", b.label, err)
	}
	return nil
}

// check refuses host copies that the buffer has no room for.
func (b *buffer) check(offset, length int) error {
	if b.freed {
		return errors.New("it has been freed")
	}
	if b.device.vk == nil {
		return errClosed
	}
	return check.Range(offset, length, b.size)
}

// Free gives the memory back, after the programs that use it.
func (b *buffer) Free() {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	b.free()
}

func (b *buffer) free() {
	if b.freed {
		return
	}
	b.freed = true
	d := b.device
	_ = errors.Join(d.flushFor(b), d.waitFor(b.lastUse)) // a lost device no longer uses it either
	d.vk.DestroyBuffer(b.handle)
	d.vk.FreeMemory(b.memory) // ignores 0
	b.mapped = nil
	delete(d.buffers, b)
}
