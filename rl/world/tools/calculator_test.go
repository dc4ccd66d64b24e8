package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// calculated is what a calculator says to an expression.
func calculated(t testing.TB, c Calculator, expression string) world.Answer {
	t.Helper()
	args, err := json.Marshal(map[string]string{c.Spec().Text: expression})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Call(t.Context(), args)
	if err != nil {
		t.Fatalf("%q breaks the calculator: %v", expression, err)
	}
	return a
}

// TestCalculator: results are exact, and every mistake is an answer that says what it is.
func TestCalculator(t *testing.T) {
	for expression, want := range map[string]string{
		"47+38-12":               "73",
		"0.1 + 0.2":              "0.3",
		"1/3+1/3":                "2/3",
		"-(2-7)*1,000":           "5000",
		"1/8":                    "0.125",
		"10/4":                   "2.5",
		"3-3":                    "0",
		".5*-4":                  "-2",
		"2 × 3 ÷ 4 − 1":          "0.5",
		"99999999999999999999+1": "100000000000000000000", // no float has it
		"1/(10/3)/3*10":          "1",
		"((1-4)/6)":              "-0.5",
	} {
		if a := calculated(t, Calculator{}, expression); a.Failed || a.Text != want {
			t.Errorf("%q: %+v, want %s", expression, a, want)
		}
	}
	for expression, want := range map[string]string{
		"":                        "it ends where a number is expected",
		"7 apples":                `found "a" where an operator is expected`,
		"1/(3-3)":                 "it divides by zero",
		"2**3":                    `found "*" where a number is expected`,
		"1e9":                     `found "e" where an operator is expected`,
		"1.2.3":                   `"1.2.3": not a number`,
		"1,00":                    `"1,00": not a number`,
		"(1+2":                    `it ends where ")" is expected`,
		strings.Repeat("(", 100):  "nested deeper than 64",
		strings.Repeat("9", 401):  "more than 400 digits",
		strings.Repeat("1+", 600): "it has 1200 bytes; accepted: at most 1024",
		strings.Repeat("9", 60) + "*" + strings.Repeat("9", 60): "the result has more than 100 digits",
	} {
		if a := calculated(t, Calculator{}, expression); !a.Failed || !strings.HasPrefix(a.Text, "mistake: ") || !strings.Contains(a.Text, want) {
			t.Errorf("%.40q: %+v, want %s", expression, a, want)
		}
	}
	for expression, failed := range map[string]bool{"99": false, "-99": false, "50+50": true, "1/2": false, "1/4": true, "1/3": false, "1/11": true} {
		if a := calculated(t, Calculator{Digits: 2}, expression); a.Failed != failed {
			t.Errorf("with two digits %s is %+v", expression, a)
		}
	}
	for _, args := range []string{`{}`, `{"expression":7}`, `{"expression":"7","base":2}`, `null`} {
		if a, err := (Calculator{}).Call(t.Context(), json.RawMessage(args)); err != nil || !a.Failed {
			t.Errorf("arguments %s: %+v, %v", args, a, err)
		}
	}
}

// TestSpec: the schema of the calculator accepts what it accepts, the text of a call among it.
func TestSpec(t *testing.T) {
	s := Calculator{}.Spec()
	schema, err := verify.New("json_schema", map[string]any{"schema": s.Args, "extract": verify.ExtractNone})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"expression":"7"}`: verify.Right, `{}`: verify.Wrong, `{"expression":7}`: verify.Wrong, `{"expression":"7","base":2}`: verify.Wrong,
		string(world.Calls("<calculator>7</calculator>", []world.Spec{s})[0].Args): verify.Right,
	} {
		a, err := Calculator{}.Call(t.Context(), json.RawMessage(args))
		if v := schema.Verify(verify.Problem{}, args); v.Verdict != want || err != nil || a.Failed != (want == verify.Wrong) {
			t.Errorf("%s: the schema says %+v, the calculator %+v, %v", args, v, a, err)
		}
	}
}
