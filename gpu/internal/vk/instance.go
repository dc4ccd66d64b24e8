//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Version packs a Vulkan version number.
func Version(major, minor uint32) uint32 { return major<<22 | minor<<12 }

// apiVersion is what the instance asks for. 1.1 is what devices must have; 1.2
// names the driver.
var apiVersion = Version(1, 2)

// Instance is a connection to the Vulkan loader.
type Instance struct {
	handle          uintptr
	getProc         uintptr
	destroy         uintptr
	enumerate       uintptr
	properties      uintptr
	features        uintptr
	features2       uintptr
	memory          uintptr
	queueFamilies   uintptr
	extensions      uintptr
	createDevice    uintptr
	getDeviceProc   uintptr
	physicalDevices []physicalDevice
}

// NewInstance loads Vulkan and makes an instance. It fails with ErrNoLoader if
// there is no library.
func NewInstance(application string) (*Instance, error) {
	getProc, err := loader()
	if err != nil {
		return nil, err
	}
	in := &Instance{getProc: getProc}
	version := Version(1, 0)
	if fn := in.lookup("vkEnumerateInstanceVersion"); fn != 0 {
		invoke(fn, uintptr(unsafe.Pointer(&version)))
	}
	if version < Version(1, 1) {
		return nil, fmt.Errorf("%w: Vulkan 1.0 is installed, 1.1 is needed", ErrNoLoader)
	}
	if r := in.create(application); r != Success {
		return nil, fmt.Errorf("vkCreateInstance: %s", r)
	}
	for _, p := range []proc{
		{&in.destroy, "vkDestroyInstance"},
		{&in.enumerate, "vkEnumeratePhysicalDevices"},
		{&in.properties, "vkGetPhysicalDeviceProperties2"},
		{&in.features, "vkGetPhysicalDeviceFeatures"},
		{&in.features2, "vkGetPhysicalDeviceFeatures2"},
		{&in.memory, "vkGetPhysicalDeviceMemoryProperties2"},
		{&in.queueFamilies, "vkGetPhysicalDeviceQueueFamilyProperties"},
		{&in.extensions, "vkEnumerateDeviceExtensionProperties"},
		{&in.createDevice, "vkCreateDevice"},
		{&in.getDeviceProc, "vkGetDeviceProcAddr"},
	} {
		if *p.pointer = in.lookup(p.name); *p.pointer == 0 {
			return nil, fmt.Errorf("the Vulkan library lacks %s", p.name)
		}
	}
	var r Result
	in.physicalDevices, r = enumerate[physicalDevice](func(count *uint32, list *physicalDevice) Result {
		return invoke(in.enumerate, in.handle, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
	})
	if r != Success {
		in.Destroy()
		return nil, fmt.Errorf("vkEnumeratePhysicalDevices: %s", r)
	}
	return in, nil
}

// create makes the instance. Drivers that lack parts of Vulkan, as those over
// Metal do, are listed only if asked for.
func (in *Instance) create(application string) Result {
	available, _ := enumerate[extensionProperties](func(count *uint32, list *extensionProperties) Result {
		return invoke(in.lookup("vkEnumerateInstanceExtensionProperties"), 0, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
	})
	var flags uint32
	var extensions []string
	if hasExtension(available, extPortableInstance) {
		flags = enumeratePortable
		extensions = append(extensions, extPortableInstance)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	name := append([]byte(application), 0)
	info := instanceCreateInfo{
		header: header{sType: typeInstanceCreateInfo},
		flags:  flags,
		applicationInfo: pinned(&pin, &applicationInfo{
			header:          header{sType: typeApplicationInfo},
			applicationName: pinnedSlice(&pin, name),
			apiVersion:      apiVersion,
		}),
		extensionCount: uint32(len(extensions)),
		extensionNames: pinnedStrings(&pin, extensions),
	}
	return invoke(in.lookup("vkCreateInstance"), uintptr(unsafe.Pointer(&info)), 0, uintptr(unsafe.Pointer(&in.handle)))
}

// lookup finds a function by name; 0 if there is none.
func (in *Instance) lookup(name string) uintptr {
	return lookup(in.getProc, in.handle, name)
}

// Destroy frees the instance. Its devices must be gone.
func (in *Instance) Destroy() {
	invoke(in.destroy, in.handle, 0)
}

// Devices is the number of physical devices.
func (in *Instance) Devices() int { return len(in.physicalDevices) }

// Properties is what a physical device says about itself.
type Properties struct {
	APIVersion         uint32
	Type               PhysicalDeviceType
	Name               string
	Driver             string // name and version; "" before Vulkan 1.2
	MaxStorageRange    uint32 // bytes visible to one binding
	MaxTexels          uint32 // elements of a texel buffer
	MaxPushConstants   uint32 // bytes
	MaxStorageBuffers  uint32 // bindings of one shader
	MaxSharedMemory    uint32 // bytes of workgroup memory
	MaxInvocations     uint32 // in a workgroup
	MaxWorkgroups      [3]uint32
	TimestampPeriod    float32 // nanoseconds
	MaxAllocation      uint64  // bytes
	SubgroupSize       uint32
	SubgroupStages     uint32
	SubgroupOperations uint32
	Int64              bool
	Matrices           Matrices
	Heaps              []MemoryHeap
	MemoryTypes        []MemoryType
	QueueFamilies      []QueueFamily
}

// Properties queries physical device i.
func (in *Instance) Properties(i int) Properties {
	device := in.physicalDevices[i]
	var pin runtime.Pinner
	defer pin.Unpin()
	driver := driverProperties{header: header{sType: typeDriverProperties}}
	maintenance := maintenance3Properties{header: header{sType: typeMaintenance3Properties}}
	subgroup := subgroupProperties{header: header{sType: typeSubgroupProperties, pNext: pinned(&pin, &maintenance)}}
	all := properties2{header: header{sType: typeProperties2}}
	// A device of Vulkan 1.0 knows none of the structures; one of 1.1 does not
	// know the driver's. An unknown structure in the chain is skipped by law and
	// left as it was, so the version alone decides what to believe.
	all.pNext = pinned(&pin, &subgroup)
	maintenance.pNext = pinned(&pin, &driver)
	invoke(in.properties, device, uintptr(unsafe.Pointer(&all)))

	var features [featureCount]uint32
	invoke(in.features, device, uintptr(unsafe.Pointer(&features)))
	families := make([]QueueFamily, 16)
	familyCount := uint32(len(families))
	invoke(in.queueFamilies, device, uintptr(unsafe.Pointer(&familyCount)), uintptr(unsafe.Pointer(&families[0])))

	p := Properties{
		APIVersion:         all.apiVersion,
		Type:               all.deviceType,
		Name:               goString(all.deviceName[:]),
		MaxStorageRange:    all.limits.maxStorageBufferRange,
		MaxTexels:          all.limits.maxTexelBufferElements,
		MaxPushConstants:   all.limits.maxPushConstantsSize,
		MaxStorageBuffers:  all.limits.perStageStorageBuffers,
		MaxSharedMemory:    all.limits.maxSharedMemorySize,
		MaxInvocations:     all.limits.maxWorkgroupInvocations,
		MaxWorkgroups:      all.limits.maxWorkgroupCount,
		TimestampPeriod:    all.limits.timestampPeriod,
		MaxAllocation:      maintenance.maxMemoryAllocationSize,
		SubgroupSize:       subgroup.size,
		SubgroupStages:     subgroup.stages,
		SubgroupOperations: subgroup.operations,
		Int64:              features[featureShaderInt64] != 0,
		QueueFamilies:      families[:familyCount],
		Matrices:           in.matrices(device, all.apiVersion),
	}
	if name := goString(driver.name[:]); name != "" {
		p.Driver = name + " " + goString(driver.info[:])
	}
	p.Heaps, p.MemoryTypes = in.memoryProperties(device)
	return p
}

func (in *Instance) memoryProperties(device physicalDevice) ([]MemoryHeap, []MemoryType) {
	var pin runtime.Pinner
	defer pin.Unpin()
	all := memoryProperties2{header: header{sType: typeMemoryProperties2}}
	budget := memoryBudgetProperties{header: header{sType: typeMemoryBudgetProperties}}
	if hasExtension(in.deviceExtensions(device), extMemoryBudget) {
		all.pNext = pinned(&pin, &budget)
	}
	invoke(in.memory, device, uintptr(unsafe.Pointer(&all)))
	heaps := make([]MemoryHeap, all.heapCount)
	for i := range heaps {
		heaps[i] = MemoryHeap{Size: all.heaps[i].size, Budget: budget.budget[i]}
		if heaps[i].Budget == 0 {
			heaps[i].Budget = heaps[i].Size
		}
	}
	return heaps, slices.Clone(all.types[:all.typeCount])
}

func (in *Instance) deviceExtensions(device physicalDevice) []extensionProperties {
	list, _ := enumerate[extensionProperties](func(count *uint32, list *extensionProperties) Result {
		return invoke(in.extensions, device, 0, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
	})
	return list
}

// enumerate asks for the count, then for the list, as Vulkan's vkEnumerate
// functions want it.
func enumerate[T any](ask func(count *uint32, list *T) Result) ([]T, Result) {
	var empty T
	return enumerateInto(empty, ask)
}

// enumerateInto is enumerate for structures that must be handed over with a type in
// them, which empty has.
func enumerateInto[T any](empty T, ask func(count *uint32, list *T) Result) ([]T, Result) {
	for {
		var count uint32
		if r := ask(&count, nil); r != Success || count == 0 {
			return nil, r
		}
		list := slices.Repeat([]T{empty}, int(count))
		// Incomplete: the list grew between the calls.
		if r := ask(&count, &list[0]); r != Incomplete {
			return list[:count], r
		}
	}
}

func hasExtension(list []extensionProperties, name string) bool {
	return slices.ContainsFunc(list, func(e extensionProperties) bool { return goString(e.name[:]) == name })
}

// lookup calls one of the two vkGet...ProcAddr functions.
func lookup(getProc, object uintptr, name string) uintptr {
	cName := append([]byte(name), 0)
	fn, _, _ := purego.SyscallN(getProc, object, uintptr(unsafe.Pointer(&cName[0])))
	return fn
}
