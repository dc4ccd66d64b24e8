package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// armOf has a run for each list of right samples of problems, of four samples each.
func armOf(name string, runs ...[]int) Arm {
	a := Arm{Name: name}
	for s, right := range runs {
		t := &Trial{Seed: uint64(s + 1), Tokens: []float64{10}, Curves: map[string]Curve{"policy/entropy": {[]float64{10}, []float64{float64(right[0])}}}}
		for _, r := range right {
			t.Problems = append(t.Problems, record.Outcome{Scored: 4, Right: r})
		}
		a.Trials = append(a.Trials, t)
	}
	return a
}

// TestDifference: counted by hand, with each of the three verdicts.
func TestDifference(t *testing.T) {
	control := armOf("control", []int{1, 1, 1, 1}, []int{1, 1, 2, 1}, []int{1, 1, 1, 2})
	better := armOf("better", []int{3, 3, 3, 3}, []int{3, 3, 4, 3}, []int{3, 4, 3, 3})
	mixed := armOf("mixed", []int{1, 0, 1, 2}, []int{2, 1, 1, 0}, []int{0, 2, 1, 1})
	for _, c := range []struct {
		arm       Arm
		metric    string
		direction string
		mean      float64
		want      string
	}{
		{better, "eval/pass@1", "higher", (12 + 13 + 13 - 4 - 5 - 5) / 48.0, Agrees},
		{better, "eval/pass@1", "lower", (12 + 13 + 13 - 4 - 5 - 5) / 48.0, Disagrees},
		{mixed, "eval/pass@1", "higher", (4 + 4 + 4 - 4 - 5 - 5) / 48.0, NotTold},
		{better, "policy/entropy", "higher", 2, Agrees},
		{better, "policy/entropy", "lower", 2, Disagrees},
	} {
		d, err := Difference(control, c.arm, c.metric)
		if err != nil || math.Abs(d.Mean-c.mean) > 1e-12 || d.Verdict(c.direction) != c.want {
			t.Errorf("%s %s: %+v, %v, %s; want %g, %s", c.arm.Name, c.metric, d, err, d.Verdict(c.direction), c.mean, c.want)
		}
	}
	if d, err := Difference(armOf("a", []int{1, 2}), armOf("b", []int{2, 3}), "policy/entropy"); err != nil || d.Verdict("higher") != NotTold {
		t.Errorf("one seed: %+v, %v: %s", d, err, d.Verdict("higher"))
	}
	for _, metric := range []string{"eval/pass@8", "reward/mean"} {
		if _, err := Difference(control, better, metric); err == nil {
			t.Errorf("%s is not measured, and there is no error", metric)
		}
	}
}

// TestRisen: against the start, on the same problems, and against the first step.
func TestRisen(t *testing.T) {
	arm := armOf("arm", []int{3, 3, 3, 3}, []int{3, 3, 4, 3}, []int{3, 4, 3, 3})
	for i := range arm.Trials {
		arm.Trials[i].Tokens = []float64{10, 20}
		arm.Trials[i].Curves["policy/entropy"] = Curve{[]float64{10, 20}, []float64{3, float64(2 - i)}}
		for range 4 {
			arm.Trials[i].Before = append(arm.Trials[i].Before, record.Outcome{Scored: 4, Right: 1})
		}
	}
	if d, err := Risen(arm, "eval/pass@1"); err != nil || math.Abs(d.Mean-(12+13+13-12)/48.0) > 1e-12 || d.Verdict("higher") != Agrees {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := Risen(arm, "policy/entropy"); err != nil || d.Mean != -2 || d.Verdict("lower") != NotTold { // -1, -2, -3: from -4.5 to 0.5
		t.Errorf("%+v, %v: %s", d, err, d.Verdict("lower"))
	}
	arm.Trials[1].Before = nil
	if _, err := Risen(arm, "eval/pass@1"); err == nil {
		t.Error("a run that did not evaluate its start is measured against it")
	}
	if _, err := Risen(arm, "reward/mean"); err == nil {
		t.Error("a metric that no step has is measured")
	}
}

// TestMeasured: what is written is read again, and a line whose verdict is not that of its interval,
// or that has other columns, is refused with its place.
func TestMeasured(t *testing.T) {
	m := Measured{Recipe: "raft", Metric: "eval/pass@1", Than: "rloo; stage.rl.steps=3", Direction: "lower", Difference: Interval{-0.1, -0.2, -0.05},
		Seeds: 3, Budget: 1000, Device: "llvmpipe", Release: "v1", Own: "aa", Control: "bb", Start: "cc"}
	text := string(WriteMeasured([]Measured{m}))
	all, err := ReadMeasured("papers.tsv", text)
	if err != nil || len(all) != 1 || all[0] != m || m.Verdict() != Agrees || !m.Counts("aa", "bb") || m.Counts("aa", "b") || m.Counts("a", "bb") {
		t.Errorf("%+v, %v", all, err)
	}
	for old, want := range map[string]string{Agrees: "line 2 says", "1000": "line 2: column 9", "-0.2": "line 2: column 6", "\tcc": "line 2 has 14 columns", "recipe\t": "line 1: the columns"} {
		if _, err := ReadMeasured("papers.tsv", strings.Replace(text, old, strings.Replace("x", "x", map[bool]string{true: "", false: "x"}[old == "\tcc"], 1), 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %q: %v, want %q", old, err, want)
		}
	}
}
