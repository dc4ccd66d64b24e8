//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/shaders"
)

// lavapipe is what wgpu-native tells of Mesa 22.3's software driver.
func lavapipe() wgpu.Adapter {
	return wgpu.Adapter{
		Name: "llvmpipe", Driver: "Vulkan", Type: wgpu.CPU, Timestamps: true,
		Limits: wgpu.Limits{StorageBuffers: 32, Binding: 128 << 20, Uniform: 64 << 10, OffsetAlignment: 32,
			Buffer: 1<<31 - 1, SharedMemory: 32 << 10, Invocations: 1024, Groups: 65535},
	}
}

func TestConclude(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*wgpu.Adapter)
		tier     string
		unusable string // "" if usable
	}{
		"as is":           {func(*wgpu.Adapter) {}, "", ""},
		"tier named":      {func(*wgpu.Adapter) {}, "T0", ""},
		"another tier":    {func(*wgpu.Adapter) {}, "TL", `no tier "TL", which --tier or RLZERO_TIER asks for`},
		"no room for T1":  {func(a *wgpu.Adapter) { a.Limits.SharedMemory = 16 << 10 }, "T1", "at least 32768 (has 16384); this device offers T0"},
		"few buffers":     {func(a *wgpu.Adapter) { a.Limits.StorageBuffers = 4 }, "", "maxStorageBuffersPerShaderStage of 8 (has 4)"},
		"small binding":   {func(a *wgpu.Adapter) { a.Limits.Binding = 64 << 20 }, "", "maxStorageBufferBindingSize"},
		"small groups":    {func(a *wgpu.Adapter) { a.Limits.Invocations = 128 }, "", "maxComputeInvocationsPerWorkgroup of 256 (has 128)"},
		"little shared":   {func(a *wgpu.Adapter) { a.Limits.SharedMemory = 8 << 10 }, "", "maxComputeWorkgroupStorageSize"},
		"coarse bindings": {func(a *wgpu.Adapter) { a.Limits.OffsetAlignment = 512 }, "", "multiples of 256 bytes (has 512)"},
	} {
		a := lavapipe()
		c.change(&a)
		got := conclude(1, a, 0, c.tier)
		if (got.unusable == "") != (c.unusable == "") || !strings.Contains(got.unusable, c.unusable) {
			t.Errorf("%s: %q, want %q", name, got.unusable, c.unusable)
		}
		if got.caps.ID != "webgpu:1" || got.caps.Tier != gpu.TierBase || got.caps.MaxBinding != 128<<20 || got.caps.Kind != gpu.CPU || got.caps.MaxLoop == 0 {
			t.Errorf("%s: %+v", name, got.caps)
		}
		if got.limits.StorageBuffers != 8 || got.limits.Invocations != 256 || got.limits.SharedMemory != 16<<10 {
			t.Errorf("%s: more than the default limits is asked for: %+v", name, got.limits)
		}
	}
	if got := conclude(0, lavapipe(), 0, "T1"); got.unusable != "" || got.caps.Tier != gpu.TierWide || got.limits.SharedMemory != 32<<10 {
		t.Errorf("tier T1: %+v", got)
	}
}

