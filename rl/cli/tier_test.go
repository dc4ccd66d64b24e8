package cli

import (
	"strings"
	"testing"
)

// TestTier: a tier that the device does not have is refused, by the plain-Go device too,
// which has one and reads no other.
func TestTier(t *testing.T) {
	t.Setenv("RLZERO_TIER", "") // which --tier sets
	for _, tier := range []string{"T2", "nosuch"} {
		code, _, stderr := rlzero(t, "bench", "matmul", "--device", "ref", "--tier", tier)
		if code != exitUsage || !strings.Contains(stderr, `--tier is "`+tier+`"; accepted: ref`) {
			t.Errorf("--tier %s: exit code %d, %s", tier, code, stderr)
		}
	}
}
