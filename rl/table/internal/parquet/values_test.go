package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// all reads n values as text.
func all(t *testing.T, v values, leaf *node, n int) string {
	t.Helper()
	var out []string
	for range n {
		x, err := v.next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := appendJSON(nil, leaf, x)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, " ")
}

// TestEncodings: the examples of Encodings.md, and others worked out by hand.
func TestEncodings(t *testing.T) {
	leaf := func(kind, length int) *node { return &node{element: element{kind: kind, length: length}} }
	for _, c := range []struct {
		name     string
		encoding int
		leaf     *node
		data     string
		want     string
	}{
		{"plain booleans", encodingPlain, leaf(typeBoolean, 0), "\x05\x01", "true false true false false false false false true"},
		{"runs of booleans", encodingRLE, leaf(typeBoolean, 0), "\x04\x00\x00\x00\x06\x01\x03\x02", "true true true false true false"},
		// 1 2 3 4 5: blocks of 8 values with 1 miniblock; first value 1, least difference 1, width 0.
		{"delta without bits", encodingDelta, leaf(typeInt32, 0), "\x08\x01\x05\x02\x02\x00", "1 2 3 4 5"},
		// 7 5 3 1 2 3 4 5, the example: differences -2 -2 -2 1 1 1 1, least -2, relative 0 0 0 3 3 3 3 in 2 bits.
		{"delta", encodingDelta, leaf(typeInt64, 0), "\x08\x01\x08\x0e\x03\x02\xc0\x3f", "7 5 3 1 2 3 4 5"},
		// Hello World Foobar ABCDEF: lengths 5 5 6 6.
		{"delta lengths", encodingDeltaLength, leaf(typeByteArray, 0), "\x08\x01\x04\x0a\x00\x01\x02HelloWorldFoobarABCDEF", `"Hello" "World" "Foobar" "ABCDEF"`},
		// axis axle babble babyhood: prefixes 0 2 0 3, suffixes axis le babble yhood of lengths 4 2 6 5.
		{"delta of bytes", encodingDeltaBytes, leaf(typeByteArray, 0),
			"\x08\x01\x04\x00\x03\x03\x44\x01\x00" + "\x08\x01\x04\x08\x03\x03\x70\x00\x00" + "axislebabbleyhood", `"axis" "axle" "babble" "babyhood"`},
		// AA BB CC DD, 00 11 22 33, A3 B4 C5 D6, the example.
		{"byte stream split", encodingStreamSplit, leaf(typeInt32, 0), "\xAA\x00\xA3\xBB\x11\xB4\xCC\x22\xC5\xDD\x33\xD6", "-573785174 857870592 -691686237"},
		{"dictionary of width 0", encodingDictionary, leaf(typeInt32, 0), "\x00\x06", "41 41 41"},
		{"dictionary", encodingPlainDictionary, leaf(typeInt32, 0), "\x01\x06\x01\x03\x00", "42 42 42 41"},
	} {
		dictionary := []value{{bits: 41}, {bits: 42}}
		n := len(strings.Fields(c.want))
		v, err := newValues(c.encoding, c.leaf, []byte(c.data), int64(n), dictionary)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := all(t, v, c.leaf, n); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTypes: how annotated values become JSON.
func TestTypes(t *testing.T) {
	le := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for _, c := range []struct {
		leaf element
		v    value
		want string
	}{
		{element{kind: typeInt32}, value{bits: math.MaxUint64}, "-1"},
		{element{kind: typeInt32, logical: logical{kind: logicalInteger, unsigned: true}}, value{bits: math.MaxUint64}, "4294967295"},
		{element{kind: typeInt64, logical: logical{kind: logicalInteger, unsigned: true}}, value{bits: math.MaxUint64}, "18446744073709551615"},
		{element{kind: typeInt32, logical: logical{kind: logicalDate}}, value{bits: 19782}, `"2024-02-29"`},
		{element{kind: typeInt64, logical: logical{kind: logicalTimestamp, unit: 1}}, value{bits: 1500}, `"1970-01-01T00:00:01.5Z"`},
		{element{kind: typeInt64, logical: logical{kind: logicalTimestamp, unit: 2}}, value{bits: ^uint64(0)}, `"1969-12-31T23:59:59.999999Z"`},
		{element{kind: typeInt32, logical: logical{kind: logicalTime, unit: 1}}, value{bits: 3_723_004}, `"01:02:03.004"`},
		{element{kind: typeInt96}, value{bytes: append(le(1_000_000_000), 0x8d, 0x3d, 0x25, 0)}, `"1970-01-02T00:00:01Z"`},
		{element{kind: typeFloat}, value{bits: uint64(math.Float32bits(0.1))}, "0.10000000149011612"},
		{element{kind: typeDouble}, value{bits: math.Float64bits(math.NaN())}, "null"},
		{element{kind: typeFixed, length: 2, logical: logical{kind: logicalFloat16}}, value{bytes: []byte{0x00, 0xc1}}, "-2.5"},
		{element{kind: typeFixed, length: 2, logical: logical{kind: logicalFloat16}}, value{bytes: []byte{0x01, 0x00}}, "5.960464477539063e-8"},
		{element{kind: typeInt32, logical: logical{kind: logicalDecimal, scale: 2}}, value{bits: 0xFFFFFFFFFFFFFFFF}, "-0.01"},
		{element{kind: typeFixed, length: 3, logical: logical{kind: logicalDecimal, scale: 1}}, value{bytes: []byte{0xff, 0xff, 0x38}}, "-20.0"},
		{element{kind: typeByteArray}, value{bytes: []byte("a<\"\x01")}, "\"a<\\\"\\u0001\""},
		{element{kind: typeByteArray}, value{bytes: []byte{0xff}}, `"/w=="`},
		{element{kind: typeByteArray, logical: logical{kind: logicalJSON}}, value{bytes: []byte(`{"a":1}`)}, `{"a":1}`},
		{element{kind: typeFixed, length: 16, logical: logical{kind: logicalUUID}}, value{bytes: []byte("0123456789abcdef")}, `"30313233-3435-3637-3839-616263646566"`},
	} {
		got, err := appendJSON(nil, &node{element: c.leaf}, c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.leaf, got, err, c.want)
		}
	}
	for _, c := range []element{
		{kind: typeByteArray, logical: logical{kind: logicalString}},
		{kind: typeByteArray, logical: logical{kind: logicalJSON}},
	} {
		if got, err := appendJSON(nil, &node{element: c}, value{bytes: []byte{0xff}}); err == nil {
			t.Errorf("%+v: %s is accepted", c, got)
		}
	}
}

// TestNested: what is nested beyond any real file is damaged metadata, whatever nests.
func TestNested(t *testing.T) {
	for name, level := range map[string][]byte{
		"lists":   {1<<4 | wireList},
		"sets":    {1<<4 | wireSet},
		"structs": {1<<4 | wireStruct},
		"maps":    {1, wireMap<<4 | wireMap},
	} {
		first := map[string]byte{"lists": wireList, "sets": wireSet, "structs": wireStruct, "maps": wireMap}[name]
		d := thrift{data: bytes.Repeat(level, 1<<24)}
		if d.skip(first, false); d.err == nil {
			t.Errorf("%s: nested without end, and read", name)
		}
	}
}
