package cli

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/bench"
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

// TestBenchTokens: a length of completions is one that decode can draw, and a model is given to what measures one.
func TestBenchTokens(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench decode --max-tokens 1", "--max-tokens = 1 with bench decode; accepted: 2 to 4096"},
		{"bench train --max-tokens 64", "--max-tokens = 64 with bench train; accepted: 2 to 4096, with bench decode"},
		{"bench matmul --from runs/a", "--from with bench matmul; accepted: with decode, prefill, train, groups, profile, all, step, models"},
		{"bench groups --from nowhere", "model nowhere: no such file"},
		{"bench decod", "unknown benchmark \"decod\""},
		{"bench decode --max-tokens 64 --large", "--max-tokens and --large"},
	} {
		if code, _, stderr := rlzero(t, strings.Fields(c.args)...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
	}
	if s := bench.Shapes()[0].Drawing(256); s.New != 256 || s.Config.MaxPositions < s.Prompt+256 {
		t.Errorf("%+v", s)
	}
}
