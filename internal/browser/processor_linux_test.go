package browser

import (
	"testing"
	"time"
)

// TestParseStat: the name of a process may hold what stands between fields.
func TestParseStat(t *testing.T) {
	pid, parent, took, err := parseStat([]byte("12 (a) b 7) S 34 12 12 0 -1 4194560 0 0 0 0 150 25 0 0 20 0 1 0 100\n"))
	if pid != 12 || parent != 34 || took != 1750*time.Millisecond || err != nil {
		t.Errorf("process %d of %d, %v, %v", pid, parent, took, err)
	}
	for _, bad := range []string{"", "12 (a", "12 (a) S 34", "12 (a) S x 12 12 0 -1 4194560 0 0 0 0 150 25 0"} {
		if _, _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestProcessor: a page that computes takes processor time.
func TestProcessor(t *testing.T) {
	b := Start(t)
	before := b.Processor()
	for range 100 {
		b.Eval("(() => { let sum = 0; for (let i = 0; i < 1e7; i++) sum += i; return sum; })()", nil)
		if b.Processor()-before >= 50*time.Millisecond {
			return
		}
	}
	t.Errorf("a thousand million additions take %v", b.Processor()-before)
}
