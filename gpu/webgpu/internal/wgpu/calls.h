// The calls of calls.c. Each hands back a report; kind 0 is success.

#pragma once

#include "abi.h"

enum { report_none, report_invalid, report_memory, report_lost, report_panic };

typedef struct {
	int kind;
	char text[4096]; // the library's message, cut if longer
} report;

typedef struct {
	char name[256];
	uint32_t backend, type, timestamps;
	WGPULimits limits;
} adapter_info;

typedef struct {
	WGPUDevice device;
	WGPUQueue queue;
	WGPUBuffer staging; // for reads, made by the first
} device;

// dispatch is an op of a program, made ready.
typedef struct {
	WGPUComputePipeline pipeline;
	WGPUBindGroup group;
	uint32_t x, y, z;
} dispatch;

// span is bytes of a buffer.
typedef struct {
	WGPUBuffer buffer;
	uint64_t offset, size;
} span;

// webgpu_adapters lists at most most adapters and returns their number.
size_t webgpu_adapters(WGPUAdapter *list, size_t most, report *out);
void webgpu_adapter_info(WGPUAdapter adapter, adapter_info *info, report *out);
void webgpu_open(WGPUAdapter adapter, WGPULimits const *limits, int timestamps, device *made, report *out);
void webgpu_close(device *d, report *out);

WGPUBuffer webgpu_buffer(device *d, char const *label, uint64_t size, uint32_t usage, report *out);
void webgpu_write(device *d, WGPUBuffer to, uint64_t offset, void const *data, size_t size, report *out);
void webgpu_read(device *d, WGPUBuffer from, uint64_t offset, void *data, size_t size, report *out);

// webgpu_layout describes count storage buffers, of which bit i of read_only
// tells that buffer i is only read, and after them a uniform buffer of that
// many bytes.
WGPUPipelineLayout webgpu_layout(device *d, uint32_t count, uint32_t read_only, uint32_t uniform, WGPUBindGroupLayout *group, report *out);
WGPUComputePipeline webgpu_pipeline(device *d, WGPUPipelineLayout layout, char const *label, char const *wgsl, report *out);
WGPUBindGroup webgpu_group(device *d, WGPUBindGroupLayout layout, span const *spans, uint32_t count, report *out);

// webgpu_submit encodes the dispatches as one pass and queues them.
void webgpu_submit(device *d, dispatch const *ops, size_t count, report *out);
void webgpu_wait(device *d, report *out);

// webgpu_time runs each dispatch in a pass of its own and writes the ticks at
// which it began and ended. At most 2048 dispatches.
void webgpu_time(device *d, dispatch const *ops, uint32_t count, uint64_t *ticks, report *out);

// webgpu_fail makes the library panic.
void webgpu_fail(device *d, report *out);
