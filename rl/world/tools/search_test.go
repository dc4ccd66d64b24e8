package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestSearch: the documents that fit best are shown in their order, and every mistake is an answer that says
// what it is.
func TestSearch(t *testing.T) {
	s, err := NewSearch([]string{"the cat sat", "a dog ran", "the dog and the cat", strings.Repeat("ä", maxShown)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(args string) world.Answer {
		a, err := s.Call(t.Context(), json.RawMessage(args))
		if err != nil {
			t.Fatalf("%s breaks the search: %v", args, err)
		}
		return a
	}
	for query, want := range map[string]string{
		"cat": "the cat sat\nthe dog and the cat", "dog": "a dog ran\nthe dog and the cat", "DOG, cat?": "the dog and the cat\nthe cat sat", "ran": "a dog ran",
	} {
		if a := ask(`{"query":"` + query + `"}`); a.Failed || a.Text != want {
			t.Errorf("%q: %+v, want %q", query, a, want)
		}
	}
	for args, want := range map[string]string{
		`{"query":"bird"}`: "no document has a word of the query",
		`{"query":""}`:     "no document has a word of the query",
		`{"query":"` + strings.Repeat("a", 1025) + `"}`: "the query has 1025 bytes; accepted: at most 1024",
		`{}`:                       "query",
		`{"query":7}`:              "query",
		`{"query":"cat","most":2}`: "most",
		`null`:                     "",
	} {
		if a := ask(args); !a.Failed || !strings.HasPrefix(a.Text, "mistake: ") || !strings.Contains(a.Text, want) {
			t.Errorf("%.40s: %+v, want %s", args, a, want)
		}
	}
	long, _ := NewSearch([]string{"ab " + strings.Repeat("ä", maxShown)}, 1)
	if a, err := long.Call(t.Context(), json.RawMessage(`{"query":"ab"}`)); err != nil || a.Failed || len(a.Text) > maxShown+len("…") || !utf8.ValidString(a.Text) {
		t.Errorf("a long document: %d bytes, %v", len(a.Text), err)
	}
	schema, err := verify.New("json_schema", map[string]any{"schema": s.Spec().Args, "extract": verify.ExtractNone})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"query":"cat"}`: verify.Right, `{}`: verify.Wrong, `{"query":7}`: verify.Wrong, `{"query":"cat","most":2}`: verify.Wrong,
		string(world.Calls("<search>cat</search>", []world.Spec{s.Spec()})[0].Args): verify.Right,
	} {
		if v := schema.Verify(verify.Problem{}, args); v.Verdict != want || ask(args).Failed != (want == verify.Wrong) {
			t.Errorf("%s: the schema says %+v, the search %+v", args, v, ask(args))
		}
	}
}
