//go:build cgo && (darwin || webgpu)

package webgpu

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
)

// explain turns an error of the library into one that names what it was about
// and what to do.
func explain(err error, what string) error {
	var report *wgpu.Error
	if !errors.As(err, &report) {
		return err
	}
	switch report.Kind {
	case wgpu.Lost, wgpu.Panic:
		return fmt.Errorf("%w: %s: %w; open the device again, a run continues from its last checkpoint; if it happens again, update the driver or let each step do less work",
			gpu.ErrDeviceLost, what, err)
	case wgpu.OutOfMemory:
		return fmt.Errorf("%w: %s: %w; close other programs that use the device or make the run smaller",
			gpu.ErrOutOfMemory, what, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// explainShader is explain for a shader that was compiled. What is refused is the
// adapter's fault: the same text compiles elsewhere.
func explainShader(err error, id string) error {
	var report *wgpu.Error
	if errors.As(err, &report) && report.Kind == wgpu.Invalid {
		return fmt.Errorf("%w: shader %s: %w; update the driver or choose another device", gpu.ErrUnsupported, id, err)
	}
	return explain(err, "shader "+id)
}
