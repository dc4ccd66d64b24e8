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

const bufferUsage = vk.UsageStorageBuffer | vk.UsageTransferSrc | vk.UsageTransferDst

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
	size = (size + 3) &^ 3
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
	if err := d.runTransfer(func(c vk.CommandBuffer) { d.vk.ZeroBuffer(c, b.handle) }); err != nil {
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
	if b.handle, r = d.vk.CreateBuffer(uint64(size), bufferUsage); r != vk.Success {
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

// Write copies data to the buffer.
func (b *buffer) Write(offset int, data []byte) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	err := b.ready(offset, len(data))
	if err == nil && b.mapped != nil {
		copy(b.mapped[offset:], data)
	} else if err == nil {
		err = b.device.upload(b, offset, data)
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
	err := b.ready(offset, len(data))
	if err == nil && b.mapped != nil {
		copy(data, b.mapped[offset:])
	} else if err == nil {
		err = b.device.download(b, offset, data)
	}
	if err != nil {
		return fmt.Errorf("read from buffer %q: %w", b.label, err)
	}
	return nil
}

// ready checks the range of a host copy and waits for the programs that use the
// buffer.
func (b *buffer) ready(offset, length int) error {
	if b.freed {
		return errors.New("it has been freed")
	}
	if err := check.Range(offset, length, b.size); err != nil {
		return err
	}
	return b.device.waitFor(b.lastUse)
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
	_ = d.waitFor(b.lastUse) // a lost device no longer uses it either
	d.vk.DestroyBuffer(b.handle)
	d.vk.FreeMemory(b.memory) // ignores 0
	b.mapped = nil
	delete(d.buffers, b)
}

// stagingSize is large enough that a submission costs little beside its copy.
const stagingSize = 16 << 20

// transfer copies between the host and memory that it cannot reach.
type transfer struct {
	staging  *buffer // host memory, stagingSize bytes
	commands vk.CommandBuffer
}

func (d *Device) upload(b *buffer, offset int, data []byte) error {
	for len(data) > 0 {
		t, err := d.transferBuffer()
		if err != nil {
			return err
		}
		n := copy(t.staging.mapped, data)
		if err := d.runTransfer(func(c vk.CommandBuffer) {
			d.vk.CopyBuffer(c, t.staging.handle, b.handle, 0, uint64(offset), uint64(n))
		}); err != nil {
			return err
		}
		offset, data = offset+n, data[n:]
	}
	return nil
}

func (d *Device) download(b *buffer, offset int, data []byte) error {
	for len(data) > 0 {
		t, err := d.transferBuffer()
		if err != nil {
			return err
		}
		n := min(len(data), stagingSize)
		if err := d.runTransfer(func(c vk.CommandBuffer) {
			d.vk.CopyBuffer(c, b.handle, t.staging.handle, uint64(offset), 0, uint64(n))
		}); err != nil {
			return err
		}
		copy(data[:n], t.staging.mapped)
		offset, data = offset+n, data[n:]
	}
	return nil
}

// transferBuffer makes the staging buffer and its commands once.
func (d *Device) transferBuffer() (*transfer, error) {
	if d.transfer != nil {
		return d.transfer, nil
	}
	staging, err := d.allocate("staging", stagingSize, d.traits.stagingType, true)
	if err != nil {
		return nil, err
	}
	commands, r := d.vk.AllocateCommandBuffer(d.commands)
	if err := checkResult(r, "vkAllocateCommandBuffers", "the staging buffer"); err != nil {
		staging.free()
		return nil, err
	}
	d.transfer = &transfer{staging: staging, commands: commands}
	return d.transfer, nil
}

// runTransfer records copies or fills, runs them behind everything submitted,
// and waits.
func (d *Device) runTransfer(record func(vk.CommandBuffer)) error {
	t, err := d.transferBuffer()
	if err != nil {
		return err
	}
	const label = "a copy"
	c := t.commands
	if err := checkResult(d.vk.Begin(c), "vkBeginCommandBuffer", label); err != nil {
		return err
	}
	copies := vk.Scope{Stages: vk.StageTransfer, Access: vk.AccessTransferRead | vk.AccessTransferWrite}
	d.vk.Barrier(c, computeScope, copies)
	record(c)
	d.vk.Barrier(c, copies, vk.Scope{
		Stages: vk.StageCompute | vk.StageTransfer | vk.StageHost,
		Access: computeScope.Access | copies.Access | vk.AccessHostRead | vk.AccessHostWrite,
	})
	if err := checkResult(d.vk.End(c), "vkEndCommandBuffer", label); err != nil {
		return err
	}
	if err := checkResult(d.vk.Submit(c), "vkQueueSubmit", label); err != nil {
		return err
	}
	d.submitted++
	return d.wait()
}
