package gputest

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

// Losing is a device that is lost: the submission after the first Submissions,
// and every later one, and the waits after them, fail with gpu.ErrDeviceLost, as
// when a driver resets a GPU in the middle of the work.
type Losing struct {
	gpu.Device
	Submissions int // that are done

	Made int // submissions asked for so far
}

var _ gpu.Device = (*Losing)(nil)

func (l *Losing) state() error {
	if l.Made > l.Submissions {
		return fmt.Errorf("%w: submission %d", gpu.ErrDeviceLost, l.Submissions)
	}
	return nil
}

// Submit implements gpu.Device.
func (l *Losing) Submit(p gpu.Program) error {
	l.Made++
	if err := l.state(); err != nil {
		return err
	}
	return l.Device.Submit(p)
}

// Wait implements gpu.Device.
func (l *Losing) Wait() error {
	if err := l.state(); err != nil {
		return err
	}
	return l.Device.Wait()
}
