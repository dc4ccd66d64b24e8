//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
	"github.com/rlzero/rlzero/shaders"
)

// layoutKey is what a layout depends on.
type layoutKey struct {
	readOnly string // of each binding, as text
	params   int
}

// pipelineKey is a variant, with the bindings that are read_write though only read.
type pipelineKey struct {
	id     string
	shared uint32
}

// Prepare makes the pipelines of all variants of the kernels.
func (d *Device) Prepare(kernels []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if err := check.Kernels(kernels); err != nil {
		return err
	}
	var jobs []job
	seen := map[pipelineKey]bool{}
	for _, name := range kernels {
		variants := shaders.Variants(name, string(d.caps.Tier))
		if len(variants) == 0 {
			return fmt.Errorf("%w: kernel %s has no variant for tier %s", gpu.ErrUnsupported, name, d.caps.Tier)
		}
		layout, err := d.layout(name, 0)
		if err != nil {
			return err
		}
		for _, v := range variants {
			key := pipelineKey{id: v.ID}
			if _, made := d.pipelines[key]; !made && !seen[key] {
				seen[key] = true
				jobs = append(jobs, job{key: key, variant: v, layout: layout})
			}
		}
	}
	return d.compileAll(jobs)
}

// job is one pipeline to make.
type job struct {
	key      pipelineKey
	variant  shaders.Variant
	layout   wgpu.Layout
	pipeline wgpu.Pipeline // its zero value if it could not be made
}

// compileAll makes pipelines on all cores and keeps those that succeed.
func (d *Device) compileAll(jobs []job) error {
	err := host.Parallel(len(jobs), func(i int) (err error) {
		jobs[i].pipeline, err = d.compile(jobs[i].variant, jobs[i].key.shared, jobs[i].layout)
		return err
	})
	for _, j := range jobs {
		if j.pipeline != (wgpu.Pipeline{}) {
			d.pipelines[j.key] = j.pipeline
		}
	}
	return d.noted(err)
}

// compile makes one pipeline. It may run on several goroutines at once.
func (d *Device) compile(v shaders.Variant, shared uint32, l wgpu.Layout) (wgpu.Pipeline, error) {
	text, err := v.WebGPU(shared)
	if err != nil {
		return wgpu.Pipeline{}, err
	}
	p, err := d.device.NewPipeline(v.ID, text, l)
	return p, explainShader(err, v.ID)
}

// pipeline returns the pipeline of a variant and makes it if need be.
func (d *Device) pipeline(v shaders.Variant, shared uint32, l wgpu.Layout) (wgpu.Pipeline, error) {
	key := pipelineKey{v.ID, shared}
	if p, ok := d.pipelines[key]; ok {
		return p, nil
	}
	p, err := d.compile(v, shared, l)
	if err != nil {
		return p, d.noted(err)
	}
	d.pipelines[key] = p
	return p, nil
}

// layout returns the layout of a kernel that exists and makes it if need be.
func (d *Device) layout(name string, shared uint32) (wgpu.Layout, error) {
	kernel, _ := shaders.Lookup(name)
	readOnly := make([]bool, len(kernel.Bindings))
	for i, b := range kernel.Bindings {
		readOnly[i] = b.Access == shaders.Read && shared>>i&1 == 0
	}
	key := layoutKey{fmt.Sprint(readOnly), len(kernel.Params)}
	if l, ok := d.layouts[key]; ok {
		return l, nil
	}
	if len(readOnly) > defaults.StorageBuffers || 4*len(kernel.Params) > slot {
		return wgpu.Layout{}, fmt.Errorf("%w: kernel %s has %d bindings and %d parameters, but WebGPU takes %d and %d",
			gpu.ErrUnsupported, name, len(readOnly), len(kernel.Params), defaults.StorageBuffers, slot/4)
	}
	l, err := d.device.NewLayout(readOnly, 4*len(kernel.Params))
	if err != nil {
		return l, d.explain(err, "layout of kernel "+name)
	}
	d.layouts[key] = l
	return l, nil
}
