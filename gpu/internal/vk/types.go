//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import "unsafe"

// Handles. Those of instance, physical device, device, queue and command buffer
// are pointers in C, the others 64-bit numbers; both fit one word here.
type (
	physicalDevice      = uintptr
	Queue               uintptr
	CommandBuffer       uintptr
	Buffer              uint64
	DeviceMemory        uint64
	ShaderModule        uint64
	DescriptorSetLayout uint64
	PipelineLayout      uint64
	Pipeline            uint64
	DescriptorPool      uint64
	DescriptorSet       uint64
	CommandPool         uint64
	QueryPool           uint64
	BufferView          uint64
)

// VkStructureType: the first field of every extensible structure.
const (
	typeApplicationInfo               = 0
	typeInstanceCreateInfo            = 1
	typeDeviceQueueCreateInfo         = 2
	typeDeviceCreateInfo              = 3
	typeSubmitInfo                    = 4
	typeMemoryAllocateInfo            = 5
	typeQueryPoolCreateInfo           = 11
	typeBufferCreateInfo              = 12
	typeBufferViewCreateInfo          = 13
	typeShaderModuleCreateInfo        = 16
	typePipelineShaderStageCreateInfo = 18
	typeComputePipelineCreateInfo     = 29
	typePipelineLayoutCreateInfo      = 30
	typeDescriptorSetLayoutCreateInfo = 32
	typeDescriptorPoolCreateInfo      = 33
	typeDescriptorSetAllocateInfo     = 34
	typeWriteDescriptorSet            = 35
	typeCommandPoolCreateInfo         = 39
	typeCommandBufferAllocateInfo     = 40
	typeCommandBufferBeginInfo        = 42
	typeMemoryBarrier                 = 46
	typeFeatures2                     = 1000059000
	typeProperties2                   = 1000059001
	typeMemoryProperties2             = 1000059006
	typeSubgroupProperties            = 1000094000
	typeMaintenance3Properties        = 1000168000
	typeFloat16Features               = 1000082000
	typeDriverProperties              = 1000196000
	typeMemoryModelFeatures           = 1000211000
	typeFloatControls                 = 1000197000
	typeSubgroupSizeProperties        = 1000225000
	typeSubgroupSizeInfo              = 1000225001
	typeSubgroupSizeFeatures          = 1000225002
	typeMemoryBudgetProperties        = 1000237000
	typeExecutableFeatures            = 1000269000
	typePipelineInfo                  = 1000269001
	typeExecutableProperties          = 1000269002
	typeExecutableInfo                = 1000269003
	typeExecutableStatistic           = 1000269004
	typeMatrixFeatures                = 1000506000
	typeMatrixProperties              = 1000506001
)

// PhysicalDeviceType is VkPhysicalDeviceType.
type PhysicalDeviceType uint32

// The device types.
const (
	TypeOther PhysicalDeviceType = iota
	TypeIntegratedGPU
	TypeDiscreteGPU
	TypeVirtualGPU
	TypeCPU
)

// Bits of VkQueueFlags.
const (
	QueueGraphics = 0x1
	QueueCompute  = 0x2
)

// Bits of VkMemoryPropertyFlags.
const (
	MemoryDeviceLocal  = 0x1
	MemoryHostVisible  = 0x2
	MemoryHostCoherent = 0x4
	MemoryHostCached   = 0x8
)

// Bits of VkBufferUsageFlags.
const (
	UsageTransferSrc   = 0x01
	UsageTransferDst   = 0x02
	UsageTexelBuffer   = 0x04
	UsageStorageBuffer = 0x20
)

// Bits of VkPipelineStageFlags.
const (
	StageCompute       = 0x0800
	StageTransfer      = 0x1000
	StageBottomOfPipe  = 0x2000
	StageHost          = 0x4000
	shaderStageCompute = 0x20 // VkShaderStageFlags, another enumeration
)

// Bits of VkAccessFlags.
const (
	AccessShaderRead    = 0x0020
	AccessShaderWrite   = 0x0040
	AccessTransferRead  = 0x0800
	AccessTransferWrite = 0x1000
	AccessHostRead      = 0x2000
	AccessHostWrite     = 0x4000
)

