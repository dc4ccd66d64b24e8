package wgpu

import "syscall/js"

// Flags of a buffer's usage (https://www.w3.org/TR/webgpu/#namespacedef-gpubufferusage).
const (
	mapRead      = 0x001
	copySource   = 0x004
	copyTarget   = 0x008
	uniform      = 0x040
	storage      = 0x080
	queryResolve = 0x200
)

// usages are the flags of a Usage.
var usages = [...]int{Storage: storage | copySource | copyTarget, Uniform: uniform | copyTarget}

// chunk is what one copy moves, in bytes: large beside the cost of a submission, small
// beside device memory.
const chunk = 16 << 20

// Buffer is memory on the device.
type Buffer struct{ value *js.Value }

// NewBuffer allocates size bytes of zeros.
func (d Device) NewBuffer(label string, size int, usage Usage) (Buffer, error) {
	var b js.Value
	err := d.d.done(func() {
		b = d.d.value.Call("createBuffer", object{"label": label, "size": size, "usage": usages[usage]})
	})
	return Buffer{&b}, err
}

// Release frees the buffer's memory as soon as submitted work no longer uses it.
func (b Buffer) Release() { b.value.Call("destroy") }

// Write copies data to a buffer, after all work submitted. Offset and length
// are multiples of 4. The browser keeps what is written until the device has it, so
// what is longer than a chunk is waited for.
func (d Device) Write(b Buffer, offset int, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), chunk)
		err := d.d.queued(func() { d.d.queue.Call("writeBuffer", *b.value, offset, bytesOf(data[:n])) })
		if err == nil && n < len(data) {
			err = d.Wait()
		}
		if err != nil {
			return err
		}
		offset, data = offset+n, data[n:]
	}
	return nil
}

func bytesOf(data []byte) js.Value {
	copied := js.Global().Get("Uint8Array").New(len(data))
	js.CopyBytesToJS(copied, data)
	return copied
}

// Read copies from a buffer, after all work submitted, and waits. Offset and
// length are multiples of 4.
func (d Device) Read(b Buffer, offset int, data []byte) error {
	if err := d.d.needStaging(); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), chunk)
		err := d.d.queued(func() {
			encoder := d.d.value.Call("createCommandEncoder")
			encoder.Call("copyBufferToBuffer", *b.value, offset, d.d.staging, 0, n)
			d.d.queue.Call("submit", array{encoder.Call("finish")})
		})
		if err == nil {
			err = d.d.take(data[:n])
		}
		if err != nil {
			return err
		}
		offset, data = offset+n, data[n:]
	}
	return nil
}

// take copies what lies at the start of the staging buffer, after all work submitted.
func (d *device) take(data []byte) error {
	const read = 1 // GPUMapMode.READ
	err := d.after(d.staging.Call("mapAsync", read, 0, len(data)))
	if err == nil {
		js.CopyBytesToGo(data, js.Global().Get("Uint8Array").New(d.staging.Call("getMappedRange", 0, len(data))))
	}
	d.staging.Call("unmap")
	return err
}

func (d *device) needStaging() error {
	if !d.staging.IsUndefined() {
		return nil
	}
	var staging js.Value
	err := d.done(func() {
		staging = d.value.Call("createBuffer", object{"label": "staging", "size": chunk, "usage": mapRead | copyTarget})
	})
	if err == nil {
		d.staging = staging
	}
	return err
}

// Layout says what a pipeline's bindings are: storage buffers from 0, then one
// uniform buffer.
type Layout struct{ pipeline, group *js.Value }

// NewLayout makes a layout. readOnly has an entry for each storage buffer;
// uniform is the size of the uniform buffer in bytes.
func (d Device) NewLayout(readOnly []bool, uniform int) (Layout, error) {
	const compute = 4 // GPUShaderStage.COMPUTE
	entries := array{}
	for i, read := range readOnly {
		kind := "storage"
		if read {
			kind = "read-only-storage"
		}
		entries = append(entries, object{"binding": i, "visibility": compute, "buffer": object{"type": kind}})
	}
	entries = append(entries, object{"binding": len(readOnly), "visibility": compute, "buffer": object{"type": "uniform", "minBindingSize": uniform}})
	var group, pipeline js.Value
	err := d.d.done(func() {
		group = d.d.value.Call("createBindGroupLayout", object{"entries": entries})
		pipeline = d.d.value.Call("createPipelineLayout", object{"bindGroupLayouts": array{group}})
	})
	return Layout{&pipeline, &group}, err
}

// Release does nothing: the browser's collector frees layouts.
func (l Layout) Release() {}

// Pipeline is a compiled shader.
type Pipeline struct{ value *js.Value }

// NewPipeline compiles WGSL text with entry point main.
func (d Device) NewPipeline(label, wgsl string, l Layout) (Pipeline, error) {
	var promise js.Value
	reports, err := d.d.reported(func() {
		module := d.d.value.Call("createShaderModule", object{"label": label, "code": wgsl})
		promise = d.d.value.Call("createComputePipelineAsync", object{
			"label": label, "layout": *l.pipeline, "compute": object{"module": module, "entryPoint": "main"},
		})
	})
	if err != nil {
		return Pipeline{}, err
	}
	// Both are waited for: a promise that is rejected and that nobody waits for is an
	// error on the browser's console. What is said about the text says more.
	value, _, refused := await(promise, d.d.gone)
	if err := d.d.settled(reports); err != nil {
		return Pipeline{}, err
	}
	if refused != nil {
		return Pipeline{}, invalid(refused)
	}
	return Pipeline{&value}, nil
}

// Check compiles WGSL text as far as the browser does without a layout.
func (d Device) Check(label, wgsl string) error {
	return d.d.done(func() { d.d.value.Call("createShaderModule", object{"label": label, "code": wgsl}) })
}

// Release does nothing: the browser's collector frees pipelines.
func (p Pipeline) Release() {}

// Commands is a list of dispatches with their bind groups.
type Commands []command

type command struct {
	pipeline, group js.Value
	groups          [3]int
}

// NewCommands makes the list, with a bind group for each dispatch.
func (d Device) NewCommands(list []Dispatch) (Commands, error) {
	commands := make(Commands, len(list))
	err := d.d.done(func() {
		for i, next := range list {
			commands[i] = command{*next.Pipeline.value, d.d.newGroup(next.Layout, next.Spans), next.Groups}
		}
	})
	if err != nil {
		return nil, err
	}
	return commands, nil
}

// newGroup binds spans in the order of the layout.
func (d *device) newGroup(l Layout, spans []Span) js.Value {
	entries := make(array, len(spans))
	for i, s := range spans {
		entries[i] = object{"binding": i, "resource": object{"buffer": *s.Buffer.value, "offset": s.Offset, "size": s.Size}}
	}
	return d.value.Call("createBindGroup", object{"layout": *l.group, "entries": entries})
}

// Release does nothing: the browser's collector frees bind groups.
func (c Commands) Release() {}
