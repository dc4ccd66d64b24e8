//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/shaders"
)

// program is a recorded list of dispatches.
type program struct {
	device     *Device
	label      string
	commands   vk.CommandBuffer
	pool       vk.DescriptorPool // 0 without dispatches
	sets       []vk.DescriptorSet
	views      []vk.BufferView // of texel buffers
	dispatches []dispatch
	buffers    []*buffer // each once
	lastUse    uint64    // number of its last submission
	freed      bool
}

// dispatch is an Op made ready.
type dispatch struct {
	pipeline vk.Pipeline
	layout   layout
	params   []uint32
	groups   [3]uint32
	spans    []span // one for each binding
	barrier  bool   // wait for the dispatches before it
}

// computeScope is all that dispatches do.
var computeScope = vk.Scope{Stages: vk.StageCompute, Access: vk.AccessShaderRead | vk.AccessShaderWrite}

// Record checks the ops and makes a program of them.
func (d *Device) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.vk == nil {
		return nil, fmt.Errorf("program %q: %w", label, errClosed)
	}
	if err := check.Ops(ops, d.traits.caps, d.live); err != nil {
		return nil, fmt.Errorf("program %q: %w", label, err)
	}
	p := &program{device: d, label: label, dispatches: make([]dispatch, len(ops))}
	pending := hazards{}
	used := map[*buffer]bool{}
	for i, op := range ops {
		next, err := d.resolve(op)
		if err != nil {
			return nil, fmt.Errorf("program %q: op %d (%s): %w", label, i, op.Kernel, err)
		}
		next.barrier = pending.add(next.spans)
		p.dispatches[i] = next
		for _, s := range next.spans {
			if !used[s.buffer] {
				used[s.buffer] = true
				p.buffers = append(p.buffers, s.buffer)
			}
		}
	}
	if err := p.bind(); err != nil {
		return nil, err
	}
	d.programs[p] = struct{}{}
	commands, err := d.recordCommands(fmt.Sprintf("program %q", label), p.write)
	if err != nil {
		p.free()
		return nil, err
	}
	p.commands = commands
	return p, nil
}

// live tells whether a buffer can be used in a program of this device.
func (d *Device) live(b gpu.Buffer) bool {
	own, ok := b.(*buffer)
	return ok && own.device == d && !own.freed
}

// resolve finds the pipeline, the workgroups and the spans of a checked op.
func (d *Device) resolve(op gpu.Op) (dispatch, error) {
	k, err := d.kernel(op.Kernel)
	if err != nil {
		return dispatch{}, err
	}
	variant, err := shaders.Choose(op.Kernel, string(d.traits.caps.Tier), op.Size)
	if err != nil {
		return dispatch{}, fmt.Errorf("%w: %w", gpu.ErrUnsupported, err)
	}
	if err := variant.Check(op.Params); err != nil {
		return dispatch{}, fmt.Errorf("%w: %w", gpu.ErrUnsupported, err)
	}
	l, err := d.layoutFor(k, variant)
	if err != nil {
		return dispatch{}, err
	}
	next := dispatch{layout: l, params: slices.Clone(op.Params), spans: make([]span, len(op.Bind))}
	for i, n := range variant.Groups(op.Size) {
		if limit := d.properties.MaxWorkgroups; n > int(limit[i]) {
			return dispatch{}, fmt.Errorf("%w: size %v needs %v workgroups of shader %s, more than the limits %v; cut the work",
				gpu.ErrUnsupported, op.Size, variant.Groups(op.Size), variant.ID, limit)
		}
		next.groups[i] = uint32(n)
	}
	for i, v := range op.Bind {
		next.spans[i] = spanOf(v, k.access[i])
		if variant.Texels != nil {
			next.spans[i].texel = variant.Texels[i]
		}
	}
	next.pipeline, err = d.pipeline(variant, l)
	return next, err
}

