package script

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/rlzero/rlzero/verify"
)

// scripted is a script from the body of its function.
func scripted(t *testing.T, body string, low, high float64) verify.Verifier {
	t.Helper()
	source := "def reward(row, completion):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
	v, err := New(Script{"mine.star", source, low, high})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

var nan = math.NaN()

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

var scriptRow = verify.Problem{
	ID: "id", Question: "how many?", Answer: "12",
	Metadata: map[string]json.RawMessage{"numbers": json.RawMessage(`[1, 2.5, {"a": null}]`), "big": json.RawMessage("123456789012345678901234567890"), "ok": json.RawMessage("true")},
}

// TestScript: what a script sees and what its results mean.
func TestScript(t *testing.T) {
	for _, c := range []struct {
		body       string
		score      float64
		verdict    string
		reasonHas  string
		completion string
	}{
		{"return len(completion) / 10", 0.5, verify.Graded, "mine.star says 0.5", "12345"},
		{"return completion == row.answer", 1, verify.Right, "mine.star says True", "12"},
		{"return completion == row.answer", 0, verify.Wrong, "mine.star says False", "13"},
		{"return 1", 1, verify.Right, "", ""},
		{"return 0.0", 0, verify.Wrong, "", ""},
		{"return -2, 'too short'", -2, verify.Graded, "too short", ""},
		{"return True, 'fine'", 1, verify.Right, "fine", ""},
		{"return None", nan, verify.NotScored, "mine.star says None", ""},
		{"return 0.5, 'half', {'blocks': 3}", 0.5, verify.Graded, "half", ""},
		{"return 1, {'blocks': 3}", 1, verify.Right, "says 1", ""},
		{"return 1, 'a', {'a': 1}, 2", nan, verify.NotScored, "reward() returned tuple", ""},
		{"return 1, [2]", nan, verify.NotScored, "returned list after the score", ""},
		{"return 1, {'a': 'b'}", nan, verify.NotScored, "the named number \"a\": string; accepted: a name", ""},
		{"return 1, {'a': float('inf')}", nan, verify.NotScored, "the named number", ""},
		{"return 1, {2: 2}", nan, verify.NotScored, "the named number \"a key of type int\": number", ""},
		{"return 1, {'a%d' % i: i for i in range(40)}", nan, verify.NotScored, "40 named numbers; accepted: at most 32", ""},
		{"return None, 'no key'", nan, verify.NotScored, "no key", ""},
		{"pass", nan, verify.NotScored, "mine.star says None", ""},
		{"return row.metadata['numbers'][1]", 2.5, verify.Graded, "", ""},
		{"return row.metadata['numbers'][2]['a'] == None and row.metadata['ok'] and row.id == 'id' and row.question == 'how many?'", 1, verify.Right, "", ""},
		{"return row.metadata['big'] == 123456789012345678901234567890", 1, verify.Right, "", ""},
		{"return math.sqrt(9)", 3, verify.Graded, "", ""},
		{"s = {}\nfor w in completion.split():\n    s[w] = s.get(w, 0) + 1\nreturn max(s.values())", 2, verify.Graded, "", "a b a"},
		{"x = {'a': 1}\nx['a'] += 2\ny = [1]\ny += [2]\nz = 'a%s' % 'b'\nz *= 2\nreturn x['a'] if z == 'abab' and y == [1, 2] else 0", 3, verify.Graded, "", ""},
		{"return len([a + b for a in range(3) for b in range(4) if a * b < 3])/4", 9.0 / 4, verify.Graded, "", ""},

		{"return 6", nan, verify.NotScored, "mine.star: reward() returned 6, but its range is -2 to 5", ""},
		{"return float('nan')", nan, verify.NotScored, "returned NaN, but its range", ""},
		{"return 'good'", nan, verify.NotScored, "reward() returned string; accepted: a number", ""},
		{"return [1]", nan, verify.NotScored, "reward() returned list", ""},
		{"return 1\n\n# \nreturn", 1, verify.Right, "", ""},
		{"x = 1\nreturn completion[9]", nan, verify.NotScored, "mine.star:3: index 9 out of range: empty string", ""},
		{"return 1 // 0", nan, verify.NotScored, "mine.star:2: floored division by zero", ""},
		{"fail('no')", nan, verify.NotScored, "mine.star:2: fail: no", ""},
		{"return 1 + 'a'", nan, verify.NotScored, "mine.star:2: unknown binary op: int + string", ""},
	} {
		v := scripted(t, c.body, -2, 5).Verify(scriptRow, c.completion)
		if !same(v.Score, c.score) || v.Verdict != c.verdict || !strings.Contains(v.Reason, c.reasonHas) || v.Reason == "" {
			t.Errorf("%q: %+v, want %v %s %q", c.body, v, c.score, c.verdict, c.reasonHas)
		}
	}
}

// TestScriptBudgets: scripts that would never end or take all memory are stopped,
// by count and not by time, and are not scored.
func TestScriptBudgets(t *testing.T) {
	for body, want := range map[string]string{
		"for i in range(1000000):\n    for j in range(1000000):\n        pass\nreturn 1": "more than 1000000 steps",
		"s = 'a'\nfor i in range(100):\n    s = s + s\nreturn 1":                         "mine.star:4: more than 64 MiB",
		"s = 'a'\nfor i in range(100):\n    s += s\nreturn 1":                            "mine.star:4: more than 64 MiB",
		"s = {'a': ['b']}\nfor i in range(100):\n    s['a'] += s['a']\nreturn 1":         "more than 64 MiB",
		"return len('ab' * 1000000000)":                                                  "more than 64 MiB",
		"return len(1000000000 * [0])":                                                   "more than 64 MiB",
		"s = 'ab'\ns *= 1 << 60\nreturn 1":                                               "more than 64 MiB",
		"s = 'a' * 1000000\nreturn len(('%s' * 1000) % ((s,) * 1000))":                   "more than 64 MiB",
		"x = 3\nfor i in range(100):\n    x = x * x\nreturn 1":                           "a whole number of more than 4096 bytes",
		"x = 3\nfor i in range(1000000):\n    x = x << 500\nreturn 1":                    "a whole number of more than 4096 bytes",
		"x = 3\nfor i in range(1000000):\n    x <<= 500\nreturn 1":                       "a whole number of more than 4096 bytes",
		"return [s * 100000000 for s in ['ab']] == 1":                                    "more than 64 MiB",
		"f = lambda x: x * 1000000000\nreturn len(f('a'))":                               "more than 64 MiB",
		"return len([1 for c in [0] * 10000000 if c])":                                   "more than 64 MiB",
		"return len([1 for c in [1] if 'ab' * 100000000])":                               "more than 64 MiB",
		"return max(range(1000000000000))":                                               "1000000000000 numbers; accepted: at most 1048576",
		"return len(list(range(0, 1000000000000, 2)))":                                   "numbers; accepted",
		"return [1 for x in [0] * 3000 for y in [0] * 3000] == []":                       "more than 1000000 steps",
		"def f(x):\n    return f(x)\nreturn f(1)":                                        "function f called recursively",
	} {
		v := scripted(t, body, 0, 1).Verify(scriptRow, "")
		if v.Verdict != verify.NotScored || !strings.Contains(v.Reason, want) {
			t.Errorf("%q: %+v, want %s", body, v, want)
		}
	}
	v := scripted(t, "return 5", -1, 5).Verify(scriptRow, strings.Repeat("a", maxTextBytes+1))
	if v.Verdict != verify.Wrong || v.Score != -1 {
		t.Errorf("a completion that is too long: %+v", v)
	}
}

// TestScriptErrors: what is refused when the recipe is read.
func TestScriptErrors(t *testing.T) {
	const good = "def reward(row, completion):\n    return 1\n"
	for source, want := range map[string]string{
		"":                              "has no text",
		"def reward(row, completion)\n": "mine.star:2:1: got newline, want ':'",
		"def reward(row, completion):\n  return foo\n": "mine.star:2:10: undefined: foo",
		"x = 1\n":                          "mine.star has no function reward(row, completion)",
		"reward = 3\n":                     "has no function reward(row, completion)",
		"def reward(row):\n    return 1\n": "has no function reward(row, completion)",
		"def reward(row, *more):\n    return 1\n":          "has no function reward(row, completion)",
		"load('x.star', 'y')\n" + good:                     "load() is not accepted",
		good + "x = [][1]\n":                               "mine.star:3: index 1 out of range",
		good + "for i in range(10000000): pass\n":          "numbers; accepted: at most",
		good + "[i for i in range(1000000)]\n":             "more than 1000000 steps",
		"def f(): return [1]\nf()[0] += 1\n" + good:        "mine.star:2:8: a call on the left of += is not accepted",
		"while True: pass\n" + good:                        "does not support while loops",
		"import os\n" + good:                               "mine.star:1:",
		strings.Repeat("#", verify.MaxScriptBytes) + "\n1": "accepted: at most 65536",
		"open('/etc/passwd')\n" + good:                     "undefined: open",
		"time.now()\n" + good:                              "undefined: time",
		"$apply(1, 2, 3)\n" + good:                         "mine.star:1:",
	} {
		_, err := New(Script{"mine.star", source, 0, 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", source, err, want)
		}
	}
}

// TestScriptIsPure: calls share nothing, and side by side give what they give one
// after the other.
func TestScriptIsPure(t *testing.T) {
	if v := scripted(t, "row.metadata['x'] = 1\nreturn 1", 0, 1); v.Verify(scriptRow, "").Verdict != verify.Right || scriptRow.Metadata["x"] != nil {
		t.Error("a script changed its row")
	}
	source := "seen = []\ndef reward(row, completion):\n    seen.append(1)\n    return 1\n"
	v, err := New(Script{"mine.star", source, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Verify(scriptRow, ""); !strings.Contains(got.Reason, "mine.star:3: append: cannot append to frozen list") {
		t.Errorf("a script kept something: %+v", got)
	}
}

// TestScriptParallel needs the race detector to show all it can.
func TestScriptParallel(t *testing.T) {
	v := scripted(t, "d = {}\nfor i in range(len(completion)):\n    d[completion[i]] = d.get(completion[i], 0) + i\nn = 0\nfor x in d.values():\n    n += x\nreturn n", 0, 1e6)
	want := make([]verify.Verdict, 32)
	for i := range want {
		want[i] = v.Verify(scriptRow, fmt.Sprint(i*i*i, "abcabc", i))
	}
	var all sync.WaitGroup
	for i := range want {
		all.Go(func() {
			if got := v.Verify(scriptRow, fmt.Sprint(i*i*i, "abcabc", i)); !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%+v, want %+v", got, want[i])
			}
		})
	}
	all.Wait()
}

// BenchmarkScript: a call of a short script.
func BenchmarkScript(b *testing.B) {
	v, err := New(Script{"mine.star", "def reward(row, completion):\n    return min(len(completion), 400) / 400\n", 0, 1})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v.Verify(scriptRow, "a short completion")
	}
}

// FuzzScript: no script and no completion crash the program; what is scored is in
// range, and a second call says the same.
func FuzzScript(f *testing.F) {
	for _, source := range []string{
		"def reward(row, completion):\n    return len(completion) / 10, 'x'\n",
		"def reward(row, completion):\n    s = [c for c in completion.elems() if c > 'a']\n    s += ['b'] * 3\n    return ('%s' % s == row.answer) or None\n",
		"x = {'a': [1, 2]}\nx['a'][0] += 1 << 3\nf = lambda a, b=2 * 3, *c: a + b\ndef reward(row, completion):\n    if completion: return f(1) % 7\n    else:\n        for i, j in enumerate(range(3)): pass\n    return -x['a'][0] * 0.5 // 2\n",
	} {
		f.Add(source, "a completion 12")
	}
	f.Fuzz(func(t *testing.T, source, completion string) {
		v, err := New(Script{"mine.star", source, 0, 1})
		if err != nil {
			return
		}
		first := v.Verify(scriptRow, completion)
		if first.Verdict == verify.NotScored != math.IsNaN(first.Score) || first.Score < 0 || first.Score > 1 || first.Reason == "" {
			t.Errorf("%+v", first)
		}
		if second := v.Verify(scriptRow, completion); second.Verdict != first.Verdict || second.Reason != first.Reason || !same(second.Score, first.Score) {
			t.Errorf("%+v, then %+v", first, second)
		}
	})
}

// TestBudgetedOperators: the operators that are charged give what Starlark's own
// give.
func TestBudgetedOperators(t *testing.T) {
	for _, expression := range []string{
		"1 + 2 * 3 % 2 - (4 << 3) + 2.5", "'a' + 'b' * 2 + '%d-%s' % (1, [2])", "[1] + [2] * 2", "(1,) + (2,)", "{'a': 1 + 1}['a'] * [0, 1 + 1][1]",
		"[x + y for x in [1, 2] for y in [x * 10] if x + y > 11]", "(lambda x, y=1 + 1: x * y)(3)", "('a' + 'b')[0 + 1] + 'x'[0 * 1:]",
		"-1 * 2 if 1 + 1 == 2 else 3 + 4", "dict([('k', 1 + 2)])", "len('ab' + 'c') + max([1 * 2, 3])", "7 % -3 + -7 % 3", "1 << 10",
	} {
		want, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "", expression, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := scripted(t, "return str("+expression+") == row.question or str("+expression+")", 0, 1).(Script)
		row := verify.Problem{Question: want.String()}
		if s, ok := starlark.AsString(want); ok {
			row.Question = s
		}
		if got := v.Verify(row, ""); got.Verdict != verify.Right {
			t.Errorf("%s: %+v, Starlark gives %s", expression, got, want)
		}
	}
}
