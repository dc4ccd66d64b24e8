//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/host"
	"github.com/rlzero/rlzero/gpu/internal/vk"
	"github.com/rlzero/rlzero/internal/hint"
)

// Device is a Vulkan device. See gpu.Device for what its methods do.
type Device struct {
	mu         sync.Mutex // held by every exported method, here and of buffers and programs
	instance   *vk.Instance
	vk         *vk.Device
	traits     traits
	properties vk.Properties
	commands   vk.CommandPool

	layouts   map[layoutKey]layout
	kernels   map[string]*kernel     // by name
	pipelines map[string]vk.Pipeline // by variant ID

	buffers  map[*buffer]struct{}
	programs map[*program]struct{}
	transfer *transfer // made when first needed
	failed   error     // what lost writes that had been taken; from then on every write, read and submission fails

	// Submissions are numbered from 1. Those up to finished have ended.
	submitted, finished uint64
}

var _ gpu.Device = (*Device)(nil)

var errClosed = errors.New("the device is closed")

// List describes the Vulkan devices of this machine. It fails with
// gpu.ErrNoDevice, and what to install, if there is no loader or no driver.
func List() ([]gpu.Info, error) {
	instance, err := newInstance()
	if err != nil {
		return nil, err
	}
	defer instance.Destroy()
	infos := make([]gpu.Info, instance.Devices())
	for i := range infos {
		t := conclude(i, instance.Properties(i), host.Memory(), os.Getenv("RLZERO_TIER"))
		infos[i] = gpu.Info{
			ID: t.caps.ID, Name: t.caps.Name, Driver: t.caps.Driver, Kind: t.caps.Kind, Tier: t.caps.Tier,
			Memory: t.caps.Memory, Usable: t.unusable == "", Reason: t.unusable,
		}
	}
	return infos, nil
}

// Open opens the device at that index of List.
func Open(index int) (*Device, error) {
	instance, err := newInstance()
	if err != nil {
		return nil, err
	}
	d, err := newDevice(instance, index)
	if err != nil {
		instance.Destroy()
		return nil, fmt.Errorf("vulkan:%d: %w", index, err)
	}
	return d, nil
}

// openAny is Open for the registry: a failure must be a nil interface.
func openAny(index int) (gpu.Device, error) {
	d, err := Open(index)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// newInstance makes an instance with at least one device.
func newInstance() (*vk.Instance, error) {
	instance, err := vk.NewInstance("rlzero")
	if err != nil {
		return nil, hint.With(fmt.Errorf("%w: %w", gpu.ErrNoDevice, err), "%s", installHint())
	}
	if instance.Devices() == 0 {
		instance.Destroy()
		return nil, hint.With(fmt.Errorf("%w: the Vulkan library found no driver", gpu.ErrNoDevice), "%s", installHint())
	}
	return instance, nil
}

func newDevice(instance *vk.Instance, index int) (*Device, error) {
	d, err := closedDevice(instance, index)
	if err != nil {
		return nil, err
	}
	conclude := func() error {
		d.traits = conclude(index, d.properties, host.Memory(), os.Getenv("RLZERO_TIER"))
		if d.traits.unusable != "" {
			return fmt.Errorf("%w: %s: %s", gpu.ErrNoDevice, d.properties.Name, d.traits.unusable)
		}
		return nil
	}
	if err := conclude(); err != nil {
		return nil, err
	}
	if d.vk, err = instance.NewDevice(index, uint32(d.traits.family), vk.Want{Matrices: d.traits.caps.Tier.Matrices()}); err != nil {
		return nil, err
	}
	err = d.excludeMemory()
	if err == nil {
		err = conclude()
	}
	if err == nil {
		var r vk.Result
		d.commands, r = d.vk.CreateCommandPool(uint32(d.traits.family))
		err = checkResult(r, "vkCreateCommandPool", d.properties.Name)
	}
	if err != nil {
		d.vk.Destroy()
		return nil, err
	}
	return d, nil
}

// closedDevice is a device before its driver has been asked for one.
func closedDevice(instance *vk.Instance, index int) (*Device, error) {
	if index < 0 || index >= instance.Devices() {
		return nil, fmt.Errorf("%w: it does not exist", gpu.ErrNoDevice)
	}
	return &Device{
		instance:   instance,
		properties: instance.Properties(index),
		layouts:    map[layoutKey]layout{},
		kernels:    map[string]*kernel{},
		pipelines:  map[string]vk.Pipeline{},
		buffers:    map[*buffer]struct{}{},
		programs:   map[*program]struct{}{},
	}, nil
}

// excludeMemory clears the flags of the memory types that cannot hold buffers,
// which only a logical device tells; they are the same for all our buffers.
func (d *Device) excludeMemory() error {
	probe, r := d.vk.CreateBuffer(4, bufferUsage)
	if err := checkResult(r, "vkCreateBuffer", d.properties.Name); err != nil {
		return err
	}
	defer d.vk.DestroyBuffer(probe)
	bits := d.vk.Requirements(probe).TypeBits
	for i := range d.properties.MemoryTypes {
		if bits>>i&1 == 0 {
			d.properties.MemoryTypes[i].Flags = 0
		}
	}
	return nil
}

// Caps describes the device.
func (d *Device) Caps() gpu.Caps { return d.traits.caps }

// Submit queues a program.
func (d *Device) Submit(p gpu.Program) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	prog, err := d.own(p)
	if err != nil {
		return err
	}
	return d.submit(prog, prog.commands)
}

// own checks that a program can be run here.
func (d *Device) own(p gpu.Program) (*program, error) {
	if d.vk == nil {
		return nil, errClosed
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

// submit queues commands that use what the program uses.
func (d *Device) submit(prog *program, commands vk.CommandBuffer) error {
	if err := d.flush(); err != nil {
		return err
	}
	if err := checkResult(d.vk.Submit(commands), "vkQueueSubmit", fmt.Sprintf("program %q", prog.label)); err != nil {
		return err
	}
	d.submitted++
	prog.lastUse = d.submitted
	for _, b := range prog.buffers {
		b.lastUse = d.submitted
	}
	return nil
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
	if d.vk == nil {
		return errClosed
	}
	if submission <= d.finished {
		return nil
	}
	if err := checkResult(d.vk.WaitIdle(), "vkQueueWaitIdle", d.traits.caps.ID); err != nil {
		return err
	}
	d.finished = d.submitted
	return nil
}

// Close frees the device and everything made by it. It may be called twice.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.vk == nil {
		return nil
	}
	err := d.wait()
	if d.transfer != nil { // nobody reads what is still queued
		d.transfer.open = false
		clear(d.transfer.queued)
	}
	for p := range d.programs {
		p.free()
	}
	for b := range d.buffers {
		b.free()
	}
	for _, p := range d.pipelines {
		d.vk.DestroyPipeline(p)
	}
	for _, l := range d.layouts {
		d.vk.DestroyPipelineLayout(l.pipeline)
		d.vk.DestroyDescriptorSetLayout(l.set)
	}
	d.vk.DestroyCommandPool(d.commands)
	d.vk.Destroy()
	d.instance.Destroy()
	d.vk = nil
	return err
}
