package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds of what a file may make the reader hold.
const (
	maxFooter = 64 << 20  // bytes
	maxHeld   = 512 << 20 // bytes of the pages and dictionaries of all columns
	maxSchema = 10_000    // elements
)

// Physical types, parquet.thrift: Type.
const (
	typeBoolean = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeByteArray
	typeFixed
)

// Repetition of a field, parquet.thrift: FieldRepetitionType.
const (
	required = iota
	optional
	repeated
)

// element is a row of the schema, which is a tree in depth-first order.
type element struct {
	name       string
	kind       int // physical type; -1 for a group
	length     int // of typeFixed, bytes
	repetition int
	children   int
	converted  int // parquet.thrift: ConvertedType; -1 for none
	scale      int // of a decimal
	logical    logical
}

// logical is a LogicalType: the number of its field in the union, and its parameters.
type logical struct {
	kind     int // 0 for none
	scale    int // of a decimal
	unit     int // of times: 1 milliseconds, 2 microseconds, 3 nanoseconds
	unsigned bool
}

// Members of LogicalType, parquet.thrift.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalUUID      = 14
	logicalFloat16   = 15
)

// chunk is a column of a row group.
type chunk struct {
	codec  int
	values int64 // entries, nulls included
	start  int64 // of its first page, in the file
	size   int64 // bytes of its pages
}

type rowGroup struct {
	rows   int64
	chunks []chunk
}