// Bits of VkSubgroupFeatureFlags and VkShaderStageFlags in SubgroupProperties.
const (
	SubgroupShuffle     = 0x10
	SubgroupStageMask   = shaderStageCompute
	descriptorTexel     = 4 // VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
	descriptorStorage   = 7 // VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
	bindPointCompute    = 1 // VK_PIPELINE_BIND_POINT_COMPUTE
	queryTypeTimestamp  = 2 // VK_QUERY_TYPE_TIMESTAMP
	wholeSize           = ^uint64(0)
	featureCount        = 55 // VkBool32 fields of VkPhysicalDeviceFeatures
	featureShaderInt64  = 40 // index of shaderInt64 among them
	maxMemoryTypes      = 32
	maxMemoryHeaps      = 16
	maxNameSize         = 256
	maxUUIDSize         = 16
	enumeratePortable   = 0x1  // VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR
	poolResetCommand    = 0x2  // VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
	useSimultaneous     = 0x4  // VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
	requireFullSubgroup = 0x2  // VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
	captureStatistics   = 0x40 // VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
	queryResult64       = 0x1
	queryResultWait     = 0x2
	extPortableInstance = "VK_KHR_portability_enumeration"
	extPortableDevice   = "VK_KHR_portability_subset"
	extMemoryBudget     = "VK_EXT_memory_budget"
	extExecutables      = "VK_KHR_pipeline_executable_properties"
	extMatrix           = "VK_KHR_cooperative_matrix"
	extSubgroupSize     = "VK_EXT_subgroup_size_control"
)

// texelFormats are the VkFormats of texels of so many words: R32_UINT, R32G32_UINT, R32G32B32A32_UINT.
var texelFormats = map[int]uint32{1: 98, 2: 101, 4: 107}

// header starts every extensible structure.
type header struct {
	sType uint32
	pNext unsafe.Pointer
}

type applicationInfo struct {
	header
	applicationName unsafe.Pointer
	_               uint32         // applicationVersion
	_               unsafe.Pointer // engineName
	_               uint32         // engineVersion
	apiVersion      uint32
}

type instanceCreateInfo struct {
	header
	flags           uint32
	applicationInfo unsafe.Pointer
	layerCount      uint32
	layerNames      unsafe.Pointer
	extensionCount  uint32
	extensionNames  unsafe.Pointer
}

type extensionProperties struct {
	name        [maxNameSize]byte
	specVersion uint32
}

type queueCreateInfo struct {
	header
	_          uint32 // flags
	family     uint32
	count      uint32
	priorities unsafe.Pointer
}

type deviceCreateInfo struct {
	header
	flags          uint32
	queueCount     uint32
	queues         unsafe.Pointer
	layerCount     uint32
	layerNames     unsafe.Pointer
	extensionCount uint32
	extensionNames unsafe.Pointer
	features       unsafe.Pointer
}

// limits is VkPhysicalDeviceLimits with the fields that compute needs; runs of
// others are blank.
type limits struct {
	_                       [5]uint32
	maxTexelBufferElements  uint32
	_                       uint32
	maxStorageBufferRange   uint32
	maxPushConstantsSize    uint32
	_                       [2]uint32
	_                       [2]uint64
	_                       [3]uint32
	perStageStorageBuffers  uint32
	_                       [34]uint32
	maxSharedMemorySize     uint32
	maxWorkgroupCount       [3]uint32
	maxWorkgroupInvocations uint32
	maxWorkgroupSize        [3]uint32
	_                       [13]uint32
	_                       [4]uint64
	_                       [22]uint32
	timestampPeriod         float32
	_                       [12]uint32
	_                       [3]uint64
}

type properties2 struct {
	header
	apiVersion        uint32
	driverVersion     uint32
	vendorID          uint32
	deviceID          uint32
	deviceType        PhysicalDeviceType
	deviceName        [maxNameSize]byte
	pipelineCacheUUID [maxUUIDSize]byte
	limits            limits
	sparse            [5]uint32
}

type subgroupProperties struct {
	header
	size       uint32
	stages     uint32
	operations uint32
	_          uint32 // quadInAll
}

type maintenance3Properties struct {
	header
	_                       uint32 // maxPerSetDescriptors
	maxMemoryAllocationSize uint64
}

type driverProperties struct {
	header
	_    uint32 // driverID
	name [maxNameSize]byte
	info [maxNameSize]byte
	_    [4]uint8 // conformance
}

