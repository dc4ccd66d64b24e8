package tasks

import (
	"regexp"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
)

// TestKeyChain: the sentences, followed from the place of the question, lead to the answer in as
// many hops as the row says.
func TestKeyChain(t *testing.T) {
	family, err := Lookup("key_chain")
	if err != nil {
		t.Fatal(err)
	}
	task := validated(t, family.New())
	for i := range 100 {
		row := task.Draw(random.At(3, 0, uint64(i)), Train)
		var want int
		if found, err := row.Field("hops", &want); !found || err != nil {
			t.Fatal(err)
		}
		next := map[string]string{}
		for _, m := range regexp.MustCompile(`From (\w+) go to (\w+)\.`).FindAllStringSubmatch(row.Question, -1) {
			next[m[1]] = m[2]
		}
		place := regexp.MustCompile(`begin at (\w+)`).FindStringSubmatch(row.Question)[1]
		hops := 0
		for next[place] != "" {
			place, hops = next[place], hops+1
		}
		end := regexp.MustCompile(`At ` + place + ` lies (\w+)\.`).FindStringSubmatch(row.Question)
		if end == nil || end[1] != row.Answer || hops != want {
			t.Fatalf("%s\n%d hops end at %s with %v, the row has %s after %d", row.Question, hops, place, end, row.Answer, want)
		}
	}
}
