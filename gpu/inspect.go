package gpu

import (
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
)

// Compiled describes a program that a driver made from a shader.
type Compiled struct {
	Variant    string `json:"variant"` // "matmul_nt.T0.m", as in package shaders
	Kernel     string `json:"kernel"`
	Tier       Tier   `json:"tier"`
	Executable string `json:"executable"`         // in the driver's words; some make several of a shader
	Subgroup   int    `json:"subgroup,omitempty"` // lanes
	// Figures are those for which drivers have different words: registers (of a lane), spills
	// (registers kept in memory), occupancy (subgroups that a core holds at once), code_bytes,
	// scratch_bytes (memory of a lane). A figure that a driver does not report is absent.
	Figures map[string]float64 `json:"figures"`
	// Statistics are everything that the driver reports, in its words.
	Statistics map[string]float64 `json:"statistics"`
}

// Inspector is a Backend whose drivers tell about compiled shaders.
type Inspector interface {
	// Inspect compiles the shaders of every tier that entry index of List can take. The
	// entry may be unusable for anything else. It fails with ErrUnsupported if the
	// driver tells nothing.
	Inspect(index int) ([]Compiled, error)
}

// Inspect describes what the driver of a device, named as for Open, compiles from the shaders of
// every tier that the device can take. The device may be one that is listed as unusable.
func Inspect(spec string) (Info, []Compiled, error) {
	backend, index, info, err := find(registered(), named(spec))
	if err != nil {
		return info, nil, err
	}
	inspector, ok := backend.(Inspector)
	if !ok {
		return info, nil, fmt.Errorf("%w: %s (%s): the backend %s says nothing about compiled kernels", ErrUnsupported, info.ID, info.Name, backend.Name())
	}
	list, err := inspector.Inspect(index)
	if err != nil {
		err = hint.With(fmt.Errorf("%s (%s): %w", info.ID, info.Name, err), "Mesa's compiler for AMD does, even without a card: RADV_FORCE_FAMILY=gfx1100 rlzero inspect kernels --device vulkan:0")
	}
	return info, list, err
}
