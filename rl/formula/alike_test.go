package formula

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// visits is a step of two groups whose segments name the situations that they are in.
func visits() data {
	d := data{group: []int{4, 4, 9}, tokens: [][]int{{1, 1, 1}, {1, 1}, {1, 1}}, cols: map[string]Column{}}
	d.add(Fact{Name: "reward", Level: Completion}, 1, 0, 5)
	d.add(Fact{Name: "x", Level: Segment}, 1, 2, 4, 7, math.NaN(), 30, 10)
	d.add(Fact{Name: "node", Level: Segment}, 0, 1, 0, 1, 2, 0, 0)
	d.add(Fact{Name: "logp", Level: Token, Now: true, Slope: true}, -1, -2, -3, -4, -5, -6, -7)
	d.facts = append(d.facts, Fact{Name: "state", Level: Segment, Text: true})
	d.cols["state"] = Column{Level: Segment, Text: []string{"door", "key", "door", "door", "key", "door", ""}, Why: map[int]string{6: "nobody says where it is"}}
	return d
}

// TestSame: a statistic of equal keys is over the segments of a group, of all its completions, that
// have the key, and of no other group; what is compared may be a text or a number, coarser values stand
// for each segment, and a value that is missing is left out.
func TestSame(t *testing.T) {
	third := math.Sqrt(9) // of 1, 4 and 7: (9+0+9)/2
	none := math.NaN()
	for formula, want := range map[string][]float64{
		"same_mean(x, state)":                    {4, 2, 4, 4, 2, 30, none},
		"same_std(x, state)":                     {third, 0, third, third, 0, 0, none},
		"same_count(state)":                      {3, 2, 3, 3, 2, 1, none},
		"same_mean(x, node)":                     {2.5, 4.5, 2.5, 4.5, none, 20, 20},
		"same_count(node)":                       {2, 2, 2, 2, 1, 2, 2},
		"same_mean(reward, state)":               {2. / 3, 0.5, 2. / 3, 2. / 3, 0.5, 5, none},
		"same_mean(x, reward)":                   {7. / 3, 7. / 3, 7. / 3, 7, 7, 20, 20},
		"same_mean(stop(segment_sum(logp)), 10)": {-3, -3, -3, -3, -3, -6.5, -6.5},
		"same_count(if(state == \"key\", 1, 2))": {3, 2, 3, 3, 2, 1, none},
	} {
		d := visits()
		c, err := d.compile(t, map[string]string{"y": formula}).On(d.table(t)).Column("y")
		if err != nil {
			t.Fatal(err)
		}
		if c.Level != Segment || !slices.EqualFunc(c.V, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 || math.IsNaN(a) && math.IsNaN(b) }) { // a rounding of 2/3
			t.Errorf("%s = %v, want %v", formula, c.V, want)
		}
		for row, y := range c.V {
			if why := c.Why[row]; math.IsNaN(y) && !strings.Contains(why, "nobody says where it is") && why != "same_mean: no value of the group's segments with the same key counts" {
				t.Errorf("%s of row %d: %q", formula, row, why)
			}
		}
	}
}

// TestSameRefused: keys and values that are none, and values with a derivative.
func TestSameRefused(t *testing.T) {
	for formula, want := range map[string]string{
		"same_mean(x, \"door\")":               "text can only be compared",
		"same_mean(stop(logp), state)":         "same_mean takes one value for each segment, found one value for each token; write segment_mean(...)",
		"same_count(stop(logp))":               "same_count takes one value for each segment",
		"same_mean(segment_mean(logp), state)": "takes a constant here, found a value with a derivative",
		"same_mean(x)":                         "same_mean has 1 argument; accepted: same_mean(x, key)",
		"same_count(x, state)":                 "accepted: same_count(key)",
		"x + state":                            "state",
	} {
		d := visits()
		if _, err := Compile(Text{Parts: map[string]string{"y": formula}}, d.facts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", formula, err, want)
		}
	}
}
