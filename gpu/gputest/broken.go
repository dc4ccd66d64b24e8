package gputest

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// Broken is a device on which one kernel goes wrong: the first word of its first
// output has a bit flipped. It shows that a check can fail.
type Broken struct {
	gpu.Device
	Kernel string
	Bit    int                // 0 is the last digit of a float32, 22 half of its mantissa
	When   func(run int) bool // whether run n of the kernel, counted from 0, goes wrong; nil: each

	runs int
}

var _ gpu.Device = (*Broken)(nil)

// brokenProgram is a program cut after every run of the kernel.
type brokenProgram struct {
	parts []gpu.Program
	flips []gpu.View // after part i; no buffer: none
}

// Record implements gpu.Device.
func (b *Broken) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	kernel, ok := shaders.Lookup(b.Kernel)
	if !ok {
		return nil, fmt.Errorf("no kernel is called %q", b.Kernel)
	}
	output := slices.IndexFunc(kernel.Bindings, func(b shaders.Binding) bool { return b.Access != shaders.Read })
	p := &brokenProgram{}
	begin := 0
	for i, op := range ops {
		hit := op.Kernel == b.Kernel
		if !hit && i+1 < len(ops) {
			continue
		}
		part, err := b.Device.Record(label, ops[begin:i+1])
		if err != nil {
			p.Free()
			return nil, err
		}
		p.parts = append(p.parts, part)
		var flip gpu.View
		if hit {
			flip = op.Bind[output]
		}
		p.flips = append(p.flips, flip)
		begin = i + 1
	}
	return p, nil
}

// Submit implements gpu.Device.
func (b *Broken) Submit(program gpu.Program) error {
	p := program.(*brokenProgram)
	for i, part := range p.parts {
		if err := b.Device.Submit(part); err != nil {
			return err
		}
		if p.flips[i].Buffer == nil {
			continue
		}
		b.runs++
		if b.When != nil && !b.When(b.runs-1) {
			continue
		}
		if err := flip(p.flips[i], b.Bit); err != nil {
			return err
		}
	}
	return nil
}

// flip turns a bit of a view's first word over. Words are little-endian on every
// device there is.
func flip(v gpu.View, bit int) error {
	word := make([]byte, 4)
	if err := v.Buffer.Read(v.Offset, word); err != nil {
		return err
	}
	word[bit/8] ^= 1 << (bit % 8)
	return v.Buffer.Write(v.Offset, word)
}

// Free implements gpu.Program.
func (p *brokenProgram) Free() {
	for _, part := range p.parts {
		part.Free()
	}
}
