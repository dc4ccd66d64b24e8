package verify

import (
	"strings"
	"testing"
	"time"
)

// TestMeter: completions that are judged together have a budget, which grows with their number.
func TestMeter(t *testing.T) {
	for _, c := range []struct {
		completions int
		each        Cost
		times       int
		want        string // the error of the last one
	}{
		{1, Cost{Steps: 1_000_000}, 10, ""},
		{1, Cost{Steps: 1_000_000}, 11, "has taken 11000000 steps for some of 1 completions that are judged together; accepted: at most 10000000"},
		{256, Cost{Steps: 100_000}, 256, ""},
		{256, Cost{Steps: 1_000_000}, 26, "accepted: at most 25600000"},
		{256, Cost{Time: 4 * time.Second}, 5, ""},
		{256, Cost{Time: 4 * time.Second}, 6, "has taken 24s of processor time for some of 256 completions that are judged together; accepted: at most 20s"},
		{4096, Cost{Time: 50 * time.Millisecond}, 4096, ""},
	} {
		m := NewMeter(c.completions)
		var err error
		for i := range c.times {
			if err = m.Add(c.each); err != nil && i < c.times-1 {
				t.Errorf("%+v: %v after %d", c, err, i+1)
			}
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
