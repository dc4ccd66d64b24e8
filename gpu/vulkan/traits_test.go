//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/shaders"
)

const gib = 1 << 30

// lavapipe is what Mesa 22.3's software driver reports.
func lavapipe() vk.Properties {
	return vk.Properties{
		APIVersion: vk.Version(1, 3), Type: vk.TypeCPU, Name: "llvmpipe", Driver: "llvmpipe Mesa 22.3.6",
		MaxStorageRange: 1 << 27, MaxTexels: 1 << 27, MaxPushConstants: 128, MaxStorageBuffers: 32, MaxSharedMemory: 32 << 10,
		MaxInvocations: 1024, MaxWorkgroups: [3]uint32{65535, 65535, 65535}, TimestampPeriod: 1,
		MaxAllocation: 2 * gib, SubgroupSize: 8, SubgroupStages: 0x30, SubgroupOperations: 0x3f, Int64: true,
		Heaps:         []vk.MemoryHeap{{Size: 2 * gib, Budget: 2 * gib}},
		MemoryTypes:   []vk.MemoryType{{Flags: 0xf, Heap: 0}},
		QueueFamilies: []vk.QueueFamily{{Flags: 0x7, Count: 1, TimestampValidBits: 64}},
	}
}

// discrete is a GPU with its own memory, part of it in reach of the host, and a
// queue family that only computes.
func discrete() vk.Properties {
	p := lavapipe()
	p.Type, p.SubgroupSize = vk.TypeDiscreteGPU, 32
	p.Heaps = []vk.MemoryHeap{
		{Size: 32 * gib, Budget: 32 * gib},
		{Size: 8 * gib, Budget: 7 * gib},
		{Size: gib / 4, Budget: gib / 4},
	}
	p.MemoryTypes = []vk.MemoryType{
		{Flags: 0, Heap: 0},
		{Flags: vk.MemoryDeviceLocal | 0x40, Heap: 1}, // a vendor's own
		{Flags: vk.MemoryDeviceLocal, Heap: 1},
		{Flags: vk.MemoryHostVisible | vk.MemoryHostCoherent, Heap: 0},
		{Flags: vk.MemoryHostVisible | vk.MemoryHostCoherent | vk.MemoryHostCached, Heap: 0},
		{Flags: vk.MemoryDeviceLocal | vk.MemoryHostVisible | vk.MemoryHostCoherent, Heap: 2},
	}
	p.QueueFamilies = []vk.QueueFamily{
		{Flags: vk.QueueGraphics | vk.QueueCompute, Count: 16, TimestampValidBits: 64},
		{Flags: 0x4, Count: 2, TimestampValidBits: 64},
		{Flags: vk.QueueCompute, Count: 8, TimestampValidBits: 36},
	}
	return p
}

func TestConclude(t *testing.T) {
	cpu := conclude(0, lavapipe(), 20*gib, "")
	if cpu.unusable != "" || cpu.caps.Tier != gpu.TierLanes || !cpu.caps.Unified || cpu.caps.Memory != 20*gib || cpu.caps.ID != "vulkan:0" {
		t.Errorf("lavapipe: %+v", cpu)
	}
	if cpu := conclude(0, lavapipe(), 0, ""); cpu.caps.Memory != 2*gib {
		t.Errorf("lavapipe where the system's memory is not known: %+v", cpu)
	}
	card := conclude(3, discrete(), 20*gib, "")
	if card.unusable != "" || card.caps.Tier != gpu.TierWide || card.caps.Unified || card.caps.Memory != 7*gib || card.caps.Kind != gpu.Discrete ||
		card.memoryType != 2 || card.stagingType != 4 || card.family != 2 || card.timestamps != 36 || card.caps.ID != "vulkan:3" {
		t.Errorf("discrete GPU: %+v", card)
	}
	few := lavapipe()
	few.MaxTexels = 1 << 16
	if got := conclude(0, few, 0, ""); got.caps.MaxBinding != 4<<16 {
		t.Errorf("a binding of %d bytes where a texel buffer has at most 65536 words", got.caps.MaxBinding)
	}
	if got := conclude(0, few, 0, string(gpu.TierBase)); got.caps.MaxBinding != 1<<27 {
		t.Errorf("a binding of %d bytes in T0, which has no texel buffers", got.caps.MaxBinding)
	}
	// NVIDIA's driver binds 4 GiB - 1 and allocates 2 MiB less in one piece.
	p := discrete()
	p.MaxStorageRange, p.MaxAllocation = 1<<32-1, 4292870144
	if got := conclude(0, p, 0, ""); got.caps.MaxBinding != 4292870144 {
		t.Errorf("a binding of %d bytes where a buffer has at most 4292870144", got.caps.MaxBinding)
	}
	apple := discrete()
	apple.Type = vk.TypeIntegratedGPU
	apple.Heaps = apple.Heaps[:2]
	apple.MemoryTypes = []vk.MemoryType{{Flags: vk.MemoryDeviceLocal, Heap: 1}, {Flags: 0xf, Heap: 1}}
	if got := conclude(0, apple, 0, ""); !got.caps.Unified || got.memoryType != 1 || got.stagingType != 1 {
		t.Errorf("integrated GPU: %+v", got)
	}
}

