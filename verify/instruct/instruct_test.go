package instruct

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// everything has arguments for every kind of instruction.
const everything = `{"keywords":["sea"],"keyword":"sea","frequency":1,"relation":"at least",
"forbidden_words":["storm"],"letter":"e","let_frequency":1,"let_relation":"at least","language":"en",
"num_sentences":1,"num_paragraphs":1,"num_words":1,"nth_paragraph":1,"first_word":"the","last_word":"sea",
"num_placeholders":1,"postscript_marker":"P.S.","num_bullets":1,"num_highlights":1,"section_spliter":"Part",
"num_sections":1,"prompt_to_repeat":"Sing of the sea.","end_phrase":"sea","capital_frequency":1,
"capital_relation":"at least","phrase":"all ships sail home","small_n":1,"n_start":1,"n_end":3,"N":1,
"n_sent":1,"n_words":3,"keyword1":"a","keyword2":"b","keyword3":"c","keyword4":"d","keyword5":"e","n":1,
"m":2,"min_words":1,"max_words":9,"percentage":50,"reference_text":"the sea","options":"yes/no","word":"sea",
"sep":"-"}`

// eachKind runs test for every kind under its full name.
func eachKind(test func(name string, k kind)) {
	for _, s := range suites {
		for _, kinds := range s.kinds {
			for _, k := range kinds {
				test(s.name+":"+k.name, k)
			}
		}
	}
}

func row(kwargs, mode string) verify.Problem {
	return verify.Problem{Metadata: map[string]json.RawMessage{
		"kwargs": json.RawMessage(kwargs), "mode": json.RawMessage(mode),
	}}
}

