//go:build cgo && (darwin || webgpu)

#define _POSIX_C_SOURCE 200112L // setenv, nanosleep

#include "calls.h"

#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <time.h>
#endif

int webgpu_guard(void (*run)(void *), void *argument);

// The first error of the call that this thread is in.
static _Thread_local report current;

static void note(int kind, char const *text) {
	if (current.kind != report_none) {
		return;
	}
	current.kind = kind;
	strncpy(current.text, text, sizeof current.text - 1);
	current.text[sizeof current.text - 1] = 0;
}

static void on_error(uint32_t type, char const *message, void *unused) {
	(void)unused;
	note(type == WGPUErrorType_OutOfMemory ? report_memory : report_invalid, message);
}

static void on_lost(uint32_t reason, char const *message, void *unused) {
	(void)reason, (void)unused;
	note(report_lost, message);
}

// call runs a function that uses the library and hands back what went wrong.
static void call(void (*run)(void *), void *argument, report *out) {
	current.kind = report_none;
	current.text[0] = 0;
	if (webgpu_guard(run, argument)) {
		note(report_panic, "wgpu-native gave up; its message is on stderr");
	}
	*out = current;
}

static WGPUInstance instance(void) {
	static WGPUInstance made; // as long as the process
	if (!made) {
		wgpuSetLogLevel(WGPULogLevel_Off);
		WGPUInstanceExtras extras = {.chain = {.sType = WGPUSType_InstanceExtras}, .backends = WGPUInstanceBackend_Primary};
#ifdef __linux__
		// The library asks for window surfaces. Without a desktop, Mesa's layer
		// for choosing a device would then print that it found none.
		int const layer = getenv("NODEVICE_SELECT") == NULL;
		if (layer) {
			setenv("NODEVICE_SELECT", "1", 1);
		}
#endif
		made = wgpuCreateInstance(&(WGPUInstanceDescriptor){&extras.chain});
#ifdef __linux__
		if (layer) {
			unsetenv("NODEVICE_SELECT");
		}
#endif
	}
	return made;
}

static void pause_for(int microseconds) {
#ifdef _WIN32
	Sleep(microseconds / 1000); // 0 gives up the time slice
#else
	nanosleep(&(struct timespec){.tv_nsec = 1000L * microseconds}, NULL);
#endif
}

// wait_idle returns when all work submitted has finished. The library's own wait
// takes work for finished after a while, whether it is or not, and frees what it
// uses (https://github.com/gfx-rs/wgpu/issues/4589), so this one asks.
static void wait_idle(device *d) {
	for (int pause = 10; !wgpuDevicePoll(d->device, 0, NULL); pause += pause < 640 ? pause : 0) {
		pause_for(pause);
	}
}

struct adapters {
	WGPUAdapter *list;
	size_t most, count;
};

static void adapters(void *argument) {
	struct adapters *a = argument;
	WGPUInstanceEnumerateAdapterOptions options = {.backends = WGPUInstanceBackend_Primary};
	size_t count = wgpuInstanceEnumerateAdapters(instance(), &options, NULL);
	WGPUAdapter *all = calloc(count + 1, sizeof *all);
	count = wgpuInstanceEnumerateAdapters(instance(), &options, all);
	for (size_t i = 0; i < count; i++) {
		if (i < a->most) {
			a->list[a->count++] = all[i];
		} else {
			wgpuAdapterRelease(all[i]);
		}
	}
	free(all);
}

size_t webgpu_adapters(WGPUAdapter *list, size_t most, report *out) {
	struct adapters a = {list, most, 0};
	call(adapters, &a, out);
	return a.count;
}

struct inspect {
	WGPUAdapter adapter;
	adapter_info *info;
};

static void inspect(void *argument) {
	struct inspect *a = argument;
	WGPUAdapterInfo info = {0};
	wgpuAdapterGetInfo(a->adapter, &info);
	strncpy(a->info->name, info.description, sizeof a->info->name - 1);
	a->info->backend = info.backendType;
	a->info->type = info.adapterType;
	wgpuAdapterInfoFreeMembers(info);
	WGPUSupportedLimits supported = {0};
	wgpuAdapterGetLimits(a->adapter, &supported);
	a->info->limits = supported.limits;
	a->info->timestamps = wgpuAdapterHasFeature(a->adapter, WGPUFeatureName_TimestampQuery);
}

