package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Source is a tensor to be written. Data is called once, when its turn comes, so that no
// more than one tensor need be in memory.
type Source struct {
	Name  string
	Type  Type
	Shape []int // slowest dimension first; the last is a multiple of the type's block
	Data  func() ([]float32, error)
}

// Write writes a file of version 3 with the default alignment. Equal arguments give equal
// bytes.
func Write(w io.Writer, metadata Metadata, tensors []Source) error {
	header := le.AppendUint32([]byte("GGUF"), 3)
	header = le.AppendUint64(header, uint64(len(tensors)))
	header = le.AppendUint64(header, uint64(len(metadata)))
	for _, p := range metadata {
		header = appendText(header, p.Key)
		var err error
		if header, err = appendValue(header, p.Value); err != nil {
			return fmt.Errorf("key %s: %w", p.Key, err)
		}
	}
	offset := int64(0)
	sizes := make([]int64, len(tensors))
	for i, s := range tensors {
		t := Tensor{Name: s.Name, Type: s.Type, Shape: s.Shape}
		elements := uint64(1)
		header = appendText(header, s.Name)
		header = le.AppendUint32(header, uint32(len(s.Shape)))
		for d := len(s.Shape) - 1; d >= 0; d-- {
			elements *= uint64(s.Shape[d])
			header = le.AppendUint64(header, uint64(s.Shape[d]))
		}
		if err := t.measure(elements); err != nil {
			return err
		}
		header = le.AppendUint32(header, uint32(s.Type))
		header = le.AppendUint64(header, uint64(offset))
		sizes[i] = t.size
		offset += t.size + padding(t.size)
	}
	header = append(header, make([]byte, padding(int64(len(header))))...)
	if _, err := w.Write(header); err != nil {
		return err
	}
	for i, s := range tensors {
		if err := writeTensor(w, s, sizes[i]); err != nil {
			return fmt.Errorf("tensor %s: %w", s.Name, err)
		}
	}
	return nil
}

// padding is how many bytes are missing to the alignment.
func padding(n int64) int64 { return -n & (defaultAlignment - 1) }

func writeTensor(w io.Writer, s Source, size int64) error {
	values, err := s.Data()
	if err != nil {
		return err
	}
	data, err := s.Type.Quantize(values)
	if err != nil {
		return err
	}
	if int64(len(data)) != size {
		return fmt.Errorf("%d elements do not fit the shape %v", len(values), s.Shape)
	}
	_, err = w.Write(append(data, make([]byte, padding(size))...))
	return err
}

func appendText(out []byte, text string) []byte {
	return append(le.AppendUint64(out, uint64(len(text))), text...)
}

// appendValue writes the wire type and the value.
func appendValue(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return appendText(le.AppendUint32(out, wireString), v), nil
	case []string:
		out = appendList(out, wireString, len(v))
		for _, text := range v {
			out = appendText(out, text)
		}
		return out, nil
	case bool:
		return binary.Append(le.AppendUint32(out, wireBool), le, v)
	case uint8:
		return append(le.AppendUint32(out, wireU8), v), nil
	case uint32:
		return le.AppendUint32(le.AppendUint32(out, wireU32), v), nil
	case int32:
		return le.AppendUint32(le.AppendUint32(out, wireI32), uint32(v)), nil
	case uint64:
		return le.AppendUint64(le.AppendUint32(out, wireU64), v), nil
	case float32:
		return le.AppendUint32(le.AppendUint32(out, wireF32), math.Float32bits(v)), nil
	case []int32:
		return binary.Append(appendList(out, wireI32, len(v)), le, v)
	case []float32:
		return binary.Append(appendList(out, wireF32, len(v)), le, v)
	case []bool:
		return binary.Append(appendList(out, wireBool, len(v)), le, v)
	}
	return nil, fmt.Errorf("a value of type %T is not written", value)
}

func appendList(out []byte, wire uint32, n int) []byte {
	return le.AppendUint64(le.AppendUint32(le.AppendUint32(out, wireArray), wire), uint64(n))
}
