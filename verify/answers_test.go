package verify

import (
	"math"
	"strings"
	"testing"
)

// judged is a line to grade and what has to come out.
type judged struct {
	line    string
	verdict string
	score   float64 // looked at where the verdict is Graded
}

// checkLines grades lines with a verifier; \n and quotes are as in JSON.
func checkLines(t *testing.T, verifier string, lines []judged) {
	t.Helper()
	for _, c := range lines {
		got, err := Grade([]byte(c.line), verifier)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		checkVerdict(t, got)
		if got.Verdict != c.verdict || c.verdict == Graded && math.Abs(got.Score-c.score) > 1e-12 { // one or two roundings of numbers below 1
			t.Errorf("%s: %+v, want %s %g", c.line, got, c.verdict, c.score)
		}
	}
}

func TestGSM8K(t *testing.T) {
	checkLines(t, "gsm8k", []judged{
		{`{"answer":"18","completion":"so 18\n#### 18"}`, Right, 0},
		{`{"answer":"He has 9*2=18.\n#### 18","completion":"#### 18.0"}`, Right, 0},
		{`{"answer":"18","completion":"#### $18.00."}`, Right, 0},
		{`{"answer":"1234","completion":"#### 1,234 dollars"}`, Right, 0},
		{`{"answer":"18","completion":"#### 17\n#### 18"}`, Right, 0},
		{`{"answer":"-3","completion":"#### -3"}`, Right, 0},
		{`{"answer":"18","completion":"#### 18 or 19"}`, Wrong, 0},
		{`{"answer":"18","completion":"#### 18\n#### 19"}`, Wrong, 0},
		{`{"answer":"18","completion":"The answer is 18"}`, Wrong, 0},
		{`{"answer":"18","completion":"The answer is 18","options":{"extract":"flexible"}}`, Right, 0},
		{`{"answer":"18","completion":"3 then 18 apples","options":{"extract":"flexible"}}`, Right, 0},
		{`{"answer":"18","completion":"#### ","options":{"extract":"flexible"}}`, Wrong, 0},
		{`{"answer":"18","completion":"<think>#### 18"}`, Wrong, 0},
		{`{"answer":"18","completion":"<think>#### 18</think>"}`, Wrong, 0},
		{`{"answer":"18","completion":""}`, Wrong, 0},
		{`{"answer":"many","completion":"#### 18"}`, NotScored, 0},
	})
}

