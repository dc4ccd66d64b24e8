package lines

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestTail: the last bytes stay, in their order, however they are written; no more are kept.
func TestTail(t *testing.T) {
	for _, parts := range [][]string{{}, {""}, {"a"}, {"a", "bc"}, {strings.Repeat("a", maxTailBytes)},
		{strings.Repeat("a", maxTailBytes-1), "bc"}, {"a", strings.Repeat("b", maxTailBytes) + "c"}, {strings.Repeat("ab", 3*maxTailBytes), "c", "d"}} {
		var tail Tail
		for _, part := range parts {
			if n, err := fmt.Fprint(&tail, part); n != len(part) || err != nil {
				t.Errorf("%d of %d bytes, %v", n, len(part), err)
			}
		}
		all := strings.Join(parts, "")
		if want := all[max(0, len(all)-maxTailBytes):]; tail.String() != want {
			t.Errorf("%d bytes in %d parts: %d are kept, want %d", len(all), len(parts), len(tail.String()), len(want))
		}
	}
	var tail Tail
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 100 {
				fmt.Fprint(&tail, "ab")
			}
		})
	}
	work.Wait()
	if got := tail.String(); got != strings.Repeat("ab", 800) {
		t.Errorf("written side by side: %q", got)
	}
}
