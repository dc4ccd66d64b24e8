//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/shaders"
)

// What every kernel may take for granted: WebGPU's default limits
// (https://www.w3.org/TR/webgpu/#limits).
const (
	minStorageBuffers = 8
	minInvocations    = 256
	minSharedMemory   = 16 << 10
)

// wideSharedMemory is what the kernels of T1 take for granted beyond that. All
// desktop GPUs have it, and Apple's.
const wideSharedMemory = 32 << 10

// traits is what the backend concludes from a physical device's properties.
type traits struct {
	caps        gpu.Caps
	family      int // queue family
	timestamps  int // valid bits of a timestamp, 0 for none
	memoryType  int // of buffers
	stagingType int // of the staging buffer
	unusable    string
}

// matrixBlocks are the tiers of matrix cores: the side of a block, and the lanes of a
// subgroup.
var matrixBlocks = []struct {
	tier         gpu.Tier
	block, lanes uint32
}{{gpu.TierMatrix, 16, 32}, {gpu.TierMatrix8, 8, 8}}

// matrixTiers are the tiers of matrix cores that a device can take: one may have blocks of
// both sizes.
func matrixTiers(p vk.Properties) []gpu.Tier {
	var can []gpu.Tier
	for _, b := range matrixBlocks {
		m := p.Matrices
		if slices.Contains(m.Blocks, b.block) && m.MinSubgroup <= b.lanes && b.lanes <= m.MaxSubgroup && p.MaxSharedMemory >= wideSharedMemory {
			can = append(can, b.tier)
		}
	}
	return can
}

// conclude decides how a device is used. memory is the system's that a CPU device
// may take (0: unknown), tier the override of RLZERO_TIER ("": none).
func conclude(index int, p vk.Properties, memory int, tier string) traits {
	t := traits{caps: gpu.Caps{
		ID:            fmt.Sprintf("vulkan:%d", index),
		Name:          p.Name,
		Driver:        p.Driver,
		Kind:          kindOf(p.Type),
		MaxBinding:    int(min(uint64(p.MaxStorageRange), p.MaxAllocation)) &^ 3, // no more than a buffer holds
		MaxAllocation: int(min(p.MaxAllocation, 1<<62)),
		Subgroup:      int(p.SubgroupSize),
		Int64:         p.Int64,
	}}
	if t.caps.Kind == gpu.CPU {
		t.caps.MaxLoop = host.LlvmpipeLoop
	}
	var missing []string
	if p.APIVersion < vk.Version(1, 1) {
		missing = append(missing, "Vulkan 1.1 (a newer driver may have it)")
	}
	if p.MaxStorageBuffers < minStorageBuffers || p.MaxInvocations < minInvocations || p.MaxSharedMemory < minSharedMemory {
		missing = append(missing, "WebGPU's default limits")
	}
	t.family, t.timestamps = queueFamily(p.QueueFamilies)
	if t.family < 0 {
		missing = append(missing, "a compute queue")
	}
	t.memoryType, t.caps.Unified = bufferMemory(p, t.caps.Kind)
	t.stagingType = stagingMemory(p.MemoryTypes)
	if t.memoryType < 0 || t.stagingType < 0 {
		missing = append(missing, "memory that the CPU can reach")
	} else {
		t.caps.Memory = memorySize(p.Heaps[p.MemoryTypes[t.memoryType].Heap], t.caps.Kind, memory)
	}
	if len(missing) > 0 {
		t.unusable = "lacks " + strings.Join(missing, ", ")
	}
	var err error
	if t.caps.Tier, err = chooseTier(p, tier); err != nil && t.unusable == "" {
		t.unusable = err.Error()
	}
	if t.caps.Tier == gpu.TierLanes {
		// Texels of one word are the smallest, and llvmpipe's offsets of texels are signed words.
		t.caps.MaxBinding = int(min(uint64(t.caps.MaxBinding), 4*uint64(p.MaxTexels), 1<<30))
	}
	t.caps.Numerics = gpu.Numerics(shaders.Numerics(string(t.caps.Tier)))
	return t
}

func kindOf(t vk.PhysicalDeviceType) gpu.Kind {
	switch t {
	case vk.TypeDiscreteGPU:
		return gpu.Discrete
	case vk.TypeIntegratedGPU:
		return gpu.Integrated
	case vk.TypeCPU:
		return gpu.CPU
	default:
		return gpu.Virtual
	}
}

// tierNeeds are the tiers, and what each needs of a device.
var tierNeeds = []struct {
	tier  gpu.Tier
	needs string
}{
	{gpu.TierBase, "WebGPU's default limits"},
	{gpu.TierWide, "32 KiB of workgroup memory"},
	{gpu.TierMatrix, "VK_KHR_cooperative_matrix with blocks of 16 x 16 x 16 of f16 that are added in f32, f16 rounded to the nearest, subgroups of 32 lanes, and 32 KiB of workgroup memory"},
	{gpu.TierMatrix8, "VK_KHR_cooperative_matrix with blocks of 8 x 8 x 8 of f16 that are added in f32, f16 rounded to the nearest, subgroups of 8 lanes, and 32 KiB of workgroup memory"},
	{gpu.TierLanes, "subgroups of 8 lanes with shuffle, and 64-bit integers"},
}

