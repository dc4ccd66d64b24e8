package natsd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndex: at any time a subject meets the subscriptions whose patterns cover it, each once;
// what all have left is empty.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	patterns := slices.DeleteFunc(textsOf([]string{"a", "b", "*", ">"}, 3), func(p string) bool { return !wellFormed(p) })
	subjects := textsOf([]string{"a", "b", "c"}, 4)
	var root node
	var there []*subscription
	for range 2000 {
		if rng.IntN(2) == 0 || len(there) == 0 {
			s := &subscription{pattern: patterns[rng.IntN(len(patterns))]}
			root.add(s.pattern, s)
			there = append(there, s)
		} else {
			i := rng.IntN(len(there))
			root.remove(there[i].pattern, there[i])
			root.remove(there[i].pattern, there[i]) // which it does not have
			there = slices.Delete(there, i, i+1)
		}
		subject := subjects[rng.IntN(len(subjects))]
		found := map[*subscription]int{}
		for _, s := range root.match(subject, nil) {
			found[s]++
		}
		for _, s := range there {
			want := 0
			if covers(s.pattern, subject) {
				want = 1
			}
			if found[s] != want {
				t.Fatalf("%s meets a subscription to %s %d times", subject, s.pattern, found[s])
			}
			delete(found, s)
		}
		if len(found) > 0 {
			t.Fatalf("%s meets %d subscriptions that have ended", subject, len(found))
		}
	}
	for _, s := range there {
		root.remove(s.pattern, s)
	}
	if len(root.next) > 0 || len(root.subs) > 0 {
		t.Errorf("%d nodes are left", len(root.next))
	}
}
