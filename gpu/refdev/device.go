package refdev

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/shaders"
)

var (
	_ gpu.Device  = (*Device)(nil)
	_ gpu.Buffer  = (*buffer)(nil)
	_ gpu.Program = (*program)(nil)
	_ gpu.Backend = backend{}
)

func init() { gpu.Register(backend{}) }

// maxBinding is the smallest limit among the devices the project runs on:
// lavapipe's maxStorageBufferRange and WebGPU's default.
const maxBinding = 128 << 20

// Device runs kernels in plain Go.
type Device struct {
	mu     sync.Mutex // held while a program runs and while a buffer is copied or freed
	closed bool
}

// New makes a device.
func New() *Device { return &Device{} }

// backend is the entry "ref" of package gpu's registry.
type backend struct{}

func (backend) Name() string { return "ref" }

func (backend) List() ([]gpu.Info, error) {
	c := New().Caps()
	return []gpu.Info{{ID: c.ID, Name: c.Name, Driver: c.Driver, Kind: c.Kind, Tier: c.Tier, Memory: c.Memory, Usable: true}}, nil
}

func (backend) Open(int) (gpu.Device, error) { return New(), nil }

// Caps describes the device. Memory is a round figure: Go cannot ask portably
// what the host has.
func (d *Device) Caps() gpu.Caps {
	return gpu.Caps{
		ID:            "ref:0",
		Name:          "plain Go",
		Driver:        runtime.Version() + " " + runtime.GOARCH,
		Kind:          gpu.Reference,
		Tier:          gpu.TierRef,
		Memory:        4 << 30,
		MaxBinding:    maxBinding,
		MaxAllocation: 2 << 30,
		Subgroup:      1,
		Int64:         true,
		Unified:       true,
		Numerics:      gpu.Numerics(shaders.Numerics(string(gpu.TierRef))),
	}
}

// buffer is host memory, aligned for 32-bit words. Freed buffers have nil
// words.
type buffer struct {
	label string
	owner *Device
	words []uint32
	size  int
}

// NewBuffer allocates size bytes, rounded up to 4, filled with zeros.
func (d *Device) NewBuffer(label string, size int) (gpu.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("buffer %q: the device is closed", label)
	}
	if size <= 0 {
		return nil, fmt.Errorf("buffer %q: size %d is not positive", label, size)
	}
	if limit := d.Caps().MaxAllocation; size > limit {
		return nil, fmt.Errorf("buffer %q: %w: %d bytes, at most %d fit in one buffer", label, gpu.ErrOutOfMemory, size, limit)
	}
	words := make([]uint32, (size+3)/4)
	return &buffer{label: label, owner: d, words: words, size: 4 * len(words)}, nil
}

func (b *buffer) Size() int { return b.size }

func (b *buffer) Free() {
	b.owner.mu.Lock()
	defer b.owner.mu.Unlock()
	b.words = nil
}

func (b *buffer) Write(offset int, data []byte) error {
	b.owner.mu.Lock()
	defer b.owner.mu.Unlock()
	part, err := b.part("write", offset, len(data))
	copy(part, data)
	return err
}

func (b *buffer) Read(offset int, data []byte) error {
	b.owner.mu.Lock()
	defer b.owner.mu.Unlock()
	part, err := b.part("read", offset, len(data))
	copy(data, part)
	return err
}

// part is the bytes that a host copy touches.
func (b *buffer) part(verb string, offset, n int) ([]byte, error) {
	if b.words == nil {
		return nil, fmt.Errorf("%s buffer %q: it was freed", verb, b.label)
	}
	if err := check.Range(offset, n, b.size); err != nil {
		return nil, fmt.Errorf("%s buffer %q: %w", verb, b.label, err)
	}
	if n == 0 {
		return nil, nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.words[offset/4])), n), nil
}

// live tells whether a buffer can be used in a program of this device.
func (d *Device) live(b gpu.Buffer) bool {
	own, ok := b.(*buffer)
	return ok && own.owner == d && own.words != nil
}

// Prepare only looks the names up: there is nothing to compile.
func (d *Device) Prepare(names []string) error { return check.Kernels(names) }

// program is a checked list of ops.
type program struct {
	label string
	owner *Device
	ops   []gpu.Op
}

// Free makes later submissions fail.
func (p *program) Free() { p.owner = nil }

// Record checks the ops.
func (d *Device) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("program %q: the device is closed", label)
	}
	if err := check.Ops(ops, d.Caps(), d.live); err != nil {
		return nil, fmt.Errorf("program %q: %w", label, err)
	}
	list := slices.Clone(ops)
	for i := range list {
		list[i].Bind = slices.Clone(list[i].Bind)
		list[i].Params = slices.Clone(list[i].Params)
	}
	return &program{label: label, owner: d, ops: list}, nil
}

// Submit runs the program before it returns.
func (d *Device) Submit(p gpu.Program) error {
	_, err := d.run(p)
	return err
}

// Wait has nothing to wait for.
func (d *Device) Wait() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("wait: the device is closed")
	}
	return nil
}

// Timestamps runs the program and gives the wall-clock time of each op.
func (d *Device) Timestamps(p gpu.Program) ([]time.Duration, error) { return d.run(p) }

// Close makes the device and everything of it unusable.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

func (d *Device) run(p gpu.Program) ([]time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own, ok := p.(*program)
	if d.closed || !ok || own.owner != d {
		return nil, fmt.Errorf("submit: the device is closed, or the program was freed or belongs to another device")
	}
	times := make([]time.Duration, len(own.ops))
	for i, op := range own.ops {
		start := time.Now()
		if err := d.runOp(op); err != nil {
			return nil, fmt.Errorf("program %q: op %d (%s): %w", own.label, i, op.Kernel, err)
		}
		times[i] = time.Since(start)
	}
	return times, nil
}

// runOp runs one kernel over views of the buffers' words. Go's bounds checks
// find the views that are smaller than the parameters say.
func (d *Device) runOp(op gpu.Op) (err error) {
	contract, _ := shaders.Lookup(op.Kernel)
	c := &call[float32]{
		f: make([][]float32, len(op.Bind)),
		u: make([][]uint32, len(op.Bind)),
		p: op.Params,
	}
	for i, view := range op.Bind {
		if !d.live(view.Buffer) {
			return fmt.Errorf("binding %s: the buffer was freed", contract.Bindings[i].Name)
		}
		words := view.Buffer.(*buffer).words[view.Offset/4:]
		if view.Size > 0 {
			words = words[: view.Size/4 : view.Size/4]
		}
		if isUint(contract.Bindings[i]) {
			c.u[i] = words
		} else {
			c.f[i] = unsafe.Slice((*float32)(unsafe.Pointer(&words[0])), len(words))
		}
	}
	return guard(func() { kernels[op.Kernel](c) })
}

// guard turns an index out of range into an error.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a view is smaller than the parameters say, or an index in it is out of range: %v", r)
		}
	}()
	f()
	return nil
}

// isUint tells the bindings of words, among them those with several elements in each,
// from the f32 ones.
func isUint(b shaders.Binding) bool { return strings.Contains(b.Shape, "u32") || b.Bits() < 32 }
