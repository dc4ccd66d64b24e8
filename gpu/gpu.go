package gpu

import (
	"encoding/json"
	"strconv"
	"time"
)

// Device is one compute device. It runs named kernels (see package shaders) over buffers. Several
// goroutines may use a Device; each call ends before the next begins. A Buffer or a Program belongs
// to one goroutine at a time.
type Device interface {
	// Caps describes the device. The value never changes.
	Caps() Caps
	// NewBuffer allocates size bytes (rounded up to 4), filled with zeros.
	// The label appears in errors and in memory reports.
	// It fails with ErrOutOfMemory.
	NewBuffer(label string, size int) (Buffer, error)
	// Prepare compiles the named kernels, several at a time, so that the
	// first Record does not have to. Unknown names are an error.
	Prepare(kernels []string) error
	// Record turns a list of dispatches into a program that can be submitted
	// any number of times. Each Op sees the writes of all Ops before it.
	Record(label string, ops []Op) (Program, error)
	// Submit queues a program after everything submitted before.
	Submit(Program) error
	// Wait returns when everything submitted has finished. It fails with
	// ErrDeviceLost.
	Wait() error
	// Timestamps runs the program once, alone, and returns the time each Op
	// took on the device, in the order of the ops.
	Timestamps(Program) ([]time.Duration, error)
	// Close frees the device and everything made by it.
	Close() error
}

// Buffer is memory on a device. Offsets and sizes are bytes, multiples of 4.
type Buffer interface {
	Size() int
	// Write copies data to the buffer. It waits for submitted work first if
	// the device cannot order the copy after it.
	Write(offset int, data []byte) error
	// Read copies from the buffer, after all submitted work.
	Read(offset int, data []byte) error
	// Free gives the memory back. Programs that use the buffer must not be
	// submitted afterwards.
	Free()
}

// Program is a recorded list of dispatches.
type Program interface {
	Free()
}

// View is a part of a buffer, in bytes. Offset is a multiple of 256. Size 0
// means up to the end of the buffer. A view is at most Caps.MaxBinding long.
type View struct {
	Buffer Buffer
	Offset int
	Size   int
}

// Op is one dispatch of a kernel: the kernel's name, one view for each of its bindings, its
// parameters (32-bit words, floats by math.Float32bits) and the extent of the work in the units the
// kernel's header names (columns, rows). The kernel's variant decides how many workgroups that
// makes.
type Op struct {
	Kernel string
	Bind   []View
	Params []uint32
	Size   [3]int // x, y, z; 0 counts as 1
}

// Kind is the class of a device.
type Kind string

// The classes, best first.
const (
	Discrete   Kind = "discrete"
	Integrated Kind = "integrated"
	Virtual    Kind = "virtual"
	CPU        Kind = "cpu"
	Reference  Kind = "reference" // plain Go, package refdev
)

// Tier names the family of kernels a device runs. It is chosen once per
// device; sampler and trainer always share it.
type Tier string

// The tiers in use. What each is for: docs/why/devices.md#why-these-tiers.
const (
	TierLanes Tier = "TL"  // CPU devices with 8-lane subgroups (lavapipe)
	TierBase  Tier = "T0"  // any device at WebGPU's default limits
	TierWide  Tier = "T1"  // GPUs with 32 KiB of workgroup memory; the bits of T0
	TierRef   Tier = "ref" // plain Go

	// Matrix cores, for products; T1 elsewhere. Bits of their own, and only if asked for.
	TierMatrix  Tier = "T2"   // blocks of 16 x 16 x 16
	TierMatrix8 Tier = "T2x8" // blocks of 8 x 8 x 8 (lavapipe, for tests)
)

// Matrices tells whether products are done by matrix cores.
func (t Tier) Matrices() bool { return t == TierMatrix || t == TierMatrix8 }

// Numerics names the order of operations in the kernels of a device, and how they round:
// "2", "2-mma16". Where it differs, bits do.
type Numerics string

// MarshalJSON writes a name that is a number as a number.
func (n Numerics) MarshalJSON() ([]byte, error) {
	if _, err := strconv.Atoi(string(n)); err == nil {
		return []byte(n), nil
	}
	return json.Marshal(string(n))
}

// UnmarshalJSON reads either.
func (n *Numerics) UnmarshalJSON(data []byte) error {
	var number int
	if json.Unmarshal(data, &number) == nil {
		*n = Numerics(strconv.Itoa(number))
		return nil
	}
	return json.Unmarshal(data, (*string)(n))
}

// Caps describes a device.
type Caps struct {
	ID            string // "vulkan:0"
	Name          string // as the driver gives it
	Driver        string // driver name and version
	Kind          Kind
	Tier          Tier
	Memory        int // bytes that the planner may use
	MaxBinding    int // bytes visible to one binding
	MaxAllocation int // bytes in one buffer
	Subgroup      int // lanes
	Int64         bool
	Unified       bool // host and device share memory
	Numerics      Numerics
	ReadsApart    bool // what a kernel reads lies in other buffers than what it writes: shaders are checked for that
	MaxLoop       int  // loop iterations after which the driver ends a shader without a word; 0: none
}
