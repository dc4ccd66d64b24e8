package serve

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/text"
)

// TestSpeaker: what is said token by token, joined, is the text of the tokens up to the
// first stop text, whatever part of it came with which token.
func TestSpeaker(t *testing.T) {
	tok, err := text.ReadFolder(fixtures.Selection(t, "chat"))
	if err != nil {
		t.Fatal(err)
	}
	alphabet, err := tok.Encode("abé")
	if err != nil {
		t.Fatal(err)
	}
	stops := []string{"aab", "bba", "éa", "ab\ufffd"}
	rng := rand.New(rand.NewPCG(1, 2))
	stopped := 0
	for range 2000 {
		var ids []int
		for range rng.IntN(24) {
			ids = append(ids, alphabet[rng.IntN(len(alphabet))])
		}
		want := tok.Decode(ids)
		first := len(want)
		for _, stop := range stops {
			if at := strings.Index(want, stop); at >= 0 && at < first {
				first = at
			}
		}
		if first < len(want) {
			stopped++
		}
		said, s := "", newSpeaker(tok, stops)
		for _, id := range ids {
			said += s.add(id)
			if !strings.HasPrefix(want[:first], said) {
				t.Fatalf("%q: %q is said too early", want, said)
			}
		}
		if said += s.end(); said != want[:first] {
			t.Fatalf("%q: said %q, want %q", want, said, want[:first])
		}
	}
	if stopped < 500 {
		t.Errorf("only %d of 2000 texts stop: too few to tell", stopped)
	}
}
