package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTwoEvaluations: of a run that is tested after each stage only, nothing is known
// between.
func TestTwoEvaluations(t *testing.T) {
	r := &Run{Name: "two"}
	for step := 1; step <= 20; step++ {
		p := Point{step, "warm-up", map[string]float64{"sft/loss": 1 / float64(step)}}
		if step > 10 {
			p = Point{step, "rl", map[string]float64{"reward/mean": float64(step) / 20}}
		}
		if step%10 == 0 {
			p.Values["eval/pass@1"] = float64(step) / 40
		}
		r.Metrics = append(r.Metrics, p)
	}
	if n := moves(t, Curves(r)["accuracy.svg"]); n != 2 {
		t.Errorf("two measurements are drawn in %d pieces, want 2", n)
	}
}

// TestOldLineIsDropped: greedy is measured after a stage. While the next one runs, its
// old value does not stand beside newer ones.
func TestOldLineIsDropped(t *testing.T) {
	r := fake(30, 30) // its greedy is that after the warm-up
	if svg := string(Curves(r)["accuracy.svg"]); strings.Contains(svg, "greedy") {
		t.Error("greedy of the stage before is drawn")
	}
	r.Metrics[len(r.Metrics)-1].Values["eval/greedy"] = 0.7
	if svg := string(Curves(r)["accuracy.svg"]); !strings.Contains(svg, "greedy 70.0 %") {
		t.Error("greedy of the last stage is not drawn")
	}
}

// TestStackFillsTheWhole: the areas of the groups lie on each other and end at 100 %.
func TestStackFillsTheWhole(t *testing.T) {
	r := fake(0, 40)
	charts, _ := r.charts(r.stages())
	for i := range charts {
		c := &charts[i]
		if !c.stack {
			continue
		}
		svg := string(Curves(r)["groups.svg"])
		areas := regexp.MustCompile(`class="area (\w+)" d="M([\d.]+) ([\d.]+)L[^Z]*?([\d.]+) ([\d.]+)Z"`).FindAllStringSubmatch(svg, -1)
		if len(areas) != 3 {
			t.Fatalf("%d areas, want wrong, mixed and right", len(areas))
		}
		p := c.layout(r.stages(), smallSize)
		below := p.py(0)
		for j, a := range areas {
			if want := []string{"wrong", "mixed", "right"}[j]; a[1] != want {
				t.Errorf("area %d is %s, want %s", j, a[1], want)
			}
			top, errTop := strconv.ParseFloat(a[3], 64)
			base, errBase := strconv.ParseFloat(a[5], 64)
			// Coordinates are rounded to a tenth.
			if errTop != nil || errBase != nil || math.Abs(base-below) > 0.1 || top >= base {
				t.Errorf("%s reaches from %v to %v, want it to begin at %.1f", a[1], base, top, below)
			}
			below = top
		}
		if math.Abs(below-p.py(1)) > 0.1 {
			t.Errorf("the areas end at %v, want %.1f, which is 100 %%", below, p.py(1))
		}
		return
	}
	t.Fatal("no chart of groups")
}

// TestTicksDiffer: two lines of a scale never have one label.
func TestTicksDiffer(t *testing.T) {
	for _, most := range []float64{1, 0.3, 0.07, 0.002, 0.00013} {
		r := &Run{Name: "small"}
		for i := range 30 {
			r.Metrics = append(r.Metrics, Point{i + 1, "rl", map[string]float64{"policy/clip_fraction": most * float64(i) / 29}})
		}
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`text-anchor="end">([^<]*)<`).FindAllStringSubmatch(string(Curves(r)["clip.svg"]), -1) {
			if seen[m[1]] {
				t.Errorf("up to %v: %q stands at two lines", most, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 3 {
			t.Errorf("up to %v: ticks %v", most, seen)
		}
	}
}

// TestOverlap: two intervals that overlap are said to.
func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      bool
	}{{0.28, 0.34, true}, {0.31, 0.34, false}, {math.NaN(), math.NaN(), false}} {
		before := &Evaluation{Stage: "a", PassAt: map[int]float64{1: 0.27}, Low: 0.24, High: 0.3}
		after := &Evaluation{Stage: "b", PassAt: map[int]float64{1: 0.32}, Low: c.low, High: c.high}
		if h := newHeadline(before, after, nil); h.Overlap != c.want {
			t.Errorf("0.24 to 0.30 and %v to %v: overlap is %v", c.low, c.high, h.Overlap)
		}
	}
}

// TestTerms: a composed reward is drawn with its terms, as many as have a colour.
func TestTerms(t *testing.T) {
	r := fake(0, 30)
	for i := range r.Metrics {
		for j := range maxLines + 1 {
			r.Metrics[i].Values[fmt.Sprint("reward/term/t", j)] = float64(i+j) / 40
		}
	}
	svg := string(Curves(r)["reward.svg"])
	if n := strings.Count(svg, `class="line s`); n != maxLines {
		t.Errorf("%d lines, want %d", n, maxLines)
	}
	if !strings.Contains(svg, ">total 0.700<") || !strings.Contains(svg, ">t0 ") {
		t.Error("the lines have no names")
	}
}
