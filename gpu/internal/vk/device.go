//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Device is a logical device with one queue.
type Device struct {
	handle uintptr
	Queue  Queue

	// Statistics tells whether pipelines are compiled so that Executables can tell
	// about them.
	Statistics bool

	destroyDevice              uintptr
	getDeviceQueue             uintptr
	createBuffer               uintptr
	destroyBuffer              uintptr
	createBufferView           uintptr
	destroyBufferView          uintptr
	getBufferRequirements      uintptr
	allocateMemory             uintptr
	freeMemory                 uintptr
	bindBufferMemory           uintptr
	mapMemory                  uintptr
	createShaderModule         uintptr
	destroyShaderModule        uintptr
	createDescriptorSetLayout  uintptr
	destroyDescriptorSetLayout uintptr
	createPipelineLayout       uintptr
	destroyPipelineLayout      uintptr
	createComputePipelines     uintptr
	destroyPipeline            uintptr
	createDescriptorPool       uintptr
	destroyDescriptorPool      uintptr
	allocateDescriptorSets     uintptr
	updateDescriptorSets       uintptr
	createCommandPool          uintptr
	destroyCommandPool         uintptr
	allocateCommandBuffers     uintptr
	freeCommandBuffers         uintptr
	createQueryPool            uintptr
	destroyQueryPool           uintptr
	getQueryPoolResults        uintptr
	beginCommandBuffer         uintptr
	endCommandBuffer           uintptr
	cmdBindPipeline            uintptr
	cmdBindDescriptorSets      uintptr
	cmdPushConstants           uintptr
	cmdDispatch                uintptr
	cmdPipelineBarrier         uintptr
	cmdCopyBuffer              uintptr
	cmdFillBuffer              uintptr
	cmdResetQueryPool          uintptr
	cmdWriteTimestamp          uintptr
	queueSubmit                uintptr
	queueWaitIdle              uintptr

	executableProperties uintptr // these two with Statistics alone
	executableStatistics uintptr
}

// Want is what a device is to have beside what every one has.
type Want struct {
	Matrices   bool // matrix cores, which Properties.Matrices tells of
	Statistics bool // of pipelines, if there are any: drivers may compile more slowly with them
}

// NewDevice makes a device of physical device i with one queue of the family.
// The only features it enables are 64-bit integers, if there are any, what a driver
// that lacks parts of Vulkan insists on, and what is wanted.
func (in *Instance) NewDevice(i int, family uint32, want Want) (*Device, error) {
	physical := in.physicalDevices[i]
	available := in.deviceExtensions(physical)
	d := &Device{Statistics: want.Statistics && hasExtension(available, extExecutables)}
	var extensions []string
	if hasExtension(available, extPortableDevice) {
		extensions = append(extensions, extPortableDevice)
	}
	if d.Statistics {
		extensions = append(extensions, extExecutables)
	}
	if want.Matrices {
		extensions = append(extensions, extMatrix, extSubgroupSize)
	}
	var supported, enabled [featureCount]uint32
	invoke(in.features, physical, uintptr(unsafe.Pointer(&supported)))
	enabled[featureShaderInt64] = supported[featureShaderInt64]

	var pin runtime.Pinner
	defer pin.Unpin()
	priority := float32(1)
	info := deviceCreateInfo{
		header:     header{sType: typeDeviceCreateInfo},
		queueCount: 1,
		queues: pinned(&pin, &queueCreateInfo{
			header:     header{sType: typeDeviceQueueCreateInfo},
			family:     family,
			count:      1,
			priorities: pinned(&pin, &priority),
		}),
		extensionCount: uint32(len(extensions)),
		extensionNames: pinnedStrings(&pin, extensions),
		features:       pinned(&pin, &enabled),
	}
	if d.Statistics {
		info.pNext = pinned(&pin, &executableFeatures{header: header{sType: typeExecutableFeatures}, info: 1})
	}
	if want.Matrices {
		all, chain := matrixChain(&pin)
		for _, f := range chain {
			f.first = 1
			if f.sType == typeSubgroupSizeFeatures {
				f.other = 1
			}
		}
		chain[0].pNext, info.pNext = info.pNext, all.pNext
	}
	if r := invoke(in.createDevice, physical, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&d.handle))); r != Success {
		return nil, fmt.Errorf("vkCreateDevice: %s", r)
	}
	for _, p := range d.procs() {
		if *p.pointer = lookup(in.getDeviceProc, d.handle, p.name); *p.pointer == 0 {
			return nil, fmt.Errorf("the Vulkan driver lacks %s", p.name)
		}
	}
	invoke(d.getDeviceQueue, d.handle, uintptr(family), 0, uintptr(unsafe.Pointer(&d.Queue)))
	return d, nil
}

