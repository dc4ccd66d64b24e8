package verify

import (
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	const pattern = `{"pattern":"<think>.*</think>\\n<answer>[0-9]+</answer>"}`
	for _, c := range []struct{ options, completion, verdict, reason string }{
		{`{}`, "<think>a</think>\n<answer>b</answer>\n", Right, "all tags in order"},
		{`{}`, "<think></think><answer></answer>", Right, ""},
		{`{}`, "<answer>b</answer><think>a</think>", Wrong, "before <think>"},
		{`{}`, "<think>a<answer>b</answer></think>", Wrong, "<answer> is out of order"},
		{`{}`, "<think>a</think><answer>b</answer><answer>c</answer>", Wrong, "<answer> appears 2 times"},
		{`{}`, "<think>a</think><answer>b", Wrong, "</answer> appears 0 times"},
		{`{}`, "</think><think><answer>b</answer>", Wrong, "before <think>"},
		{`{}`, "<think>a</answer><answer></think>", Wrong, "is out of order"},
		{`{}`, "<think>a</think></answer><answer>", Wrong, "before <answer>"},
		{`{}`, "x<think>a</think><answer>b</answer>", Wrong, `found "x" before <think>`},
		{`{}`, "<think>a</think>x<answer>b</answer>", Wrong, `found "x" before <answer>`},
		{`{}`, "<think>a</think><answer>b</answer>x", Wrong, `found "x" after the last tag`},
		{`{}`, "", Wrong, "<think> appears 0 times"},
		{`{"tags":["a"]}`, "<a>1</a>", Right, ""},
		{`{"tags":["a"]}`, "<A>1</A>", Wrong, ""},
		{pattern, "<think>a\nb</think>\n<answer>12</answer>", Right, "matches the pattern"},
		{pattern, "<think>a</think>\n<answer>12</answer>\n", Wrong, "does not match"},
		{pattern, "x<think>a</think>\n<answer>12</answer>", Wrong, "does not match"},
		{`{"pattern":"a|ab"}`, "ab", Right, ""},
	} {
		v, err := newFormat([]byte(c.options))
		if err != nil {
			t.Fatal(err)
		}
		got := v.Verify(Problem{}, c.completion)
		checkVerdict(t, got)
		if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s %q: %+v, want %s because %q", c.options, c.completion, got, c.verdict, c.reason)
		}
	}
	for options, want := range map[string]string{
		`{"pattern":"("}`:                                       "option pattern: error parsing regexp",
		`{"pattern":"a)|(b"}`:                                   "option pattern: error parsing regexp",
		`{"pattern":"a{1001}"}`:                                 "invalid repeat count",
		`{"pattern":"a","tags":["a"]}`:                          "both given",
		`{"tags":[]}`:                                           "0 names",
		`{"tags":["a","a"]}`:                                    `option tags holds "a"`,
		`{"tags":["<a>"]}`:                                      `option tags holds "<a>"`,
		`{"pattern":"` + strings.Repeat("a", 5000) + `"}`:       "5000 bytes",
		`{"tags":["` + strings.Repeat(`a","`, 17) + `b"]}`:      "18 names",
		`{"tags":"think"}`:                                      `tags = "think" is a string; accepted: a list, each text in quotes`,
		`{"tags":["` + strings.Repeat("a", 100) + `"]}`:         "option tags holds",
		`{"pattern":"\\p{Greek}","taggs":["a"]}`:                `unknown key taggs; did you mean tags?`,
		`{"pattern":"(?:(?:(?:a{100}){100}){100}){100}b"}`:      "option pattern",
		`{"pattern":"` + strings.Repeat("(", 1001) + `a` + `"}`: "option pattern",
	} {
		if _, err := newFormat([]byte(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", shown(options), err, want)
		}
	}
}
