//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
)

// explain turns an error of the library into one that names what it was about,
// with a hint.
func explain(err error, what string) error {
	var report *wgpu.Error
	if !errors.As(err, &report) {
		return err
	}
	switch report.Kind {
	case wgpu.Lost, wgpu.Panic:
		return gpu.Advise(fmt.Errorf("%w: %s: %w", gpu.ErrDeviceLost, what, err))
	case wgpu.OutOfMemory:
		return gpu.Advise(fmt.Errorf("%w: %s: %w", gpu.ErrOutOfMemory, what, err))
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// explainShader is explain for a shader that was compiled. What is refused is the
// adapter's fault: the same text compiles elsewhere.
func explainShader(err error, id string) error {
	var report *wgpu.Error
	if errors.As(err, &report) && report.Kind == wgpu.Invalid {
		return gpu.Advise(fmt.Errorf("%w: shader %s: %w", gpu.ErrUnsupported, id, err))
	}
	return explain(err, "shader "+id)
}