func TestMultipleChoice(t *testing.T) {
	checkLines(t, "multiple_choice", []judged{
		{`{"answer":"B","completion":"B"}`, Right, 0},
		{`{"answer":"B","completion":"(b)"}`, Right, 0},
		{`{"answer":"(B)","completion":"B) Paris"}`, Right, 0},
		{`{"answer":"B","completion":"A is wrong.\nThe answer is (B)."}`, Right, 0},
		{`{"answer":"B","completion":"**Answer: B**"}`, Right, 0},
		{`{"answer":"B","completion":"\\boxed{\\text{B}}"}`, Right, 0},
		{`{"answer":"B","completion":"<answer>B. Paris</answer>"}`, Right, 0},
		{`{"answer":"B","choices":["Rome","Paris"],"completion":"The answer is Paris."}`, Right, 0},
		{`{"answer":1,"choices":["Rome","Paris"],"completion":"B"}`, Right, 0},
		{`{"answer":"Paris","choices":["Rome","Paris"],"completion":"B"}`, Right, 0},
		{`{"answer":"B","completion":"A"}`, Wrong, 0},
		{`{"answer":"A","completion":"A good question.\nB or C might do."}`, Wrong, 0},
		{`{"answer":"A","completion":"A good answer"}`, Wrong, 0},
		{`{"answer":"B","completion":"B or C"}`, Wrong, 0},
		{`{"answer":"B","completion":"B, C"}`, Wrong, 0},
		{`{"answer":"B","completion":"(B) (C)"}`, Wrong, 0},
		{`{"answer":"B","completion":"(A), (B), (C), (D)"}`, Wrong, 0},
		{`{"answer":"B","completion":"B) or (C)"}`, Wrong, 0},
		{`{"answer":"B","choices":["Rome","Paris"],"completion":"B. Rome"}`, Wrong, 0},
		{`{"answer":"B","choices":["Rome","Paris"],"completion":"C"}`, Wrong, 0},
		{`{"answer":"B","completion":"The correct option is (B)."}`, Right, 0},
		{`{"answer":"B","completion":"The answer is B, because A is too small."}`, Right, 0},
		{`{"answer":"B","completion":"\\boxed{\\mathbf{B}}"}`, Right, 0},
		{`{"answer":"B","completion":"<answer>\\boxed{B}</answer>"}`, Right, 0},
		{`{"answer":"B","completion":"The answer is \\(B\\)."}`, Right, 0},
		{`{"answer":"B","completion":"B. Washington, D.C."}`, Right, 0},
		{`{"answer":"B","completion":"(B) vitamins A and C"}`, Right, 0},
		{`{"answer":"B","choices":["A or B","B or C"],"completion":"B) B or C"}`, Right, 0},
		{`{"answer":"B","completion":"B) A)"}`, Wrong, 0},
		{`{"answer":"B","completion":"B. A"}`, Wrong, 0},
		{`{"answer":"B","completion":"B - C"}`, Wrong, 0},
		{`{"answer":"B","completion":"B) Paris or C) Rome"}`, Wrong, 0},
		{`{"answer":"B","completion":"B. Paris, or C. Rome"}`, Wrong, 0},
		{`{"answer":"B","completion":"B - no, C"}`, Wrong, 0},
		{`{"answer":"B","completion":"B: or maybe A"}`, Wrong, 0},
		{`{"answer":"B","completion":"The answer is not B."}`, Wrong, 0},
		{`{"answer":"B","completion":""}`, Wrong, 0},
		{`{"answer":"42","completion":"B"}`, NotScored, 0},
		{`{"answer":"C","choices":["Rome","Paris"],"completion":"B"}`, NotScored, 0},
	})
}

func TestRegex(t *testing.T) {
	checkLines(t, "regex", []judged{
		{`{"pattern":"a+b","completion":"aab"}`, Right, 0},
		{`{"answer":"a+b","completion":"aab"}`, Right, 0},
		{`{"pattern":"a|b","completion":"ab"}`, Wrong, 0},
		{`{"pattern":"a+b","completion":"xaab"}`, Wrong, 0},
		{`{"pattern":"a+b","completion":"xaabx","options":{"anchored":false}}`, Right, 0},
		{`{"pattern":"5","completion":"The answer is 5.","options":{"extract":"announced"}}`, Right, 0},
		{`{"answer":"x","completion":"y","options":{"pattern":"y"}}`, Right, 0},
		{`{"pattern":"a\n","completion":"a"}`, Wrong, 0},
		{`{"pattern":"(a","completion":"a"}`, NotScored, 0},
		{`{"pattern":"(a)\\1","completion":"aa"}`, NotScored, 0},
		{`{"completion":"aa"}`, NotScored, 0},
	})
	if _, err := New("regex", map[string]any{"pattern": "a)|(b"}); err == nil {
		t.Error("an expression that is none was accepted as an option")
	}
	if v, _ := Grade([]byte(`{"pattern":"(a+)+b","completion":"`+strings.Repeat("a", 100_000)+`"}`), "regex"); v.Verdict != Wrong {
		t.Errorf("%+v", v)
	}
}

