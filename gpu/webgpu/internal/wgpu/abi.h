// What calls.c needs of webgpu.h and wgpu.h as wgpu-native 22.1 has them: the
// same names, layouts and numbers, nothing that draws.

#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct WGPUAdapterImpl *WGPUAdapter;
typedef struct WGPUBindGroupImpl *WGPUBindGroup;
typedef struct WGPUBindGroupLayoutImpl *WGPUBindGroupLayout;
typedef struct WGPUBufferImpl *WGPUBuffer;
typedef struct WGPUCommandBufferImpl *WGPUCommandBuffer;
typedef struct WGPUCommandEncoderImpl *WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl *WGPUComputePassEncoder;
typedef struct WGPUComputePipelineImpl *WGPUComputePipeline;
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct WGPUInstanceImpl *WGPUInstance;
typedef struct WGPUPipelineLayoutImpl *WGPUPipelineLayout;
typedef struct WGPUQuerySetImpl *WGPUQuerySet;
typedef struct WGPUQueueImpl *WGPUQueue;
typedef struct WGPUShaderModuleImpl *WGPUShaderModule;

enum {
	WGPUAdapterType_DiscreteGPU = 0,
	WGPUAdapterType_IntegratedGPU = 1,
	WGPUAdapterType_CPU = 2,

	WGPUBackendType_D3D12 = 4,
	WGPUBackendType_Metal = 5,
	WGPUBackendType_Vulkan = 6,

	WGPUBufferBindingType_Uniform = 1,
	WGPUBufferBindingType_Storage = 2,
	WGPUBufferBindingType_ReadOnlyStorage = 3,

	WGPUBufferUsage_MapRead = 0x001,
	WGPUBufferUsage_CopySrc = 0x004,
	WGPUBufferUsage_CopyDst = 0x008,
	WGPUBufferUsage_Uniform = 0x040,
	WGPUBufferUsage_Storage = 0x080,
	WGPUBufferUsage_QueryResolve = 0x200,

	WGPUErrorType_OutOfMemory = 2,
	WGPUFeatureName_TimestampQuery = 3,
	WGPUMapMode_Read = 1,
	WGPUQueryType_Timestamp = 1,
	WGPUShaderStage_Compute = 4,
	WGPUSType_InstanceExtras = 0x00030006,
	WGPUSType_ShaderModuleWGSLDescriptor = 6,
	WGPULogLevel_Off = 0,

	// Vulkan, Metal and Direct3D 12, without OpenGL.
	WGPUInstanceBackend_Primary = 1 << 0 | 1 << 2 | 1 << 3,
};

#define WGPU_LIMIT_UNDEFINED_U32 UINT32_MAX
#define WGPU_LIMIT_UNDEFINED_U64 UINT64_MAX

typedef struct WGPUChainedStruct {
	struct WGPUChainedStruct const *next;
	uint32_t sType;
} WGPUChainedStruct;

typedef struct {
	WGPUChainedStruct const *nextInChain;
} WGPUInstanceDescriptor;

typedef struct {
	WGPUChainedStruct chain;
	uint32_t backends, flags, dx12ShaderCompiler, gles3MinorVersion;
	char const *dxilPath, *dxcPath;
} WGPUInstanceExtras;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	uint32_t backends;
} WGPUInstanceEnumerateAdapterOptions;

typedef struct {
	WGPUChainedStruct *nextInChain;
	char const *vendor, *architecture, *device, *description;
	uint32_t backendType, adapterType, vendorID, deviceID;
} WGPUAdapterInfo;

typedef struct {
	uint32_t maxTextureDimension1D, maxTextureDimension2D, maxTextureDimension3D, maxTextureArrayLayers;
	uint32_t maxBindGroups, maxBindGroupsPlusVertexBuffers, maxBindingsPerBindGroup;
	uint32_t maxDynamicUniformBuffersPerPipelineLayout, maxDynamicStorageBuffersPerPipelineLayout;
	uint32_t maxSampledTexturesPerShaderStage, maxSamplersPerShaderStage;
	uint32_t maxStorageBuffersPerShaderStage, maxStorageTexturesPerShaderStage, maxUniformBuffersPerShaderStage;
	uint64_t maxUniformBufferBindingSize, maxStorageBufferBindingSize;
	uint32_t minUniformBufferOffsetAlignment, minStorageBufferOffsetAlignment, maxVertexBuffers;
	uint64_t maxBufferSize;
	uint32_t maxVertexAttributes, maxVertexBufferArrayStride;
	uint32_t maxInterStageShaderComponents, maxInterStageShaderVariables;
	uint32_t maxColorAttachments, maxColorAttachmentBytesPerSample;
	uint32_t maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup;
	uint32_t maxComputeWorkgroupSizeX, maxComputeWorkgroupSizeY, maxComputeWorkgroupSizeZ;
	uint32_t maxComputeWorkgroupsPerDimension;
} WGPULimits;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	WGPULimits limits;
} WGPURequiredLimits;

