package run

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRate: throughput has two digits at least, also where a token takes seconds.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		tokens int
		took   time.Duration
		want   string
	}{
		{0, time.Second, "0 tok/s"},
		{3, 100 * time.Second, "0.03 tok/s"},
		{45, 100 * time.Second, "0.45 tok/s"},
		{99, 10 * time.Second, "9.9 tok/s"},
		{999, 100 * time.Second, "10 tok/s"},
		{123, 10 * time.Second, "12 tok/s"},
		{9999, time.Second, "9999 tok/s"},
		{12345, time.Second, "12k tok/s"},
		{12345, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d display
			if first := d.rate(7); first != "" {
				t.Errorf("the first step says %q", first)
			}
			time.Sleep(c.took)
			if got := d.rate(c.tokens); got != c.want {
				t.Errorf("%d tokens in %v: %q, want %q", c.tokens, c.took, got, c.want)
			}
		})
	}
}
