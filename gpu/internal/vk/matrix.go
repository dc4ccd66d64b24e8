//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"runtime"
	"unsafe"
)

// The structures of VK_KHR_cooperative_matrix and of what it is used with
// (https://registry.khronos.org/vulkan/specs/latest/man/html/VK_KHR_cooperative_matrix.html).

// matrixFeatures is VkPhysicalDeviceCooperativeMatrixFeaturesKHR, and stands for the
// other structures of features that begin as it does.
type matrixFeatures struct {
	header
	first uint32 // cooperativeMatrix, vulkanMemoryModel, shaderFloat16, subgroupSizeControl
	other uint32 // of subgroup sizes: computeFullSubgroups
	_     uint32
}

type features2 struct {
	header
	features [featureCount]uint32
}

type subgroupSizeProperties struct {
	header
	min, max uint32
	_        uint32 // maxComputeWorkgroupSubgroups
	stages   uint32
}

// floatControls is VkPhysicalDeviceFloatControlsProperties.
type floatControls struct {
	header
	_        uint32    // denormBehaviorIndependence
	rounding uint32    // roundingModeIndependence
	_        [9]uint32 // infinities kept, denormals kept, denormals flushed; of 16, 32, 64 bits
	nearest  uint32    // shaderRoundingModeRTEFloat16
	_        [5]uint32
}

// roundTogether is VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE: numbers of all sizes round in one way.
const roundTogether = 2

type subgroupSizeInfo struct {
	header
	size uint32
}

type matrixProperties struct {
	header
	m, n, k                uint32
	a, b, c, result        uint32 // VkComponentTypeKHR
	saturating, scopeValue uint32
}

// Values of VkComponentTypeKHR and VkScopeKHR.
const (
	componentFloat16 = 0
	componentFloat32 = 1
	scopeSubgroup    = 3
)

// Matrices is what a physical device has of matrix cores: products of f16 blocks that are
// added in f32 by a subgroup of a size that can be chosen. It has none if shaders cannot have
// f16 rounded to the nearest.
type Matrices struct {
	Blocks                   []uint32 // sides of blocks with m = n = k
	MinSubgroup, MaxSubgroup uint32   // lanes; the sizes are the powers of two between
}

// matrices asks a device for its matrix cores. What they need besides is in Vulkan 1.2.
func (in *Instance) matrices(device physicalDevice, version uint32) Matrices {
	available := in.deviceExtensions(device)
	ask := in.lookup("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")
	if version < Version(1, 2) || !hasExtension(available, extMatrix) || !hasExtension(available, extSubgroupSize) || ask == 0 {
		return Matrices{}
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	all, chain := matrixChain(&pin)
	invoke(in.features2, device, uintptr(unsafe.Pointer(all)))
	for _, f := range chain {
		if f.first == 0 || f.sType == typeSubgroupSizeFeatures && f.other == 0 {
			return Matrices{}
		}
	}
	sizes := &subgroupSizeProperties{header: header{sType: typeSubgroupSizeProperties}}
	floats := &floatControls{header: header{sType: typeFloatControls, pNext: pinned(&pin, sizes)}}
	properties := properties2{header: header{sType: typeProperties2, pNext: pinned(&pin, floats)}}
	invoke(in.properties, device, uintptr(unsafe.Pointer(&properties)))
	if sizes.stages&shaderStageCompute == 0 || floats.nearest == 0 || floats.rounding == roundTogether {
		return Matrices{}
	}
	list, _ := enumerateInto(matrixProperties{header: header{sType: typeMatrixProperties}}, func(count *uint32, list *matrixProperties) Result {
		return invoke(ask, device, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list)))
	})
	m := Matrices{MinSubgroup: sizes.min, MaxSubgroup: sizes.max}
	for _, p := range list {
		square := p.m == p.n && p.n == p.k
		mixed := p.a == componentFloat16 && p.b == componentFloat16 && p.c == componentFloat32 && p.result == componentFloat32
		if square && mixed && p.saturating == 0 && p.scopeValue == scopeSubgroup {
			m.Blocks = append(m.Blocks, p.m)
		}
	}
	return m
}

// matrixChain is a chain of the features that matrices need, to be asked for or enabled.
func matrixChain(pin *runtime.Pinner) (*features2, []*matrixFeatures) {
	all := &features2{header: header{sType: typeFeatures2}}
	var chain []*matrixFeatures
	for _, t := range []uint32{typeMatrixFeatures, typeMemoryModelFeatures, typeFloat16Features, typeSubgroupSizeFeatures} {
		f := &matrixFeatures{header: header{sType: t, pNext: all.pNext}}
		all.pNext = pinned(pin, f)
		chain = append(chain, f)
	}
	return all, chain
}
