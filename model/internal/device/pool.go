package device

import (
	"encoding/binary"
	"math"

	"github.com/rlzero/rlzero/gpu"
)

// Pool allocates device memory under one label and remembers the first error. Without a
// device it plans.
type Pool struct {
	dev   gpu.Device
	phase *Phase // in which its memory lies; nil: it has buffers of its own
	label string
	bufs  []gpu.Buffer
	Bytes int
	plan  gpu.Plan // of its largest buffers
	Err   error
}

// Words allocates n 32-bit words that kernels bind as a whole.
func (p *Pool) Words(name string, n int) gpu.View { return p.allocate(name, n, true) }

// Wide allocates n 32-bit words that kernels bind in parts, a run of rows at a time.
func (p *Pool) Wide(name string, n int) gpu.View { return p.allocate(name, n, false) }

func (p *Pool) allocate(name string, n int, whole bool) gpu.View {
	size := (max(n, 64)*4 + 255) &^ 255
	p.Bytes += size
	p.plan.Note(gpu.Item{Name: name, Bytes: size}, whole)
	if p.phase != nil && p.Err == nil {
		var v gpu.View
		v, p.Err = p.phase.take(size)
		return v
	}
	if p.dev == nil || p.Err != nil { // planning only, or failed before
		return gpu.View{Size: size}
	}
	b, err := p.dev.NewBuffer(p.label+" "+name, size)
	if err != nil {
		p.Err = err
		return gpu.View{}
	}
	p.bufs = append(p.bufs, b)
	return gpu.View{Buffer: b, Size: size}
}

// NewPool makes a pool; without a device it plans.
func NewPool(dev gpu.Device, label string) *Pool { return &Pool{dev: dev, label: label} }

// NewPoolIn makes a pool whose memory lies in a phase of a scratch; in that of nil it has its own. The phase has the
// memory until its scratch is closed.
func NewPoolIn(phase *Phase, dev gpu.Device, label string) *Pool {
	return &Pool{dev: dev, phase: phase, label: label}
}

// Note notes the largest buffers of the pool in a plan.
func (p *Pool) Note(plan *gpu.Plan) {
	plan.Note(p.plan.Buffer, false)
	plan.Note(p.plan.Bound, true)
}

// Free frees what was allocated.
func (p *Pool) Free() {
	for _, b := range p.bufs {
		b.Free()
	}
	p.bufs = nil
}

// Write is data on its way to a device, see put.
type Write struct {
	to   gpu.View
	data []byte
}

// Put is what writes data to the beginning of a view, in little-endian order.
func Put[T byte | uint32 | float32](to gpu.View, data []T) Write {
	w := Write{to: to}
	switch data := any(data).(type) {
	case []byte:
		w.data = data
	case []uint32:
		w.data = make([]byte, 0, 4*len(data))
		for _, x := range data {
			w.data = binary.LittleEndian.AppendUint32(w.data, x)
		}
	case []float32:
		w.data = make([]byte, 0, 4*len(data))
		for _, x := range data {
			w.data = binary.LittleEndian.AppendUint32(w.data, math.Float32bits(x))
		}
	}
	return w
}

// Upload does some writes; those of nothing are left out.
func Upload(writes ...Write) error {
	for _, w := range writes {
		if len(w.data) == 0 {
			continue
		}
		if err := w.to.Buffer.Write(w.to.Offset, w.data); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the numbers at the beginning of a view.
func Read(from gpu.View, into []float32) error {
	raw := make([]byte, 4*len(into))
	if err := from.Buffer.Read(from.Offset, raw); err != nil {
		return err
	}
	for i := range into {
		into[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// At is the part of a view that starts n 32-bit words in.
func At(v gpu.View, n int) gpu.View {
	return gpu.View{Buffer: v.Buffer, Offset: v.Offset + n*4, Size: v.Size - n*4}
}

// Rows is n rows of a view from row r0 on, each of so many 32-bit words.
func Rows(v gpu.View, r0, n, words int) gpu.View {
	return gpu.View{Buffer: v.Buffer, Offset: v.Offset + r0*words*4, Size: n * words * 4}
}

// Float is a number as kernels read it among their parameters.
func Float(x float64) uint32 { return math.Float32bits(float32(x)) }
