package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// compact writes structs of Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
type compact struct {
	bytes.Buffer
	last []int // field numbers of the open structs
}

const (
	compactInt    = 5 // i32 and i64 are written alike
	compactBinary = 8
	compactList   = 9
	compactStruct = 12
)

func (c *compact) field(id int, wire byte) {
	c.WriteByte(byte(id-c.last[len(c.last)-1])<<4 | wire)
	c.last[len(c.last)-1] = id
}
func (c *compact) integer(id int, n int64) {
	c.field(id, compactInt)
	c.Write(binary.AppendVarint(nil, n))
}
func (c *compact) text(id int, s string) {
	c.field(id, compactBinary)
	c.Write(binary.AppendUvarint(nil, uint64(len(s))))
	c.WriteString(s)
}
func (c *compact) list(id, n int) {
	c.field(id, compactList)
	c.WriteByte(byte(n)<<4 | compactStruct)
}
func (c *compact) begin() { c.last = append(c.last, 0) }
func (c *compact) end()   { c.WriteByte(0); c.last = c.last[:len(c.last)-1] }

// bomb is a Parquet file of one column of booleans, whose page holds so many of them in one run, and is
// stored as it is or compressed.
func bomb(t *testing.T, rows int64, codec int, page []byte, inflated int) []byte {
	t.Helper()
	var head, foot compact
	head.begin()
	head.integer(1, pageData)
	head.integer(2, int64(inflated))
	head.integer(3, int64(len(page)))
	head.field(5, compactStruct)
	head.begin()
	head.integer(1, rows)
	head.integer(2, encodingRLE)
	head.integer(3, encodingRLE)
	head.integer(4, encodingRLE)
	head.end()
	head.end()
	foot.begin()
	foot.list(2, 2)
	foot.begin() // the root
	foot.text(4, "root")
	foot.integer(5, 1)
	foot.end()
	foot.begin()
	foot.integer(1, typeBoolean)
	foot.integer(3, required)
	foot.text(4, "answer")
	foot.end()
	foot.list(4, 1)
	foot.begin()
	foot.list(1, 1)
	foot.begin()
	foot.field(3, compactStruct)
	foot.begin()
	foot.integer(4, int64(codec))
	foot.integer(5, rows)
	foot.integer(7, int64(head.Len()+len(page)))
	foot.integer(9, 4)
	foot.end()
	foot.end()
	foot.integer(3, rows)
	foot.end()
	foot.end()
	var file bytes.Buffer
	file.WriteString("PAR1")
	file.Write(head.Bytes())
	file.Write(page)
	file.Write(foot.Bytes())
	file.Write(binary.LittleEndian.AppendUint32(nil, uint32(foot.Len())))
	file.WriteString("PAR1")
	return file.Bytes()
}

// TestInflation: a file of some hundred bytes that stands for a thousand million rows, or for
// pages of hundreds of megabytes, is refused once it was inflated to the bound.
func TestInflation(t *testing.T) {
	read := func(data []byte, most int64) (rows int64, err error) {
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(mostInflated + mostTimes*len(data)); f.most != want {
			t.Errorf("bound %d, want %d", f.most, want)
		}
		f.most = min(f.most, most) // so that the test is quick
		err = f.Each(1<<20, func(row int64, _ []json.RawMessage) error { rows = row; return nil })
		return rows, err
	}
	run := func(n int64) []byte { // a run of n times true, as long as an encoder would write it
		body := append(binary.AppendUvarint(nil, uint64(n)<<1), 1)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	if rows, err := read(bomb(t, 1000, codecNone, run(1000), len(run(1000))), mostInflated); err != nil || rows != 1000 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	data := bomb(t, 1e9, codecNone, run(1e9), len(run(1e9)))
	rows, err := read(data, 1<<20)
	if err == nil || !strings.Contains(err.Error(), "the file inflates to more than 1048576 bytes") || rows > 1<<20/rowBytes {
		t.Errorf("%d bytes: %d rows, %v", len(data), rows, err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	const megabytes = 8
	page := z.EncodeAll(append(run(1), make([]byte, megabytes<<20)...), nil)
	data = bomb(t, 1, codecZstd, page, len(run(1))+megabytes<<20)
	if rows, err := read(data, 1<<20); err == nil || !strings.Contains(err.Error(), "inflates to more than") || rows != 0 {
		t.Errorf("%d bytes of zstd: %d rows, %v", len(data), rows, err)
	}
}
