package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/hint"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// checkVerdict checks what holds for every verdict.
func checkVerdict(t *testing.T, v Verdict) {
	t.Helper()
	ok := false
	switch v.Verdict {
	case Right:
		ok = v.Score == 1
	case Wrong:
		ok = v.Score == 0
	case Graded:
		ok = 0 < v.Score && v.Score < 1
	case NotScored:
		ok = math.IsNaN(v.Score)
	}
	if !ok {
		t.Errorf("verdict %q has the score %g", v.Verdict, v.Score)
	}
	if v.Reason == "" {
		t.Errorf("verdict %q without a reason", v.Verdict)
	}
	if len(v.Extracted) > maxShownBytes+len("…") {
		t.Errorf("the extracted answer has %d bytes", len(v.Extracted))
	}
	if raw, err := json.Marshal(v); err != nil {
		t.Error(err)
	} else if notScored := strings.Contains(string(raw), `"score":null`); notScored != (v.Verdict == NotScored) {
		t.Errorf("verdict %q is written as %s", v.Verdict, raw)
	}
}

func TestVerdictJSON(t *testing.T) {
	for _, c := range []struct {
		verdict Verdict
		want    string
	}{
		{Accept("<b>", "whole", "equal to %d", 3), `{"score":1,"verdict":"right","reason":"equal to 3","extracted":"<b>","rule":"whole"}`},
		{Reject("", "", "no answer"), `{"score":0,"verdict":"wrong","reason":"no answer","extracted":""}`},
		{Abstain("no target"), `{"score":null,"verdict":"not_scored","reason":"no target","extracted":""}`},
	} {
		raw, err := c.verdict.MarshalJSON()
		if err != nil || string(raw) != c.want {
			t.Errorf("%s, %v; want %s", raw, err, c.want)
		}
	}
}

func TestShownCutsAtACharacter(t *testing.T) {
	for shift := range 4 {
		got := shown(strings.Repeat("a", shift) + strings.Repeat("😀", 100))
		if !utf8.ValidString(got) || len(got) > maxShownBytes+len("…") {
			t.Errorf("shift %d: %d bytes, valid %t", shift, len(got), utf8.ValidString(got))
		}
	}
}

func TestRowJSON(t *testing.T) {
	var row Problem
	err := json.Unmarshal([]byte(`{"id":"a","prompt":"q?","answer":12.50,"metadata":{"x":1,"y":2},"y":3,"z":null}`), &row)
	if err != nil {
		t.Fatal(err)
	}
	if row.ID != "a" || row.Question != "q?" || row.Answer != "12.50" {
		t.Errorf("%+v", row)
	}
	var x, y, z int
	for name, dst := range map[string]*int{"x": &x, "y": &y} {
		if found, err := row.Field(name, dst); !found || err != nil {
			t.Errorf("field %s: %t, %v", name, found, err)
		}
	}
	if x != 1 || y != 3 {
		t.Errorf("x = %d, y = %d: the row's own field stands above its metadata", x, y)
	}
	if found, err := row.Field("z", &z); found || err != nil {
		t.Errorf("null: %t, %v", found, err)
	}
	var s string
	if _, err := row.Field("x", &s); err == nil {
		t.Error("a number was read as a string")
	}
	raw, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := (Problem{Question: "1 > 2:"}).MarshalJSON(); err != nil || string(raw) != `{"question":"1 > 2:","answer":""}` {
		t.Errorf("%s, %v", raw, err)
	}
	var again Problem
	if err := json.Unmarshal(raw, &again); err != nil || again.Answer != row.Answer || len(again.Metadata) != len(row.Metadata) {
		t.Errorf("written as %s and read back as %+v, %v", raw, again, err)
	}
	for _, bad := range []string{`[]`, `"x"`, `{"metadata":[1]}`, `{`} {
		if err := json.Unmarshal([]byte(bad), &row); err == nil {
			t.Errorf("%s was read as a row", bad)
		}
	}
}

func TestRegistry(t *testing.T) {
	for _, e := range Entries() {
		if e.Summary == "" || strings.Contains(e.Summary, "\n") || !strings.HasPrefix(e.Doc, e.Name) || e.New == nil {
			t.Errorf("verifier %q: its summary is one line and its text begins with its name", e.Name)
		}
		if _, err := New(e.Name, nil); err != nil {
			t.Errorf("verifier %q with default options: %v", e.Name, err)
		}
		if _, err := New(e.Name, map[string]any{"no such option": 1}); err == nil {
			t.Errorf("verifier %q accepts an unknown option", e.Name)
		}
	}
	if _, err := New("nunber", nil); fmt.Sprint(err, hint.All(err)) != `unknown verifier "nunber" [did you mean number? rlzero verifiers lists them all]` {
		t.Errorf("unknown name: %v, hints %q", err, hint.All(err))
	}
	defer func() {
		if recover() == nil {
			t.Error("a second verifier of one name was registered")
		}
	}()
	Register(Entry{Name: "number"})
}