func newOf(t testing.TB, name string, options map[string]any) verify.Verifier {
	t.Helper()
	v, err := verify.New(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEveryPublicNameIsThere(t *testing.T) {
	found := map[string]int{}
	bare := map[string]string{}
	eachKind(func(name string, k kind) {
		suite, _, _ := strings.Cut(name, ":")
		found[suite]++
		if other, taken := bare[k.name]; taken {
			t.Errorf("%s and %s have one name: a list of instructions could not tell them apart", name, other)
		}
		bare[k.name] = name
	})
	if found["ifeval"] != 25 || found["ifrlvr"] != 29 || found["ifbench"] != 58 {
		t.Errorf("kinds: %v, want 25 of ifeval, 29 of ifrlvr and 58 of ifbench", found)
	}
}

func TestEveryKindScoresWithItsArguments(t *testing.T) {
	eachKind(func(name string, k kind) {
		v := newOf(t, name, nil)
		for _, text := range []string{"The sea is calm.", "*", "\xff", "海\n\n船"} {
			if got := v.Verify(row(everything, `"loose"`), text); got.Verdict == verify.NotScored || got.Reason == "" || got.Rule != name+" loose" {
				t.Errorf("%s of %q: %+v, want it scored with a reason and a rule", name, text, got)
			}
		}
		for _, blank := range []string{"", " \n\t\u2003"} {
			if got := v.Verify(row(everything, `"strict"`), blank); got.Verdict != verify.Wrong {
				t.Errorf("%s of %q: %+v, want wrong", name, blank, got)
			}
		}
		if got := v.Verify(row(everything, `null`), strings.Repeat("x", maxCompletionBytes+1)); got.Verdict != verify.Wrong {
			t.Errorf("%s of a completion over the limit: %+v, want wrong", name, got)
		}
	})
}

func TestMissingArgumentsAreNotScored(t *testing.T) {
	eachKind(func(name string, k kind) {
		v := newOf(t, name, nil)
		for _, kwargs := range []string{"{}", `{"keyword":null}`} {
			got := v.Verify(row(kwargs, "null"), "The sea is calm.")
			if want := k.kwargs != ""; (got.Verdict == verify.NotScored) != want {
				t.Errorf("%s with kwargs %s: %+v, want not scored: %v", name, kwargs, got, want)
			}
			if got.Verdict == verify.NotScored && !math.IsNaN(got.Score) {
				t.Errorf("%s: the score of a verdict that is not scored is %v", name, got.Score)
			}
		}
	})
}

func TestWrongArgumentsAreNotScored(t *testing.T) {
	for _, c := range []struct{ name, kwargs, reason string }{
		{"ifeval:keywords:existence", `{"keywords":["c("]}`, "regular expression"},
		{"ifeval:keywords:existence", `{"keywords":"sea"}`, "a list of strings"},
		{"ifeval:keywords:existence", `["sea"]`, "an object"},
		{"ifeval:keywords:frequency", `{"keyword":"sea","frequency":1.5,"relation":"at least"}`, "whole number"},
		{"ifeval:keywords:frequency", `{"keyword":"sea","frequency":1,"relation":"exactly"}`, `"at least"`},
		{"ifeval:length_constraints:number_words", `{"num_words":-1,"relation":"at least"}`, "0 or more"},
		{"ifeval:language:response_language", `{"language":"tlh"}`, "accepted: "},
		{"ifrlvr:new:copy_span_idx", `{"prompt_to_repeat":"sea","n_start":0,"n_end":2}`, "other than 0"},
		{"ifrlvr:copy:repeat_phrase", `{"phrase":"(a) b (c)","small_n":1}`, "groups"},
		{"ifbench:count:words_japanese", `{"N":0}`, "1 or more"},
	} {
		got := newOf(t, c.name, nil).Verify(row(c.kwargs, "null"), "The sea is calm.")
		if got.Verdict != verify.NotScored || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s with %s: %s (%s), want not scored and a reason with %q", c.name, c.kwargs, got.Verdict, got.Reason, c.reason)
		}
	}
}

func TestMode(t *testing.T) {
	const name, text = "ifeval:startend:quotation", "Sure:\n\"The sea\""
	if _, err := verify.New(name, map[string]any{"mode": "lax"}); err == nil || !strings.Contains(err.Error(), `"loose"`) {
		t.Errorf("option mode lax: %v", err)
	}
	if got := newOf(t, name, nil).Verify(row("{}", `"lax"`), text); got.Verdict != verify.NotScored {
		t.Errorf("mode lax of the row: %+v, want not scored", got)
	}
	for _, c := range []struct{ option, mode, want string }{
		{"strict", "null", verify.Wrong}, {"loose", "null", verify.Right},
		{"strict", `"loose"`, verify.Right}, {"loose", `"strict"`, verify.Wrong}, // the row decides
	} {
		v := newOf(t, name, map[string]any{"mode": c.option})
		if got := v.Verify(row("{}", c.mode), text); got.Verdict != c.want {
			t.Errorf("option %s, row %s: %+v, want %s", c.option, c.mode, got, c.want)
		}
	}
}

func TestLooseForms(t *testing.T) {
	want := []string{"*a*\nb\n c", "b\n c", "*a*\nb", "b", "a\nb\n c", "b\n c", "a\nb", "b"}
	if got := forms("*a*\nb\n c", true); !slices.Equal(got, want) {
		t.Errorf("forms = %q, want %q", got, want)
	}
	if got := forms("one line", true); !slices.Equal(got, []string{"one line", "", "", ""}) {
		t.Errorf("forms of one line = %q", got)
	}
}

func TestKwargsInAString(t *testing.T) {
	got := newOf(t, "ifeval:keywords:existence", nil).Verify(row(`"{\"keywords\":[\"sea\"]}"`, "null"), "At sea")
	if got.Verdict != verify.Right {
		t.Errorf("kwargs as a JSON string: %+v, want right", got)
	}
}

// What is approximated is said where the user looks it up.
func TestDocs(t *testing.T) {
	eachKind(func(name string, k kind) {
		entry, err := verify.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		_, listed := differences[name]
		if says := strings.Contains(entry.Doc, "Approximated:"); says != (k.needs != 0) || says != listed {
			t.Errorf("%s: says that it is approximated: %v, listed in differences: %v, needs %b", name, says, listed, k.needs)
		}
		if entry.Summary == "" || strings.HasSuffix(k.note, ".") {
			t.Errorf("%s: no summary, or a note that ends with a full stop", name)
		}
	})
}

func TestSeveralShare(t *testing.T) {
	line := `{"instruction_id_list":["punctuation:no_comma","ifbench:format:no_whitespace"],"kwargs":[{},{}],
		"completion":"The sea","options":{"score":"share"}}`
	got, err := verify.Grade([]byte(line), "instructions")
	if err != nil || got.Verdict != verify.Graded || got.Score != 0.5 {
		t.Errorf("share: %+v (%v), want 0.5", got, err)
	}
	for _, bad := range []string{
		`{"completion":"x"}`,
		`{"completion":"x","instruction_id_list":["no:such"],"kwargs":[{}]}`,
		`{"completion":"x","instruction_id_list":["punctuation:no_comma"],"kwargs":[]}`,
		`{"completion":"x","instruction_id_list":["keywords:existence"],"kwargs":[{}]}`,
	} {
		if got, err := verify.Grade([]byte(bad), "instructions"); err != nil || got.Verdict != verify.NotScored {
			t.Errorf("%s: %+v (%v), want not scored", bad, got, err)
		}
	}
}

// A check that is not linear would take hours on these.
func TestLongCompletions(t *testing.T) {
	for unit, names := range map[string][]string{
		"\n":      {"ifbench:format:line_indent", "ifeval:detectable_format:number_bullet_lists", "ifbench:format:no_bullets_bullets"},
		" \n":     {"ifbench:format:line_indent"},
		"[":       {"ifeval:detectable_format:json_format", "ifeval:detectable_content:number_placeholders"},
		"<<a":     {"ifeval:detectable_format:title"},
		"* a ":    {"ifeval:detectable_format:number_highlighted_sections"},
		"a.(":     {"ifeval:length_constraints:number_sentences", "ifbench:format:title_case"},
		". ":      {"ifeval:length_constraints:number_sentences"},
		"ssss":    {"ifbench:sentence:keyword", "ifeval:keywords:forbidden_words"},
		"a\"b,\n": {"ifbench:custom:csv_city"},
		"'Σ":      {"ifrlvr:copy:copy"},
		"all a ":  {"ifrlvr:copy:repeat_phrase"},
	} {
		text := strings.Repeat(unit, maxCompletionBytes/len(unit))
		for _, name := range names {
			if got := newOf(t, name, nil).Verify(row(everything, "null"), "x"+text); got.Verdict == verify.NotScored {
				t.Errorf("%s of %q again and again: %+v", name, unit, got)
			}
		}
	}
}
