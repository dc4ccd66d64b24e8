package run

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// TestDeviceLost: a run whose device is lost in the middle of the work, wherever
// that is, fails with gpu.ErrDeviceLost and, resumed on a device that is well,
// ends in the bytes of an undisturbed one.
func TestDeviceLost(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	base := t.TempDir()
	whole := &gputest.Losing{Device: tester(t), Submissions: math.MaxInt}
	if err := lose(t, whole, base); err != nil {
		t.Fatal(err)
	}
	want := runFiles(t, base)
	const moments = 6 // spread over warm-up, rollouts, updates and evaluations
	for i := range moments {
		dir := t.TempDir()
		lost := &gputest.Losing{Device: tester(t), Submissions: whole.Made * i / moments}
		if err := lose(t, lost, dir); !errors.Is(err, gpu.ErrDeviceLost) {
			t.Fatalf("lost after %d of %d submissions: error %v", lost.Submissions, whole.Made, err)
		}
		trainIn(t, dir, true, smallRun...)
		sameRun(t, runFiles(t, dir), want)
		if t.Failed() {
			t.Fatalf("lost after %d of %d submissions", lost.Submissions, whole.Made)
		}
	}
}

func lose(t *testing.T, dev gpu.Device, dir string) error {
	t.Helper()
	_, err := Train(context.Background(), Options{Opened: opened(t, shortRecipe(t, smallRun...)), Dir: dir, Device: dev, Show: io.Discard})
	return err
}
