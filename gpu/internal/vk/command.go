//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"runtime"
	"unsafe"
)

// CreateDescriptorPool makes a pool for sets that hold, together, a number of
// storage buffers and of texel buffers.
func (d *Device) CreateDescriptorPool(sets, buffers, texels int) (p DescriptorPool, r Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	var sizes []descriptorPoolSize // a count of 0 is not allowed
	for _, size := range []descriptorPoolSize{{descriptorStorage, uint32(buffers)}, {descriptorTexel, uint32(texels)}} {
		if size.count > 0 {
			sizes = append(sizes, size)
		}
	}
	info := descriptorPoolCreateInfo{
		header:  header{sType: typeDescriptorPoolCreateInfo},
		maxSets: uint32(sets),
		count:   uint32(len(sizes)),
		sizes:   pinnedSlice(&pin, sizes),
	}
	r = invoke(d.createDescriptorPool, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&p)))
	return p, r
}

// DestroyDescriptorPool frees a pool and its sets.
func (d *Device) DestroyDescriptorPool(p DescriptorPool) {
	invoke(d.destroyDescriptorPool, d.handle, uintptr(p), 0)
}

// AllocateDescriptorSets takes one set for each layout.
func (d *Device) AllocateDescriptorSets(p DescriptorPool, layouts []DescriptorSetLayout) ([]DescriptorSet, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	sets := make([]DescriptorSet, len(layouts))
	info := descriptorSetAllocateInfo{
		header:  header{sType: typeDescriptorSetAllocateInfo},
		pool:    p,
		count:   uint32(len(layouts)),
		layouts: pinnedSlice(&pin, layouts),
	}
	r := invoke(d.allocateDescriptorSets, d.handle, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&sets[0])))
	return sets, r
}

// DescriptorWrite points one binding of a set at a part of a buffer.
type DescriptorWrite struct {
	Set     DescriptorSet
	Binding int
	Range   BufferRange // of a storage buffer
	View    BufferView  // of a texel buffer; 0: it is a storage buffer
}

// UpdateDescriptorSets makes the writes, of which there is at least one.
func (d *Device) UpdateDescriptorSets(writes []DescriptorWrite) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&writes[0])
	list := make([]writeDescriptorSet, len(writes))
	for i := range writes {
		list[i] = writeDescriptorSet{
			header:  header{sType: typeWriteDescriptorSet},
			set:     writes[i].Set,
			binding: uint32(writes[i].Binding),
			count:   1,
			kind:    descriptorStorage,
			buffers: unsafe.Pointer(&writes[i].Range),
		}
		if writes[i].View != 0 {
			list[i].kind, list[i].buffers, list[i].texelViews = descriptorTexel, nil, unsafe.Pointer(&writes[i].View)
		}
	}
	invoke(d.updateDescriptorSets, d.handle, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])), 0, 0)
}

// CreateCommandPool makes a pool whose buffers can be recorded anew.
func (d *Device) CreateCommandPool(family uint32) (p CommandPool, r Result) {
	info := commandPoolCreateInfo{header: header{sType: typeCommandPoolCreateInfo}, flags: poolResetCommand, family: family}
	r = invoke(d.createCommandPool, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&p)))
	return p, r
}

// DestroyCommandPool frees a pool and its buffers.
func (d *Device) DestroyCommandPool(p CommandPool) {
	invoke(d.destroyCommandPool, d.handle, uintptr(p), 0)
}

// AllocateCommandBuffer takes one primary command buffer.
func (d *Device) AllocateCommandBuffer(p CommandPool) (c CommandBuffer, r Result) {
	info := commandBufferAllocateInfo{header: header{sType: typeCommandBufferAllocateInfo}, pool: p, count: 1}
	r = invoke(d.allocateCommandBuffers, d.handle, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&c)))
	return c, r
}

// FreeCommandBuffer gives a command buffer back.
func (d *Device) FreeCommandBuffer(p CommandPool, c CommandBuffer) {
	invoke(d.freeCommandBuffers, d.handle, uintptr(p), 1, uintptr(unsafe.Pointer(&c)))
}

// Begin starts recording. The result may be submitted while it still runs.
func (d *Device) Begin(c CommandBuffer) Result {
	info := commandBufferBeginInfo{header: header{sType: typeCommandBufferBeginInfo}, flags: useSimultaneous}
	return invoke(d.beginCommandBuffer, uintptr(c), uintptr(unsafe.Pointer(&info)))
}

// End finishes recording.
func (d *Device) End(c CommandBuffer) Result { return invoke(d.endCommandBuffer, uintptr(c)) }