func TestJSONSchema(t *testing.T) {
	const schema = `"schema":{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],"additionalProperties":false}`
	checkLines(t, "json_schema", []judged{
		{`{` + schema + `,"completion":"{\"a\":1}"}`, Right, 0},
		{`{` + schema + `,"completion":"Here:\n` + "```json\\n{\\\"a\\\":1.0}\\n```" + `"}`, Right, 0},
		{`{` + schema + `,"completion":"<think>{}</think><answer>{\"a\":1}</answer>"}`, Right, 0},
		{`{"answer":"{\"type\":\"array\"}","completion":"[]"}`, Right, 0},
		{`{` + schema + `,"completion":"{\"a\":-1}"}`, Wrong, 0},
		{`{` + schema + `,"completion":"{\"a\":1,\"b\":2}"}`, Wrong, 0},
		{`{` + schema + `,"completion":"{\"a\":1,\"a\":2}"}`, Wrong, 0},
		{`{` + schema + `,"completion":"{\"a\":1} {}"}`, Wrong, 0},
		{`{` + schema + `,"completion":"{\"a\":1e999999999}"}`, Wrong, 0},
		{`{` + schema + `,"completion":"It is {\"a\":1}"}`, Wrong, 0},
		{`{` + schema + `,"completion":""}`, Wrong, 0},
		{`{` + schema + `,"completion":"{\"a\":"}`, Wrong, 0},
		{`{"schema":{"uniqueItems":true},"completion":"[1,1.0]"}`, Wrong, 0},
		{`{"schema":{"$ref":"file:///etc/passwd"},"completion":"1"}`, NotScored, 0},
		{`{"schema":{"$ref":"https://example.com/a.json"},"completion":"1"}`, NotScored, 0},
		{`{"schema":{"type":"no such type"},"completion":"1"}`, NotScored, 0},
		{`{"completion":"1"}`, NotScored, 0},
	})
	for name, text := range map[string]string{
		"depth": strings.Repeat("[", 5000), "items": "[" + strings.Repeat("1,", 5000) + "1]",
		"nodes": "[" + strings.Repeat("[1,1,1,1,1,1,1,1,1,1],", 1500) + "1]", "digits": strings.Repeat("9", 5000),
	} {
		if _, err := decodeJSON(text); err == nil {
			t.Errorf("over budget and read: %s", name)
		}
	}
}

