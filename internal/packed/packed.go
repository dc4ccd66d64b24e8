package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrShort: the data end too early, or a number in them is larger than they are.
var ErrShort = errors.New("the data are cut short")

// Reader reads what is packed. After the first error it gives zeros.
type Reader struct {
	Data []byte // what is left
	Err  error
}

// Take is the next n bytes; none if there are fewer.
func (r *Reader) Take(n int) []byte {
	if r.Err != nil || n > len(r.Data) {
		r.Err = ErrShort
		return nil
	}
	head := r.Data[:n]
	r.Data = r.Data[n:]
	return head
}

// U32 is a number of four bytes.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 is a number of eight bytes.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// F64 is a float64.
func (r *Reader) F64() float64 { return math.Float64frombits(r.U64()) }

// Count is a number, of four bytes, of things of at least so many bytes each: no more than
// are left.
func (r *Reader) Count(size int) int {
	n := int(r.U32())
	if n > len(r.Data)/size {
		r.Err = ErrShort
		return 0
	}
	return n
}

// Text is a text after its length in four bytes.
func (r *Reader) Text() string { return string(r.Take(r.Count(1))) }

// End is the error of the whole: data that are left over are one.
func (r *Reader) End() error {
	if r.Err == nil && len(r.Data) > 0 {
		return fmt.Errorf("%d bytes too many", len(r.Data))
	}
	return r.Err
}

// AppendText packs a text.
func AppendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}
