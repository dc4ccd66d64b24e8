package script

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/verify"
)

// TestModules: what a row and the modules give.
func TestModules(t *testing.T) {
	for _, body := range []string{
		`return row["answer"] == "12" and row.answer == row["answer"] and row["question"] == row.question and row["id"] == "id"`,
		`return row["numbers"][1] == 2.5 and row.metadata["ok"] and row["ok"] and row["metadata"] == row.metadata`,
		`return "numbers" in row and "none" not in row and row.get("none") == None and row.get("none", 3) == 3 and "numbers" in row.keys()`,
		`return json.decode('{"a": [1, 2.5, null, "x"]}') == {"a": [1, 2.5, None, "x"]}`,
		`return json.encode({"b": [1, True, None], "a": "x"}) == '{"a":"x","b":[1,true,null]}'`,
		`return re.search("([a-z]+)([0-9]+)(x)?", "-- ab12 cd3")[0] == "ab12" and re.search("([a-z]+)([0-9]+)(x)?", "ab12") == ("ab12", "ab", "12", None)`,
		`return re.search("q", "abc") == None and re.match("b", "abc") == None and re.match("a", "abc") != None`,
		`return re.fullmatch("a|ab", "ab") != None and re.fullmatch("a", "ab") == None and re.fullmatch("a", "a\n") == None`,
		`return re.findall("[0-9]+", "1 22 x 333") == ["1", "22", "333"] and re.findall("([a-z])=([0-9])", "a=1,b=2") == [("a", "1"), ("b", "2")] and re.findall("<(.*?)>", "<a><b>") == ["a", "b"]`,
		`return re.split("[, ]+", "a, b c") == ["a", "b", "c"] and re.split(",", "") == [""]`,
		`return re.sub("([a-z])([0-9])", "\\2\\g<1>$1", "a1 b2") == "1a$1 2b$1" and re.sub("x", "\\\\", "axb") == "a\\b"`,
		`return re.sub("(?P<n>[0-9])", "<\\g<n>>", "a1") == "a<1>"`,
		`return re.search("(?i)ANSWER", "the answer") != None`,
		`return math.floor(2.7) == 2`,
	} {
		if v := scripted(t, body, 0, 1).Verify(scriptRow, "abc"); v.Verdict != verify.Right {
			t.Errorf("%s: %+v", body, v)
		}
	}
	for body, want := range map[string]string{
		`return row["none"]`:                       "mine.star:2: key \"none\" not in row",
		`return row.none`:                          "mine.star:2: row has no .none field or method",
		`return re.search("(", "")`:                "missing closing ): `(`; patterns are RE2's",
		`return re.search("(?=a)", "")`:            "which has no lookaround and no backreferences",
		`return re.search("a" * 2000, "")`:         "a pattern of 2000 bytes; accepted: at most 1024",
		`return json.decode("{")`:                  "mine.star:2: json.decode: ",
		`return json.decode("[" * 100)`:            "nested deeper than 64",
		`return json.decode("9" * 5000)`:           "a number of more than 4096 digits",
		`return len(re.findall("a", "a" * 20000))`: "more than 10000 matches",
		"x = 'a' * 1000000\nfor i in range(100):\n    re.search('b', x)\nreturn 1":                  "more than 1000000 steps",
		"x = json.encode(['a' * 1000] * 1000)\nfor i in range(100):\n    json.decode(x)\nreturn 1":  "more than 1000000 steps",
		"x = 'a' * 9000\nfor i in range(100):\n    x = re.sub('a', 'aaaaaaaa', x)[:9000]\nreturn 1": "more than 1000000 steps",
		"x = ['a' * 1000] * 1000\nfor i in range(100):\n    json.encode(x)\nreturn 1":               "more than 1000000 steps",
		"x = 'a' * 5000\ny = ''\nfor i in range(9):\n    y = re.sub('', x, x)\nreturn 1":            "more than 1000000 steps",
	} {
		v := scripted(t, body, 0, 1).Verify(scriptRow, "")
		if v.Verdict != verify.NotScored || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %+v, want %q", body, v, want)
		}
	}
}

// TestPatternsAreBounded: a pattern that makes others take time without end, and one that looks
// at the rest of the text for each match, end at a limit.
func TestPatternsAreBounded(t *testing.T) {
	limit := maxTime
	t.Cleanup(func() { maxTime = limit })
	for _, body := range []string{
		`return 1 if re.search("(a+)+$", "a" * 40 + "b") == None else 0`,
		`return 1 if re.fullmatch("(a|aa)*", "a" * 2000 + "b") == None else 0`,
	} {
		if v := scripted(t, body, 0, 1).Verify(scriptRow, ""); v.Verdict != verify.Right {
			t.Errorf("%s: %+v", body, v)
		}
	}
	v := scripted(t, "x = 'a' * 1000000\nreturn len(re.findall('a.*?b|a', x))", 0, 1)
	maxTime = 50 * time.Millisecond
	if got := v.Verify(scriptRow, ""); got.Verdict != verify.NotScored || !strings.HasPrefix(got.Reason, "mine.star") {
		t.Errorf("a search that is quadratic: %+v", got)
	}
}

// TestMetered: a verdict says what it took.
func TestMetered(t *testing.T) {
	few := scripted(t, "return 1", 0, 1).(verify.Metered)
	many := scripted(t, "n = 0\nfor i in range(10000):\n    n += i\nreturn 1", 0, 1).(verify.Metered)
	_, least := few.Metered(scriptRow, "")
	_, most := many.Metered(scriptRow, "")
	if least.Steps < 1 || least.Steps > 20 || most.Steps < 20_000 || most.Steps > maxSteps {
		t.Errorf("steps %d and %d", least.Steps, most.Steps)
	}
	if _, again := many.Metered(scriptRow, ""); again.Steps != most.Steps {
		t.Errorf("steps %d, then %d", most.Steps, again.Steps)
	}
}

// TestEntry: the verifier takes a script as a file or as text, and in a complete recipe has the
// text alone.
func TestEntry(t *testing.T) {
	const source = "def reward(row, completion):\n    return 2\n"
	entry, err := verify.Lookup("starlark")
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.New("starlark", map[string]any{"source": source, "file": "mine.star", "range": []any{0, 4}})
	if err != nil || v.Verify(scriptRow, "").Score != 2 {
		t.Errorf("%v, %v", v, err)
	}
	for options, want := range map[string]string{
		`{}`:                    `it has no script: give the option file, or in a recipe task.starlark = "FILE"`,
		`{"file": "none.star"}`: "open none.star: no such file",
		`{"source": "x = 1"}`:   "has no function reward(row, completion)",
		`{"source": "` + strings.ReplaceAll(source, "\n", `\n`) + `", "range": [2, 1]}`: "range = [2, 1]",
	} {
		if _, err := entry.New(json.RawMessage(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
}
