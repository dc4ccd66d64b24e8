package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// Scalar is a value and its name, such as reward/mean: TensorBoard groups names by what
// stands before the slash.
type Scalar struct {
	Tag   string
	Value float64
}

// Writer writes the records of an event file.
type Writer struct{ out io.Writer }

// version is the first record of every file; readers refuse one without it.
const version = "brain.Event:2"

// NewWriter begins a file.
func NewWriter(out io.Writer) (*Writer, error) {
	w := &Writer{out}
	return w, w.record(text(event(0, 0), 3, version))
}

// Add writes the scalars of a step, at a time in seconds since 1970.
func (w *Writer) Add(step int, seconds float64, scalars []Scalar) error {
	var summary []byte
	for _, s := range scalars {
		value := text(nil, 1, s.Tag)
		value = binary.LittleEndian.AppendUint32(key(value, 2, fixed32), math.Float32bits(float32(s.Value)))
		summary = text(summary, 1, string(value))
	}
	return w.record(text(event(step, seconds), 5, string(summary)))
}

func event(step int, seconds float64) []byte {
	b := binary.LittleEndian.AppendUint64(key(nil, 1, fixed64), math.Float64bits(seconds))
	return binary.AppendUvarint(key(b, 2, varint), uint64(step))
}

// Types of protobuf's fields (https://protobuf.dev/programming-guides/encoding/).
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

func key(b []byte, field, kind uint64) []byte { return binary.AppendUvarint(b, field<<3|kind) }

// text appends a field of bytes: a string, or a message.
func text(b []byte, field uint64, s string) []byte {
	return append(binary.AppendUvarint(key(b, field, length), uint64(len(s))), s...)
}

// record frames the data of a TFRecord.
func (w *Writer) record(data []byte) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	b = append(b, data...)
	_, err := w.out.Write(binary.LittleEndian.AppendUint32(b, checksum(data)))
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}
