package gpu

import (
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
)

// Compiled is what a driver tells about a program that it made of a shader.
type Compiled struct {
	Variant    string `json:"variant"` // "matmul_nt.T0.m", as in package shaders
	Kernel     string `json:"kernel"`
	Tier       Tier   `json:"tier"`
	Executable string `json:"executable"`         // in the driver's words; some make several of a shader
	Subgroup   int    `json:"subgroup,omitempty"` // lanes
	// Figures are what drivers tell in different words: registers (of a lane), spills
	// (registers kept in memory), occupancy (subgroups that a core holds at once),
	// code_bytes, scratch_bytes (memory of a lane). What a driver does not tell is absent.
	Figures map[string]float64 `json:"figures"`
	// Statistics are all that the driver tells, in its words.
	Statistics map[string]float64 `json:"statistics"`
}

// Inspector is a Backend whose drivers tell about compiled shaders.
type Inspector interface {
	// Inspect compiles the shaders of every tier that entry index of List can take. The
	// entry may be unusable for anything else. It fails with ErrUnsupported if the
	// driver tells nothing.
	Inspect(index int) ([]Compiled, error)
}

// Inspect tells what the driver of a device, named as for Open, makes of the shaders
// of every tier that it can take. The device may be one that is listed as unusable.
func Inspect(spec string) (Info, []Compiled, error) {
	backend, index, info, err := find(registered(), named(spec))
	if err != nil {
		return info, nil, err
	}
	inspector, ok := backend.(Inspector)
	if !ok {
		return info, nil, fmt.Errorf("%w: %s (%s): the backend %s tells nothing about compiled kernels", ErrUnsupported, info.ID, info.Name, backend.Name())
	}
	list, err := inspector.Inspect(index)
	if err != nil {
		err = hint.With(fmt.Errorf("%s (%s): %w", info.ID, info.Name, err), "Mesa's compiler for AMD tells without a card: RADV_FORCE_FAMILY=gfx1100 rlzero inspect kernels --device vulkan:0")
	}
	return info, list, err
}
