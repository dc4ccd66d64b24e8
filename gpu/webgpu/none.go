//go:build !(js || (cgo && (darwin || webgpu)))

package webgpu

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

const absent = "not compiled into this program; release builds for Linux (amd64, arm64) and Windows (amd64) have it, and CGO_ENABLED=1 go build -tags webgpu adds it on every system"

// List shows one device that cannot be used: this build has no WebGPU.
func List() ([]gpu.Info, error) {
	return []gpu.Info{{ID: "webgpu:0", Name: "WebGPU", Reason: absent}}, nil
}

func openAny(int) (gpu.Device, error) {
	return nil, fmt.Errorf("%w: WebGPU: %s", gpu.ErrNoDevice, absent)
}
