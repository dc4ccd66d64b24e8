package gpu

import (
	"errors"

	"github.com/rlzero/rlzero/internal/hint"
)

// Errors that every backend uses. They are wrapped with the call and the label of
// the buffer or the kernel, and have hints (package hint).
var (
	// ErrDeviceLost: the driver reset or the device went away. Open the device
	// again; a run continues from its last checkpoint.
	ErrDeviceLost = errors.New("device lost")
	// ErrOutOfMemory: an allocation did not fit.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrUnsupported: the device lacks something that a kernel needs.
	ErrUnsupported = errors.New("not supported by this device")
	// ErrNoDevice: no usable device, or none of that name.
	ErrNoDevice = errors.New("no usable device")
	// ErrDeviceName: the argument of Open is not the name of a device.
	ErrDeviceName = errors.New("unknown device")
)

// Advise attaches the matching hint to an error of a driver.
func Advise(err error) error {
	switch {
	case errors.Is(err, ErrDeviceLost):
		return hint.With(err, "the driver reset the device, or the device went away: start the command again, a training run with --resume; if it happens again, update the driver or make each step smaller")
	case errors.Is(err, ErrOutOfMemory):
		return hint.With(err, "close other programs that use the device, or make the run smaller")
	case errors.Is(err, ErrUnsupported):
		return hint.With(err, "update the driver, or choose another device with --device")
	}
	return err
}
