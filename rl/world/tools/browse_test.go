package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestBrowse: pages by name, number, back and more; links to pages that are not there are texts; a call that is a
// mistake leaves the visitor where it was, and episodes do not know of each other.
func TestBrowse(t *testing.T) {
	o := defaultBrowse()
	o.Data, o.Bytes = "pages", 100
	long := strings.Repeat("ä", 70) + "\n" + strings.Repeat("b", 90) + "\n[home](../start.md)"
	tool, hash, err := o.Make(func(data, _ string) ([]string, []string, string, error) {
		return []string{"start.md", "nuts/a.md"}, []string{"[fruit](fruit.md), [nuts](nuts/a.md#kinds), [again](nuts/a.md), [web](https://example.com) []()", long}, "sum of " + data, nil
	})
	if err != nil || hash != "sum of pages" {
		t.Fatal(hash, err)
	}
	if err := tool.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	const start = "fruit, nuts [1], again [1], web []()"
	first := strings.Repeat("ä", 50) + "\n(more: 140 bytes)"
	visited(t, tool, verify.Problem{}, [][2]string{
		{"1", "!there is no link to follow"},
		{"back", "!there is no page before"},
		{"more", "!there is no more of a page"},
		{"start.md", start},
		{"2", "!the page has no link 2; accepted: 1 to 1"},
		{" 1 ", first},
		{"fruit.md", `!there is no page "fruit.md"`},
		{"more", strings.Repeat("ä", 20) + "\n" + strings.Repeat("b", 59) + "\n(more: 40 bytes)"},
		{"more", strings.Repeat("b", 31) + "\nhome [1]"},
		{"more", "!there is no more of a page"},
		{"1", start},
	})
	visited(t, tool, verify.Problem{}, [][2]string{
		{"start.md", start}, {"1", first}, {"back", start}, {"back", "!there is no page before"}, {"1", first},
	})

	own, _, err := (&browseOptions{Row: "pages", Bytes: 100}).Make(nil)
	if err != nil {
		t.Fatal(err)
	}
	visited(t, own, verify.Problem{Metadata: map[string]json.RawMessage{"pages": json.RawMessage(`{"a":"x"}`)}}, [][2]string{{"a", "x"}, {"1", "!there is no link to follow"}, {"start.md", `!there is no page`}})
	for _, name := range []string{"7", "-1", "back", "more", " a"} {
		pages, err := json.Marshal(map[string]string{"a": "x", name: "y"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := own.Open(t.Context(), verify.Problem{Metadata: map[string]json.RawMessage{"pages": pages}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a page %q", name)) {
			t.Errorf("a page %q, which no call opens by its name: %v", name, err)
		}
	}
	if _, err := own.Open(t.Context(), verify.Problem{}); err == nil {
		t.Error("a row without pages is accepted")
	}
	for _, o := range []browseOptions{{Bytes: 100}, {Data: "a", Row: "b", Bytes: 100}, {Data: "a", Bytes: 1}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// visited makes calls of an episode; what is expected of a mistake begins with an exclamation mark.
func visited(t *testing.T, tool world.Tool, row verify.Problem, calls [][2]string) {
	t.Helper()
	s, err := tool.Open(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range calls {
		args, err := json.Marshal(map[string]string{"to": c[0]})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Call(t.Context(), args)
		want, failed := strings.CutPrefix(c[1], "!")
		if err != nil || a.Failed != failed || !failed && a.Text != want || failed && !strings.Contains(a.Text, want) {
			t.Errorf("%q: %+v, %v, want %q", c[0], a, err, c[1])
		}
	}
}
