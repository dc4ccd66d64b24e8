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
