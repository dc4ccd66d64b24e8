package parquet

import (
	"encoding/binary"
	"errors"
)

// Wire types of the Thrift compact protocol.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireI16    = 4
	wireI32    = 5
	wireI64    = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
)

// maxDepth bounds the nesting of structs, lists and maps, which are read by recursion.
const maxDepth = 64

var errThrift = errors.New("the metadata is damaged")

// thrift reads values of the compact protocol. After an error everything reads as zero
// and err stays.
type thrift struct {
	data  []byte // what is left
	depth int
	err   error
}

func (t *thrift) fail() { t.data, t.err = nil, errThrift }

func (t *thrift) byte() byte {
	if len(t.data) == 0 {
		t.fail()
		return 0
	}
	b := t.data[0]
	t.data = t.data[1:]
	return b
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.data)
	if n <= 0 {
		t.fail()
		return 0
	}
	t.data = t.data[n:]
	return v
}

// int reads a zigzag integer.
func (t *thrift) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a binary, which aliases the input.
func (t *thrift) bytes() []byte {
	n := t.uvarint()
	if n > uint64(len(t.data)) {
		t.fail()
		return nil
	}
	b := t.data[:n]
	t.data = t.data[n:]
	return b
}

// fields calls do for each field of a struct. do reads the field's value or skips it.
func (t *thrift) fields(do func(id int, wire byte)) {
	if t.depth++; t.depth > maxDepth {
		t.fail()
	}
	for id := 0; t.err == nil; {
		head := t.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta != 0 {
			id += delta
		} else {
			id = int(t.int())
		}
		do(id, head&15)
	}
	t.depth--
}

// list calls do for each element of a list, which reads or skips it.
func (t *thrift) list(do func(wire byte)) {
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	for range n {
		if t.err != nil {
			return
		}
		do(head & 15)
	}
}

// skip passes over a field's value. Elements of lists are told apart by inList: there a
// bool has a byte of its own.
func (t *thrift) skip(wire byte, inList bool) {
	if t.depth++; t.depth > maxDepth {
		t.fail()
		return
	}
	defer func() { t.depth-- }()
	switch wire {
	case wireTrue, wireFalse:
		if inList {
			t.byte()
		}
	case wireByte:
		t.byte()
	case wireI16, wireI32, wireI64:
		t.uvarint()
	case wireDouble:
		if len(t.data) < 8 {
			t.fail()
			return
		}
		t.data = t.data[8:]
	case wireBinary:
		t.bytes()
	case wireList, wireSet:
		t.list(func(wire byte) { t.skip(wire, true) })
	case wireMap:
		if n := t.uvarint(); n > 0 {
			kinds := t.byte()
			for range n {
				if t.err != nil {
					return
				}
				t.skip(kinds>>4, true)
				t.skip(kinds&15, true)
			}
		}
	case wireStruct:
		t.fields(func(_ int, wire byte) { t.skip(wire, false) })
	default:
		t.fail()
	}
}

// Readers of fields of a known type: another type on the wire is an error.

func (t *thrift) integer(wire byte) int64 {
	if wire < wireI16 || wire > wireI64 {
		t.fail()
		return 0
	}
	return t.int()
}

func (t *thrift) text(wire byte) string {
	if wire != wireBinary {
		t.fail()
		return ""
	}
	return string(t.bytes())
}

func (t *thrift) structure(wire byte, do func(id int, wire byte)) {
	if wire != wireStruct {
		t.fail()
		return
	}
	t.fields(do)
}

func (t *thrift) array(wire byte, do func(wire byte)) {
	if wire != wireList {
		t.fail()
		return
	}
	t.list(do)
}