void webgpu_adapter_info(WGPUAdapter adapter, adapter_info *info, report *out) {
	memset(info, 0, sizeof *info);
	call(inspect, &(struct inspect){adapter, info}, out);
}

struct open {
	WGPUAdapter adapter;
	WGPULimits const *limits;
	int timestamps;
	device *made;
};

static void on_device(uint32_t status, WGPUDevice made, char const *message, void *argument) {
	if (status != 0) {
		note(report_invalid, message);
		return;
	}
	((device *)argument)->device = made;
}

static void open_device(void *argument) {
	struct open *o = argument;
	uint32_t const timestamps = WGPUFeatureName_TimestampQuery;
	WGPURequiredLimits limits = {.limits = *o->limits};
	WGPUDeviceDescriptor descriptor = {
		.label = "rlzero",
		.requiredFeatureCount = o->timestamps ? 1 : 0,
		.requiredFeatures = &timestamps,
		.requiredLimits = &limits,
		.deviceLostCallback = on_lost,
		.uncapturedErrorCallbackInfo = {.callback = on_error},
	};
	wgpuAdapterRequestDevice(o->adapter, &descriptor, on_device, o->made);
	if (o->made->device) {
		o->made->queue = wgpuDeviceGetQueue(o->made->device);
	}
}

void webgpu_open(WGPUAdapter adapter, WGPULimits const *limits, int timestamps, device *made, report *out) {
	memset(made, 0, sizeof *made);
	call(open_device, &(struct open){adapter, limits, timestamps, made}, out);
}

// The device and its queue are left to the end of the process. Given back, their
// numbers return to the library at different times
// (https://github.com/gfx-rs/wgpu/pull/6413), and a device opened later may get a
// queue that refuses its work as that of "a different device". What takes room,
// the buffers, is freed.
static void close_device(void *argument) {
	device *d = argument;
	if (d->staging) {
		wgpuBufferDestroy(d->staging);
		wgpuBufferRelease(d->staging);
	}
}

void webgpu_close(device *d, report *out) { call(close_device, d, out); }

struct make {
	device *d;
	void const *descriptor;
	void *made;
};

static void make_buffer(void *argument) {
	struct make *m = argument;
	m->made = wgpuDeviceCreateBuffer(m->d->device, m->descriptor);
}

WGPUBuffer webgpu_buffer(device *d, char const *label, uint64_t size, uint32_t usage, report *out) {
	WGPUBufferDescriptor descriptor = {.label = label, .usage = usage, .size = size};
	struct make m = {d, &descriptor, NULL};
	call(make_buffer, &m, out);
	if (out->kind != report_none && m.made) {
		wgpuBufferRelease(m.made);
		return NULL;
	}
	return m.made;
}

// What one copy moves: large beside the cost of a submission, small beside
// device memory.
static size_t const chunk = 16 << 20;

struct copy {
	device *d;
	WGPUBuffer buffer;
	uint64_t offset;
	char *data;
	size_t size;
};

// The library keeps what is written until the next submission, so a long write
// is submitted piece by piece.
static void write_buffer(void *argument) {
	struct copy c = *(struct copy *)argument;
	for (; c.size > chunk; c.size -= chunk, c.data += chunk, c.offset += chunk) {
		wgpuQueueWriteBuffer(c.d->queue, c.buffer, c.offset, c.data, chunk);
		wgpuQueueSubmitForIndex(c.d->queue, 0, NULL);
		wait_idle(c.d);
	}
	wgpuQueueWriteBuffer(c.d->queue, c.buffer, c.offset, c.data, c.size);
}

void webgpu_write(device *d, WGPUBuffer to, uint64_t offset, void const *data, size_t size, report *out) {
	call(write_buffer, &(struct copy){d, to, offset, (char *)data, size}, out);
}

static void on_mapped(uint32_t status, void *argument) { *(uint32_t *)argument = status; }

static void submit_encoder(device *d, WGPUCommandEncoder encoder) {
	WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, NULL);
	if (current.kind == report_none) {
		wgpuQueueSubmitForIndex(d->queue, 1, &commands);
	}
	wgpuCommandBufferRelease(commands);
	wgpuCommandEncoderRelease(encoder);
}

