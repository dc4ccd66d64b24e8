//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"encoding/binary"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
	"github.com/rlzero/rlzero/shaders"
)

// program is a list of dispatches with their bind groups.
type program struct {
	device   *Device
	label    string
	params   wgpu.Buffer // a slot for each op; none without ops
	commands wgpu.Commands
	buffers  []*buffer // each once
	lastUse  uint64    // number of its last submission
	freed    bool
}

// Record checks the ops and makes a program of them.
func (d *Device) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.record(label, ops)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (d *Device) record(label string, ops []gpu.Op) (*program, error) {
	if err := d.usable(); err != nil {
		return nil, fmt.Errorf("program %q: %w", label, err)
	}
	if err := check.Ops(ops, d.caps, d.live); err != nil {
		return nil, fmt.Errorf("program %q: %w", label, err)
	}
	p := &program{device: d, label: label}
	d.programs[p] = struct{}{}
	if err := p.build(ops); err != nil {
		p.free()
		return nil, fmt.Errorf("program %q: %w", label, err)
	}
	return p, nil
}

// live tells whether a buffer can be used in a program of this device.
func (d *Device) live(b gpu.Buffer) bool {
	own, ok := b.(*buffer)
	return ok && own.device == d && !own.freed
}

// build makes the parameters, bind groups and dispatches of checked ops.
func (p *program) build(ops []gpu.Op) error {
	if err := p.writeParams(ops); err != nil {
		return err
	}
	dispatches := make([]wgpu.Dispatch, len(ops))
	used := map[*buffer]bool{}
	for i, op := range ops {
		var err error
		if dispatches[i], err = p.resolve(i, op); err != nil {
			return fmt.Errorf("op %d (%s): %w", i, op.Kernel, err)
		}
		for _, v := range op.Bind {
			if b := v.Buffer.(*buffer); !used[b] {
				used[b] = true
				p.buffers = append(p.buffers, b)
			}
		}
	}
	var err error
	if p.commands, err = p.device.device.NewCommands(dispatches); err != nil {
		return p.device.explain(err, "bind groups")
	}
	return nil
}

// writeParams makes the uniform buffer.
func (p *program) writeParams(ops []gpu.Op) error {
	if len(ops) == 0 {
		return nil
	}
	data := make([]byte, slot*len(ops))
	for i, op := range ops {
		for j, word := range op.Params {
			binary.NativeEndian.PutUint32(data[slot*i+4*j:], word)
		}
	}
	d := p.device
	var err error
	if p.params, err = d.device.NewBuffer("parameters of "+p.label, len(data), wgpu.Uniform); err != nil {
		return d.explain(err, "parameters")
	}
	return d.explain(d.device.Write(p.params, 0, data), "parameters")
}

// resolve finds the pipeline, the workgroups and the buffers of op i.
func (p *program) resolve(i int, op gpu.Op) (wgpu.Dispatch, error) {
	d := p.device
	variant, err := shaders.Choose(op.Kernel, string(d.caps.Tier), op.Size)
	if err == nil {
		err = variant.Check(op.Params)
	}
	if err != nil {
		return wgpu.Dispatch{}, fmt.Errorf("%w: %w", gpu.ErrUnsupported, err)
	}
	next := wgpu.Dispatch{Spans: p.spans(i, op), Groups: variant.Groups(op.Size)}
	for _, n := range next.Groups {
		if n > defaults.Groups {
			return next, fmt.Errorf("%w: size %v needs %v workgroups of shader %s, more than %d in a dimension; cut the work",
				gpu.ErrUnsupported, op.Size, next.Groups, variant.ID, defaults.Groups)
		}
	}
	shared := alsoWritten(op)
	if next.Layout, err = d.layout(op.Kernel, shared); err != nil {
		return next, err
	}
	next.Pipeline, err = d.pipeline(variant, shared, next.Layout)
	return next, err
}

// spans are the bytes that op i binds: its views, then its parameters.
func (p *program) spans(i int, op gpu.Op) []wgpu.Span {
	spans := make([]wgpu.Span, 0, len(op.Bind)+1)
	for _, v := range op.Bind {
		b := v.Buffer.(*buffer)
		size := v.Size
		if size == 0 {
			size = b.size - v.Offset
		}
		spans = append(spans, wgpu.Span{Buffer: b.handle, Offset: v.Offset, Size: size})
	}
	return append(spans, wgpu.Span{Buffer: p.params, Offset: slot * i, Size: 4 * len(op.Params)})
}

// alsoWritten has the bits of the bindings that an op only reads, of a buffer that it
// writes at another binding.
func alsoWritten(op gpu.Op) (shared uint32) {
	kernel, _ := shaders.Lookup(op.Kernel)
	for i, a := range op.Bind {
		for j, b := range op.Bind {
			if a.Buffer == b.Buffer && kernel.Bindings[i].Access == shaders.Read && kernel.Bindings[j].Access != shaders.Read {
				shared |= 1 << i
			}
		}
	}
	return shared
}

// Free gives the program back, after its last submission.
func (p *program) Free() {
	p.device.mu.Lock()
	defer p.device.mu.Unlock()
	p.free()
}

func (p *program) free() {
	if p.freed {
		return
	}
	p.freed = true
	d := p.device
	delete(d.programs, p)
	if d.waitFor(p.lastUse) != nil { // a lost device is left alone
		return
	}
	p.commands.Release()
	if p.params != (wgpu.Buffer{}) {
		p.params.Release()
	}
}