// bind makes a descriptor set for each dispatch.
func (p *program) bind() error {
	if len(p.dispatches) == 0 {
		return nil
	}
	d := p.device
	layouts := make([]vk.DescriptorSetLayout, len(p.dispatches))
	count, texels := 0, 0
	for i, op := range p.dispatches {
		layouts[i] = op.layout.set
		count += len(op.spans)
		for _, s := range op.spans {
			if s.texel > 0 {
				texels++
			}
		}
	}
	var r vk.Result
	if p.pool, r = d.vk.CreateDescriptorPool(len(layouts), count-texels, texels); r != vk.Success {
		return checkResult(r, "vkCreateDescriptorPool", fmt.Sprintf("program %q", p.label))
	}
	if p.sets, r = d.vk.AllocateDescriptorSets(p.pool, layouts); r != vk.Success {
		d.vk.DestroyDescriptorPool(p.pool)
		return checkResult(r, "vkAllocateDescriptorSets", fmt.Sprintf("program %q", p.label))
	}
	writes := make([]vk.DescriptorWrite, 0, count)
	for i, op := range p.dispatches {
		for binding, s := range op.spans {
			w := vk.DescriptorWrite{
				Set:     p.sets[i],
				Binding: binding,
				Range:   vk.BufferRange{Buffer: s.buffer.handle, Offset: uint64(s.low), Size: uint64(s.high - s.low)},
			}
			if s.texel > 0 {
				w.Range.Size = uint64(up(s.high-s.low, 4*s.texel)) // a view has no part of a texel
				if w.View, r = d.vk.CreateBufferView(w.Range, s.texel); r != vk.Success {
					p.destroyViews()
					d.vk.DestroyDescriptorPool(p.pool)
					return checkResult(r, "vkCreateBufferView", fmt.Sprintf("program %q", p.label))
				}
				p.views = append(p.views, w.View)
			}
			writes = append(writes, w)
		}
	}
	d.vk.UpdateDescriptorSets(writes)
	return nil
}

func (p *program) destroyViews() {
	for _, v := range p.views {
		p.device.vk.DestroyBufferView(v)
	}
	p.views = nil
}

// write records the program's dispatches.
func (p *program) write(c vk.CommandBuffer) {
	d := p.device
	for i := range p.dispatches {
		if p.dispatches[i].barrier {
			d.vk.Barrier(c, computeScope, computeScope)
		}
		p.writeDispatch(c, i)
	}
}

func (p *program) writeDispatch(c vk.CommandBuffer, i int) {
	d, op := p.device, &p.dispatches[i]
	d.vk.BindPipeline(c, op.pipeline)
	d.vk.BindDescriptorSet(c, op.layout.pipeline, &p.sets[i])
	if len(op.params) > 0 {
		d.vk.PushConstants(c, op.layout.pipeline, op.params)
	}
	d.vk.Dispatch(c, op.groups)
}

// recordCommands makes a command buffer: a barrier against earlier work, what
// write records, and a barrier toward the host.
func (d *Device) recordCommands(label string, write func(vk.CommandBuffer)) (vk.CommandBuffer, error) {
	c, r := d.vk.AllocateCommandBuffer(d.commands)
	if err := checkResult(r, "vkAllocateCommandBuffers", label); err != nil {
		return 0, err
	}
	if err := checkResult(d.vk.Begin(c), "vkBeginCommandBuffer", label); err != nil {
		d.vk.FreeCommandBuffer(d.commands, c)
		return 0, err
	}
	d.vk.Barrier(c, computeScope, computeScope)
	write(c)
	d.vk.Barrier(c, computeScope, vk.Scope{Stages: vk.StageHost, Access: vk.AccessHostRead | vk.AccessHostWrite})
	if err := checkResult(d.vk.End(c), "vkEndCommandBuffer", label); err != nil {
		d.vk.FreeCommandBuffer(d.commands, c)
		return 0, err
	}
	return c, nil
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
	_ = d.waitFor(p.lastUse) // a lost device no longer uses it either
	if p.commands != 0 {
		d.vk.FreeCommandBuffer(d.commands, p.commands)
	}
	d.vk.DestroyDescriptorPool(p.pool) // ignores 0
	p.destroyViews()
	delete(d.programs, p)
}
