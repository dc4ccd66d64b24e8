package awake

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errLate = errors.New("late")

func TestWithTimeout(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Microsecond, 100 * time.Millisecond, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := WithTimeout(t.Context(), limit, errLate)
			defer cancel()
			<-ctx.Done()
			took, step := time.Since(began), min(max(limit/steps, time.Millisecond), longest)
			if context.Cause(ctx) != errLate || took < limit || took > limit+2*step {
				t.Errorf("%v: %v after %v", limit, context.Cause(ctx), took)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithTimeout(t.Context(), time.Hour, errLate)
		cancel()
		if context.Cause(ctx) != context.Canceled {
			t.Error(context.Cause(ctx))
		}
		parent, end := context.WithCancel(t.Context())
		ctx, cancel = WithTimeout(parent, time.Hour, errLate)
		defer cancel()
		end()
		<-ctx.Done()
		if context.Cause(ctx) != context.Canceled {
			t.Error(context.Cause(ctx))
		}
	})
}
