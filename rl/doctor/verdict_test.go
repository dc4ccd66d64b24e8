package doctor

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// TestReceiptVerdict: a device that cannot repeat a run fails nothing, and is not called ok.
func TestReceiptVerdict(t *testing.T) {
	for repeatable, want := range map[bool]string{
		true:  "ok  metrics.jsonl  SHA-256 00\nok  this device    detail\nall 1 hashes are those of the receipt\n",
		false: "ok  metrics.jsonl  SHA-256 00\n-   this device    detail\nall 1 hashes are those of the receipt; this device cannot repeat the run\n",
	} {
		r := newReport("dev")
		r.about(gpu.Caps{ID: "ref"})
		r.add("metrics.jsonl", "SHA-256 00", nil, "")
		r.add(thisDevice, "detail", nil, "")
		r.Repeatable = &repeatable
		var out bytes.Buffer
		if err := r.finish().Print(&out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasSuffix(got, want) {
			t.Errorf("repeatable %v: %q", repeatable, got)
		}
	}
}

// TestLeftOut: with matrix cores, finite differences alone are left out, and the report says
// so and why.
func TestLeftOut(t *testing.T) {
	for tier, want := range map[gpu.Tier]int{gpu.TierWide: 0, gpu.TierMatrix: 1, gpu.TierMatrix8: 1} {
		r := newReport("dev")
		for _, s := range allSteps() {
			if why := s.leftOut(false, false, false, tier); why != "" {
				r.leave(s.name, why)
			}
		}
		var out bytes.Buffer
		if err := r.finish().Print(&out); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "not checked: "); n != want || n > 0 && !strings.Contains(out.String(), "not checked: gradients (finite differences") {
			t.Errorf("%s: %q", tier, out.String())
		}
	}
}
