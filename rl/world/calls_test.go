package world

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// someTools are one that takes a text and one that takes objects alone.
var someTools = []Spec{{Name: "calc", Text: "e"}, {Name: "calc2"}}

// written are calls in short: TOOL ARGS, or TOOL and a part of the mistake after an exclamation mark.
func written(calls []Call) []string {
	var out []string
	for _, c := range calls {
		if c.Mistake != "" {
			out = append(out, c.Tool+"!"+c.Mistake)
		} else {
			out = append(out, c.Tool+string(c.Args))
		}
	}
	return out
}

func TestCalls(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                nil,
		"7*8 <b>is</b> a < b":             nil,
		"<calc>7*8</calc>":                {`calc{"e":"7*8"}`},
		"so <calc> 7*8\n</calc> it is":    {`calc{"e":"7*8"}`},
		`<calc>{"e": "7*8"}</calc>`:       {`calc{"e": "7*8"}`},
		"<calc>1</calc><calc2>{}</calc2>": {`calc{"e":"1"}`, `calc2{}`},
		"<<calc>1</calc>":                 {`calc{"e":"1"}`},
		"<calc>1<calc>2</calc>3</calc>":   {`calc{"e":"1\u003ccalc\u003e2"}`},
		"</calc>7<calculator>1":           nil,
		"<CALC>1</CALC> <calc >1</calc>":  nil,
		"<calc></calc>":                   {`calc{"e":""}`},
		"<calc>1</calc><calc>2":           {`calc{"e":"1"}`, "calc!the call has no end; accepted: </calc>"},
		"<calc>1</calc2>":                 {"calc!the call has no end; accepted: </calc>"},
		`<calc>{"e":</calc>`:              {"calc!the arguments are not one JSON object"},
		`<calc>{} {}</calc>`:              {"calc!the arguments are not one JSON object"},
		"<calc2>7</calc2>":                {"calc2!the arguments are no JSON object"},
		"<calc2>[]</calc2>":               {"calc2!the arguments are no JSON object"},
	} {
		if got := written(Calls(text, someTools)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := Calls(strings.Repeat("<calc>1</calc>", maxCalls+9), someTools)
	if len(many) != maxCalls+1 || many[maxCalls-1].Mistake != "" || many[maxCalls].Mistake == "" {
		t.Errorf("of too many calls %d are read: %q", len(many), written(many))
	}
	for length, mistake := range map[int]bool{maxCallBytes: false, maxCallBytes + 1: true} {
		if got := Calls("<calc>"+strings.Repeat("1", length)+"</calc>", someTools); len(got) != 1 || (got[0].Mistake != "") != mistake {
			t.Errorf("a call of %d bytes: %d calls, mistake %q", length, len(got), got[0].Mistake)
		}
	}
}

// FuzzCalls: whatever a policy writes, its calls are bounded, each has either an object or a mistake, a
// mistake of the form is the last, and what is written around a call of its own changes nothing of it.
func FuzzCalls(f *testing.F) {
	for _, text := range []string{"", "<calc>7*8</calc>", "<calc>", "</calc>", `<calc2>{"a":1}</calc2> <calc>`, "<<calc><calc2>{}", "\xff<calc>\xff</calc>", strings.Repeat("<calc></calc>", 20)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		calls := Calls(text, someTools)
		if len(calls) > maxCalls+1 {
			t.Fatalf("%d calls", len(calls))
		}
		for _, c := range calls {
			var object map[string]json.RawMessage
			if c.Mistake == "" && json.Unmarshal(c.Args, &object) != nil || c.Mistake != "" && c.Args != nil {
				t.Errorf("%+v", c)
			}
		}
		if !strings.Contains(text, "<calc") && calls != nil {
			t.Errorf("calls of a text without a tag: %+v", calls)
		}
		if len(calls) == 0 {
			got := Calls(text+"<calc>7</calc>", someTools)
			if len(got) != 1 || string(got[0].Args) != `{"e":"7"}` {
				t.Errorf("a call after a text without calls: %q", written(got))
			}
		}
	})
}
