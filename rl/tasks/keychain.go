package tasks

import (
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
)

// A chain of keys that is hidden among others: KeyChain of LoongRL, arXiv 2510.19363, with
// made-up words in place of UUIDs and of the question that they lead to.
func init() {
	type settings struct {
		MinHops   int `toml:"min_hops" range:"[1,16]" about:"minimum number of places after the first one"`
		MaxHops   int `toml:"max_hops" range:"[1,16]" about:"maximum number of places after the first one"`
		MinDecoys int `toml:"min_decoys" range:"[1,500]" about:"minimum number of other chains"`
		MaxDecoys int `toml:"max_decoys" range:"[1,500]" about:"maximum number of other chains"`
	}
	generate(family[settings]{
		name: "key_chain", summary: "follow a chain of places through many sentences to its end",
		about:  "follow a chain of places, told in sentences that are shuffled with those of other chains, and find what lies at its end. Rows give the number of hops. Right: that word, in any case.",
		format: "The answer is one word.", defaults: settings{2, 4, 3, 8}, check: sameFold,
		curriculum: []Attribute{
			{"hops", []float64{2, 4, 8, 16}, []string{"min_hops", "max_hops"}},
			{"decoys", []float64{3, 10, 50, 200}, []string{"min_decoys", "max_decoys"}},
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			hops, ways := r.Between(s.MinHops, s.MaxHops), 1+r.Between(s.MinDecoys, s.MaxDecoys)
			length := hops + 2 // the places of a way, and what lies at its end
			names := words(r, ways*length, 4, 7)
			var text []string
			for way := range ways {
				places := names[way*length:][:length]
				for i := range hops {
					text = append(text, fmt.Sprintf("From %s go to %s.", places[i], places[i+1]))
				}
				text = append(text, fmt.Sprintf("At %s lies %s.", places[hops], places[hops+1]))
			}
			shuffle(r, text)
			return problem{
				question: fmt.Sprintf("%s\nYou begin at %s. What lies at the end of the way?", strings.Join(text, " "), names[0]),
				answer:   names[length-1],
				metadata: map[string]any{"hops": hops},
			}, true
		},
	})
}
