//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/shaders"
)

// Inspect compiles the shaders of every tier that the device at that index of List can
// take, and returns what the driver tells about each, in the order of shaders.All. It
// needs no memory of the device, so a driver that compiles for a card that is not there
// will do. It fails with gpu.ErrUnsupported if the driver tells nothing.
func Inspect(index int) ([]gpu.Compiled, error) {
	instance, err := newInstance()
	if err != nil {
		return nil, err
	}
	d, err := closedDevice(instance, index)
	if err == nil {
		d.traits = conclude(index, d.properties, host.Memory(), os.Getenv("RLZERO_TIER"))
		if d.traits.family < 0 {
			err = fmt.Errorf("%w: %s", gpu.ErrUnsupported, d.traits.unusable)
		}
	}
	if err == nil {
		d.vk, err = instance.NewDevice(index, uint32(d.traits.family), vk.Want{Matrices: len(matrixTiers(d.properties)) > 0, Statistics: true})
	}
	if err != nil {
		instance.Destroy()
		return nil, err
	}
	list, err := d.inspect()
	if closing := d.Close(); err == nil {
		err = closing
	}
	return list, err
}

func (d *Device) inspect() ([]gpu.Compiled, error) {
	if !d.vk.Statistics {
		return nil, fmt.Errorf("%w: its driver says nothing about compiled kernels (it lacks VK_KHR_pipeline_executable_properties)", gpu.ErrUnsupported)
	}
	variants, err := shaders.All()
	if err != nil {
		return nil, err
	}
	var jobs []job
	can := offers(d.properties)
	for _, v := range variants {
		if !slices.Contains(can, gpu.Tier(v.Tier)) {
			continue
		}
		k, err := d.kernel(v.Kernel)
		if err != nil {
			return nil, err
		}
		l, err := d.layoutFor(k, v)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job{variant: v, layout: l})
	}
	if err := d.compileAll(jobs); err != nil {
		return nil, err
	}
	var list []gpu.Compiled
	for _, j := range jobs {
		executables, r := d.vk.Executables(j.pipeline)
		if err := checkResult(r, "vkGetPipelineExecutableStatisticsKHR", "shader "+j.variant.ID); err != nil {
			return nil, err
		}
		for _, e := range executables {
			list = append(list, compiled(j.variant, e))
		}
	}
	return list, nil
}

func compiled(v shaders.Variant, e vk.Executable) gpu.Compiled {
	c := gpu.Compiled{
		Variant: v.ID, Kernel: v.Kernel, Tier: gpu.Tier(v.Tier), Executable: e.Name, Subgroup: e.Subgroup,
		Figures: map[string]float64{}, Statistics: e.Statistics,
	}
	for name, value := range e.Statistics {
		if figure := figures[strings.ToLower(name)]; figure != "" {
			c.Figures[figure] += value
		}
	}
	return c
}

// figures are the statistics that drivers name in their own ways, by name in lower
// case. Two of one driver that belong to one figure are added. In turn: Mesa's RADV
// (src/amd/vulkan/radv_pipeline.c), its ANV (src/intel/vulkan/anv_pipeline.c) and
// Turnip (src/freedreno/vulkan/tu_pipeline.cc), AMD's own
// (github.com/GPUOpen-Drivers/xgl), NVIDIA's (which has no published source).
var figures = map[string]string{
	"vgprs": "registers", "max live registers": "registers", "numusedvgprs": "registers", "register count": "registers",

	"spilled sgprs": "spills", "spilled vgprs": "spills", "spill count": "spills",

	"subgroups per simd": "occupancy", "max waves per core": "occupancy",

	"code size": "code_bytes", "binary size": "code_bytes",

	"scratch size": "scratch_bytes", "scratch memory size": "scratch_bytes", "scratchmemusageinbytes": "scratch_bytes", "local memory size": "scratch_bytes",
}
