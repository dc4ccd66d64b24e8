package shaders

import (
	"fmt"
	"strings"
	"testing"
)

// What a device with WebGPU's default limits takes
// (https://www.w3.org/TR/webgpu/#limits), with 256 bytes for the parameters.
const (
	webgpuBuffers    = 8
	webgpuParameters = 256 / 4
)

// TestWebGPULimits: every kernel can be bound.
func TestWebGPULimits(t *testing.T) {
	for _, k := range Kernels() {
		if len(k.Bindings) > webgpuBuffers || len(k.Params) > webgpuParameters {
			t.Errorf("%s has %d bindings and %d parameters, at most %d and %d are accepted", k.Name, len(k.Bindings), len(k.Params), webgpuBuffers, webgpuParameters)
		}
	}
}

// TestWebGPUDialect: the text differs from Vulkan's in the declarations alone, so
// both compute in the same order.
func TestWebGPUDialect(t *testing.T) {
	for _, v := range allVariants(t) {
		if v.Tier != "T0" {
			continue
		}
		kernel, _ := Lookup(v.Kernel)
		vulkan, err := v.WGSL()
		if err != nil {
			t.Fatal(err)
		}
		plain, err := v.WebGPU(0)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := v.WebGPU(^uint32(0))
		if err != nil {
			t.Fatal(err)
		}
		uniform := fmt.Sprintf("@group(0) @binding(%d) var<uniform> pc: PC;", len(kernel.Bindings))
		if strings.ReplaceAll(vulkan, "var<immediate> pc: PC;", uniform) != plain || !strings.Contains(plain, uniform) {
			t.Errorf("%s: more than the parameters differs", v.ID)
		}
		if strings.ReplaceAll(plain, "var<storage, read>", "var<storage, read_write>") != shared {
			t.Errorf("%s: more than the access differs with shared bindings", v.ID)
		}
		for _, word := range []string{"u64", "subgroup", "enable "} {
			if strings.Contains(plain, word) {
				t.Errorf("%s: %q is not in every WebGPU", v.ID, word)
			}
		}
	}
}