func TestIoU(t *testing.T) {
	checkLines(t, "iou", []judged{
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,2,2]]"}`, Right, 0},
		{`{"answer":[0,0,2,2],"completion":"[0.0,0,2,2]"}`, Right, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,2,1]]"}`, Graded, 0.5},
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,2,2],[0,0,2,2]]"}`, Graded, 0.5},
		{`{"answer":[[0,0,2,2],[5,5,6,6]],"completion":"[[5,5,6,6],[0,0,2,2]]"}`, Right, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[{\"bbox_2d\":[0,0,2,2],\"label\":\"cat\"}]"}`, Right, 0},
		{`{"answer":[{"box":[0,0,2,2],"label":"dog"}],"completion":"[{\"bbox\":[0,0,2,2],\"label\":\"cat\"}]"}`, Wrong, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,2,2]]","options":{"format":"xywh"}}`, Right, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,2,1]]","options":{"min_iou":0.6}}`, Wrong, 0},
		{`{"spans":[[1,3]],"completion":"[2,4]","options":{"kind":"span"}}`, Graded, 1.0 / 3},
		{`{"answer":[],"completion":"[]"}`, Right, 0},
		{`{"answer":[],"completion":"[[0,0,1,1]]"}`, Wrong, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[]"}`, Wrong, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[[2,2,0,0]]"}`, Wrong, 0},
		{`{"answer":[[0,0,2,2]],"completion":"[[0,0,1e300,1e300]]"}`, Wrong, 0},
		{`{"answer":[[0,0,2,2]],"completion":"0,0,2,2"}`, Wrong, 0},
		{`{"answer":"none","completion":"[]"}`, NotScored, 0},
	})
}

// TestAssignment compares with trying all assignments.
func TestAssignment(t *testing.T) {
	random := newRand(1)
	for range 200 {
		rows, columns := 1+random.IntN(5), 1+random.IntN(5)
		values := make([][]float64, rows)
		for i := range values {
			for range columns {
				values[i] = append(values[i], float64(random.IntN(8))/8) // exact sums
			}
		}
		if got, want := assignment(values), bestOf(values, 0, 0); got != want {
			t.Fatalf("%v: %g, want %g", values, got, want)
		}
	}
}

func bestOf(values [][]float64, row int, used uint) float64 {
	if row == len(values) {
		return 0
	}
	best := bestOf(values, row+1, used)
	for j, v := range values[row] {
		if used>>j&1 == 0 {
			best = max(best, v+bestOf(values, row+1, used|1<<j))
		}
	}
	return best
}

func TestOrdering(t *testing.T) {
	checkLines(t, "ordering", []judged{
		{`{"answer":["a","b","c"],"completion":"a, b, c"}`, Right, 0},
		{`{"answer":["a","b","c"],"completion":"1. A\n2. B\n3. C"}`, Right, 0},
		{`{"answer":"a > b > c","completion":"<answer>[\"a\",\"b\",\"c\"]</answer>"}`, Right, 0},
		{`{"items":[3,1,2],"completion":"\\boxed{3, 1, 2}"}`, Right, 0},
		{`{"answer":["a","b","c"],"completion":"a, c, b"}`, Wrong, 0},
		{`{"answer":["a","b","c"],"completion":"a, c, b","options":{"score":"pairs"}}`, Graded, 2.0 / 3},
		{`{"answer":["a","b","c"],"completion":"a, c, b","options":{"score":"positions"}}`, Graded, 1.0 / 3},
		{`{"answer":["a","b","c"],"completion":"c, b, a","options":{"score":"pairs"}}`, Wrong, 0},
		{`{"answer":["a","b","c"],"completion":"a, b","options":{"score":"pairs"}}`, Wrong, 0},
		{`{"answer":["a","b","c"],"completion":"a, b, b","options":{"score":"pairs"}}`, Wrong, 0},
		{`{"answer":["a","b","c"],"completion":"a, b, c, a"}`, Wrong, 0},
		{`{"answer":["a","b","c"],"completion":""}`, Wrong, 0},
		{`{"answer":["a","a"],"completion":"a, a"}`, NotScored, 0},
		{`{"answer":"a","completion":"a"}`, NotScored, 0},
	})
}

func TestToolCall(t *testing.T) {
	const one = `"answer":{"name":"f","arguments":{"x":1,"y":[2,3]}}`
	const two = `"tool_calls":[{"name":"f","arguments":{}},{"name":"g","arguments":{"a":null}}]`
	checkLines(t, "tool_call", []judged{
		{`{` + one + `,"completion":"{\"name\":\"f\",\"arguments\":{\"y\":[2,3.0],\"x\":1.0}}"}`, Right, 0},
		{`{` + one + `,"completion":"I call it. <tool_call>\n{\"name\":\"f\",\"arguments\":{\"x\":1,\"y\":[2,3]}}\n</tool_call>"}`, Right, 0},
		{`{` + one + `,"completion":"[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1,\\\"y\\\":[2,3]}\"}}]"}`, Right, 0},
		{`{` + one + `,"completion":"{\"name\":\"f\",\"parameters\":{\"x\":1,\"y\":[2,3]}}"}`, Right, 0},
		{`{` + one + `,"completion":"{\"name\":\"f\",\"arguments\":{\"x\":1,\"y\":[3,2]}}"}`, Wrong, 0},
		{`{` + one + `,"completion":"{\"name\":\"f\",\"arguments\":{\"x\":\"1\",\"y\":[2,3]}}"}`, Wrong, 0},
		{`{` + one + `,"completion":"{\"name\":\"f\",\"arguments\":{\"x\":1}}"}`, Wrong, 0},
		{`{` + one + `,"completion":"{\"name\":\"F\",\"arguments\":{\"x\":1,\"y\":[2,3]}}"}`, Wrong, 0},
		{`{` + one + `,"completion":"{\"name\":\"f\",\"arguments\":{\"x\":1,\"x\":1,\"y\":[2,3]}}"}`, Wrong, 0},
		{`{` + one + `,"completion":"f(1,[2,3])"}`, Wrong, 0},
		{`{` + one + `,"completion":"<think><tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1,\"y\":[2,3]}}</tool_call></think>no"}`, Wrong, 0},
		{`{` + two + `,"completion":"[{\"name\":\"g\",\"arguments\":{\"a\":null}},{\"name\":\"f\"}]"}`, Right, 0},
		{`{` + two + `,"completion":"[{\"name\":\"g\",\"arguments\":{\"a\":null}},{\"name\":\"f\"}]","options":{"ordered":true}}`, Wrong, 0},
		{`{` + two + `,"completion":"[{\"name\":\"f\"}]","options":{"partial":true}}`, Graded, 0.5},
		{`{` + two + `,"completion":"[{\"name\":\"f\"},{\"name\":\"f\"}]","options":{"partial":true}}`, Graded, 0.5},
		{`{` + two + `,"completion":"[{\"name\":\"f\"},{\"name\":\"f\"}]"}`, Wrong, 0},
		{`{"answer":"f(1)","completion":"{}"}`, NotScored, 0},
	})
}

func TestExactOptions(t *testing.T) {
	checkLines(t, "squad_exact", []judged{
		{`{"answer":"The Cat","completion":"cat."}`, Right, 0},
		{`{"answer":"08:06","completion":"0806"}`, Right, 0}, // as SQuAD's own
		{`{"answer":"cat","completion":"The answer is a cat.","options":{"extract":"announced"}}`, Right, 0},
		{`{"completion":"cat"}`, NotScored, 0},
	})
	checkLines(t, "exact", []judged{
		{`{"answer":"The Cat","completion":"cat.","options":{"normalize":"squad"}}`, Right, 0},
		{`{"answer":"The Cat","completion":"cat."}`, Wrong, 0},
		{`{"answer":"08:06","completion":"0806"}`, Wrong, 0},
		{`{"answer":"08:06","completion":"\n 08:06 "}`, Right, 0},
		{`{"answer":"The Cat","completion":" The Cat\n","options":{"normalize":"strip"}}`, Right, 0},
		{`{"answer":"The Cat","completion":"the cat","options":{"normalize":"strip"}}`, Wrong, 0},
		{`{"answer":"The Cat","completion":"The Cat ","options":{"normalize":"raw"}}`, Wrong, 0},
		{`{"references":["dog","cat"],"completion":"cat"}`, Right, 0},
		{`{"answer":"cat","completion":"The answer is cat.","options":{"extract":"announced"}}`, Right, 0},
		{`{"completion":"cat"}`, NotScored, 0},
		{`{"references":[],"completion":"cat"}`, NotScored, 0},
	})
}

func TestJSONEqual(t *testing.T) {
	const city = `"answer":"{\"city\":\"Oslo\",\"at\":[59.9,10.75],\"n\":1}"`
	checkLines(t, "json_equal", []judged{
		{`{` + city + `,"completion":"{\"n\":1.0,\"at\":[59.90,10.75],\"city\":\"Oslo\"}"}`, Right, 0},
		{`{` + city + `,"completion":"Here it is: {\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"}. Good?"}`, Right, 0},
		{`{` + city + `,"completion":"Sets such as {1, 2} and [x] are none. {\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"}"}`, Right, 0},
		{`{` + city + `,"completion":"\u0060\u0060\u0060json\n{\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"}\n\u0060\u0060\u0060"}`, Right, 0},
		{`{` + city + `,"completion":"{\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"} or {\"n\":2}"}`, Wrong, 0}, // the last one counts
		{`{` + city + `,"completion":"{\"n\":1,\"at\":[10.75,59.9],\"city\":\"Oslo\"}"}`, Wrong, 0},
		{`{` + city + `,"completion":"{\"n\":1,\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"}"}`, Wrong, 0},
		{`{` + city + `,"completion":"{\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\",\"more\":null}"}`, Wrong, 0},
		{`{` + city + `,"completion":"Oslo"}`, Wrong, 0},
		{`{` + city + `,"completion":"It is {\"n\":1,\"at\":[59.9,10.75],\"city\":\"Oslo\"}","options":{"extract":"none"}}`, Wrong, 0},
		{`{"answer":"[1, 2]","completion":"the list [1,2]"}`, Right, 0},
		{`{"answer":"true","completion":"true"}`, Right, 0},
		{`{"answer":"true","completion":"it is true"}`, Wrong, 0}, // prose has objects and arrays alone
		{`{"references":["1","2"],"completion":"2"}`, Right, 0},
		{`{"answer":"Oslo","completion":"Oslo"}`, NotScored, 0},
		{`{"completion":"1"}`, NotScored, 0},
	})
	v := made(t, "json_equal", nil)
	for _, text := range []string{strings.Repeat("[", 1<<20), strings.Repeat("{[", 1<<19), strings.Repeat(`{"a":`, 1<<17), strings.Repeat("[1]", 1<<18)} {
		if got := v.Verify(Problem{Answer: "[2]"}, text); got.Verdict != Wrong { // in bounded time
			t.Errorf("%.10s...: %+v", text, got)
		}
	}
}

