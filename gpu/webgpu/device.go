//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/webgpu/internal/wgpu"
	"github.com/rlzero/rlzero/internal/hint"
)

// Device is a WebGPU device. See gpu.Device for what its methods do.
type Device struct {
	mu     sync.Mutex // held by every exported method, here and of buffers and programs
	caps   gpu.Caps
	device wgpu.Device
	closed bool
	lost   error // the error that ended the device

	layouts   map[layoutKey]wgpu.Layout
	pipelines map[pipelineKey]wgpu.Pipeline
	buffers   map[*buffer]struct{}
	programs  map[*program]struct{}

	// Submissions are numbered from 1. Those up to finished have ended.
	submitted, finished uint64

	timed bool    // the adapter has timestamps
	tick  float64 // nanoseconds; 0 before it was measured, where nobody tells
}

var _ gpu.Device = (*Device)(nil)

var errClosed = errors.New("the device is closed")

// List describes the WebGPU adapters of this machine. It fails with
// gpu.ErrNoDevice if there is none.
func List() ([]gpu.Info, error) {
	adapters, err := adapters()
	if err != nil {
		return nil, err
	}
	infos := make([]gpu.Info, len(adapters))
	for i, a := range adapters {
		t := conclude(i, a, host.Memory(), os.Getenv("RLZERO_TIER"))
		infos[i] = gpu.Info{
			ID: t.caps.ID, Name: t.caps.Name, Driver: t.caps.Driver, Kind: t.caps.Kind, Tier: t.caps.Tier,
			Memory: t.caps.Memory, Usable: t.unusable == "", Reason: t.unusable,
		}
		a.Release()
	}
	return infos, nil
}

// adapters lists at least one.
func adapters() ([]wgpu.Adapter, error) {
	list, err := wgpu.Adapters()
	if err != nil {
		return nil, fmt.Errorf("%w: WebGPU: %w", gpu.ErrNoDevice, err)
	}
	if len(list) == 0 {
		return nil, hint.With(fmt.Errorf("%w: WebGPU found no adapter", gpu.ErrNoDevice), wgpu.NoAdapter)
	}
	return list, nil
}

// Open opens the adapter at that index of List.
func Open(index int) (*Device, error) {
	list, err := adapters()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, a := range list {
			a.Release()
		}
	}()
	if index < 0 || index >= len(list) {
		return nil, fmt.Errorf("%w: webgpu:%d does not exist", gpu.ErrNoDevice, index)
	}
	return open(index, list[index])
}

func open(index int, a wgpu.Adapter) (*Device, error) {
	t := conclude(index, a, host.Memory(), os.Getenv("RLZERO_TIER"))
	if t.unusable != "" {
		return nil, fmt.Errorf("%s: %w: %s: %s", t.caps.ID, gpu.ErrNoDevice, a.Name, t.unusable)
	}
	device, err := a.Open(t.limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s: %w", t.caps.ID, gpu.ErrNoDevice, a.Name, err)
	}
	return &Device{
		caps:      t.caps,
		device:    device,
		timed:     a.Timestamps,
		tick:      a.Tick,
		layouts:   map[layoutKey]wgpu.Layout{},
		pipelines: map[pipelineKey]wgpu.Pipeline{},
		buffers:   map[*buffer]struct{}{},
		programs:  map[*program]struct{}{},
	}, nil
}

// openAny is Open for the registry: a failure must be a nil interface.
func openAny(index int) (gpu.Device, error) {
	d, err := Open(index)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Caps describes the device.
func (d *Device) Caps() gpu.Caps { return d.caps }

// usable fails once the device is closed or lost.
func (d *Device) usable() error {
	if d.closed {
		return errClosed
	}
	return d.lost
}

// explain is explain for what this device did.
func (d *Device) explain(err error, what string) error {
	return d.noted(explain(err, what))
}

// noted returns an explained error and notes the loss of the device: the library
// must not be called for it again.
func (d *Device) noted(err error) error {
	if errors.Is(err, gpu.ErrDeviceLost) && d.lost == nil {
		d.lost = err
	}
	return err
}

// Submit encodes a program and queues it.
func (d *Device) Submit(p gpu.Program) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	prog, err := d.own(p)
	if err != nil {
		return err
	}
	if err := d.device.Submit(prog.commands); err != nil {
		return d.explain(err, fmt.Sprintf("submission of program %q", prog.label))
	}
	d.submitted++
	prog.lastUse = d.submitted
	for _, b := range prog.buffers {
		b.lastUse = d.submitted
	}
	return nil
}

// own checks that a program can be run here.
func (d *Device) own(p gpu.Program) (*program, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	prog, ok := p.(*program)
	if !ok || prog.device != d {
		return nil, errors.New("the program was recorded by another device")
	}
	if prog.freed {
		return nil, fmt.Errorf("program %q has been freed", prog.label)
	}
	for _, b := range prog.buffers {
		if b.freed {
			return nil, fmt.Errorf("program %q uses buffer %q, which has been freed", prog.label, b.label)
		}
	}
	return prog, nil
}

// Wait returns when everything submitted has finished.
func (d *Device) Wait() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wait()
}

func (d *Device) wait() error { return d.waitFor(d.submitted) }

// waitFor returns when the submission of that number has finished. The queue is
// waited for as a whole: its submissions finish in order anyway.
func (d *Device) waitFor(submission uint64) error {
	if err := d.usable(); err != nil {
		return err
	}
	if submission <= d.finished {
		return nil
	}
	if err := d.device.Wait(); err != nil {
		return d.explain(err, d.caps.ID)
	}
	d.finished = d.submitted
	return nil
}

// Close frees the device and everything made by it. It may be called twice. What
// a lost device made is left to the end of the process.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	if d.lost != nil {
		d.closed = true
		return d.lost
	}
	err := d.wait()
	if err == nil {
		for p := range d.programs {
			p.free()
		}
		for b := range d.buffers {
			b.free()
		}
		for _, p := range d.pipelines {
			p.Release()
		}
		for _, l := range d.layouts {
			l.Release()
		}
		err = d.explain(d.device.Close(), d.caps.ID)
	}
	d.closed = true
	return err
}