typedef struct {
	WGPUChainedStruct *nextInChain;
	WGPULimits limits;
} WGPUSupportedLimits;

typedef void (*WGPUErrorCallback)(uint32_t type, char const *message, void *userdata);
typedef void (*WGPUDeviceLostCallback)(uint32_t reason, char const *message, void *userdata);
typedef void (*WGPURequestDeviceCallback)(uint32_t status, WGPUDevice device, char const *message, void *userdata);
typedef void (*WGPUBufferMapAsyncCallback)(uint32_t status, void *userdata);

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	size_t requiredFeatureCount;
	uint32_t const *requiredFeatures;
	WGPURequiredLimits const *requiredLimits;
	struct {
		WGPUChainedStruct const *nextInChain;
		char const *label;
	} defaultQueue;
	WGPUDeviceLostCallback deviceLostCallback;
	void *deviceLostUserdata;
	struct {
		WGPUChainedStruct const *nextInChain;
		WGPUErrorCallback callback;
		void *userdata;
	} uncapturedErrorCallbackInfo;
} WGPUDeviceDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	uint32_t usage;
	uint64_t size;
	uint32_t mappedAtCreation;
} WGPUBufferDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	uint32_t binding, visibility;
	struct {
		WGPUChainedStruct const *nextInChain;
		uint32_t type, hasDynamicOffset;
		uint64_t minBindingSize;
	} buffer;
	struct {
		WGPUChainedStruct const *nextInChain;
		uint32_t type;
	} sampler;
	struct {
		WGPUChainedStruct const *nextInChain;
		uint32_t sampleType, viewDimension, multisampled;
	} texture;
	struct {
		WGPUChainedStruct const *nextInChain;
		uint32_t access, format, viewDimension;
	} storageTexture;
} WGPUBindGroupLayoutEntry;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	size_t entryCount;
	WGPUBindGroupLayoutEntry const *entries;
} WGPUBindGroupLayoutDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	size_t bindGroupLayoutCount;
	WGPUBindGroupLayout const *bindGroupLayouts;
} WGPUPipelineLayoutDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	uint32_t binding;
	WGPUBuffer buffer;
	uint64_t offset, size;
	void *sampler, *textureView;
} WGPUBindGroupEntry;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	WGPUBindGroupLayout layout;
	size_t entryCount;
	WGPUBindGroupEntry const *entries;
} WGPUBindGroupDescriptor;

typedef struct {
	WGPUChainedStruct chain;
	char const *code;
} WGPUShaderModuleWGSLDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	size_t hintCount;
	void const *hints;
} WGPUShaderModuleDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	WGPUPipelineLayout layout;
	struct {
		WGPUChainedStruct const *nextInChain;
		WGPUShaderModule module;
		char const *entryPoint;
		size_t constantCount;
		void const *constants;
	} compute;
} WGPUComputePipelineDescriptor;

typedef struct {
	WGPUQuerySet querySet;
	uint32_t beginningOfPassWriteIndex, endOfPassWriteIndex;
} WGPUComputePassTimestampWrites;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	WGPUComputePassTimestampWrites const *timestampWrites;
} WGPUComputePassDescriptor;

typedef struct {
	WGPUChainedStruct const *nextInChain;
	char const *label;
	uint32_t type, count;
} WGPUQuerySetDescriptor;

WGPUInstance wgpuCreateInstance(WGPUInstanceDescriptor const *);
size_t wgpuInstanceEnumerateAdapters(WGPUInstance, WGPUInstanceEnumerateAdapterOptions const *, WGPUAdapter *);
void wgpuSetLogLevel(uint32_t);

