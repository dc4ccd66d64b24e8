package wgpu

import (
	"encoding/binary"
	"syscall/js"
)

// Device is a logical device with its queue.
type Device struct{ d *device }

type device struct {
	value, queue js.Value
	staging      js.Value      // for reads, made by the first; undefined before
	unsettled    array         // promises of reports on what was queued
	gone         chan struct{} // closed when the device is lost
	lost         *Error        // why, then
}

func newDevice(value js.Value) *device {
	d := &device{value: value, queue: value.Get("queue"), gone: make(chan struct{})}
	var lost js.Func
	lost = js.FuncOf(func(_ js.Value, args []js.Value) any {
		d.lost = &Error{Lost, textOf(args[0], "message") + " (" + textOf(args[0], "reason") + ")"}
		close(d.gone)
		lost.Release()
		return nil
	})
	value.Get("lost").Call("then", lost)
	return d
}

// scopes are what errors of a device fall into
// (https://www.w3.org/TR/webgpu/#enumdef-gpuerrorfilter).
var scopes = []string{"validation", "out-of-memory", "internal"}

// reported runs f, which asks the device for something and does not wait, and returns
// the promise of the device's reports on it. The error is what JavaScript threw.
func (d *device) reported(f func()) (reports js.Value, err error) {
	for _, scope := range scopes {
		d.value.Call("pushErrorScope", scope)
	}
	err = guard(f)
	list := make(array, len(scopes))
	for i := range list {
		list[i] = d.value.Call("popErrorScope")
	}
	return js.Global().Get("Promise").Call("all", list), err
}

// await waits for a promise of the device. A device that is lost rejects its promises,
// some of them before it tells that it is lost.
func (d *device) await(promise js.Value) (js.Value, error) {
	value, ok, err := await(promise, d.gone)
	switch {
	case !ok || d.lost != nil:
		return value, d.lost
	case err != nil:
		return value, &Error{Lost, invalid(err).Text}
	}
	return value, nil
}

// settled waits for reports and returns the first error among them.
func (d *device) settled(reports js.Value) error {
	list, err := d.await(reports)
	if err != nil {
		return err
	}
	return firstOf(list)
}

func firstOf(reports js.Value) error {
	for i := range reports.Length() {
		report := reports.Index(i)
		if report.IsNull() {
			continue
		}
		kind := Invalid
		if report.InstanceOf(js.Global().Get("GPUOutOfMemoryError")) {
			kind = OutOfMemory
		}
		return &Error{kind, textOf(report, "message")}
	}
	return nil
}

// done runs f and waits for the reports on it.
func (d *device) done(f func()) error {
	reports, err := d.reported(f)
	if settled := d.settled(reports); err == nil {
		err = settled
	}
	return err
}

// queued runs f, which queues work, and leaves the reports on it to the next wait.
func (d *device) queued(f func()) error {
	if d.lost != nil {
		return d.lost
	}
	reports, err := d.reported(f)
	d.unsettled = append(d.unsettled, reports)
	return err
}

// after waits for a promise that is kept after all that was queued, and for the reports
// on that.
func (d *device) after(promise js.Value) error {
	all := append(d.unsettled, promise)
	d.unsettled = nil
	list, err := d.await(js.Global().Get("Promise").Call("all", all))
	for i := 0; err == nil && i < len(all)-1; i++ {
		err = firstOf(list.Index(i))
	}
	return err
}

// Close frees the device and everything made by it.
func (d Device) Close() error {
	d.d.value.Call("destroy")
	return nil
}

// Wait returns when all work submitted has finished.
func (d Device) Wait() error { return d.d.after(d.d.queue.Call("onSubmittedWorkDone")) }

// Submit encodes the commands as one pass and queues it. What the device has to say
// about it is told by the next wait.
func (d Device) Submit(commands Commands) error {
	return d.d.queued(func() {
		encoder := d.d.value.Call("createCommandEncoder")
		encode(encoder, object{}, commands)
		d.d.queue.Call("submit", array{encoder.Call("finish")})
	})
}

// encode is one compute pass: WebGPU orders the dispatches in it.
func encode(encoder js.Value, options object, commands Commands) {
	pass := encoder.Call("beginComputePass", options)
	for _, c := range commands {
		pass.Call("setPipeline", c.pipeline)
		pass.Call("setBindGroup", 0, c.group)
		pass.Call("dispatchWorkgroups", c.groups[0], c.groups[1], c.groups[2])
	}
	pass.Call("end")
}

// Times runs each command in a pass of its own and returns the ticks at which it
// began and ended.
func (d Device) Times(commands Commands) ([][2]uint64, error) {
	ticks := make([][2]uint64, 0, len(commands))
	for first := 0; first < len(commands); first += maxTimed {
		raw, err := d.time(commands[first:min(first+maxTimed, len(commands))])
		if err != nil {
			return nil, err
		}
		for ; len(raw) > 0; raw = raw[16:] {
			ticks = append(ticks, [2]uint64{binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])})
		}
	}
	return ticks, nil
}

// time is Times for at most maxTimed commands; the ticks are as the device wrote them.
func (d Device) time(commands Commands) ([]byte, error) {
	const eight = 8 // bytes of a tick
	raw := make([]byte, 2*eight*len(commands))
	var set, resolved js.Value
	err := d.d.queued(func() {
		set = d.d.value.Call("createQuerySet", object{"type": "timestamp", "count": 2 * len(commands)})
		resolved = d.d.value.Call("createBuffer", object{"label": "timestamps", "size": len(raw), "usage": queryResolve | copySource})
		encoder := d.d.value.Call("createCommandEncoder")
		for i := range commands {
			writes := object{"querySet": set, "beginningOfPassWriteIndex": 2 * i, "endOfPassWriteIndex": 2*i + 1}
			encode(encoder, object{"timestampWrites": writes}, commands[i:i+1])
		}
		encoder.Call("resolveQuerySet", set, 0, 2*len(commands), resolved, 0)
		d.d.queue.Call("submit", array{encoder.Call("finish")})
	})
	if err != nil {
		return nil, err
	}
	err = d.Read(Buffer{&resolved}, 0, raw)
	set.Call("destroy")
	resolved.Call("destroy")
	return raw, err
}

// Fail ends the device, as when it is lost: for tests of what follows.
func (d Device) Fail() error {
	d.d.value.Call("destroy")
	<-d.d.gone
	return d.d.lost
}