// offers are the tiers that a device can take, in the order of tierNeeds. The lane kernels
// are written for eight 32-bit lanes that exchange values and move data as 64-bit words.
func offers(p vk.Properties) []gpu.Tier {
	can := []gpu.Tier{gpu.TierBase}
	if p.MaxSharedMemory >= wideSharedMemory {
		can = append(can, gpu.TierWide)
	}
	can = append(can, matrixTiers(p)...)
	if p.SubgroupSize == 8 && p.Int64 &&
		p.SubgroupStages&vk.SubgroupStageMask != 0 && p.SubgroupOperations&vk.SubgroupShuffle != 0 {
		can = append(can, gpu.TierLanes)
	}
	return can
}

// chooseTier names the kernels for a device. Those of T1 are for GPUs and those of TL for
// CPUs; on others they are for tests. Matrix cores have to be asked for.
func chooseTier(p vk.Properties, override string) (gpu.Tier, error) {
	can := offers(p)
	if override == "" {
		usual := gpu.TierWide
		if p.Type == vk.TypeCPU {
			usual = gpu.TierLanes
		}
		if slices.Contains(can, usual) {
			return usual, nil
		}
		return gpu.TierBase, nil
	}
	if slices.Contains(can, gpu.Tier(override)) {
		return gpu.Tier(override), nil
	}
	names, why := make([]string, len(tierNeeds)), ""
	for i, t := range tierNeeds {
		names[i] = string(t.tier)
		if names[i] == override {
			why = fmt.Sprintf("it needs %s; found: subgroups of %d lanes, %d KiB of workgroup memory", t.needs, p.SubgroupSize, p.MaxSharedMemory>>10)
		}
	}
	if why == "" {
		why = "the tiers are " + strings.Join(names, ", ")
	}
	return "", check.NoTier(override, why, can...)
}

// queueFamily chooses a family that computes and does not draw, so as not to
// stand in the desktop's way, else any that computes; -1 if there is none.
func queueFamily(families []vk.QueueFamily) (index, timestampBits int) {
	index = -1
	for i, f := range families {
		if f.Count == 0 || f.Flags&vk.QueueCompute == 0 {
			continue
		}
		apart := f.Flags&vk.QueueGraphics == 0 && f.TimestampValidBits > 0
		if index < 0 || apart {
			index, timestampBits = i, int(f.TimestampValidBits)
		}
		if apart {
			break
		}
	}
	return index, timestampBits
}

// bufferMemory chooses the memory type of buffers; -1 if there is none. unified:
// the host reads and writes it directly at full speed. A discrete GPU's memory
// may be mapped too, but reads across the bus are slower than a copy.
func bufferMemory(p vk.Properties, kind gpu.Kind) (index int, unified bool) {
	const shared = vk.MemoryDeviceLocal | vk.MemoryHostVisible | vk.MemoryHostCoherent | vk.MemoryHostCached
	local := largestType(p, vk.MemoryDeviceLocal)
	if kind == gpu.Discrete || local < 0 {
		return local, false
	}
	both := largestType(p, shared)
	if both < 0 || p.MemoryTypes[both].Heap != p.MemoryTypes[local].Heap {
		return local, false
	}
	return both, true
}

// largestType is the first type with all the flags in the largest heap that has
// one; -1 if there is none.
func largestType(p vk.Properties, flags uint32) int {
	best := -1
	for i, t := range p.MemoryTypes {
		if !plain(t) || t.Flags&flags != flags {
			continue
		}
		if best < 0 || p.Heaps[t.Heap].Size > p.Heaps[p.MemoryTypes[best].Heap].Size {
			best = i
		}
	}
	return best
}

// stagingMemory is the type for copies to and from the host, cached if possible
// so that reading is fast; -1 if there is none.
func stagingMemory(types []vk.MemoryType) int {
	const visible = vk.MemoryHostVisible | vk.MemoryHostCoherent
	for _, flags := range []uint32{visible | vk.MemoryHostCached, visible} {
		for i, t := range types {
			if plain(t) && t.Flags&flags == flags {
				return i
			}
		}
	}
	return -1
}

// plain excludes memory types (protected, lazily allocated, vendors' own) that
// only a device with more features enabled may use.
func plain(t vk.MemoryType) bool {
	return t.Flags&^(vk.MemoryDeviceLocal|vk.MemoryHostVisible|vk.MemoryHostCoherent|vk.MemoryHostCached) == 0
}

// memorySize is what the planner may use of a heap, in bytes. What a CPU device
// reports is no guide: lavapipe of Mesa 22 says 2 GiB whatever there is, that of
// Mesa 25 says all of the system's memory whatever is taken.
func memorySize(heap vk.MemoryHeap, kind gpu.Kind, host int) int {
	if kind == gpu.CPU && host > 0 {
		return host
	}
	return int(min(heap.Size, heap.Budget, 1<<62))
}