// readFooter reads the metadata at the end of a file.
func readFooter(r io.ReaderAt, size int64) (schema []element, groups []rowGroup, err error) {
	var head [4]byte
	var tail [8]byte
	if size < 12 {
		return nil, nil, fmt.Errorf("the file has %d bytes; a Parquet file has at least 12", size)
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, nil, err
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, nil, err
	}
	switch magic := string(tail[4:]); {
	case magic == "PARE" || string(head[:]) == "PARE":
		return nil, nil, errors.New("the file is encrypted; accepted: a Parquet file without encryption")
	case string(head[:]) != "PAR1":
		return nil, nil, fmt.Errorf("found %q in the first four bytes; a Parquet file has PAR1 there", head[:])
	case magic != "PAR1":
		return nil, nil, fmt.Errorf("found %q in the last four bytes; a Parquet file has PAR1 there, so this one was cut or damaged", magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if most := min(maxFooter, size-12); length > most {
		return nil, nil, fmt.Errorf("the footer says it has %d bytes; accepted: at most %d", length, most)
	}
	data := make([]byte, length)
	if _, err := r.ReadAt(data, size-8-length); err != nil {
		return nil, nil, err
	}
	t := &thrift{data: data}
	t.fields(func(id int, wire byte) {
		switch id {
		case 2:
			t.array(wire, func(wire byte) {
				if len(schema) == maxSchema {
					t.fail()
				}
				schema = append(schema, t.element(wire))
			})
		case 4:
			t.array(wire, func(wire byte) { groups = append(groups, t.rowGroup(wire)) })
		default:
			t.skip(wire, false)
		}
	})
	if t.err != nil {
		return nil, nil, fmt.Errorf("footer: %w", t.err)
	}
	return schema, groups, nil
}

func (t *thrift) element(wire byte) element {
	e := element{kind: -1, converted: -1}
	t.structure(wire, func(id int, wire byte) {
		switch id {
		case 1:
			e.kind = int(t.integer(wire))
		case 2:
			e.length = int(t.integer(wire))
		case 3:
			e.repetition = int(t.integer(wire))
		case 4:
			e.name = t.text(wire)
		case 5:
			e.children = int(t.integer(wire))
		case 6:
			e.converted = int(t.integer(wire))
		case 7:
			e.scale = int(t.integer(wire))
		case 10:
			e.logical = t.logical(wire)
		default:
			t.skip(wire, false)
		}
	})
	return e
}

// logical reads the union LogicalType. Fields of its members have the numbers that
// parquet.thrift gives them: a decimal's scale is 1, a time's unit 2, the width of an
// integer 1 and whether it is signed 2.
func (t *thrift) logical(wire byte) logical {
	var l logical
	t.structure(wire, func(kind int, wire byte) {
		l.kind = kind
		t.structure(wire, func(id int, wire byte) {
			switch {
			case kind == logicalDecimal && id == 1:
				l.scale = int(t.integer(wire))
			case (kind == logicalTime || kind == logicalTimestamp) && id == 2:
				t.structure(wire, func(unit int, wire byte) {
					l.unit = unit
					t.skip(wire, false)
				})
			case kind == logicalInteger && id == 2:
				l.unsigned = wire == wireFalse
			default:
				t.skip(wire, false)
			}
		})
	})
	return l
}

func (t *thrift) rowGroup(wire byte) rowGroup {
	var g rowGroup
	t.structure(wire, func(id int, wire byte) {
		switch id {
		case 1:
			t.array(wire, func(wire byte) { g.chunks = append(g.chunks, t.chunk(wire)) })
		case 3:
			g.rows = t.integer(wire)
		default:
			t.skip(wire, false)
		}
	})
	return g
}

// chunk reads a ColumnChunk, whose ColumnMetaData is field 3. Its pages begin with the
// dictionary, if there is one.
func (t *thrift) chunk(wire byte) chunk {
	var c chunk
	var dictionary int64
	t.structure(wire, func(id int, wire byte) {
		if id != 3 {
			t.skip(wire, false)
			return
		}
		t.structure(wire, func(id int, wire byte) {
			switch id {
			case 4:
				c.codec = int(t.integer(wire))
			case 5:
				c.values = t.integer(wire)
			case 7:
				c.size = t.integer(wire)
			case 9:
				c.start = t.integer(wire)
			case 11:
				dictionary = t.integer(wire)
			default:
				t.skip(wire, false)
			}
		})
	})
	if dictionary > 0 && dictionary < c.start {
		c.start = dictionary
	}
	return c
}

// Page types, parquet.thrift: PageType.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader is a PageHeader with what its kind of page says.
type pageHeader struct {
	kind         int
	uncompressed int64
	compressed   int64
	crc          uint32
	checked      bool // there is a checksum
	values       int64
	encoding     int
	levels       [2]int   // encodings of repetition and definition levels, of a page of version 1
	levelBytes   [2]int64 // of a page of version 2
	plain        bool     // a page of version 2 whose values are not compressed
}

func (t *thrift) pageHeader() pageHeader {
	var h pageHeader
	t.fields(func(id int, wire byte) {
		switch id {
		case 1:
			h.kind = int(t.integer(wire))
		case 2:
			h.uncompressed = t.integer(wire)
		case 3:
			h.compressed = t.integer(wire)
		case 4:
			h.crc, h.checked = uint32(t.integer(wire)), true
		case 5:
			t.structure(wire, func(id int, wire byte) {
				t.into(id, wire, map[int]*int64{1: &h.values}, map[int]*int{2: &h.encoding, 3: &h.levels[1], 4: &h.levels[0]})
			})
		case 7:
			t.structure(wire, func(id int, wire byte) {
				t.into(id, wire, map[int]*int64{1: &h.values}, map[int]*int{2: &h.encoding})
			})
		case 8:
			t.structure(wire, func(id int, wire byte) {
				if id == 7 {
					h.plain = wire == wireFalse
					return
				}
				t.into(id, wire, map[int]*int64{1: &h.values, 5: &h.levelBytes[1], 6: &h.levelBytes[0]}, map[int]*int{4: &h.encoding})
			})
		default:
			t.skip(wire, false)
		}
	})
	return h
}

// into reads an integer field into the variable of its number, or skips it.
func (t *thrift) into(id int, wire byte, long map[int]*int64, short map[int]*int) {
	if to := long[id]; to != nil {
		*to = t.integer(wire)
	} else if to := short[id]; to != nil {
		*to = int(t.integer(wire))
	} else {
		t.skip(wire, false)
	}
}