// BindPipeline selects the compute pipeline of the next dispatches.
func (d *Device) BindPipeline(c CommandBuffer, p Pipeline) {
	invoke(d.cmdBindPipeline, uintptr(c), bindPointCompute, uintptr(p))
}

// BindDescriptorSet selects set 0 of the next dispatches.
func (d *Device) BindDescriptorSet(c CommandBuffer, l PipelineLayout, set *DescriptorSet) {
	invoke(d.cmdBindDescriptorSets, uintptr(c), bindPointCompute, uintptr(l), 0, 1, uintptr(unsafe.Pointer(set)), 0, 0)
}

// PushConstants sets the push constants from offset 0; at least one word.
func (d *Device) PushConstants(c CommandBuffer, l PipelineLayout, words []uint32) {
	invoke(d.cmdPushConstants, uintptr(c), uintptr(l), shaderStageCompute, 0, uintptr(4*len(words)), uintptr(unsafe.Pointer(&words[0])))
}

// Dispatch runs x*y*z workgroups.
func (d *Device) Dispatch(c CommandBuffer, groups [3]uint32) {
	invoke(d.cmdDispatch, uintptr(c), uintptr(groups[0]), uintptr(groups[1]), uintptr(groups[2]))
}

// Scope is one side of a barrier: Stage bits and Access bits.
type Scope struct{ Stages, Access uint32 }

// Barrier makes what before wrote visible to after, for all memory.
func (d *Device) Barrier(c CommandBuffer, before, after Scope) {
	barrier := memoryBarrier{header: header{sType: typeMemoryBarrier}, src: before.Access, dst: after.Access}
	invoke(d.cmdPipelineBarrier, uintptr(c), uintptr(before.Stages), uintptr(after.Stages), 0,
		1, uintptr(unsafe.Pointer(&barrier)), 0, 0, 0, 0)
}

// CopyBuffer copies bytes between two buffers.
func (d *Device) CopyBuffer(c CommandBuffer, src, dst Buffer, srcOffset, dstOffset, size uint64) {
	region := bufferCopy{src: srcOffset, dst: dstOffset, size: size}
	invoke(d.cmdCopyBuffer, uintptr(c), uintptr(src), uintptr(dst), 1, uintptr(unsafe.Pointer(&region)))
}

// ZeroBuffer fills a buffer with zeros.
func (d *Device) ZeroBuffer(c CommandBuffer, b Buffer) {
	invoke(d.cmdFillBuffer, uintptr(c), uintptr(b), 0, uintptr(wholeSize), 0)
}

// CreateQueryPool makes a pool of timestamps.
func (d *Device) CreateQueryPool(count int) (p QueryPool, r Result) {
	info := queryPoolCreateInfo{header: header{sType: typeQueryPoolCreateInfo}, kind: queryTypeTimestamp, count: uint32(count)}
	r = invoke(d.createQueryPool, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&p)))
	return p, r
}

// DestroyQueryPool frees a pool.
func (d *Device) DestroyQueryPool(p QueryPool) { invoke(d.destroyQueryPool, d.handle, uintptr(p), 0) }

// ResetQueryPool makes all timestamps of the pool writable.
func (d *Device) ResetQueryPool(c CommandBuffer, p QueryPool, count int) {
	invoke(d.cmdResetQueryPool, uintptr(c), uintptr(p), 0, uintptr(count))
}

// WriteTimestamp stores the time at which all earlier commands have passed the
// stage.
func (d *Device) WriteTimestamp(c CommandBuffer, stage uint32, p QueryPool, index int) {
	invoke(d.cmdWriteTimestamp, uintptr(c), uintptr(stage), uintptr(p), uintptr(index))
}

// Timestamps reads count timestamps, in units of TimestampPeriod, and waits for
// those not yet written.
func (d *Device) Timestamps(p QueryPool, count int) ([]uint64, Result) {
	ticks := make([]uint64, count)
	r := invoke(d.getQueryPoolResults, d.handle, uintptr(p), 0, uintptr(count), uintptr(8*count),
		uintptr(unsafe.Pointer(&ticks[0])), 8, queryResult64|queryResultWait)
	return ticks, r
}

// Submit queues a command buffer.
func (d *Device) Submit(c CommandBuffer) Result {
	var pin runtime.Pinner
	defer pin.Unpin()
	info := submitInfo{header: header{sType: typeSubmitInfo}, commandCount: 1, commands: pinned(&pin, &c)}
	return invoke(d.queueSubmit, uintptr(d.Queue), 1, uintptr(unsafe.Pointer(&info)), 0)
}

// WaitIdle returns when everything submitted has finished.
func (d *Device) WaitIdle() Result { return invoke(d.queueWaitIdle, uintptr(d.Queue)) }