// MemoryType is VkMemoryType.
type MemoryType struct {
	Flags uint32 // Memory bits
	Heap  uint32
}

// MemoryHeap is VkMemoryHeap with its budget.
type MemoryHeap struct {
	Size   uint64
	Budget uint64 // bytes this process may use at present; Size if unknown
}

type memoryHeap struct {
	size  uint64
	flags uint32
}

type memoryProperties2 struct {
	header
	typeCount uint32
	types     [maxMemoryTypes]MemoryType
	heapCount uint32
	heaps     [maxMemoryHeaps]memoryHeap
}

type memoryBudgetProperties struct {
	header
	budget [maxMemoryHeaps]uint64
	_      [maxMemoryHeaps]uint64 // usage
}

// QueueFamily is VkQueueFamilyProperties.
type QueueFamily struct {
	Flags              uint32 // Queue bits
	Count              uint32
	TimestampValidBits uint32
	_                  [3]uint32
}

type bufferCreateInfo struct {
	header
	flags       uint32
	size        uint64
	usage       uint32
	sharing     uint32
	familyCount uint32
	families    unsafe.Pointer
}

type bufferViewCreateInfo struct {
	header
	flags  uint32
	buffer Buffer
	format uint32
	offset uint64
	size   uint64
}

// MemoryRequirements is VkMemoryRequirements.
type MemoryRequirements struct {
	Size      uint64
	Alignment uint64
	TypeBits  uint32
}

type memoryAllocateInfo struct {
	header
	size      uint64
	typeIndex uint32
}

type shaderModuleCreateInfo struct {
	header
	flags uint32
	size  uint64
	code  unsafe.Pointer
}

type descriptorSetLayoutBinding struct {
	binding uint32
	kind    uint32
	count   uint32
	stages  uint32
	_       unsafe.Pointer // samplers
}

type descriptorSetLayoutCreateInfo struct {
	header
	flags    uint32
	count    uint32
	bindings unsafe.Pointer
}

type pushConstantRange struct {
	stages uint32
	_      uint32 // offset
	size   uint32
}

type pipelineLayoutCreateInfo struct {
	header
	flags     uint32
	setCount  uint32
	sets      unsafe.Pointer
	pushCount uint32
	pushes    unsafe.Pointer
}

type pipelineShaderStageCreateInfo struct {
	header
	flags          uint32
	stage          uint32
	module         ShaderModule
	name           unsafe.Pointer
	specialization unsafe.Pointer
}

type computePipelineCreateInfo struct {
	header
	flags     uint32
	stage     pipelineShaderStageCreateInfo
	layout    PipelineLayout
	base      Pipeline
	baseIndex int32
}

type descriptorPoolSize struct {
	kind  uint32
	count uint32
}

type descriptorPoolCreateInfo struct {
	header
	flags   uint32
	maxSets uint32
	count   uint32
	sizes   unsafe.Pointer
}

type descriptorSetAllocateInfo struct {
	header
	pool    DescriptorPool
	count   uint32
	layouts unsafe.Pointer
}

// BufferRange is VkDescriptorBufferInfo.
type BufferRange struct {
	Buffer Buffer
	Offset uint64
	Size   uint64
}

type writeDescriptorSet struct {
	header
	set          DescriptorSet
	binding      uint32
	arrayElement uint32
	count        uint32
	kind         uint32
	images       unsafe.Pointer
	buffers      unsafe.Pointer
	texelViews   unsafe.Pointer
}

type commandPoolCreateInfo struct {
	header
	flags  uint32
	family uint32
}

type commandBufferAllocateInfo struct {
	header
	pool  CommandPool
	level uint32
	count uint32
}

type commandBufferBeginInfo struct {
	header
	flags       uint32
	inheritance unsafe.Pointer
}

type queryPoolCreateInfo struct {
	header
	flags      uint32
	kind       uint32
	count      uint32
	statistics uint32
}

type memoryBarrier struct {
	header
	src, dst uint32 // Access bits
}

type bufferCopy struct {
	src, dst, size uint64
}

type submitInfo struct {
	header
	waitCount    uint32
	waits        unsafe.Pointer
	waitStages   unsafe.Pointer
	commandCount uint32
	commands     unsafe.Pointer
	signalCount  uint32
	signals      unsafe.Pointer
}
