package packed

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// TestReader: what is packed is read back, and what is cut short gives zeros and an error.
func TestReader(t *testing.T) {
	le := binary.LittleEndian
	whole := AppendText(le.AppendUint64(le.AppendUint64(le.AppendUint32(nil, 7), 1<<40), math.Float64bits(-0.5)), "text")
	for n := range len(whole) + 2 {
		data := append(whole[:len(whole):len(whole)], 0)[:n]
		r := Reader{Data: data}
		got := []any{r.U32(), r.U64(), r.F64(), r.Text()}
		err := r.End()
		switch {
		case n < len(whole) && (!errors.Is(err, ErrShort) || got[3] != ""):
			t.Errorf("%d bytes: %v, %v", n, got, err)
		case n == len(whole) && (err != nil || got[0] != uint32(7) || got[1] != uint64(1<<40) || got[2] != -0.5 || got[3] != "text"):
			t.Errorf("%v, %v", got, err)
		case n > len(whole) && (err == nil || errors.Is(err, ErrShort)):
			t.Errorf("%d bytes too many: %v", n-len(whole), err)
		}
	}
	r := Reader{Data: le.AppendUint32(nil, math.MaxUint32)}
	if n := r.Count(1); n != 0 || !errors.Is(r.End(), ErrShort) {
		t.Errorf("a count of %d", n)
	}
}
