//go:build js || (cgo && (darwin || webgpu))

package wgpu

// ErrorKind is a class of errors.
type ErrorKind int

// The classes, numbered as in calls.h.
const (
	Invalid     ErrorKind = iota + 1 // refused by validation: a shader, a limit
	OutOfMemory                      // an allocation did not fit
	Lost                             // the device is gone
	Panic                            // the library gave up; it printed why
)

// Error is what the library or the browser reported.
type Error struct {
	Kind ErrorKind
	Text string // may have several lines
}

func (e *Error) Error() string { return e.Text }

// Limits of an adapter or a device that computing is subject to. Sizes are
// bytes.
type Limits struct {
	StorageBuffers  int // bindings of one shader
	Binding         int // of a storage buffer
	Uniform         int // binding of a uniform buffer
	OffsetAlignment int // of bindings, the larger of both kinds
	Buffer          int
	SharedMemory    int
	Invocations     int // of a workgroup
	Groups          int // workgroups in one dimension
}

// AdapterType is the class of an adapter.
type AdapterType int

// The classes. A browser tells CPU alone from the others.
const (
	Unknown AdapterType = iota
	Discrete
	Integrated
	CPU
)

// Adapter is a GPU as one of the system's interfaces, or the browser, shows it.
type Adapter struct {
	Name       string
	Driver     string // what runs the kernels: "wgpu-native 22.1, Vulkan", "Chromium 156 on Linux"
	Type       AdapterType
	Limits     Limits
	Timestamps bool
	Tick       float64 // nanoseconds; 0 if the library does not tell

	handle adapterHandle
}

// Usage is what a buffer is for.
type Usage int

// The two uses. Both kinds can be written by Write.
const (
	Storage Usage = iota
	Uniform
)

// Span is bytes of a buffer.
type Span struct {
	Buffer       Buffer
	Offset, Size int
}

// Dispatch is a pipeline with what its layout binds and its number of workgroups.
type Dispatch struct {
	Pipeline Pipeline
	Layout   Layout
	Spans    []Span
	Groups   [3]int
}

// maxTimed is what one query set holds, 4096 queries by the standard.
const maxTimed = 2048
