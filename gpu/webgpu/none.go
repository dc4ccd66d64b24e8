//go:build !(cgo && (darwin || webgpu))

package webgpu

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

// List fails: this build has no WebGPU.
func List() ([]gpu.Info, error) {
	return nil, fmt.Errorf("%w: WebGPU is not compiled into this program; a release build or CGO_ENABLED=1 go build -tags webgpu has it", gpu.ErrNoDevice)
}

func openAny(int) (gpu.Device, error) {
	_, err := List()
	return nil, err
}
