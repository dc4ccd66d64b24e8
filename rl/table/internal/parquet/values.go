package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// value is one value of a leaf column: its bits, or its bytes where the physical type is
// one of bytes. Bytes are valid until the column's next page is read.
type value struct {
	bits  uint64
	bytes []byte
}

// values reads the values of a page one by one.
type values interface {
	next() (value, error)
}

// Encodings, parquet.thrift: Encoding.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingDictionary      = 8
	encodingStreamSplit     = 9
)

// newValues reads the n values of a page's data.
func newValues(encoding int, leaf *node, data []byte, n int64, dictionary []value) (values, error) {
	width := fixedWidth(leaf)
	switch kind := leaf.kind; {
	case encoding == encodingPlain:
		return &plain{data: data, kind: kind, width: width}, nil
	case encoding == encodingPlainDictionary || encoding == encodingDictionary:
		if len(data) == 0 {
			return &indexed{}, nil // a page of nulls
		}
		if data[0] > 32 {
			return nil, errors.New("the bit width of the dictionary's indices is damaged")
		}
		return &indexed{dictionary, hybrid{data: data[1:], width: int(data[0]), run: true}}, nil
	case encoding == encodingRLE && kind == typeBoolean:
		runs, _, err := lengthPrefixed(data)
		return &booleans{hybrid{data: runs, width: 1, run: true}}, err
	case encoding == encodingDelta && (kind == typeInt32 || kind == typeInt64):
		return newDelta(data, n)
	case encoding == encodingDeltaLength && kind == typeByteArray:
		return newDeltaLength(data, n)
	case encoding == encodingDeltaBytes && (kind == typeByteArray || kind == typeFixed):
		return newDeltaBytes(data, n)
	case encoding == encodingStreamSplit && width > 0:
		return &streamSplit{data: data, kind: kind, width: width, n: len(data) / width}, nil
	}
	return nil, fmt.Errorf("encoding %d of physical type %d is not supported; accepted: plain, dictionary, run-length, delta and byte stream split encodings", encoding, leaf.kind)
}

// fixedWidth is the size of a leaf's values in bytes; 0 where they have no common one.
func fixedWidth(leaf *node) int {
	switch leaf.kind {
	case typeInt32, typeFloat:
		return 4
	case typeInt64, typeDouble:
		return 8
	case typeInt96:
		return 12
	case typeFixed:
		return leaf.length
	}
	return 0
}

// lengthPrefixed cuts off data that begins with its length.
func lengthPrefixed(data []byte) (cut, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errShort
	}
	n := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(n) > uint64(len(data)) {
		return nil, nil, errShort
	}
	return data[:n], data[n:], nil
}

// plain reads values as they are.
type plain struct {
	data  []byte
	kind  int
	width int
	bit   int // of booleans
}

func (p *plain) next() (value, error) {
	switch p.kind {
	case typeBoolean:
		v, ok := bitsAt(p.data, p.bit, 1)
		p.bit++
		if !ok {
			return value{}, errShort
		}
		return value{bits: v}, nil
	case typeByteArray:
		cut, rest, err := lengthPrefixed(p.data)
		p.data = rest
		return value{bytes: cut}, err
	}
	if len(p.data) < p.width {
		return value{}, errShort
	}
	v := fixedValue(p.kind, p.data[:p.width])
	p.data = p.data[p.width:]
	return v, nil
}

// fixedValue is a value of a fixed number of bytes.
func fixedValue(kind int, data []byte) value {
	switch kind {
	case typeInt32:
		return value{bits: uint64(int64(int32(binary.LittleEndian.Uint32(data))))}
	case typeFloat:
		return value{bits: uint64(binary.LittleEndian.Uint32(data))}
	case typeInt64, typeDouble:
		return value{bits: binary.LittleEndian.Uint64(data)}
	}
	return value{bytes: data}
}

// indexed reads indices into a dictionary.
type indexed struct {
	dictionary []value
	indices    hybrid
}

func (x *indexed) next() (value, error) {
	i, err := x.indices.next()
	if err != nil {
		return value{}, err
	}
	if i >= uint64(len(x.dictionary)) {
		return value{}, fmt.Errorf("index %d is outside a dictionary of %d values", i, len(x.dictionary))
	}
	return x.dictionary[i], nil
}

// booleans reads booleans stored in runs.
type booleans struct{ runs hybrid }

func (b *booleans) next() (value, error) {
	v, err := b.runs.next()
	return value{bits: v}, err
}

// deltaLength reads byte arrays whose lengths come first.
type deltaLength struct {
	lengths *delta
	data    []byte
}

func newDeltaLength(data []byte, n int64) (*deltaLength, error) {
	lengths, err := newDelta(data, n)
	if err != nil {
		return nil, err
	}
	rest, err := lengths.rest()
	return &deltaLength{lengths, rest}, err
}

func (d *deltaLength) next() (value, error) {
	length, err := d.lengths.next()
	if err != nil {
		return value{}, err
	}
	if length.bits > uint64(len(d.data)) {
		return value{}, errShort
	}
	v := value{bytes: d.data[:length.bits]}
	d.data = d.data[length.bits:]
	return v, nil
}

// deltaBytes reads byte arrays that repeat the beginning of the one before.
type deltaBytes struct {
	prefixes *delta
	suffixes *deltaLength
	last     []byte
}

func newDeltaBytes(data []byte, n int64) (*deltaBytes, error) {
	prefixes, err := newDelta(data, n)
	if err != nil {
		return nil, err
	}
	rest, err := prefixes.rest()
	if err != nil {
		return nil, err
	}
	suffixes, err := newDeltaLength(rest, n)
	return &deltaBytes{prefixes: prefixes, suffixes: suffixes}, err
}

func (d *deltaBytes) next() (value, error) {
	prefix, err := d.prefixes.next()
	if err != nil {
		return value{}, err
	}
	suffix, err := d.suffixes.next()
	if err != nil {
		return value{}, err
	}
	if prefix.bits > uint64(len(d.last)) {
		return value{}, errors.New("a byte array repeats more of the one before than that has")
	}
	if prefix.bits+uint64(len(suffix.bytes)) > maxHeld {
		return value{}, fmt.Errorf("a value has more than %d bytes", maxHeld)
	}
	d.last = append(d.last[:prefix.bits:prefix.bits], suffix.bytes...)
	return value{bytes: d.last}, nil
}

// streamSplit reads values whose first bytes come first, then their second bytes, and
// so on.
type streamSplit struct {
	data  []byte
	kind  int
	width int
	n, i  int
}

func (s *streamSplit) next() (value, error) {
	if s.i == s.n {
		return value{}, errShort
	}
	buf := make([]byte, s.width)
	for b := range buf {
		buf[b] = s.data[b*s.n+s.i]
	}
	s.i++
	return fixedValue(s.kind, buf), nil
}
