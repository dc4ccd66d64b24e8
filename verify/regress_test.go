package verify

import "testing"

// TestFinds: what fuzzing and hostile reading found, by number.
func TestFinds(t *testing.T) {
	for i, c := range []struct {
		verifier, answer, completion string
		options                      map[string]any
		want                         string
		wrong                        string // what it was judged before, and why
	}{
		1:  {"countdown", `{"numbers":[8],"target":8}`, "8\x00 and more", map[string]any{"extract": "none"}, Wrong, "right: a zero byte ended the expression"},
		2:  {"json_schema", `{"$ref":"#"}`, "1", nil, NotScored, "wrong, though no value can be judged"},
		3:  {"json_schema", `{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`, "{}", nil, NotScored, "right, and not scored with a in it"},
		4:  {"json_schema", `{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{}}}`, nil, Right, "refused as referring to itself"},
		5:  {"ordering", `["-5","5"]`, "-5, 5", nil, Right, "not scored: the minus was taken for a bullet"},
		6:  {"ordering", "[1.0, 2]", "1, 2", nil, Right, "wrong: 1 is 1.0"},
		7:  {"ordering", `["a","b","c"]`, "a, b, and c", nil, Right, "wrong: \"and c\" is no item"},
		8:  {"multiple_choice", "B", "The correct answer is (B) Paris.", nil, Right, "wrong: no mark behind the bracket"},
		9:  {"multiple_choice", "B", `\boxed{\textbf{(B) }12}`, nil, Right, "wrong"},
		10: {"multiple_choice", "B", "(B) (A)", nil, Wrong, "must stay wrong: two choices"},
		11: {"tool_call", "[]", "No call is needed.", nil, Right, "wrong, though no call is wanted"},
		12: {"tool_call", "[]", `{"name":"f"`, nil, Wrong, "must stay wrong: a call is attempted"},
		13: {"gsm8k", "18", `#### \$18`, nil, Right, "wrong: the backslash"},
		14: {"math", "0.5", `\int_0^2 x dx`, nil, Wrong, "read as the number 0^2 of a text"},
		15: {"math", "3ab", "3", nil, Wrong, "right: the reference was read as 3"},
		16: {"math", "June 20", "July 20", nil, Wrong, "right: the reference was read as 20"},
		17: {"math", "2:3:4", "1/6", nil, Wrong, "right: 2/3/4"},
		18: {"math", `60 \text{ km/h}`, `60 \text{ m/s}`, nil, Wrong, "right: both units were dropped"},
		19: {"math", "(3,4)", "y=3, x=4", nil, Wrong, "right: the names were dropped"},
		20: {"math", `\sin 1`, `\sin 1^\circ`, nil, Wrong, "right: the degree was dropped"},
		21: {"math", "0", "0>==d", nil, Wrong, "a crash: no such relation"},
		22: {"number", "50/100", "50/0100", map[string]any{"extract": "none"}, Right, "right too: the fuzz test's own calculation took 0100 for octal"},
		23: {"math", "5", `0.\overlineA.0}`, nil, Wrong, "a crash: .0 was taken for the digits that repeat"},
		24: {"math", "0", `0.\overline{1,234}`, nil, Wrong, "a crash: the comma was taken for a digit"},
	} {
		if c.verifier == "" {
			continue
		}
		if got := made(t, c.verifier, c.options).Verify(Problem{Answer: c.answer}, c.completion); got.Verdict != c.want {
			t.Errorf("find %d is back (%s): %s of %q and %q: %+v", i, c.wrong, c.verifier, c.answer, c.completion, got)
		}
	}
}
