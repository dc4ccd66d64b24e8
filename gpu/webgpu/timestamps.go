//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"fmt"
	"time"

	"github.com/rlzero/rlzero/gpu"
)

// Timestamps runs the program alone with each op in a pass of its own, so no two
// ops overlap.
func (d *Device) Timestamps(p gpu.Program) ([]time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	prog, err := d.own(p)
	if err != nil {
		return nil, err
	}
	if !d.timed {
		return nil, fmt.Errorf("%w: timestamps", gpu.ErrUnsupported)
	}
	if err := d.wait(); err != nil {
		return nil, err
	}
	if d.tick == 0 && len(prog.commands) > 0 {
		if err := d.measureTick(); err != nil {
			return nil, err
		}
	}
	ticks, err := d.device.Times(prog.commands)
	if err != nil {
		return nil, d.explain(err, fmt.Sprintf("timestamps of program %q", prog.label))
	}
	times := make([]time.Duration, len(ticks))
	for i, t := range ticks {
		times[i] = time.Duration(float64(t[1]-t[0]) * d.tick)
	}
	return times, nil
}

// measureTick finds the length of a tick: the library does not tell it. Two
// readings a tenth of a second apart are off by about the time of a submission,
// far below a hundredth.
func (d *Device) measureTick() error {
	b, err := d.newBuffer("clock", 4*8)
	if err != nil {
		return err
	}
	defer b.free()
	probe, err := d.record("clock", []gpu.Op{{Kernel: "fill", Bind: []gpu.View{{Buffer: b}}, Params: []uint32{8, 0}, Size: [3]int{8}}})
	if err != nil {
		return err
	}
	defer probe.free()
	var at [2]time.Time
	var ticks [2]uint64
	for i := range ticks {
		list, err := d.device.Times(probe.commands)
		if err != nil {
			return d.explain(err, "timestamps")
		}
		at[i], ticks[i] = time.Now(), list[0][1]
		time.Sleep(100 * time.Millisecond)
	}
	if ticks[1] <= ticks[0] {
		return fmt.Errorf("%w: the adapter's clock does not advance", gpu.ErrUnsupported)
	}
	d.tick = float64(at[1].Sub(at[0])) / float64(ticks[1]-ticks[0])
	return nil
}