// take copies what lies at the start of the staging buffer to data, after all
// work submitted.
static void take(device *d, void *data, size_t size) {
	uint32_t status = UINT32_MAX;
	wgpuBufferMapAsync(d->staging, WGPUMapMode_Read, 0, size, on_mapped, &status);
	wait_idle(d);
	if (current.kind != report_none) {
		return;
	}
	if (status != 0) {
		note(report_lost, "the staging buffer could not be mapped");
		return;
	}
	memcpy(data, wgpuBufferGetConstMappedRange(d->staging, 0, size), size);
	wgpuBufferUnmap(d->staging);
}

static void need_staging(device *d) {
	if (!d->staging) {
		WGPUBufferDescriptor descriptor = {.label = "staging", .usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, .size = chunk};
		d->staging = wgpuDeviceCreateBuffer(d->device, &descriptor);
	}
}

static void read_buffer(void *argument) {
	struct copy c = *(struct copy *)argument;
	need_staging(c.d);
	while (c.size > 0 && current.kind == report_none) {
		size_t n = c.size < chunk ? c.size : chunk;
		WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(c.d->device, NULL);
		wgpuCommandEncoderCopyBufferToBuffer(encoder, c.buffer, c.offset, c.d->staging, 0, n);
		submit_encoder(c.d, encoder);
		if (current.kind == report_none) {
			take(c.d, c.data, n);
		}
		c.size -= n, c.data += n, c.offset += n;
	}
}

void webgpu_read(device *d, WGPUBuffer from, uint64_t offset, void *data, size_t size, report *out) {
	call(read_buffer, &(struct copy){d, from, offset, data, size}, out);
}

struct layout {
	device *d;
	uint32_t count, read_only, uniform;
	WGPUBindGroupLayout group;
	WGPUPipelineLayout made;
};

enum { most_bindings = 16 };

static void make_layout(void *argument) {
	struct layout *l = argument;
	WGPUBindGroupLayoutEntry entries[most_bindings] = {0};
	if (l->count >= most_bindings) {
		note(report_invalid, "too many bindings");
		return;
	}
	for (uint32_t i = 0; i <= l->count; i++) {
		entries[i].binding = i;
		entries[i].visibility = WGPUShaderStage_Compute;
		entries[i].buffer.type = l->read_only >> i & 1 ? WGPUBufferBindingType_ReadOnlyStorage : WGPUBufferBindingType_Storage;
	}
	entries[l->count].buffer.type = WGPUBufferBindingType_Uniform;
	entries[l->count].buffer.minBindingSize = l->uniform;
	WGPUBindGroupLayoutDescriptor group = {.entryCount = l->count + 1, .entries = entries};
	l->group = wgpuDeviceCreateBindGroupLayout(l->d->device, &group);
	WGPUPipelineLayoutDescriptor descriptor = {.bindGroupLayoutCount = 1, .bindGroupLayouts = &l->group};
	l->made = wgpuDeviceCreatePipelineLayout(l->d->device, &descriptor);
}

WGPUPipelineLayout webgpu_layout(device *d, uint32_t count, uint32_t read_only, uint32_t uniform, WGPUBindGroupLayout *group, report *out) {
	struct layout l = {d, count, read_only, uniform, NULL, NULL};
	call(make_layout, &l, out);
	*group = l.group;
	return l.made;
}

struct compile {
	device *d;
	WGPUPipelineLayout layout;
	char const *label, *wgsl;
	WGPUComputePipeline made;
};

static void compile(void *argument) {
	struct compile *c = argument;
	WGPUShaderModuleWGSLDescriptor source = {.chain = {.sType = WGPUSType_ShaderModuleWGSLDescriptor}, .code = c->wgsl};
	WGPUShaderModuleDescriptor module = {.nextInChain = &source.chain, .label = c->label};
	WGPUComputePipelineDescriptor descriptor = {.label = c->label, .layout = c->layout};
	descriptor.compute.module = wgpuDeviceCreateShaderModule(c->d->device, &module);
	descriptor.compute.entryPoint = "main";
	if (current.kind == report_none) {
		c->made = wgpuDeviceCreateComputePipeline(c->d->device, &descriptor);
	}
	wgpuShaderModuleRelease(descriptor.compute.module);
}

WGPUComputePipeline webgpu_pipeline(device *d, WGPUPipelineLayout layout, char const *label, char const *wgsl, report *out) {
	struct compile c = {d, layout, label, wgsl, NULL};
	call(compile, &c, out);
	if (out->kind != report_none && c.made) {
		wgpuComputePipelineRelease(c.made);
		return NULL;
	}
	return c.made;
}