// TestEditDistances compares the bit-parallel distances with the plain tables,
// over lengths on both sides of one and two words of bits.
func TestEditDistances(t *testing.T) {
	random := newRand(2)
	text := func() []rune {
		out := make([]rune, random.IntN(200))
		for i := range out {
			out[i] = rune("abc"[random.IntN(3)])
		}
		return out
	}
	for range 300 {
		a, b := text(), text()
		distance, common := plainDistances(a, b)
		if got := levenshtein(a, b); got != distance {
			t.Fatalf("levenshtein(%q, %q) = %d, want %d", string(a), string(b), got, distance)
		}
		if got := lcs(a, b); got != common {
			t.Fatalf("lcs(%q, %q) = %d, want %d", string(a), string(b), got, common)
		}
	}
}

func plainDistances(a, b []rune) (distance, common int) {
	d, c := make([][]int, len(a)+1), make([][]int, len(a)+1)
	for i := range d {
		d[i], c[i] = make([]int, len(b)+1), make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := range a {
		for j := range b {
			same := 1
			if a[i] == b[j] {
				same = 0
				c[i+1][j+1] = c[i][j] + 1
			} else {
				c[i+1][j+1] = max(c[i][j+1], c[i+1][j])
			}
			d[i+1][j+1] = min(d[i][j]+same, d[i][j+1]+1, d[i+1][j]+1)
		}
	}
	return d[len(a)][len(b)], c[len(a)][len(b)]
}

// TestEveryVerifierDocuments: what "rlzero verifiers show" prints names the
// verifier's options.
func TestEveryVerifierDocuments(t *testing.T) {
	with := 0
	for _, name := range []string{"math", "gsm8k", "multiple_choice", "exact", "f1", "bleu", "chrf", "rouge_1", "rouge_2", "rouge_l",
		"edit_similarity", "regex", "json_schema", "iou", "ordering", "tool_call"} {
		e, err := Lookup(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if e.Summary == "" || !strings.HasPrefix(e.Doc, name+":") || !strings.Contains(e.Doc, "Row:") || !strings.Contains(e.Doc, "Not scored") {
			t.Errorf("%s: the text lacks a part:\n%s", name, e.Doc)
		}
		_, err = New(name, map[string]any{"no such option": 1})
		if err == nil {
			t.Fatalf("%s takes any option", name)
		}
		_, options, listed := strings.Cut(err.Error(), "known here: ")
		if !listed { // it has none
			continue
		}
		with++
		for option := range strings.SplitSeq(options, ", ") {
			if !strings.Contains(e.Doc, "\n"+option) {
				t.Errorf("%s: the option %q is not described", name, option)
			}
		}
	}
	if with == 0 {
		t.Error("no error lists the options: the test shows nothing")
	}
}
