package outside

import (
	"reflect"
	"testing"
)

// FuzzLines: whatever a program says is read without a panic, and what is accepted is the same after it was kept
// by a journal.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		`{"protocol":1,"name":"guess","pure":true,"forks":true,"at_once":64}`,
		`{"id":"1","messages":[{"role":"tool","text":"low"}],"reward":-0.5,"state":"4","facts":{"left":3}}`,
		`{"id":"1","verdict":{"score":1,"verdict":"right","reason":"found"}}`,
		`{"id":"1","verdict":{"verdict":"not_scored"}}`,
		`{"id":"1","error":"out of cards"}`,
		`{"rows":[{"question":"a"},[[[]]]]}`,
		`{"id":"1","id":"2"}`, `{"id":1}`, `{"ID":"1"}`, `{"id":"1","reward":1e999}`, `null`, `[`, "{\"id\":\"\xff\"}", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if h, err := parseHello(line); err == nil && (h.Protocol != version || h.AtOnce < 1) {
			t.Errorf("%+v", h)
		}
		a, err := parseAnswer(line)
		if err != nil {
			return
		}
		for _, raw := range a.Rows {
			if deep(raw) < 0 {
				t.Errorf("%s", raw)
			}
		}
		for _, first := range []bool{true, false} {
			r, err := a.reply(first, []string{"left"})
			if err != nil {
				continue
			}
			kept, err := encoded(a, false)
			if err != nil {
				t.Fatal(err)
			}
			again, err := parseAnswer(kept)
			if err != nil {
				t.Fatalf("%s: %v", kept, err)
			}
			other, err := again.reply(first, []string{"left"})
			if r.Verdict != nil && other.Verdict != nil && r.Verdict.Score != r.Verdict.Score { // NaN is not scored
				r.Verdict.Score, other.Verdict.Score = 0, 0
			}
			if len(r.Facts) == 0 {
				r.Facts = nil
			}
			if err != nil || !reflect.DeepEqual(r, other) {
				t.Errorf("%+v, and kept %+v, %v", r, other, err)
			}
		}
	})
}