static void make_group(void *argument) {
	struct make *m = argument;
	m->made = wgpuDeviceCreateBindGroup(m->d->device, m->descriptor);
}

WGPUBindGroup webgpu_group(device *d, WGPUBindGroupLayout layout, span const *spans, uint32_t count, report *out) {
	WGPUBindGroupEntry entries[most_bindings] = {0};
	for (uint32_t i = 0; i < count && i < most_bindings; i++) {
		entries[i] = (WGPUBindGroupEntry){.binding = i, .buffer = spans[i].buffer, .offset = spans[i].offset, .size = spans[i].size};
	}
	WGPUBindGroupDescriptor descriptor = {.layout = layout, .entryCount = count, .entries = entries};
	struct make m = {d, &descriptor, NULL};
	call(make_group, &m, out);
	if (out->kind != report_none && m.made) {
		wgpuBindGroupRelease(m.made);
		return NULL;
	}
	return m.made;
}

struct submit {
	device *d;
	dispatch const *ops;
	size_t count;
	uint64_t *ticks;
};

// encode_pass is one compute pass: WebGPU orders the dispatches in it.
static void encode_pass(WGPUCommandEncoder encoder, WGPUComputePassTimestampWrites const *times, dispatch const *ops, size_t count) {
	WGPUComputePassDescriptor descriptor = {.timestampWrites = times};
	WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, &descriptor);
	for (size_t i = 0; i < count; i++) {
		wgpuComputePassEncoderSetPipeline(pass, ops[i].pipeline);
		wgpuComputePassEncoderSetBindGroup(pass, 0, ops[i].group, 0, NULL);
		wgpuComputePassEncoderDispatchWorkgroups(pass, ops[i].x, ops[i].y, ops[i].z);
	}
	wgpuComputePassEncoderEnd(pass);
	wgpuComputePassEncoderRelease(pass);
}

static void submit(void *argument) {
	struct submit *s = argument;
	WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(s->d->device, NULL);
	encode_pass(encoder, NULL, s->ops, s->count);
	submit_encoder(s->d, encoder);
}

void webgpu_submit(device *d, dispatch const *ops, size_t count, report *out) {
	call(submit, &(struct submit){d, ops, count, NULL}, out);
}

static void wait_for_all(void *argument) { wait_idle(argument); }

void webgpu_wait(device *d, report *out) { call(wait_for_all, d, out); }

static void time_ops(void *argument) {
	struct submit *s = argument;
	uint32_t const queries = 2 * s->count;
	size_t const size = queries * sizeof *s->ticks;
	need_staging(s->d);
	WGPUQuerySetDescriptor set = {.type = WGPUQueryType_Timestamp, .count = queries};
	WGPUQuerySet times = wgpuDeviceCreateQuerySet(s->d->device, &set);
	WGPUBufferDescriptor resolved = {.label = "timestamps", .usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc, .size = size};
	WGPUBuffer buffer = wgpuDeviceCreateBuffer(s->d->device, &resolved);
	if (current.kind == report_none) {
		WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(s->d->device, NULL);
		for (uint32_t i = 0; i < s->count; i++) {
			WGPUComputePassTimestampWrites writes = {times, 2 * i, 2 * i + 1};
			encode_pass(encoder, &writes, &s->ops[i], 1);
		}
		wgpuCommandEncoderResolveQuerySet(encoder, times, 0, queries, buffer, 0);
		wgpuCommandEncoderCopyBufferToBuffer(encoder, buffer, 0, s->d->staging, 0, size);
		submit_encoder(s->d, encoder);
	}
	if (current.kind == report_none) {
		take(s->d, s->ticks, size);
	}
	wgpuBufferRelease(buffer);
	wgpuQuerySetRelease(times);
}

void webgpu_time(device *d, dispatch const *ops, uint32_t count, uint64_t *ticks, report *out) {
	call(time_ops, &(struct submit){d, ops, count, ticks}, out);
}

static void fail(void *argument) {
	device *d = argument;
	need_staging(d);
	wgpuBufferGetConstMappedRange(d->staging, 0, 4); // it is not mapped
}

void webgpu_fail(device *d, report *out) { call(fail, d, out); }
