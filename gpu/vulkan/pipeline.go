//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"encoding/binary"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/shaders"
)

// kernel is a kernel's contract as far as Record needs it.
type kernel struct {
	access []shaders.Access // of each binding
	params int
}

// layoutKey is what a layout depends on.
type layoutKey struct {
	bindings, params int
	texels           uint32 // bit i: binding i is a texel buffer
}

type layout struct {
	set      vk.DescriptorSetLayout
	pipeline vk.PipelineLayout
}

// Prepare makes the pipelines of all variants of the kernels.
func (d *Device) Prepare(kernels []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.vk == nil {
		return errClosed
	}
	var jobs []job
	seen := map[string]bool{}
	for _, name := range kernels {
		k, err := d.kernel(name)
		if err != nil {
			return err
		}
		variants := shaders.Variants(name, string(d.traits.caps.Tier))
		if len(variants) == 0 {
			return fmt.Errorf("%w: kernel %s has no variant for tier %s", gpu.ErrUnsupported, name, d.traits.caps.Tier)
		}
		for _, v := range variants {
			if _, made := d.pipelines[v.ID]; !made && !seen[v.ID] {
				seen[v.ID] = true
				l, err := d.layoutFor(k, v)
				if err != nil {
					return err
				}
				jobs = append(jobs, job{variant: v, layout: l})
			}
		}
	}
	return d.compileAll(jobs)
}

// job is one pipeline to make.
type job struct {
	variant  shaders.Variant
	layout   layout
	pipeline vk.Pipeline // 0 if it could not be made
}

// compileAll makes pipelines on all cores and keeps those that succeed.
func (d *Device) compileAll(jobs []job) error {
	err := host.Parallel(len(jobs), func(i int) (err error) {
		jobs[i].pipeline, err = d.compile(jobs[i].variant, jobs[i].layout)
		return err
	})
	for _, j := range jobs {
		if j.pipeline != 0 {
			d.pipelines[j.variant.ID] = j.pipeline
		}
	}
	return err
}

// compile makes one pipeline. It may run on several goroutines at once.
func (d *Device) compile(v shaders.Variant, l layout) (vk.Pipeline, error) {
	code, err := v.SPIRV()
	if err != nil {
		return 0, err
	}
	words := make([]uint32, len(code)/4) // SPIR-V is little-endian here, and words
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	module, r := d.vk.CreateShaderModule(words)
	if err := checkResult(r, "vkCreateShaderModule", "shader "+v.ID); err != nil {
		return 0, err
	}
	defer d.vk.DestroyShaderModule(module)
	p, r := d.vk.CreateComputePipeline(module, "main", l.pipeline, v.Lanes)
	return p, checkResult(r, "vkCreateComputePipelines", "shader "+v.ID)
}

// pipeline returns the pipeline of a variant and makes it if need be.
func (d *Device) pipeline(v shaders.Variant, l layout) (vk.Pipeline, error) {
	if p, ok := d.pipelines[v.ID]; ok {
		return p, nil
	}
	p, err := d.compile(v, l)
	if err != nil {
		return 0, err
	}
	d.pipelines[v.ID] = p
	return p, nil
}

// kernel looks a kernel up.
func (d *Device) kernel(name string) (*kernel, error) {
	if k, ok := d.kernels[name]; ok {
		return k, nil
	}
	contract, ok := shaders.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("unknown kernel %q; shaders/kernels.go lists them", name)
	}
	k := &kernel{params: len(contract.Params)}
	for _, b := range contract.Bindings {
		k.access = append(k.access, b.Access)
	}
	d.kernels[name] = k
	return k, nil
}

// layoutFor is the layout of a variant of the kernel.
func (d *Device) layoutFor(k *kernel, v shaders.Variant) (layout, error) {
	key := layoutKey{bindings: len(k.access), params: k.params}
	for i, words := range v.Texels {
		if words > 0 {
			key.texels |= 1 << i
		}
	}
	if l, ok := d.layouts[key]; ok {
		return l, nil
	}
	if 4*key.params > int(d.properties.MaxPushConstants) {
		return layout{}, fmt.Errorf("%w: shader %s has %d parameters, but push constants hold %d", gpu.ErrUnsupported, v.ID, key.params, d.properties.MaxPushConstants/4)
	}
	label := fmt.Sprintf("a layout of %d buffers", key.bindings)
	set, r := d.vk.CreateDescriptorSetLayout(key.bindings, key.texels)
	if err := checkResult(r, "vkCreateDescriptorSetLayout", label); err != nil {
		return layout{}, err
	}
	pipeline, r := d.vk.CreatePipelineLayout(set, 4*key.params)
	if err := checkResult(r, "vkCreatePipelineLayout", label); err != nil {
		d.vk.DestroyDescriptorSetLayout(set)
		return layout{}, err
	}
	l := layout{set: set, pipeline: pipeline}
	d.layouts[key] = l
	return l, nil
}
