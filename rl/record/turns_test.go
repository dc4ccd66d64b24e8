package record

import (
	"reflect"
	"testing"
)

// TestAnswers: what the world says answers the calls of the turn before it, each its own where there are as many.
func TestAnswers(t *testing.T) {
	a, b := Called{Tool: "a"}, Called{Tool: "b", Failed: true}
	turns := []Turn{{By: ByWorld}, {By: ByPolicy, Calls: []Called{a, b}}, {By: ByWorld}, {By: ByWorld}, {By: ByPolicy, Calls: []Called{b, a}}, {By: ByWorld}, {By: ByPolicy}, {By: ByWorld}, {By: "other", Calls: []Called{a}}}
	for at, want := range [][]Called{nil, nil, {a}, {b}, nil, {b, a}, nil, nil, nil} {
		if got := Answers(turns, at); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("line %d answers %v, want %v", at, got, want)
		}
	}
}
