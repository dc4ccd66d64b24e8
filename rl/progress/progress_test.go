package progress

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// TestPlainLines: on no terminal, a stage has its first and last step as lines, with
// the steps below each other and no gap where a figure is empty. Neither says anything
// of time that is left: the first compiles shaders, and tells nothing of the others.
func TestPlainLines(t *testing.T) {
	var out strings.Builder
	r := New(&out)
	r.Begin("rl", 0, 200)
	r.Step(1, "reward 0.26", "", "held-out 29 %")
	r.Step(200, "reward 0.70", "800 tok/s")
	r.Line("after %s", "rl")
	r.End()
	want := regexp.MustCompile(`^rl           1/200  reward 0\.26  held-out 29 %
rl         200/200  reward 0\.70  800 tok/s
after rl
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("printed\n%s", out.String())
	}
}

// TestLeft: the time left is that of the steps that are left, also after a process was stopped for an
// hour, and where the clock stands still.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, takes := range map[string]func(step int) time.Duration{
			"3m00s left": func(int) time.Duration { return time.Second },
			"5m42s left": func(step int) time.Duration { // 19 steps, and one that counts as 19
				if step == 10 {
					return time.Hour
				}
				return time.Second
			},
			"0s left": func(int) time.Duration { return 0 },
		} {
			var out strings.Builder
			r := New(&out)
			r.Begin("rl", 100, 300)
			for step := range 20 {
				time.Sleep(takes(step))
				r.printed = time.Time{}
				r.Step(101 + step)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; !strings.HasSuffix(last, "120/300  "+want) {
				t.Errorf("%q, want %s", last, want)
			}
		}
	})
}

// TestExtend: a stage that ends earlier than planned is at its end.
func TestExtend(t *testing.T) {
	var out strings.Builder
	r := New(&out)
	r.Begin("warm-up", 0, 3000)
	r.Extend(7)
	r.Step(7)
	if got, want := out.String(), "warm-up    7/7\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestShort(t *testing.T) {
	for seconds, want := range map[int]string{0: "0s", 59: "59s", 65: "1m05s", 7800: "2h10m"} {
		if got := short(time.Duration(seconds) * time.Second); got != want {
			t.Errorf("%d seconds are %q, want %q", seconds, got, want)
		}
	}
}

// TestNarrow: the time left and the held-out accuracy stay visible on a terminal of 60 columns,
// and no line is longer than the terminal.
func TestNarrow(t *testing.T) {
	for width := 41; width <= 200; width++ {
		r := &Reporter{width: width}
		r.Keep("held-out")
		text := r.fitting([]string{" 12/120", "reward 0.26", "held-out 29 %", "not scored 3 %", "12k tok/s", "1h05m left"}, "1h05m left")
		if n := 10 + r.barWidth() + 2 + utf8.RuneCountInString(text); n > width {
			t.Errorf("%d columns: %d for %q", width, n, text)
		}
		for part, from := range map[string]int{" 12/120": 41, "1h05m left": 41, "held-out 29 %": 60, "reward 0.26": 75, "12k tok/s": 120} {
			if width >= from && !strings.Contains(text, part) {
				t.Errorf("%d columns: no %s in %q", width, part, text)
			}
		}
	}
}
