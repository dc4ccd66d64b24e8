package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
)

// TestContinues: a checkpoint is refused where its bits would not be reproduced: under
// another numerics version, also one of matrix cores, and in another tier.
func TestContinues(t *testing.T) {
	plain := gpu.Caps{Name: "a card", Driver: "a driver", Tier: gpu.TierWide, Numerics: "2"}
	cores, other := plain, plain
	cores.Tier, cores.Numerics = gpu.TierMatrix, "2-mma16"
	other.Tier = gpu.TierBase
	for _, c := range []struct {
		saved, now gpu.Caps
		want       string // part of the error; "" for none
	}{
		{plain, plain, ""}, {cores, cores, ""},
		{plain, cores, "numerics version 2, but this device and tier have version 2-mma16"},
		{cores, plain, "numerics version 2-mma16, but this device and tier have version 2:"},
		{plain, other, "a card, a driver, T1"},
	} {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "trainer"), 0o700))
		f, err := os.Create(filepath.Join(dir, filepath.FromSlash(stateFile)))
		must(t, err)
		saved := NewState(c.saved)
		must(t, errors.Join(saved.write(f), f.Close()))
		read, err := ReadState(dir)
		must(t, err)
		switch err := read.continues(NewState(c.now), "checkpoint", "run"); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.saved.Tier, err)
		case c.want != "" && (!errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s under %s: %v, want %q", c.saved.Tier, c.now.Tier, err, c.want)
		}
	}
}