void wgpuAdapterGetInfo(WGPUAdapter, WGPUAdapterInfo *);
void wgpuAdapterInfoFreeMembers(WGPUAdapterInfo);
uint32_t wgpuAdapterGetLimits(WGPUAdapter, WGPUSupportedLimits *);
uint32_t wgpuAdapterHasFeature(WGPUAdapter, uint32_t);
void wgpuAdapterRequestDevice(WGPUAdapter, WGPUDeviceDescriptor const *, WGPURequestDeviceCallback, void *);
void wgpuAdapterRelease(WGPUAdapter);

WGPUQueue wgpuDeviceGetQueue(WGPUDevice);
WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice, WGPUBufferDescriptor const *);
WGPUBindGroupLayout wgpuDeviceCreateBindGroupLayout(WGPUDevice, WGPUBindGroupLayoutDescriptor const *);
WGPUPipelineLayout wgpuDeviceCreatePipelineLayout(WGPUDevice, WGPUPipelineLayoutDescriptor const *);
WGPUBindGroup wgpuDeviceCreateBindGroup(WGPUDevice, WGPUBindGroupDescriptor const *);
WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice, WGPUShaderModuleDescriptor const *);
WGPUComputePipeline wgpuDeviceCreateComputePipeline(WGPUDevice, WGPUComputePipelineDescriptor const *);
WGPUQuerySet wgpuDeviceCreateQuerySet(WGPUDevice, WGPUQuerySetDescriptor const *);
WGPUCommandEncoder wgpuDeviceCreateCommandEncoder(WGPUDevice, void const *descriptor);
uint32_t wgpuDevicePoll(WGPUDevice, uint32_t wait, void const *submission);
void wgpuDeviceRelease(WGPUDevice);

void wgpuQueueWriteBuffer(WGPUQueue, WGPUBuffer, uint64_t offset, void const *data, size_t size);
uint64_t wgpuQueueSubmitForIndex(WGPUQueue, size_t, WGPUCommandBuffer const *);
void wgpuQueueRelease(WGPUQueue);

void wgpuBufferMapAsync(WGPUBuffer, uint32_t mode, size_t offset, size_t size, WGPUBufferMapAsyncCallback, void *);
void const *wgpuBufferGetConstMappedRange(WGPUBuffer, size_t offset, size_t size);
void wgpuBufferUnmap(WGPUBuffer);
void wgpuBufferDestroy(WGPUBuffer);
void wgpuBufferRelease(WGPUBuffer);

void wgpuCommandEncoderCopyBufferToBuffer(WGPUCommandEncoder, WGPUBuffer from, uint64_t fromOffset, WGPUBuffer to, uint64_t toOffset, uint64_t size);
void wgpuCommandEncoderResolveQuerySet(WGPUCommandEncoder, WGPUQuerySet, uint32_t first, uint32_t count, WGPUBuffer to, uint64_t toOffset);
WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(WGPUCommandEncoder, WGPUComputePassDescriptor const *);
WGPUCommandBuffer wgpuCommandEncoderFinish(WGPUCommandEncoder, void const *descriptor);
void wgpuCommandEncoderRelease(WGPUCommandEncoder);
void wgpuCommandBufferRelease(WGPUCommandBuffer);

void wgpuComputePassEncoderSetPipeline(WGPUComputePassEncoder, WGPUComputePipeline);
void wgpuComputePassEncoderSetBindGroup(WGPUComputePassEncoder, uint32_t index, WGPUBindGroup, size_t dynamicOffsetCount, uint32_t const *dynamicOffsets);
void wgpuComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder, uint32_t x, uint32_t y, uint32_t z);
void wgpuComputePassEncoderEnd(WGPUComputePassEncoder);
void wgpuComputePassEncoderRelease(WGPUComputePassEncoder);

void wgpuBindGroupLayoutRelease(WGPUBindGroupLayout);
void wgpuBindGroupRelease(WGPUBindGroup);
void wgpuComputePipelineRelease(WGPUComputePipeline);
void wgpuPipelineLayoutRelease(WGPUPipelineLayout);
void wgpuQuerySetRelease(WGPUQuerySet);
void wgpuShaderModuleRelease(WGPUShaderModule);