func TestMemorySize(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		largest, host int
		kind          gpu.Kind
		want          int
	}{
		{2 * gib, 20 * gib, gpu.CPU, 20 * gib},
		{2 * gib, 0, gpu.CPU, 2 * gib},
		{2 * gib, 20 * gib, gpu.Discrete, 10 * gib},
		{24 * gib, 20 * gib, gpu.Discrete, 24 * gib},
		{4 * gib, 0, gpu.Integrated, 4 * gib},
	} {
		if got := memorySize(c.largest, c.kind, c.host); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// openOne opens the first adapter: these tests are about the library, not about
// the device.
func openOne(t *testing.T) *Device {
	t.Helper()
	d, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestErrorsAreTyped makes the library report each kind of error.
func TestErrorsAreTyped(t *testing.T) {
	d := openOne(t)
	layout, err := d.layout("add", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.device.NewPipeline("broken", "fn main() { let x = y; }", layout)
	err = d.noted(explainShader(err, "broken"))
	for _, part := range []string{"shader broken", "'y'", "update the driver"} {
		if !errors.Is(err, gpu.ErrUnsupported) || !strings.Contains(fmt.Sprint(err, hint.All(err)), part) {
			t.Errorf("a shader that does not compile: %v, want ErrUnsupported with %q", err, part)
		}
	}
	if _, err = d.device.NewBuffer("huge", 1<<50, wgpu.Storage); err == nil {
		t.Error("a buffer of a pebibyte was made")
	}
	if err := d.usable(); err != nil {
		t.Errorf("an error that is no loss ended the device: %v", err)
	}
	// A layout of the wrong kind: validation again, now of a bind group.
	add, err := shaders.Choose("add", string(gpu.TierBase), [3]int{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.pipeline(add, 0, layout)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.device.NewCommands([]wgpu.Dispatch{{Pipeline: p, Layout: layout}}); err == nil {
		t.Error("a bind group without its buffers was made")
	}
}

// TestPanicIsALostDevice: where wgpu-native would end the process, the device is
// lost and the process goes on, with another device if it likes.
func TestPanicIsALostDevice(t *testing.T) {
	for range 3 { // a panic finds what the one before it left
		d := openOne(t)
		b, err := d.NewBuffer("test", 256)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Record("test", []gpu.Op{{Kernel: "fill", Bind: []gpu.View{{Buffer: b}}, Params: []uint32{8, 0}, Size: [3]int{8}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Submit(p); err != nil {
			t.Fatal(err)
		}
		if err := d.explain(d.device.Fail(), "a submission"); !errors.Is(err, gpu.ErrDeviceLost) || !strings.Contains(strings.Join(hint.All(err), " "), "--resume") {
			t.Errorf("a panic of the library: %v, want ErrDeviceLost with what to do", err)
		}
		for what, err := range map[string]error{
			"submit": d.Submit(p), "wait": d.Wait(), "prepare": d.Prepare([]string{"add"}),
			"write": b.Write(0, make([]byte, 4)), "read": b.Read(0, make([]byte, 4)), "close": d.Close(),
		} {
			if !errors.Is(err, gpu.ErrDeviceLost) {
				t.Errorf("%s on a lost device: %v", what, err)
			}
		}
		if err := d.Wait(); !errors.Is(err, errClosed) {
			t.Errorf("wait on a closed device: %v", err)
		}
	}
}

func TestExplain(t *testing.T) {
	for kind, want := range map[wgpu.ErrorKind]error{
		wgpu.Lost: gpu.ErrDeviceLost, wgpu.Panic: gpu.ErrDeviceLost, wgpu.OutOfMemory: gpu.ErrOutOfMemory,
	} {
		err := explain(&wgpu.Error{Kind: kind, Text: "why"}, "what")
		if !errors.Is(err, want) || !strings.HasSuffix(err.Error(), "what: why") || len(hint.All(err)) == 0 {
			t.Errorf("%d: %v", kind, err)
		}
	}
	if err := explain(&wgpu.Error{Kind: wgpu.Invalid, Text: "why"}, "what"); err.Error() != "what: why" {
		t.Error(err)
	}
	if err := explain(nil, "what"); err != nil {
		t.Error(err)
	}
}

// writable has the bits of the bindings that a kernel only reads and that may be parts of
// what it writes: all but tables.
func writable(kernel *shaders.Kernel) (shared uint32) {
	for i, b := range kernel.Bindings {
		if b.Access == shaders.Read && !strings.Contains(b.Shape, "u32") {
			shared |= 1 << i
		}
	}
	return shared
}

// TestAllPipelines compiles every shader that WebGPU can take, as it is and writable, and
// these are the shaders of the manifest.
func TestAllPipelines(t *testing.T) {
	t.Setenv("RLZERO_TIER", string(gpu.TierWide)) // which compiles those of T0 too
	d := openOne(t)
	eachText(t, func(v shaders.Variant, shared uint32) error {
		layout, err := d.layout(v.Kernel, shared)
		if err == nil {
			_, err = d.pipeline(v, shared, layout)
		}
		return err
	})
}

// portable tells whether WebGPU has what the shaders of a tier need.
func portable(tier string) bool { return tier == string(gpu.TierBase) || tier == string(gpu.TierWide) }

// eachText calls do for every shader of T0 and T1 in both forms, and fails unless these
// are the shaders of the manifest.
func eachText(t *testing.T, do func(v shaders.Variant, shared uint32) error) {
	t.Helper()
	all, err := shaders.All()
	if err != nil {
		t.Fatal(err)
	}
	m, err := shaders.ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, v := range m.Variants {
		missing[v.ID] = portable(v.Tier)
	}
	for _, v := range all {
		if !portable(v.Tier) {
			continue
		}
		if !missing[v.ID] {
			t.Errorf("%s is not in the manifest", v.ID)
		}
		missing[v.ID] = false
		kernel, _ := shaders.Lookup(v.Kernel)
		for _, shared := range []uint32{0, writable(kernel)} {
			if err := do(v, shared); err != nil {
				t.Errorf("%s, bindings %b writable: %v", v.ID, shared, err)
			}
		}
	}
	for id, absent := range missing {
		if absent {
			t.Errorf("%s is in the manifest and has no text", id)
		}
	}
}

// TestTimestampsSplit times more ops than one query set holds.
func TestTimestampsSplit(t *testing.T) {
	d := openOne(t)
	b, err := d.NewBuffer("test", 32)
	if err != nil {
		t.Fatal(err)
	}
	ops := slices.Repeat([]gpu.Op{{Kernel: "fill", Bind: []gpu.View{{Buffer: b}}, Params: []uint32{8, 0}, Size: [3]int{8}}}, 2050)
	p, err := d.Record("many", ops)
	if err != nil {
		t.Fatal(err)
	}
	times, err := d.Timestamps(p)
	if errors.Is(err, gpu.ErrUnsupported) {
		return // no timestamps here
	}
	if err != nil || len(times) != len(ops) {
		t.Errorf("%d times, %v", len(times), err)
	}
}
