//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
	"github.com/rlzero/rlzero/shaders"
)

// slot is the distance of two ops' parameters in a program's uniform buffer: the
// largest offset alignment that WebGPU lets a device ask for.
const slot = 256

// defaults are WebGPU's default limits (https://www.w3.org/TR/webgpu/#limits):
// what every kernel may take for granted, and all that a device is asked for but
// for the size of a buffer.
var defaults = wgpu.Limits{
	StorageBuffers:  8,
	Binding:         128 << 20,
	Uniform:         64 << 10,
	OffsetAlignment: slot,
	Buffer:          256 << 20,
	SharedMemory:    16 << 10,
	Invocations:     256,
	Groups:          65535,
}

// wideSharedMemory is what the kernels of T1 take for granted beyond that.
const wideSharedMemory = 32 << 10

// traits is what the backend concludes from an adapter.
type traits struct {
	caps     gpu.Caps
	limits   wgpu.Limits // to ask for
	unusable string
}

// conclude decides how an adapter is used. memory is the system's that a device
// may take (0: unknown), tier the override of RLZERO_TIER ("": none).
func conclude(index int, a wgpu.Adapter, memory int, tier string) traits {
	t := traits{limits: defaults}
	t.limits.Buffer = a.Limits.Buffer
	t.caps = gpu.Caps{
		ID:            fmt.Sprintf("webgpu:%d", index),
		Name:          a.Name,
		Driver:        a.Driver,
		Kind:          kindOf(a.Type),
		Tier:          gpu.TierBase,
		MaxBinding:    t.limits.Binding,
		MaxAllocation: a.Limits.Buffer &^ 3,
		Subgroup:      1,    // kernels may not assume more
		ReadsApart:    true, // Tint takes no barrier whose control flow depends on a buffer that may be written
		Unified:       a.Type != wgpu.Discrete,
		Numerics:      gpu.Numerics(shaders.Numerics(string(gpu.TierBase))), // and of T1
	}
	t.caps.Memory = memorySize(a.Limits.Buffer, t.caps.Kind, memory)
	if t.caps.Kind == gpu.CPU {
		t.caps.MaxLoop = host.LlvmpipeLoop
	}
	if missing := lacks(a.Limits); len(missing) > 0 {
		t.unusable = "lacks " + strings.Join(missing, ", ") + "; update the driver or choose another device"
		return t
	}
	offers := []gpu.Tier{gpu.TierBase}
	if a.Limits.SharedMemory >= wideSharedMemory {
		offers = append(offers, gpu.TierWide)
	}
	switch asked := gpu.Tier(tier); {
	case tier == "":
	case !slices.Contains(offers, asked):
		t.unusable = check.NoTier(tier, fmt.Sprintf("WebGPU has T0, and T1 where maxComputeWorkgroupStorageSize is at least %d (has %d)", wideSharedMemory, a.Limits.SharedMemory), offers...).Error()
	case asked == gpu.TierWide:
		t.caps.Tier, t.limits.SharedMemory = asked, wideSharedMemory
	}
	return t
}

func kindOf(t wgpu.AdapterType) gpu.Kind {
	switch t {
	case wgpu.Discrete:
		return gpu.Discrete
	case wgpu.Integrated:
		return gpu.Integrated
	case wgpu.CPU:
		return gpu.CPU
	default:
		return gpu.Virtual
	}
}

// memorySize is what the planner may use, in bytes; see the package comment.
func memorySize(largest int, kind gpu.Kind, host int) int {
	if kind == gpu.CPU && host > 0 {
		return host
	}
	return max(largest, host/2)
}

// lacks names the limits that are below the defaults, with what is needed.
func lacks(l wgpu.Limits) []string {
	var missing []string
	need := func(name string, have, want int) {
		if have < want {
			missing = append(missing, fmt.Sprintf("%s of %d (has %d)", name, want, have))
		}
	}
	need("maxStorageBuffersPerShaderStage", l.StorageBuffers, defaults.StorageBuffers)
	need("maxStorageBufferBindingSize", l.Binding, defaults.Binding)
	need("maxUniformBufferBindingSize", l.Uniform, slot)
	need("maxBufferSize", l.Buffer, defaults.Buffer)
	need("maxComputeWorkgroupStorageSize", l.SharedMemory, defaults.SharedMemory)
	need("maxComputeInvocationsPerWorkgroup", l.Invocations, defaults.Invocations)
	need("maxComputeWorkgroupsPerDimension", l.Groups, defaults.Groups)
	if l.OffsetAlignment > slot {
		missing = append(missing, fmt.Sprintf("bindings at multiples of %d bytes (has %d)", slot, l.OffsetAlignment))
	}
	return missing
}
