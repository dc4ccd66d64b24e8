//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
)

// buffer is a storage buffer.
type buffer struct {
	device  *Device
	label   string
	size    int
	handle  wgpu.Buffer
	lastUse uint64 // number of the last submission that uses it
	freed   bool
}

// NewBuffer allocates a buffer; WebGPU fills it with zeros.
func (d *Device) NewBuffer(label string, size int) (gpu.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.newBuffer(label, size)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (d *Device) newBuffer(label string, size int) (*buffer, error) {
	if err := d.usable(); err != nil {
		return nil, fmt.Errorf("buffer %q: %w", label, err)
	}
	if size <= 0 || size > math.MaxInt-3 {
		return nil, fmt.Errorf("buffer %q: size %d; it must be above 0", label, size)
	}
	size = (size + 3) &^ 3
	if size > d.caps.MaxAllocation {
		return nil, fmt.Errorf("%w: buffer %q has %d bytes, more than the %d that this device allows; cut it into slabs",
			gpu.ErrOutOfMemory, label, size, d.caps.MaxAllocation)
	}
	handle, err := d.device.NewBuffer(label, size, wgpu.Storage)
	if err != nil {
		return nil, d.explain(err, fmt.Sprintf("buffer %q (%d bytes)", label, size))
	}
	b := &buffer{device: d, label: label, size: size, handle: handle}
	d.buffers[b] = struct{}{}
	return b, nil
}

// Size is the number of bytes, a multiple of 4.
func (b *buffer) Size() int { return b.size }

// Write copies data to the buffer, ordered after the work submitted.
func (b *buffer) Write(offset int, data []byte) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	what := fmt.Sprintf("write to buffer %q", b.label)
	if err := b.ready(offset, len(data)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return b.device.explain(b.device.device.Write(b.handle, offset, data), what)
}

// Read copies from the buffer, after the work submitted.
func (b *buffer) Read(offset int, data []byte) error {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	what := fmt.Sprintf("read from buffer %q", b.label)
	if err := b.ready(offset, len(data)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return b.device.explain(b.device.device.Read(b.handle, offset, data), what)
}

// ready checks the range of a host copy.
func (b *buffer) ready(offset, length int) error {
	if b.freed {
		return errors.New("it has been freed")
	}
	if err := check.Range(offset, length, b.size); err != nil {
		return err
	}
	return b.device.usable()
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
	delete(b.device.buffers, b)
	if b.device.waitFor(b.lastUse) == nil { // a lost device is left alone
		b.handle.Release()
	}
}
