package braces

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]Piece{
		"":                  nil,
		"plain":             {{"plain", false, 1}},
		"{question}":        {{"question", true, 2}},
		"a {b} {{c}} {d}":   {{"a ", false, 1}, {"b", true, 4}, {" {c} ", false, 6}, {"d", true, 14}},
		"{a}{b}":            {{"a", true, 2}, {"b", true, 5}},
		"{x > 1 and y < 2}": {{"x > 1 and y < 2", true, 2}},
	} {
		if got, err := Parse(text, "column"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a {":   "the brace at byte 3 names no column; accepted: {COLUMN}, and {{ for a brace",
		"{}":    "the brace at byte 1 names no column",
		"a {b":  "the brace at byte 3 names no column",
		"a } b": "the brace at byte 3 closes nothing; write }} for a brace",
	} {
		if _, err := Parse(text, "column"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: what is written with doubled braces is read as it was.
func FuzzParse(f *testing.F) {
	f.Add("{a} and }b{")
	f.Fuzz(func(t *testing.T, text string) {
		doubled := strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
		got, err := Parse(doubled, "column")
		if err != nil || len(got) > 1 || len(got) == 1 && (got[0].Braced || got[0].Text != text) || len(got) == 0 && text != "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	})
}