func (d *Device) procs() []proc {
	list := []proc{
		{&d.destroyDevice, "vkDestroyDevice"},
		{&d.getDeviceQueue, "vkGetDeviceQueue"},
		{&d.createBuffer, "vkCreateBuffer"},
		{&d.destroyBuffer, "vkDestroyBuffer"},
		{&d.createBufferView, "vkCreateBufferView"},
		{&d.destroyBufferView, "vkDestroyBufferView"},
		{&d.getBufferRequirements, "vkGetBufferMemoryRequirements"},
		{&d.allocateMemory, "vkAllocateMemory"},
		{&d.freeMemory, "vkFreeMemory"},
		{&d.bindBufferMemory, "vkBindBufferMemory"},
		{&d.mapMemory, "vkMapMemory"},
		{&d.createShaderModule, "vkCreateShaderModule"},
		{&d.destroyShaderModule, "vkDestroyShaderModule"},
		{&d.createDescriptorSetLayout, "vkCreateDescriptorSetLayout"},
		{&d.destroyDescriptorSetLayout, "vkDestroyDescriptorSetLayout"},
		{&d.createPipelineLayout, "vkCreatePipelineLayout"},
		{&d.destroyPipelineLayout, "vkDestroyPipelineLayout"},
		{&d.createComputePipelines, "vkCreateComputePipelines"},
		{&d.destroyPipeline, "vkDestroyPipeline"},
		{&d.createDescriptorPool, "vkCreateDescriptorPool"},
		{&d.destroyDescriptorPool, "vkDestroyDescriptorPool"},
		{&d.allocateDescriptorSets, "vkAllocateDescriptorSets"},
		{&d.updateDescriptorSets, "vkUpdateDescriptorSets"},
		{&d.createCommandPool, "vkCreateCommandPool"},
		{&d.destroyCommandPool, "vkDestroyCommandPool"},
		{&d.allocateCommandBuffers, "vkAllocateCommandBuffers"},
		{&d.freeCommandBuffers, "vkFreeCommandBuffers"},
		{&d.createQueryPool, "vkCreateQueryPool"},
		{&d.destroyQueryPool, "vkDestroyQueryPool"},
		{&d.getQueryPoolResults, "vkGetQueryPoolResults"},
		{&d.beginCommandBuffer, "vkBeginCommandBuffer"},
		{&d.endCommandBuffer, "vkEndCommandBuffer"},
		{&d.cmdBindPipeline, "vkCmdBindPipeline"},
		{&d.cmdBindDescriptorSets, "vkCmdBindDescriptorSets"},
		{&d.cmdPushConstants, "vkCmdPushConstants"},
		{&d.cmdDispatch, "vkCmdDispatch"},
		{&d.cmdPipelineBarrier, "vkCmdPipelineBarrier"},
		{&d.cmdCopyBuffer, "vkCmdCopyBuffer"},
		{&d.cmdFillBuffer, "vkCmdFillBuffer"},
		{&d.cmdResetQueryPool, "vkCmdResetQueryPool"},
		{&d.cmdWriteTimestamp, "vkCmdWriteTimestamp"},
		{&d.queueSubmit, "vkQueueSubmit"},
		{&d.queueWaitIdle, "vkQueueWaitIdle"},
	}
	if d.Statistics {
		list = append(list,
			proc{&d.executableProperties, "vkGetPipelineExecutablePropertiesKHR"},
			proc{&d.executableStatistics, "vkGetPipelineExecutableStatisticsKHR"})
	}
	return list
}

// Destroy frees the device. Everything made by it must be gone.
func (d *Device) Destroy() { invoke(d.destroyDevice, d.handle, 0) }

// CreateBuffer makes a buffer without memory.
func (d *Device) CreateBuffer(size uint64, usage uint32) (b Buffer, r Result) {
	info := bufferCreateInfo{header: header{sType: typeBufferCreateInfo}, size: size, usage: usage}
	r = invoke(d.createBuffer, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&b)))
	return b, r
}

// DestroyBuffer frees a buffer, not its memory.
func (d *Device) DestroyBuffer(b Buffer) { invoke(d.destroyBuffer, d.handle, uintptr(b), 0) }

// CreateBufferView makes a view of a part of a buffer as texels of 1, 2 or 4 words.
func (d *Device) CreateBufferView(part BufferRange, words int) (v BufferView, r Result) {
	info := bufferViewCreateInfo{header: header{sType: typeBufferViewCreateInfo}, buffer: part.Buffer, format: texelFormats[words], offset: part.Offset, size: part.Size}
	r = invoke(d.createBufferView, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&v)))
	return v, r
}

// DestroyBufferView frees a view.
func (d *Device) DestroyBufferView(v BufferView) {
	invoke(d.destroyBufferView, d.handle, uintptr(v), 0)
}

// Requirements says what memory a buffer needs.
func (d *Device) Requirements(b Buffer) (m MemoryRequirements) {
	invoke(d.getBufferRequirements, d.handle, uintptr(b), uintptr(unsafe.Pointer(&m)))
	return m
}

// Allocate takes memory of the type.
func (d *Device) Allocate(size uint64, memoryType uint32) (m DeviceMemory, r Result) {
	info := memoryAllocateInfo{header: header{sType: typeMemoryAllocateInfo}, size: size, typeIndex: memoryType}
	r = invoke(d.allocateMemory, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&m)))
	return m, r
}

