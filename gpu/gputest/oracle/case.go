package oracle

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/check"
	"github.com/rlzero/rlzero/shaders"
)

// Case is one dispatch of a kernel and what must come out.
type Case struct {
	Kernel string
	Name   string // the shape: "M=3 N=24 K=40"
	Params []uint32
	// Bind is the content of each binding before: []float32 or []uint32, which also
	// stands for pairs of bf16.
	Bind []any
	// Want is the content after: []Value, or []uint32 and []float32 for exact
	// results, nil for what must stay as it was.
	Want []any
}

// Word is the parameter word of a number.
func Word(x float32) uint32 { return math.Float32bits(x) }

// words turns counts into parameter words.
func words(n ...int) []uint32 {
	out := make([]uint32, len(n))
	for i, v := range n {
		out[i] = uint32(v)
	}
	return out
}

// Check runs the case on the device and returns an error that names the case,
// the binding and the worst element outside its bound.
func (c Case) Check(dev gpu.Device) error {
	got, err := c.Run(dev)
	if err == nil {
		err = c.Compare(got)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.Kernel, c.Name, err)
	}
	return nil
}

// Compare holds results against Want.
func (c Case) Compare(got []any) error {
	kernel, _ := shaders.Lookup(c.Kernel)
	for i, want := range c.Want {
		if want == nil {
			want = c.Bind[i]
		}
		if err := compare(got[i], want); err != nil {
			return fmt.Errorf("%s: %w", kernel.Bindings[i].Name, err)
		}
	}
	return nil
}

// guardBytes stand before and after each binding; a kernel that writes there
// is caught. 256 is the alignment of views.
const guardBytes = 256

// guardWord fills the guards: a NaN with a mark, which also shows in results
// that were computed from it.
const guardWord = 0x7fc0dead

// Run runs the case and returns the content of each binding afterwards.
func (c Case) Run(dev gpu.Device) ([]any, error) {
	kernel, ok := shaders.Lookup(c.Kernel)
	if !ok || len(c.Bind) != len(kernel.Bindings) || len(c.Params) != len(kernel.Params) {
		return nil, fmt.Errorf("the case does not fit the kernel: %d bindings, %d parameters", len(c.Bind), len(c.Params))
	}
	size, err := check.Extent(kernel, c.Params)
	if err != nil {
		return nil, err
	}
	op := gpu.Op{Kernel: c.Kernel, Params: c.Params, Size: size}
	for i, data := range c.Bind {
		view, err := upload(dev, kernel.Bindings[i].Name, data)
		if err != nil {
			return nil, err
		}
		defer view.Buffer.Free()
		op.Bind = append(op.Bind, view)
	}
	program, err := dev.Record("case", []gpu.Op{op})
	if err != nil {
		return nil, err
	}
	defer program.Free()
	if err := dev.Submit(program); err != nil {
		return nil, err
	}
	if err := dev.Wait(); err != nil {
		return nil, err
	}
	out := make([]any, len(c.Bind))
	for i, view := range op.Bind {
		if out[i], err = download(view, c.Bind[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", kernel.Bindings[i].Name, err)
		}
	}
	return out, nil
}

// upload makes a buffer of guard, data, guard.
func upload(dev gpu.Device, label string, data any) (gpu.View, error) {
	raw := Bytes(data)
	buffer, err := dev.NewBuffer(label, len(raw)+2*guardBytes)
	if err != nil {
		return gpu.View{}, err
	}
	guard := make([]byte, 0, guardBytes)
	for len(guard) < guardBytes {
		guard = binary.NativeEndian.AppendUint32(guard, guardWord)
	}
	if err := buffer.Write(0, slices.Concat(guard, raw, guard)); err != nil {
		return gpu.View{}, err
	}
	return gpu.View{Buffer: buffer, Offset: guardBytes, Size: len(raw)}, nil
}

// download reads what upload wrote, as the type of like, and looks at the
// guards.
func download(view gpu.View, like any) (any, error) {
	raw := make([]byte, view.Buffer.Size())
	if err := view.Buffer.Read(0, raw); err != nil {
		return nil, err
	}
	end := guardBytes + view.Size
	for _, part := range [][]byte{raw[:guardBytes], raw[end : end+guardBytes]} {
		for i := 0; i < len(part); i += 4 {
			if w := binary.NativeEndian.Uint32(part[i:]); w != guardWord {
				return nil, fmt.Errorf("a word outside the view was overwritten with %08x", w)
			}
		}
	}
	if _, ok := like.([]uint32); ok {
		return FromBytes[uint32](raw[guardBytes:end]), nil
	}
	return FromBytes[float32](raw[guardBytes:end]), nil
}

// Bytes is the memory of a []float32 or []uint32.
func Bytes(data any) []byte {
	raw, err := binary.Append(nil, binary.NativeEndian, data)
	if err != nil {
		panic("oracle: data of type " + fmt.Sprintf("%T", data))
	}
	return raw
}

// FromBytes is the inverse of Bytes.
func FromBytes[E float32 | uint32](raw []byte) []E {
	out := make([]E, len(raw)/4)
	if _, err := binary.Decode(raw, binary.NativeEndian, out); err != nil {
		panic("oracle: " + err.Error())
	}
	return out
}

// Hash is a hash of the bits of device data: equal for equal results only.
func Hash(data any) uint64 {
	h := fnv.New64a()
	h.Write(Bytes(data))
	return h.Sum64()
}

// compare tells the worst element of got that is not what is wanted.
func compare(got, want any) error {
	switch want := want.(type) {
	case []Value:
		return compareValues(floats(got), want)
	case []float32:
		return compareWords(FromBytes[uint32](Bytes(got)), FromBytes[uint32](Bytes(want)), "bits %08x")
	case []uint32:
		return compareWords(got.([]uint32), want, "%d")
	}
	return fmt.Errorf("cannot compare with %T", want)
}

func compareWords(got, want []uint32, format string) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("element %d is "+format+", want "+format, i, got[i], want[i])
		}
	}
	return nil
}

func compareValues(got []float32, want []Value) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	worst, at, wrong := 1.0, -1, 0
	for i, w := range want {
		x := float64(got[i])
		if math.IsInf(w.Err, 1) || x == w.X {
			continue
		}
		share := math.Abs(x-w.X) / w.Err
		if share <= 1 { // false for NaN
			continue
		}
		wrong++
		if at < 0 || share > worst || math.IsNaN(share) {
			worst, at = share, i
		}
	}
	if at < 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements outside their bounds; element %d is %v, want %v within %.3g",
		wrong, len(want), at, got[at], want[at].X, want[at].Err)
}
