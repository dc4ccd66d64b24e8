package report

import (
	"math"
	"slices"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v            float64
		number, tick string
	}{
		{0, "0", "0"}, {14, "14.0", "14"}, {0.0123, "0.0123", "0.0123"}, {0.1, "0.100", "0.1"}, {-1.5, "−1.50", "−1.5"}, {100, "100", "100"},
		{999.4, "999", "999"}, {1400, "1,400", "1,400"}, {1234567, "1,234,567", "1,234,567"}, {-12345, "−12,345", "−12,345"}, {0.00001, "1.0e−05", "1.0e−05"},
		{math.NaN(), "–", "–"},
	} {
		if got := number(c.v); got != c.number {
			t.Errorf("number(%v) = %q, want %q", c.v, got, c.number)
		}
		if got := tick(c.v); got != c.tick {
			t.Errorf("tick(%v) = %q, want %q", c.v, got, c.tick)
		}
	}
}

func TestYAxis(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		log    bool
		ticks  []float64
	}{
		{0.3, 0.62, 4, false, []float64{0, 0.2, 0.4, 0.6, 0.8}},
		{0.25, 0.87, 6, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{1, 1, 3, false, []float64{0, 0.5, 1}},
		{-1, 1, 4, false, []float64{-1, -0.5, 0, 0.5, 1}},
		{0, 0, 3, false, []float64{0, 0.5, 1}},
		{14, 14, 3, false, []float64{0, 5, 10, 15}},
		{0.06, 4, 4, true, []float64{0.1, 0.3, 1, 3}},
		{0.004, 40, 4, true, []float64{0.01, 0.1, 1, 10}},
		{0.5, 4, 4, true, []float64{0, 1, 2, 3, 4}},
	} {
		a := yAxis(c.lo, c.hi, c.n, c.log)
		same := func(x, y float64) bool { return math.Abs(x-y) <= 4*0x1p-52*math.Abs(y) } // a product and a power of ten, each rounded
		if !slices.EqualFunc(a.ticks, c.ticks, same) {
			t.Errorf("%v..%v: ticks %v, want %v", c.lo, c.hi, a.ticks, c.ticks)
		}
		for _, v := range []float64{c.lo, c.hi} {
			if at := a.at(v); at < 0 || at > 1 {
				t.Errorf("%v..%v: %v lies at %v, outside", c.lo, c.hi, v, at)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	stages := []stage{{"a", 0, 1300, false}, {"b", 1300, 1360, true}}
	both := spans(stages, 1, 1360)
	if len(both) != 2 || both[0].x0 != 0 || math.Abs(both[1].x1-1) > 0x1p-51 {
		t.Fatalf("%+v", both)
	}
	if w := both[1].x1 - both[1].x0; w < 0.2 {
		t.Errorf("60 steps beside 1300 are %v wide: too narrow to read", w)
	}
	last := math.Inf(-1)
	for step := 1; step <= 1360; step++ {
		x := place(both, float64(step))
		if x <= last || x < 0 || x > 1+0x1p-51 {
			t.Fatalf("step %d lies at %v after %v", step, x, last)
		}
		last = x
	}
	if only := spans(stages, 1300, 1360); len(only) != 1 || only[0].name != "b" {
		t.Errorf("from the last step of a: %+v, want b alone", only)
	}
	if one := spans(stages, 1, 1); len(one) != 1 || place(one, 1) != 1 {
		t.Errorf("one step: %+v", one)
	}
}

func TestStepTicks(t *testing.T) {
	for _, steps := range []int{1, 2, 3, 7, 60, 1400, 123457} {
		ticks := stepTicks(spans([]stage{{"a", 0, steps, false}}, 1, steps), 6)
		if len(ticks) == 0 || len(ticks) > 7 {
			t.Errorf("%d steps: ticks %v", steps, ticks)
		}
		for _, v := range ticks {
			if v.at != math.Trunc(v.at) || v.at < 0 || v.at > float64(steps) || v.at != v.inStage {
				t.Errorf("%d steps: tick %v is no step", steps, v)
			}
		}
	}
}

// TestTicksCountInTheStage: a chart counts steps as the console does, from the start
// of each stage.
func TestTicksCountInTheStage(t *testing.T) {
	ticks := stepTicks(spans([]stage{{"a", 0, 1750, false}, {"b", 1750, 1950, true}}, 1, 1950), 6)
	var second []float64
	for _, v := range ticks {
		if v.at > 1750 {
			if v.at-1750 != v.inStage {
				t.Errorf("step %v of the run is called %v, want %v", v.at, v.inStage, v.at-1750)
			}
			second = append(second, v.inStage)
		}
	}
	if len(second) == 0 || second[len(second)-1] != 200 {
		t.Errorf("ticks of the second stage %v, want some, the last of them 200", second)
	}
}

// at is a point without an interval.
func at(step, stage int, y float64) point { return point{step, stage, y, math.NaN(), math.NaN()} }

func TestSmooth(t *testing.T) {
	const n = 100
	var l line
	for i := range 2 * n {
		l.points = append(l.points, at(i+1, i/n, float64(i/n))) // 0 in one stage, 1 in the next
	}
	for i, p := range l.smooth() {
		if p.y != l.points[i].y {
			t.Fatalf("step %d: %v, want %v: a constant changed, or a stage saw its neighbour", p.step, p.y, l.points[i].y)
		}
	}
	noisy := line{}
	for i := range n {
		noisy.points = append(noisy.points, at(i+1, 0, float64(i%2)))
	}
	noisy.points[40].y = math.NaN()
	s := noisy.smooth()
	if s[0].y != 0 || s[n-1].y != 1 {
		t.Errorf("ends %v and %v are not the data's 0 and 1", s[0].y, s[n-1].y)
	}
	if !math.IsNaN(s[40].y) {
		t.Errorf("a gap became %v", s[40].y)
	}
	for i := 20; i < 80; i++ {
		if i != 40 && math.Abs(s[i].y-0.5) > 0.25 { // half the amplitude of the noise
			t.Errorf("step %d: %v is not smooth", i+1, s[i].y)
		}
	}
	noisy.dots = true
	if s := noisy.smooth(); s[51].y != 1 || s[50].y != 0 {
		t.Error("a line of single measurements was smoothed")
	}
}

func TestThin(t *testing.T) {
	var points []point
	for i := range 10000 {
		points = append(points, at(i+1, 0, math.Sin(float64(i)/500)))
	}
	points[0].y, points[7001].y, points[3003].y = math.NaN(), 9, -9
	points[5000].y = math.NaN()
	out := thin(points, 400)
	if len(out) > 410 { // 200 cells of two, two gaps, two ends, and room
		t.Errorf("%d points are left of %d", len(out), len(points))
	}
	seen := map[int]bool{}
	last := 0
	for _, p := range out {
		if p.step <= last {
			t.Fatalf("step %d after %d", p.step, last)
		}
		last = p.step
		seen[p.step] = true
	}
	for _, step := range []int{1, 3004, 5001, 7002, 10000} {
		if !seen[step] {
			t.Errorf("step %d, an end, a peak or a gap, is lost", step)
		}
	}
}

func TestSpread(t *testing.T) {
	labels := []label{{"", 50, "a"}, {"", 52, "b"}, {"", 51, "c"}, {"", 200, "d"}}
	spread(labels, 10, 100)
	for i := range labels {
		if i > 0 && labels[i].y-labels[i-1].y < textHeight {
			t.Errorf("labels cover each other: %+v", labels)
		}
		if labels[i].y < 10 || labels[i].y > 100 {
			t.Errorf("label outside: %+v", labels[i])
		}
	}
	if labels[0].text != "a" || labels[1].text != "c" || labels[2].text != "b" {
		t.Errorf("order changed: %+v", labels)
	}
}
