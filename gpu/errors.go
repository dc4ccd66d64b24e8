package gpu

import "errors"

// Errors that every backend uses. They are wrapped with the call, the label of
// the buffer or the kernel, and what to do.
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
	// ErrDeviceName: what was given to Open is not the name of a device.
	ErrDeviceName = errors.New("not the name of a device")
)
