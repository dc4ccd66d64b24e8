//go:build cgo && (darwin || webgpu)

package wgpu

/*
#cgo CFLAGS: -std=c11 -O2 -Wall
#cgo CXXFLAGS: -std=c++11 -O2 -Wall
#cgo linux LDFLAGS: -static-libstdc++
#cgo windows LDFLAGS: -static-libstdc++ -static-libgcc

#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	// Links the library.
	_ "github.com/cogentcore/webgpu/wgpu"
)

// version of the library.
const version = "wgpu-native 22.1"

// NoAdapter is what to do where there is no adapter.
const NoAdapter = "install your GPU vendor's driver or, on Linux, Mesa's Vulkan drivers"

// check turns a report into an error.
func check(r *C.report) error {
	if r.kind == C.report_none {
		return nil
	}
	return &Error{ErrorKind(r.kind), C.GoString(&r.text[0])}
}

type adapterHandle = C.WGPUAdapter

// Adapters lists the adapters of Vulkan, Metal and Direct3D 12. Each must be
// released.
func Adapters() ([]Adapter, error) {
	var handles [16]C.WGPUAdapter
	var r C.report
	n := int(C.webgpu_adapters(&handles[0], C.size_t(len(handles)), &r))
	if err := check(&r); err != nil {
		return nil, err
	}
	list := make([]Adapter, 0, n)
	for _, handle := range handles[:n] {
		var info C.adapter_info
		C.webgpu_adapter_info(handle, &info, &r)
		if err := check(&r); err != nil {
			return nil, err
		}
		list = append(list, Adapter{
			Name:       C.GoString(&info.name[0]),
			Driver:     version + ", " + backendName(info.backend),
			Type:       typeOf(info._type),
			Limits:     limitsOf(&info.limits),
			Timestamps: info.timestamps != 0,
			handle:     handle,
		})
	}
	return list, nil
}

func backendName(backend C.uint32_t) string {
	switch backend {
	case C.WGPUBackendType_Vulkan:
		return "Vulkan"
	case C.WGPUBackendType_Metal:
		return "Metal"
	case C.WGPUBackendType_D3D12:
		return "Direct3D 12"
	default:
		return "unknown"
	}
}

func typeOf(t C.uint32_t) AdapterType {
	switch t {
	case C.WGPUAdapterType_DiscreteGPU:
		return Discrete
	case C.WGPUAdapterType_IntegratedGPU:
		return Integrated
	case C.WGPUAdapterType_CPU:
		return CPU
	default:
		return Unknown
	}
}

func limitsOf(l *C.WGPULimits) Limits {
	return Limits{
		StorageBuffers:  int(l.maxStorageBuffersPerShaderStage),
		Binding:         int(min(uint64(l.maxStorageBufferBindingSize), 1<<62)),
		Uniform:         int(min(uint64(l.maxUniformBufferBindingSize), 1<<62)),
		OffsetAlignment: int(max(l.minStorageBufferOffsetAlignment, l.minUniformBufferOffsetAlignment)),
		Buffer:          int(min(uint64(l.maxBufferSize), 1<<62)),
		SharedMemory:    int(l.maxComputeWorkgroupStorageSize),
		Invocations:     int(l.maxComputeInvocationsPerWorkgroup),
		Groups:          int(l.maxComputeWorkgroupsPerDimension),
	}
}

// Release gives the adapter back.
func (a Adapter) Release() { C.wgpuAdapterRelease(a.handle) }

// Device is a logical device with its queue.
type Device struct{ d *C.device }

// Open makes a device with those limits, each at most the adapter's, and with
// timestamps if the adapter has them.
func (a Adapter) Open(l Limits) (Device, error) {
	limits := undefinedLimits()
	limits.maxStorageBuffersPerShaderStage = C.uint32_t(l.StorageBuffers)
	limits.maxStorageBufferBindingSize = C.uint64_t(l.Binding)
	limits.maxUniformBufferBindingSize = C.uint64_t(l.Uniform)
	limits.maxBufferSize = C.uint64_t(l.Buffer)
	limits.maxComputeWorkgroupStorageSize = C.uint32_t(l.SharedMemory)
	limits.maxComputeInvocationsPerWorkgroup = C.uint32_t(l.Invocations)
	limits.maxComputeWorkgroupSizeX = C.uint32_t(l.Invocations)
	limits.maxComputeWorkgroupsPerDimension = C.uint32_t(l.Groups)
	timestamps := C.int(0)
	if a.Timestamps {
		timestamps = 1
	}
	d := (*C.device)(C.calloc(1, C.size_t(unsafe.Sizeof(C.device{}))))
	var r C.report
	C.webgpu_open(a.handle, &limits, timestamps, d, &r)
	if err := check(&r); err != nil {
		C.free(unsafe.Pointer(d))
		return Device{}, err
	}
	return Device{d}, nil
}

// undefinedLimits asks for the defaults.
func undefinedLimits() C.WGPULimits {
	var l C.WGPULimits
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&l)), unsafe.Sizeof(l)/4)
	for i := range words {
		words[i] = C.WGPU_LIMIT_UNDEFINED_U32
	}
	return l
}

// Close frees what the device itself holds. Everything made by it must have been
// released.
func (d Device) Close() error {
	var r C.report
	C.webgpu_close(d.d, &r)
	C.free(unsafe.Pointer(d.d))
	return check(&r)
}

// usages are the flags of a Usage.
var usages = [...]C.uint32_t{
	Storage: C.WGPUBufferUsage_Storage | C.WGPUBufferUsage_CopySrc | C.WGPUBufferUsage_CopyDst,
	Uniform: C.WGPUBufferUsage_Uniform | C.WGPUBufferUsage_CopyDst,
}

// Buffer is memory on the device.
type Buffer struct{ handle C.WGPUBuffer }

// NewBuffer allocates size bytes of zeros.
func (d Device) NewBuffer(label string, size int, usage Usage) (Buffer, error) {
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	var r C.report
	b := C.webgpu_buffer(d.d, text, C.uint64_t(size), usages[usage], &r)
	return Buffer{b}, check(&r)
}

// Release frees the buffer's memory as soon as submitted work no longer uses it.
func (b Buffer) Release() {
	C.wgpuBufferDestroy(b.handle)
	C.wgpuBufferRelease(b.handle)
}

// Write copies data to a buffer, after all work submitted. Offset and length
// are multiples of 4.
func (d Device) Write(b Buffer, offset int, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var r C.report
	C.webgpu_write(d.d, b.handle, C.uint64_t(offset), unsafe.Pointer(&data[0]), C.size_t(len(data)), &r)
	return check(&r)
}

// Read copies from a buffer, after all work submitted, and waits. Offset and
// length are multiples of 4.
func (d Device) Read(b Buffer, offset int, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var r C.report
	C.webgpu_read(d.d, b.handle, C.uint64_t(offset), unsafe.Pointer(&data[0]), C.size_t(len(data)), &r)
	return check(&r)
}

// Layout says what a pipeline's bindings are: storage buffers from 0, then one
// uniform buffer.
type Layout struct {
	pipeline C.WGPUPipelineLayout
	group    C.WGPUBindGroupLayout
}

// NewLayout makes a layout. readOnly has an entry for each storage buffer;
// uniform is the size of the uniform buffer in bytes.
func (d Device) NewLayout(readOnly []bool, uniform int) (Layout, error) {
	mask := C.uint32_t(0)
	for i, read := range readOnly {
		if read {
			mask |= 1 << i
		}
	}
	var l Layout
	var r C.report
	l.pipeline = C.webgpu_layout(d.d, C.uint32_t(len(readOnly)), mask, C.uint32_t(uniform), &l.group, &r)
	return l, check(&r)
}

// Release gives the layout back.
func (l Layout) Release() {
	C.wgpuPipelineLayoutRelease(l.pipeline)
	C.wgpuBindGroupLayoutRelease(l.group)
}

// Pipeline is a compiled shader.
type Pipeline struct{ handle C.WGPUComputePipeline }

// NewPipeline compiles WGSL text with entry point main.
func (d Device) NewPipeline(label, wgsl string, l Layout) (Pipeline, error) {
	name, code := C.CString(label), C.CString(wgsl)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(code))
	var r C.report
	p := C.webgpu_pipeline(d.d, l.pipeline, name, code, &r)
	return Pipeline{p}, check(&r)
}

// Release gives the pipeline back.
func (p Pipeline) Release() { C.wgpuComputePipelineRelease(p.handle) }

// Commands is a list of dispatches in the form that the library is given.
type Commands []C.dispatch

// NewCommands makes the list, with a bind group for each dispatch. Nothing is left of a
// list that fails.
func (d Device) NewCommands(list []Dispatch) (Commands, error) {
	commands := make(Commands, 0, len(list))
	for _, next := range list {
		group, err := d.newGroup(next.Layout, next.Spans)
		if err != nil {
			commands.Release()
			return nil, err
		}
		commands = append(commands, C.dispatch{
			pipeline: next.Pipeline.handle, group: group,
			x: C.uint32_t(next.Groups[0]), y: C.uint32_t(next.Groups[1]), z: C.uint32_t(next.Groups[2]),
		})
	}
	return commands, nil
}

// newGroup binds spans in the order of the layout.
func (d Device) newGroup(l Layout, spans []Span) (C.WGPUBindGroup, error) {
	list := make([]C.span, len(spans))
	for i, s := range spans {
		list[i] = C.span{s.Buffer.handle, C.uint64_t(s.Offset), C.uint64_t(s.Size)}
	}
	var r C.report
	g := C.webgpu_group(d.d, l.group, unsafe.SliceData(list), C.uint32_t(len(list)), &r)
	return g, check(&r)
}

// Release gives the bind groups back.
func (c Commands) Release() {
	for _, d := range c {
		C.wgpuBindGroupRelease(d.group)
	}
}

// Submit encodes the commands as one pass and queues it.
func (d Device) Submit(commands Commands) error {
	var r C.report
	C.webgpu_submit(d.d, unsafe.SliceData(commands), C.size_t(len(commands)), &r)
	runtime.KeepAlive(commands)
	return check(&r)
}

// Wait returns when all work submitted has finished.
func (d Device) Wait() error {
	var r C.report
	C.webgpu_wait(d.d, &r)
	return check(&r)
}

// Times runs each command in a pass of its own and returns the ticks at which it
// began and ended. The unit is the adapter's own.
func (d Device) Times(commands Commands) ([][2]uint64, error) {
	ticks := make([][2]uint64, len(commands))
	for first := 0; first < len(commands); first += maxTimed {
		part := commands[first:min(first+maxTimed, len(commands))]
		var r C.report
		C.webgpu_time(d.d, &part[0], C.uint32_t(len(part)), (*C.uint64_t)(&ticks[first][0]), &r)
		if err := check(&r); err != nil {
			return nil, err
		}
	}
	return ticks, nil
}

// Fail makes the library panic, as it does when a device is lost: for tests of
// what follows.
func (d Device) Fail() error {
	var r C.report
	C.webgpu_fail(d.d, &r)
	return check(&r)
}