func TestGrade(t *testing.T) {
	for _, c := range []struct{ line, fallback, verdict, extracted string }{
		{`{"verifier":"number","answer":"1/2","completion":"0.5"}`, "", Right, "0.5"},
		{`{"answer":7,"completion":"7"}`, "number", Right, "7"},
		{`{"answer":"7","completion":null}`, "number", Wrong, ""},
		{`{"verifier":"number","answer":"7","completion":"x 7","extract":"none"}`, "format", Wrong, "x 7"},
		{`{"verifier":"number","answer":"7","completion":"x 7","options":{"extract":"last_number"}}`, "", Right, "7"},
		{`{"verifier":"number","task":{"answer":"7"},"answer":"8","completion":"7"}`, "", Right, "7"},
		{`{"verifier":"number","completion":"7"}`, "", NotScored, ""},
		{`{"verifier":"math","answer":["1","2"],"completion":"1, 2"}`, "", NotScored, ""},
		{`{"verifier":"math","answer":{"x":"1"},"completion":"1"}`, "", NotScored, ""},
		{`{"verifier":"math","answer":"[1, 2]","completion":"\\boxed{[1,2]}"}`, "", Right, "[1,2]"},
		{`{"verifier":"countdown","numbers":[3,4],"target":7,"completion":"3+4"}`, "", Right, "3+4"},
		{`{"verifier":"countdown","metadata":{"numbers":[3,4],"target":7},"completion":"3+4"}`, "", Right, "3+4"},
		{`{"verifier":"countdown","task":{"metadata":{"numbers":[3,4],"target":7}},"completion":"3*4"}`, "", Wrong, "3*4"},
		{`{"verifier":"countdown","answer":{"numbers":[3,4],"target":7},"completion":"3+4"}`, "", Right, "3+4"},
		{`{"verifier":"countdown","answer":"{\"numbers\":[3,4],\"target\":7}","completion":"3+4"}`, "", Right, "3+4"},
		{`{"verifier":"countdown","numbers":[3,4],"completion":"3+4"}`, "", NotScored, ""},
		{`{"verifier":"countdown","numbers":[3,"4"],"target":7,"completion":"3+4"}`, "", NotScored, ""},
		{`{"verifier":"format","completion":"<think>a</think><answer>b</answer>"}`, "", Right, "<think>a</think><answer>b</answer>"},
	} {
		v, err := Grade([]byte(c.line), c.fallback)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		checkVerdict(t, v)
		if v.Verdict != c.verdict || v.Extracted != c.extracted {
			t.Errorf("%s: %+v, want %s with %q", c.line, v, c.verdict, c.extracted)
		}
	}
	for line, want := range map[string]string{
		`{"completion":"7","note":1}`:             "; the row has completion, note",
		`{"completion":"7","answer":" "}`:         "; the row has answer (empty), completion",
		`{"completion":"7","task":{"answer":[]}}`: "; the row has answer (empty)",
		`{"completion":"7","task":null}`:          "; the row has no column",
	} {
		if v, err := Grade([]byte(line), "number"); err != nil || v.Verdict != NotScored || !strings.HasSuffix(v.Reason, want) {
			t.Errorf("%s: %+v, %v, want %q", line, v, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"completion":"7"`:                    "unexpected end of JSON input",
		`[]`:                                   "cannot unmarshal array",
		`{"answer":"7"}`:                       `no key "completion"`,
		`{"completion":7}`:                     `"completion" is "7"; accepted: a string or null`,
		`{"completion":"7"}`:                   "no verifier is named",
		`{"verifier":"nope","completion":"7"}`: `unknown verifier "nope"`,
		`{"verifier":"number","completion":"7","extract":"all"}`:     `verifier "number": option extract is "all"`,
		`{"verifier":"number","completion":"7","options":{"a":1}}`:   `unknown key a; known here: extract, tolerance, plain`,
		`{"verifier":"number","completion":"7","task":[]}`:           "a task row is a JSON object",
		`{"verifier":"format","completion":"7","extract":"none"}`:    `unknown key extract; known here: tags, pattern`,
		`{"verifier":"number","completion":"7","metadata":"{}"}`:     `"metadata" of a task row`,
		`{"verifier":["number"],"completion":"7","metadata":"none"}`: "the line cannot be graded",
	} {
		if _, err := Grade([]byte(line), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

// TestGuard: a verifier that panics has not scored.
func TestGuard(t *testing.T) {
	got := Guard(func() Verdict { var none []int; return Accept("", "", "%d", none[len(none)]) })
	if got.Verdict != NotScored || !math.IsNaN(got.Score) || !strings.Contains(got.Reason, "the verifier failed") {
		t.Errorf("%+v", got)
	}
	if got := Guard(func() Verdict { return Accept("", "", "fine") }); got.Verdict != Right {
		t.Errorf("%+v", got)
	}
}
