package sample

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
)

// TestStopText: a stop text ends a completion with the token that completes it,
// also where it begins in earlier tokens, as when the whole text is searched.
func TestStopText(t *testing.T) {
	tok, err := text.NewWords([]string{"<pad>", "<eos>", "1", "2", "+", "=", "é"})
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{m: &model.Model{Tokenizer: tok}}
	stops := []string{"=1+", "é2é", "1+1+1+1+1"}
	rng := rand.New(rand.NewPCG(1, 2))
	stopped := 0
	for range 200 {
		s, g := &sequence{}, &group{req: Request{StopText: stops}}
		for range 100 {
			s.IDs = append(s.IDs, 2+rng.IntN(5))
			want := false
			for _, stop := range stops {
				want = want || strings.Contains(tok.Decode(s.IDs), stop)
			}
			if got := e.stopText(g, s); got != want {
				t.Fatalf("%q: got %v, want %v", tok.Decode(s.IDs), got, want)
			}
			if want {
				stopped++
				break
			}
		}
	}
	if stopped < 100 {
		t.Errorf("only %d of 200 texts stopped: too few to tell", stopped)
	}
}
