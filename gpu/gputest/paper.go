package gputest

import (
	"fmt"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
)

// Paper is a device without memory that computes nothing, and refuses what a real one of its
// limits refuses: models of any size are made on it. What is read from it is left as it was.
type Paper struct {
	Limits gpu.Caps
	Bound  int // bytes of the largest view that a kernel was given
	Taken  int // bytes of all buffers
}

// paperBuffer is a buffer of so many bytes.
type paperBuffer struct {
	dev  *Paper
	size int
}

// Caps implements [gpu.Device].
func (p *Paper) Caps() gpu.Caps { return p.Limits }

// Prepare implements [gpu.Device].
func (*Paper) Prepare(kernels []string) error { return check.Kernels(kernels) }

// Submit implements [gpu.Device].
func (*Paper) Submit(gpu.Program) error { return nil }

// Wait implements [gpu.Device].
func (*Paper) Wait() error { return nil }

// Close implements [gpu.Device].
func (*Paper) Close() error { return nil }

// Timestamps implements [gpu.Device].
func (*Paper) Timestamps(gpu.Program) ([]time.Duration, error) { return nil, nil }

// NewBuffer implements [gpu.Device].
func (p *Paper) NewBuffer(label string, size int) (gpu.Buffer, error) {
	if size > p.Limits.MaxAllocation || p.Taken+size > p.Limits.Memory {
		return nil, fmt.Errorf("%w: %s: %d bytes beside %d", gpu.ErrOutOfMemory, label, size, p.Taken)
	}
	p.Taken += size
	return &paperBuffer{p, size}, nil
}

// Record implements [gpu.Device].
func (p *Paper) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	for _, op := range ops {
		for _, v := range op.Bind {
			size := v.Size
			if size == 0 {
				size = v.Buffer.Size() - v.Offset
			}
			p.Bound = max(p.Bound, size)
		}
	}
	if err := check.Ops(ops, p.Limits, func(gpu.Buffer) bool { return true }); err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	return &paperBuffer{dev: p}, nil
}

func (b *paperBuffer) Size() int             { return b.size }
func (*paperBuffer) Write(int, []byte) error { return nil }
func (*paperBuffer) Read(int, []byte) error  { return nil }
func (b *paperBuffer) Free()                 { b.dev.Taken -= b.size }