func TestConcludeUnusable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*vk.Properties)
		want   string
	}{
		{"old driver", func(p *vk.Properties) { p.APIVersion = vk.Version(1, 0) }, "Vulkan 1.1"},
		{"few bindings", func(p *vk.Properties) { p.MaxStorageBuffers = 4 }, "limits"},
		{"no compute", func(p *vk.Properties) { p.QueueFamilies[0].Flags = vk.QueueGraphics }, "compute"},
		{"no mapping", func(p *vk.Properties) { p.MemoryTypes[0].Flags = vk.MemoryDeviceLocal }, "memory"},
		{"no local memory", func(p *vk.Properties) { p.MemoryTypes[0].Flags = vk.MemoryHostVisible | vk.MemoryHostCoherent }, "memory"},
	} {
		p := lavapipe()
		c.change(&p)
		if got := conclude(0, p, 0, ""); !strings.Contains(got.unusable, c.want) {
			t.Errorf("%s: reason %q, want one with %q", c.name, got.unusable, c.want)
		}
	}
}

func TestChooseTier(t *testing.T) {
	narrow, noInt64, noShuffle, small := lavapipe(), lavapipe(), lavapipe(), discrete()
	cores, wideCores, smallCores, cores8, both := discrete(), discrete(), discrete(), lavapipe(), discrete()
	cores.Matrices = vk.Matrices{Blocks: []uint32{16}, MinSubgroup: 32, MaxSubgroup: 64}
	wideCores.Matrices = vk.Matrices{Blocks: []uint32{16}, MinSubgroup: 64, MaxSubgroup: 64}
	cores8.Matrices = vk.Matrices{Blocks: []uint32{8}, MinSubgroup: 8, MaxSubgroup: 8}
	both.Matrices = vk.Matrices{Blocks: []uint32{8, 16}, MinSubgroup: 8, MaxSubgroup: 32}
	smallCores.Matrices, smallCores.MaxSharedMemory = cores.Matrices, 16<<10
	narrow.SubgroupSize, noInt64.Int64, noShuffle.SubgroupOperations, small.MaxSharedMemory = 4, false, 0xf, 16<<10
	for _, c := range []struct {
		name     string
		p        vk.Properties
		override string
		want     gpu.Tier // "" for an error
	}{
		{"lavapipe", lavapipe(), "", gpu.TierLanes},
		{"lavapipe", lavapipe(), "T0", gpu.TierBase},
		{"lavapipe", lavapipe(), "TL", gpu.TierLanes},
		{"lavapipe", lavapipe(), "t0", ""},
		{"lavapipe on NEON", narrow, "", gpu.TierBase},
		{"lavapipe on NEON", narrow, "TL", ""},
		{"no 64-bit integers", noInt64, "", gpu.TierBase},
		{"no shuffle", noShuffle, "", gpu.TierBase},
		{"no shuffle", noShuffle, "TL", ""},
		{"discrete", discrete(), "", gpu.TierWide},
		{"discrete", discrete(), "T0", gpu.TierBase},
		{"16 KiB of workgroup memory", small, "", gpu.TierBase},
		{"16 KiB of workgroup memory", small, "T1", ""},
		{"lavapipe", lavapipe(), "T1", gpu.TierWide},
		{"discrete", discrete(), "TL", ""},
		{"matrix cores", cores, "", gpu.TierWide}, // only if asked for
		{"matrix cores", cores, "T2", gpu.TierMatrix},
		{"matrix cores", cores, "T2x8", ""},
		{"no matrix cores", discrete(), "T2", ""},
		{"matrix cores of 64 lanes", wideCores, "T2", ""},
		{"matrix cores, 16 KiB of workgroup memory", smallCores, "T2", ""},
		{"newer lavapipe", cores8, "", gpu.TierLanes},
		{"newer lavapipe", cores8, "T2x8", gpu.TierMatrix8},
		{"newer lavapipe", cores8, "T2", ""},
		{"matrix cores of two sizes", both, "", gpu.TierWide},
		{"matrix cores of two sizes", both, "T2", gpu.TierMatrix},
		{"matrix cores of two sizes", both, "T2x8", gpu.TierMatrix8},
	} {
		got, err := chooseTier(c.p, c.override)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s, RLZERO_TIER=%q: %q, %v; want %q", c.name, c.override, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("no tier %q, which --tier or RLZERO_TIER asks for", c.override)) {
			t.Errorf("%s: the error does not name the tier and the variable: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		p          vk.Properties
		tier, want string
	}{
		{small, "T1", `no tier "T1", which --tier or RLZERO_TIER asks for: it needs 32 KiB of workgroup memory; found: subgroups of 32 lanes, 16 KiB of workgroup memory; this device offers T0`},
		{cores, "T2x8", `no tier "T2x8", which --tier or RLZERO_TIER asks for: it needs VK_KHR_cooperative_matrix with blocks of 8 x 8 x 8 of f16 that are added in f32, f16 rounded to the nearest, subgroups of 8 lanes, and 32 KiB of workgroup memory; found: subgroups of 32 lanes, 32 KiB of workgroup memory; this device offers T0, T1, T2`},
		{lavapipe(), "t0", `no tier "t0", which --tier or RLZERO_TIER asks for: the tiers are T0, T1, T2, T2x8, TL; this device offers T0, T1, TL`},
	} {
		if _, err := chooseTier(c.p, c.tier); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestTierOverride(t *testing.T) {
	openTest(t) // there is a driver
	t.Setenv("RLZERO_TIER", "T9")
	if _, err := Open(0); !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), `no tier "T9", which --tier or RLZERO_TIER asks for`) {
		t.Errorf("impossible tier: %v", err)
	}
	t.Setenv("RLZERO_TIER", "T0")
	if d := openTest(t); d.Caps().Tier != gpu.TierBase {
		t.Errorf("tier %s, want T0", d.Caps().Tier)
	}
}

func TestCheckResult(t *testing.T) {
	for _, c := range []struct {
		result vk.Result
		want   error
	}{
		{vk.DeviceLost, gpu.ErrDeviceLost},
		{vk.OutOfDeviceMemory, gpu.ErrOutOfMemory},
		{vk.OutOfHostMemory, gpu.ErrOutOfMemory},
		{vk.OutOfPoolMemory, gpu.ErrOutOfMemory},
		{vk.FeatureNotPresent, gpu.ErrUnsupported},
		{vk.InitializationFailed, nil},
		{vk.Result(-13), nil},
	} {
		err := checkResult(c.result, "vkQueueSubmit", `program "forward"`)
		if err == nil {
			t.Errorf("%s is no error", c.result)
			continue
		}
		for _, family := range []error{gpu.ErrDeviceLost, gpu.ErrOutOfMemory, gpu.ErrUnsupported} {
			if errors.Is(err, family) != (family == c.want) {
				t.Errorf("%s: is %v: %v", c.result, family, !(family == c.want))
			}
		}
		for _, part := range []string{"vkQueueSubmit", "forward", c.result.String()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	if err := checkResult(vk.Success, "", ""); err != nil {
		t.Errorf("success is an error: %v", err)
	}
}

func TestHazards(t *testing.T) {
	a, b := &buffer{size: 1024}, &buffer{size: 1024}
	read := func(x *buffer, low, high int) span { return span{buffer: x, low: low, high: high} }
	write := func(x *buffer, low, high int) span { return span{buffer: x, low: low, high: high, write: true} }
	for _, c := range []struct {
		name string
		ops  [][]span
		want []bool
	}{
		{"two readers", [][]span{{read(a, 0, 512)}, {read(a, 0, 512)}}, []bool{false, false}},
		{"read after write", [][]span{{write(a, 0, 512)}, {read(a, 511, 512)}}, []bool{false, true}},
		{"write after read", [][]span{{read(a, 256, 512)}, {write(a, 0, 257)}}, []bool{false, true}},
		{"write after write", [][]span{{write(a, 0, 512)}, {write(a, 0, 512)}}, []bool{false, true}},
		{"neighbours", [][]span{{write(a, 0, 512)}, {write(a, 512, 1024)}}, []bool{false, false}},
		{"other buffer", [][]span{{write(a, 0, 512)}, {write(b, 0, 512)}}, []bool{false, false}},
		{"a barrier clears all", [][]span{{write(a, 0, 4), write(b, 0, 4)}, {read(a, 0, 4)}, {read(b, 0, 4)}}, []bool{false, true, false}},
		{"and keeps the op itself", [][]span{{write(a, 0, 4)}, {read(a, 0, 4), write(b, 0, 4)}, {read(b, 0, 4)}}, []bool{false, true, true}},
	} {
		h := hazards{}
		var got []bool
		for _, op := range c.ops {
			got = append(got, h.add(op))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: barriers %v, want %v", c.name, got, c.want)
		}
	}
	if s := spanOf(gpu.View{Buffer: a, Offset: 256}, shaders.ReadWrite); s != write(a, 256, 1024) {
		t.Errorf("a view of size 0: %+v", s)
	}
	if s := spanOf(gpu.View{Buffer: a, Offset: 256, Size: 4}, shaders.Read); s != read(a, 256, 260) {
		t.Errorf("a read view: %+v", s)
	}
}

func TestDurations(t *testing.T) {
	// 36-bit counter that wraps, at 2.5 ns a tick; the upper bits are noise.
	got := durations([]uint64{1<<36 - 4, 2<<36 | 4, 3<<36 | 4}, 36, 2.5)
	if want := []time.Duration{20, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := durations([]uint64{5, 12}, 64, 1); !slices.Equal(got, []time.Duration{7}) {
		t.Errorf("64 bits: %v", got)
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct{ goos, release, want string }{
		{"linux", "NAME=\"Debian\"\nID=debian\n", "apt install mesa-vulkan-drivers libvulkan1"},
		{"linux", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "apt install"},
		{"linux", "ID=fedora\n", "dnf install mesa-vulkan-drivers vulkan-loader"},
		{"linux", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", "dnf install"},
		{"linux", "ID=manjaro\nID_LIKE=arch\n", "pacman -S vulkan-swrast vulkan-icd-loader"},
		{"linux", "ID=alpine\n", "apk add mesa-vulkan-swrast vulkan-loader"},
		{"linux", "VERSION_ID=12\n", "libvulkan.so.1"},
		{"darwin", "", "brew install molten-vk vulkan-loader"},
		{"windows", "", "vendor"},
	} {
		if got := hintFor(c.goos, c.release); !strings.Contains(got, c.want) {
			t.Errorf("%s %q: %q, want %q in it", c.goos, c.release, got, c.want)
		}
	}
}