// FreeMemory gives memory back and ends its mapping.
func (d *Device) FreeMemory(m DeviceMemory) { invoke(d.freeMemory, d.handle, uintptr(m), 0) }

// Bind gives a buffer its memory.
func (d *Device) Bind(b Buffer, m DeviceMemory) Result {
	return invoke(d.bindBufferMemory, d.handle, uintptr(b), uintptr(m), 0)
}

// Map returns the first size bytes of host-visible memory. They are valid until
// FreeMemory; Go's collector does not know them.
func (d *Device) Map(m DeviceMemory, size int) ([]byte, Result) {
	var p unsafe.Pointer
	r := invoke(d.mapMemory, d.handle, uintptr(m), 0, uintptr(wholeSize), 0, uintptr(unsafe.Pointer(&p)))
	if r != Success {
		return nil, r
	}
	return unsafe.Slice((*byte)(p), size), r
}

// CreateShaderModule loads SPIR-V.
func (d *Device) CreateShaderModule(code []uint32) (m ShaderModule, r Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	info := shaderModuleCreateInfo{
		header: header{sType: typeShaderModuleCreateInfo},
		size:   uint64(4 * len(code)),
		code:   pinnedSlice(&pin, code),
	}
	r = invoke(d.createShaderModule, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&m)))
	return m, r
}

// DestroyShaderModule frees a module; pipelines made of it live on.
func (d *Device) DestroyShaderModule(m ShaderModule) {
	invoke(d.destroyShaderModule, d.handle, uintptr(m), 0)
}

// CreateDescriptorSetLayout makes the layout of buffers 0 to count-1: texel buffers where the
// bit of that number is set, else storage buffers.
func (d *Device) CreateDescriptorSetLayout(count int, texels uint32) (l DescriptorSetLayout, r Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	bindings := make([]descriptorSetLayoutBinding, count)
	for i := range bindings {
		bindings[i] = descriptorSetLayoutBinding{binding: uint32(i), kind: descriptorStorage, count: 1, stages: shaderStageCompute}
		if texels>>i&1 == 1 {
			bindings[i].kind = descriptorTexel
		}
	}
	info := descriptorSetLayoutCreateInfo{
		header:   header{sType: typeDescriptorSetLayoutCreateInfo},
		count:    uint32(count),
		bindings: pinnedSlice(&pin, bindings),
	}
	r = invoke(d.createDescriptorSetLayout, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&l)))
	return l, r
}

// DestroyDescriptorSetLayout frees a layout.
func (d *Device) DestroyDescriptorSetLayout(l DescriptorSetLayout) {
	invoke(d.destroyDescriptorSetLayout, d.handle, uintptr(l), 0)
}

// CreatePipelineLayout makes a layout of one set and pushBytes bytes of push
// constants.
func (d *Device) CreatePipelineLayout(set DescriptorSetLayout, pushBytes int) (l PipelineLayout, r Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	info := pipelineLayoutCreateInfo{
		header:   header{sType: typePipelineLayoutCreateInfo},
		setCount: 1,
		sets:     pinned(&pin, &set),
	}
	if pushBytes > 0 {
		info.pushCount = 1
		info.pushes = pinned(&pin, &pushConstantRange{stages: shaderStageCompute, size: uint32(pushBytes)})
	}
	r = invoke(d.createPipelineLayout, d.handle, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&l)))
	return l, r
}

// DestroyPipelineLayout frees a layout.
func (d *Device) DestroyPipelineLayout(l PipelineLayout) {
	invoke(d.destroyPipelineLayout, d.handle, uintptr(l), 0)
}

// CreateComputePipeline compiles the entry point of a module, for subgroups of so many
// lanes if the number is not 0, which wants a device with matrices. Several goroutines may
// do so at once.
func (d *Device) CreateComputePipeline(m ShaderModule, entry string, l PipelineLayout, lanes int) (p Pipeline, r Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	info := computePipelineCreateInfo{
		header: header{sType: typeComputePipelineCreateInfo},
		stage: pipelineShaderStageCreateInfo{
			header: header{sType: typePipelineShaderStageCreateInfo},
			stage:  shaderStageCompute,
			module: m,
			name:   pinnedSlice(&pin, append([]byte(entry), 0)),
		},
		layout:    l,
		baseIndex: -1,
	}
	if d.Statistics {
		info.flags = captureStatistics
	}
	if lanes > 0 {
		info.stage.flags = requireFullSubgroup
		info.stage.pNext = pinned(&pin, &subgroupSizeInfo{header: header{sType: typeSubgroupSizeInfo}, size: uint32(lanes)})
	}
	r = invoke(d.createComputePipelines, d.handle, 0, 1, uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&p)))
	return p, r
}

// DestroyPipeline frees a pipeline.
func (d *Device) DestroyPipeline(p Pipeline) { invoke(d.destroyPipeline, d.handle, uintptr(p), 0) }
