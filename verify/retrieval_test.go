package verify

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// shelf is a row with documents and the gold ones among them.
func shelf(t testing.TB, gold any, documents ...string) Problem {
	t.Helper()
	row := Problem{Metadata: map[string]json.RawMessage{}}
	for name, value := range map[string]any{"documents": documents, "gold": gold} {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		row.Metadata[name] = raw
	}
	return row
}

// TestRetrieval: places and scores, counted by hand.
func TestRetrieval(t *testing.T) {
	documents := []string{"a red cat", "a red dog", "a blue dog", "a blue cow", "a red cow"}
	for _, c := range []struct {
		gold    any
		query   string
		options map[string]any
		score   float64
		rank    float64
		found   float64
	}{
		{"a blue dog", "blue dog", nil, 1, 1, 1},
		{[]string{"a blue dog"}, "Blue, DOG!", nil, 1, 1, 1},
		{"a blue dog", "dog", nil, 0, 2, 0},                        // the red dog fits as well
		{"a blue dog", "dog", map[string]any{"first": 2}, 1, 2, 1}, //
		{"a blue dog", "dog", map[string]any{"first": 2, "score": "reciprocal"}, 0.5, 2, 1},
		{"a blue dog", "a", map[string]any{"first": 4}, 0, 5, 0}, // all fit
		{"a red cat", "a", map[string]any{"first": 4}, 0, 5, 0},  // whichever number it has
		{"a blue dog", "cat", nil, 0, 6, 0},
		{"a blue dog", "", nil, 0, 6, 0},
		{"a blue dog", "bird", map[string]any{"first": 100}, 0, 6, 0},
		{[]string{"a red dog", "a blue dog"}, "dog", nil, 1, 1, 1},
		{[]string{"a red dog", "a blue dog"}, "dog", map[string]any{"score": "recall"}, 0.5, 1, 1},
		{[]string{"a red dog", "a blue dog"}, "dog", map[string]any{"score": "recall", "first": 2}, 1, 1, 2},
		{[]string{"a red dog", "a blue cow"}, "blue cow", map[string]any{"score": "recall", "first": 3}, 0.5, 1, 1},
		{"a blue dog", "I look for it.\n<answer>blue dog</answer>", map[string]any{"extract": "announced"}, 1, 1, 1},
		{"a blue dog", "red cat\nblue dog", map[string]any{"extract": "last_line"}, 1, 1, 1},
		{"a blue dog", strings.Repeat("blue dog ", 114), nil, 0, 6, 0}, // 1026 bytes
	} {
		got := made(t, "retrieval", c.options).Verify(shelf(t, c.gold, documents...), c.query)
		checkVerdict(t, got)
		if want := map[string]float64{"rank": c.rank, "found": c.found}; got.Score != c.score || !reflect.DeepEqual(got.Values, want) {
			t.Errorf("%q for %v with %v: %+v; want %v and %v", c.query, c.gold, c.options, got, c.score, want)
		}
	}
}

// TestRetrievalRows: what a row lacks is said, and nothing is scored.
func TestRetrievalRows(t *testing.T) {
	v := made(t, "retrieval", nil)
	for _, c := range []struct {
		row  Problem
		want string
	}{
		{Problem{}, `the row has no documents: column "documents"`},
		{shelf(t, "a"), `the row has no documents`},
		{shelf(t, "b", "a"), `"gold" of the row is not among its documents: "b"`},
		{shelf(t, []string{}, "a"), `the row has no gold document: column "gold"`},
		{shelf(t, nil, "a"), `the row has no gold document`},
		{shelf(t, 7, "a"), `"gold" of the row is "7"`},
	} {
		if err := Check(v, c.row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if got := v.Verify(c.row, "a"); got.Verdict != NotScored {
			t.Errorf("%+v", got)
		}
	}
	if err := Check(v, shelf(t, "a", "a", "a")); err != nil {
		t.Error(err)
	}
	for _, bad := range []map[string]any{{"score": "mrr"}, {"first": 0}, {"extract": "last_number"}} {
		if _, err := New("retrieval", bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// FuzzRetrieval: every query is scored, and no query that names no word of the gold document earns anything.
func FuzzRetrieval(f *testing.F) {
	for _, completion := range attacks() {
		if len(completion) < 1000 {
			f.Add("3 8 24", "24 8 2", completion)
		}
	}
	f.Add("a red cat", "a blue dog", "blue dog")
	f.Add("İstanbul", "ıstanbul", "ISTANBUL")
	v := made(f, "retrieval", map[string]any{"first": 2})
	f.Fuzz(func(t *testing.T, other, gold, query string) {
		other, gold = strings.ToValidUTF8(other, ""), strings.ToValidUTF8(gold, "")
		got := scored(t, "retrieval", v, shelf(t, gold, other, gold), query)
		words := strings.ToLower(query)
		if len(query) > 0 && strings.Trim(words, "abcdefghijklmnopqrstuvwxyz ") == "" && got.Verdict == Right && !shares(words, strings.ToLower(gold)) {
			t.Errorf("%q finds %q: %+v", query, gold, got)
		}
	})
}

// shares says whether a text has a word of another, or a part of one.
func shares(a, b string) bool {
	for _, w := range strings.Fields(a) {
		if strings.Contains(b, w) {
			return true
		}
	}
	return false
}
