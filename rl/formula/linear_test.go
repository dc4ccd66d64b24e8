package formula

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// TestLinear: the factors of a sum are those of its definition, however it is written; anything else is refused where
// it stands.
func TestLinear(t *testing.T) {
	facts := []Fact{{Name: "a", Level: Token}, {Name: "b", Level: Token}}
	linear := func(text string) (map[string]float64, error) {
		p, err := Compile(Text{Parts: map[string]string{"x": text}}, facts)
		if err != nil {
			t.Fatal(err)
		}
		return p.Linear("x")
	}
	for text, want := range map[string]map[string]float64{
		"a":                           {"a": 1},
		"-a":                          {"a": -1},
		"a - 0.5*b":                   {"a": 1, "b": -0.5},
		"w = 2*3; d = a - b; b + w*d": {"a": 6, "b": -5},
		"(a + b)/4 - b*(1 - 3)":       {"a": 0.25, "b": 2.25},
		"2*(a + 1) - 2":               {"a": 2},
	} {
		if got, err := linear(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", text, got, err, want)
		}
	}
	halves := "a0 = a" // each reads the one before it twice
	for k := range 40 {
		halves += fmt.Sprintf("; a%d = 0.5*(a%d + a%[2]d)", k+1, k)
	}
	if got, err := linear(halves + "; a40"); err != nil || !maps.Equal(got, map[string]float64{"a": 1}) {
		t.Errorf("40 halves of what was doubled: %v (%v)", got, err)
	}
	for text, want := range map[string]string{
		"a + b*a":       "column 6: * multiplies what is no number",
		"1/a":           "column 2: / divides by what is no number",
		"a + exp(b)":    "column 5: exp is no sum",
		"mean(a)":       "column 1: mean is no sum",
		"a + 1":         "found 1 beside the sum",
		"1e200*a*1e200": "the factor of a is +Inf",
		"a + b - b":     "the factor of b is 0",
	} {
		if got, err := linear(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}
