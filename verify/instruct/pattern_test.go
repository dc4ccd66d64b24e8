package instruct

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// The counts are len(re.findall(pattern, text, re.IGNORECASE)) of Python 3.11.
func TestPatternCountsAsPython(t *testing.T) {
	for _, c := range []struct {
		python, text string
		want         int
	}{
		{`a+`, "aa b AAA", 2},
		{`x.y`, "x-y x\ny xzy", 2},
		{`c++`, "ccc c c++", 3},
		{`\bsea\b`, "sea, seas SEA ésea", 2},
		{`a|b`, "ab cB", 3},
		{`x*`, "axxb", 4},
		{`\w+`, "é_1 e\u0301-²", 3},
		{`\d+`, "12 ٣４ ²", 2},
		{`[\w-]+`, "well-known ß", 2},
		{`\s`, "a\u001cb\u200bc\u3000", 2},
		{`{a}`, "{a} {A}", 2},
		{`a{,2}`, "aaab", 4},
		{`a{2}`, "aaaa", 2},
		{`^a`, "a\na", 1},
		{`a$`, "a\na\n", 1},
		{`a\Z`, "a\na\n", 0},
		{`(?<!s)ea`, "sea tea ea", 2},
		{`(.)\1`, "aabB ", 2},
		{`(?P<x>a)(?P=x)`, "aa a", 1},
		{`i`, "iIİı", 4},
		{`k`, "kK\u212a", 3},
		{`s`, "sſS", 3},
		{`[]a]`, "]a", 2},
		{`[\d-]+`, "1-2", 1},
		{`(?:ab)+?`, "abab", 2},
		{`\u0041\x42`, "ab", 1},
		{`\$5`, "$5", 1},
		{``, "ab", 3},
		{`\B`, "ab c", 1},
		{`\B`, "", 0},
		{`(?:|a)+`, "aa", 5},
		{`a*?`, "aa", 5},
		{`(?>a*)a|b`, "aab", 1},
		{`a++b`, "aab", 1},
		{`a{,}b`, "aab b", 2},
		{`a{}`, "a{}", 1},
		{`(a)?(?!\1)b`, "ab b", 2},
		{`(?<!a)(?<=\w)b`, "ab bb", 1},
		{`[^\W\d]+`, "ab1_c", 2},
		{`ß`, "ßẞ", 2},
	} {
		p, err := newPattern(c.python, true)
		if err != nil {
			t.Errorf("%q: %v", c.python, err)
			continue
		}
		n, err := p.count(c.text)
		if err != nil || n != c.want {
			t.Errorf("%q is found %d times in %q (%v), want %d", c.python, n, c.text, err, c.want)
		}
		found, err := p.found(c.text)
		if err != nil || found != (c.want > 0) {
			t.Errorf("%q in %q: found is %v (%v)", c.python, c.text, found, err)
		}
	}
}

func TestPatternRefusesWhatPythonRefuses(t *testing.T) {
	for _, python := range []string{
		"c(", "a)", "*a", "a**", "^*", "(?P<x>a)(?P<x>b)", "[a", `\`, "[b-a]", `[\w-a]`, `\q`, "a{2,1}", "(?P<x", `\1`, `(a\1)`, `\400`,
		"(?<=a+)b", `(?<=(a)\1)b`, "a{9999999999}", "(?", "(?P=x)", "(?#",
		strings.Repeat("a", maxPatternBytes+1),
	} {
		if _, err := newPattern(python, true); err == nil {
			t.Errorf("%q is accepted", quote(python))
		}
	}
}

func TestPatternGroupsAsPython(t *testing.T) {
	p, err := newPattern(`(s)ea|(?:l)ake`, false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.findAll("sea lake")
	if err != nil || len(all) != 2 || all[0] != "s" || all[1] != "" {
		t.Errorf("findAll = %q (%v), want the first group of each match", all, err)
	}
}

// A pattern that backtracks without end is given up by its count of steps, and
// one that can be memorised is not.
func TestPatternSteps(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, c := range []struct {
		python, text string
		want         error
	}{
		{`(?:a|aa)+\bb`, long + "b", nil},
		{`(a+)+c`, long, nil},
		{`(?:a*)*c`, long, errSteps},
		{`(a|aa)+\1c`, long, errSteps},
		{`(?=(a+)+c)a`, long, nil},
		{`a[^b]*b|a`, strings.Repeat("a", 1<<20), errSteps}, // each match looks to the end
	} {
		p, err := newPattern(c.python, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.count(c.text); err != c.want {
			t.Errorf("%s: %v, want %v", c.python, err, c.want)
		}
	}
}

// TestPatternStepsOfCompletion: the patterns of all instructions of a row have one number of steps
// together, so that no row takes its limit once for each keyword.
func TestPatternStepsOfCompletion(t *testing.T) {
	hostile, plain := `{"keyword":"(?:a*)*c","frequency":1,"relation":"at least"}`, `{"keyword":"a","frequency":1,"relation":"at least"}`
	judge := func(first string, times int) verify.Verdict {
		v, err := verify.New("instructions", map[string]any{"score": "share"})
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Repeat(`"ifeval:keywords:frequency",`, times) + `"ifeval:keywords:frequency"`
		row := verify.Problem{Metadata: map[string]json.RawMessage{
			"instruction_id_list": json.RawMessage("[" + names + "]"),
			"kwargs":              json.RawMessage("[" + strings.Repeat(first+",", times) + plain + "]"),
		}}
		return v.Verify(row, strings.Repeat("a", 200))
	}
	const some = maxAllSteps / maxSteps
	if v := judge(plain, maxInstructions-1); v.Score != 1 {
		t.Errorf("patterns that are quick: %+v", v)
	}
	if v := judge(hostile, some-1); v.Values["followed"] != 1 {
		t.Errorf("after %d patterns at their limit one more is judged: %+v", some-1, v)
	}
	if v := judge(hostile, some); v.Values["followed"] != 0 || !strings.Contains(v.Reason, errSteps.Error()) {
		t.Errorf("after %d patterns at their limit nothing is left: %+v", some, v)
	}
}

func TestHasWord(t *testing.T) {
	for _, c := range []struct {
		text, word string
		fold, want bool
	}{
		{"the sea.", "sea", false, true},
		{"the seas", "sea", false, false},
		{"the_sea", "sea", false, false},
		{"ésea sea", "sea", false, true},
		{"The SEA", "sea", true, true},
		{"The SEA", "sea", false, false},
		{"a-b", "-b", false, true}, // a border stands between a and -
		{" -b", "-b", false, false},
		{"c++x", "c++", false, true},
		{"c++ x", "c++", false, false},
		{"aab aaab", "aab", false, true},
		{"abab ab", "ab", false, true},
		{"", "sea", false, false},
		{"...", "", false, false},
		{".a.", "", false, true},
		{"ÄRGER", "ärger", true, true},
	} {
		if got := hasWord(c.text, c.word, c.fold); got != c.want {
			t.Errorf("hasWord(%q, %q, %v) = %v, want %v", c.text, c.word, c.fold, got, c.want)
		}
	}
}
