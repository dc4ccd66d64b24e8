package awake

import (
	"context"
	"time"
)

// Of a limit, the length of a step: a share, and at most a second.
const (
	steps   = 16
	longest = time.Second
)

// WithTimeout is a copy of parent that ends, with cause, when this process has run for limit.
// [context.Cause] tells that from an end of parent.
func WithTimeout(parent context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		step := min(max(limit/steps, time.Millisecond), longest)
		ticker := time.NewTicker(step)
		defer ticker.Stop()
		last := time.Now()
		for left := limit; left > 0; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now := time.Now()
			left -= min(now.Sub(last), 2*step)
			last = now
		}
		cancel(cause)
	}()
	return ctx, func() { cancel(context.Canceled) }
}
