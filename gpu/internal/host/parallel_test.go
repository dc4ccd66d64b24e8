package host

import (
	"fmt"
	"sync/atomic"
	"testing"
)

func TestParallel(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		var calls atomic.Int64
		if err := Parallel(n, func(int) error { calls.Add(1); return nil }); err != nil || calls.Load() != int64(n) {
			t.Errorf("%d calls of %d, %v", calls.Load(), n, err)
		}
	}
	err := Parallel(9, func(i int) error {
		if i%4 == 3 {
			return fmt.Errorf("call %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "call 3\ncall 7" {
		t.Errorf("errors %v, want those of calls 3 and 7 in order", err)
	}
}
