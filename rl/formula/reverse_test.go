package formula

import (
	"slices"
	"testing"
)

// Conventions at ties and kinks: the derivative of a sum over one completion of
// two tokens with logp 1 and 2.
func TestConventions(t *testing.T) {
	d := data{group: []int{0}, tokens: [][]int{{2}}, cols: map[string]Column{}}
	d.add(Fact{Name: "logp", Level: Token, Now: true, Slope: true}, 1, 2)
	d.add(Fact{Name: "mask", Level: Token}, 0, 1)
	for text, want := range map[string][]float64{
		"clip(logp, 1, 2)":                       {1, 1}, // inside the closed interval
		"clip(logp, 1.5, 1.75)":                  {0, 0},
		"clip(logp, 3*logp, inf)":                {3, 3}, // the bound's
		"min(logp, 1)":                           {0.5, 0},
		"max(logp, logp, 0)":                     {1, 1},
		"abs(logp - 1)":                          {0, 1},
		"sqrt(logp - 1)":                         {0, 0.5},
		"if(logp > 0, square(logp), log(-logp))": {2, 4},
		"stop(logp)*logp":                        {1, 2},
		"straight(square(logp), 3*logp)":         {3, 3},
		"mask*exp(1000*(2 - logp))":              {0, -1000}, // infinite where the mask is 0
		"(logp > 1)*logp":                        {0, 1},
		"highest(min(logp, 1))":                  {0.5, 0}, // a tie: 1/2 to each, twice, of which the second has no slope
		"update_token_median(logp)*logp":         {1.5, 1.5},
		"floor(logp)":                            {0, 0},
	} {
		slopes, err := d.compile(t, map[string]string{"f": "token_sum(" + text + ")"}).On(d.table(t)).Slopes("f")
		got := []float64{0, 0}
		if c, ok := slopes["logp"]; ok {
			got = c.V
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: derivative %v, want %v (%v)", text, got, want, err)
		}
	}
}
