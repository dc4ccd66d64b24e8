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
		8:  {"multiple_choice", "B", "The correct answer is (B) Paris.", nil, Right, "wrong: no mark after the bracket"},
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
		25: {"math", "7", `7\text{, maybe 8}`, nil, Wrong, "right: the words were dropped"},
		26: {"math", "8", `7\text{, maybe 8}`, nil, Wrong, "must stay wrong: the other half of 25"},
		27: {"math", "7", `\boxed{7\text{ alternatively 8}}`, nil, Wrong, "right: the words were dropped"},
		28: {"math", "8", `7\text{ alternatively 8}`, nil, Wrong, "must stay wrong: the other half of 27"},
		29: {"math", "7", `7\text{ oder 8}`, nil, Wrong, "right: the words were dropped"},
		30: {"math", "7", `\text{between 6 and }7`, nil, Wrong, "right: the words in front were dropped"},
		31: {"math", "7", `\boxed{7\text{ maybe eight}}`, nil, Wrong, "right: the words were dropped"},
		32: {"math", "7", `7\text{ rather 8}`, nil, Wrong, "right: the words were dropped, the number with them"},
		33: {"math", "7", `\boxed{7 maybe eight}`, nil, Wrong, "right: the words were dropped"},
		34: {"math", "7", `7\text{ cm, perhaps 8 cm}`, nil, Wrong, "must be wrong: a unit before the other answer"},
		35: {"math", "7", "The answer is 7, maybe 8.", nil, Wrong, "right: the sentence was read up to the comma"},
		36: {"math", "7", `7\text{ cm}`, nil, Right, "must stay right: a unit"},
		37: {"math", "5", `5\text{ apples}`, nil, Right, "must stay right: words after a number"},
		38: {"math", "A", `\text{(A)}`, nil, Right, "must stay right: a choice"},
		39: {"math", "7, 8", `7\text{ or }8`, nil, Right, "must stay right: a list"},
		40: {"math", "3, 4", `\text{for part (a) }3\text{ and }4`, nil, Wrong, "must stay wrong: words beside the list"},
		41: {"math", "7", `\text{Possibly 7}`, nil, Wrong, "must stay wrong: words"},
		42: {"math", "7", `7\text{ outside}`, nil, Right, "must stay right: no word that begins like \"ou\" is one"},
	} {
		if c.verifier == "" {
			continue
		}
		if got := made(t, c.verifier, c.options).Verify(Problem{Answer: c.answer}, c.completion); got.Verdict != c.want {
			t.Errorf("find %d is back (%s): %s of %q and %q: %+v", i, c.wrong, c.verifier, c.answer, c.completion, got)
		}
	}
}
