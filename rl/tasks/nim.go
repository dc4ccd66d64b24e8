package tasks

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[nimSettings, piles]{
		name:    "nim",
		summary: "take objects from heaps, in turn with a partner: whoever takes the last one wins",
		about: `take objects from heaps, in turn with a partner. Whoever takes the last one wins.

    3 5 1    b3    3 2 0    and so on

The prompt has the sizes of the heaps, which are called a, b, c and so on. A turn is a heap and how many
objects are taken from it, at least one. Then the partner takes some, and you are told what is left.

Sizes are drawn with equal probability. A draw is discarded if one turn wins, or if whoever begins cannot
win for sure. One problem in 16 is held out, chosen by the CRC-32 of the prompt.

Best play leaves heaps whose sizes have the exclusive or 0 (Bouton, "Nim, a game with a complete
mathematical theory", 1901): it always wins. With probability skill the partner does the same where it
can; otherwise it takes any number from any heap, all that is possible alike. Random turns are a heap
and a number from 1 to largest, all alike, possible or not; what they earn is worked out for each problem,
over all that the partner may do.

Demonstrations: with probability aimed a turn is the best player's, otherwise any that is possible.`,
		asked: `Play nim. You are told the sizes of heaps, which are called a, b, c and so on. Each of your turns is the letter of a heap and how many objects you take from it, such as b3, and nothing else. ` +
			`Then your partner takes some from one heap, and you are told what is left, with ? before it if your turn was not possible. Whoever takes the last object wins.`,
		defaults: nimSettings{Heaps: 3, Largest: 5, Skill: 0.5, Aimed: 0.5},
		draw: func(s *nimSettings, r *random.Rand) (verify.Problem, bool) {
			var p piles
			filled := 0
			for i := range s.Heaps {
				if p[i] = uint8(r.Between(0, s.Largest)); p[i] > 0 {
					filled++
				}
			}
			text := nimGame{heaps: s.Heaps}.show(p)
			return verify.Problem{ID: text, Question: text}, p.odd() != 0 && filled > 1
		},
		open: func(s *nimSettings, row verify.Problem) (game[piles], error) {
			g, err := nimOf(row.Question)
			if err != nil {
				return nil, fmt.Errorf("task nim: the row does not belong to this task: its question has no heaps: %w", err)
			}
			g.skill = s.Skill
			return g, nil
		},
		seats: []string{"first", "second"},
		turns: func(s *nimSettings) int { return (s.Heaps*s.Largest + 1) / 2 }, // two objects or more in a turn and its reply
		aimed: func(s *nimSettings) float64 { return s.Aimed },
		forms: func(s *nimSettings) []string {
			var forms []string
			for heap := range s.Heaps {
				for n := 1; n <= s.Largest; n++ {
					forms = append(forms, taking(heap, uint8(n)))
				}
			}
			return forms
		},
		words: func(s *nimSettings) []string {
			words := strings.Split("abcd"[:s.Heaps], "")
			for n := range s.Largest + 1 {
				words = append(words, strconv.Itoa(n))
			}
			return words
		},
		shown: func(s *nimSettings) int { return s.Heaps },
		moved: func(*nimSettings) int { return 2 },
		think: func(history []world.Message) (best string, allowed []string) {
			g, err := nimOf(seen(history))
			if err != nil {
				return "", nil
			}
			for heap := range g.heaps {
				for n := uint8(1); n <= g.first[heap]; n++ {
					turn := taking(heap, n)
					if allowed = append(allowed, turn); best == "" && g.first.less(heap, n).odd() == 0 {
						best = turn
					}
				}
			}
			return best, allowed
		},
	})
}

type nimSettings struct {
	Heaps   int     `toml:"heaps" range:"[2,4]" about:"number of heaps"`
	Largest int     `toml:"largest" range:"[2,9]" about:"objects in a heap, at most"`
	Skill   float64 `toml:"skill" range:"[0,1]" about:"how often the partner plays as well as possible"`
	Aimed   float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// piles are the sizes of the heaps; where there are fewer, the others are 0.
type piles [4]uint8

// odd is the exclusive or of the sizes: 0 where whoever is to play loses against the best player.
func (p piles) odd() uint8 { return p[0] ^ p[1] ^ p[2] ^ p[3] }

func (p piles) sum() int { return int(p[0]) + int(p[1]) + int(p[2]) + int(p[3]) }

// less are the piles without n objects of a heap.
func (p piles) less(heap int, n uint8) piles {
	p[heap] -= n
	return p
}

// taking is a turn.
func taking(heap int, n uint8) string { return fmt.Sprintf("%c%d", 'a'+heap, n) }

// nimGame is a problem.
type nimGame struct {
	heaps int
	first piles
	skill float64 // of the partner
}

// nimOf reads heaps as they are shown.
func nimOf(text string) (nimGame, error) {
	sizes := strings.Fields(text)
	g := nimGame{heaps: len(sizes)}
	if g.heaps < 2 || g.heaps > len(g.first) {
		return g, fmt.Errorf("found %d sizes; accepted: 2 to %d", g.heaps, len(g.first))
	}
	for i, size := range sizes {
		n, err := strconv.ParseUint(size, 10, 8)
		if err != nil {
			return g, err
		}
		g.first[i] = uint8(n)
	}
	return g, nil
}

func (g nimGame) start() piles { return g.first }

func (g nimGame) show(p piles) string { return spaced(p[:g.heaps]) }

func (g nimGame) after(p piles, turn string) []way[piles] {
	to, end, allowed := g.taken(p, turn)
	switch {
	case !allowed:
		return nil
	case end == won:
		return []way[piles]{{1, to, won}}
	}
	return g.answers(to)
}

func (g nimGame) taken(p piles, turn string) (to piles, end ending, allowed bool) {
	if len(turn) < 2 || turn[1] == '0' {
		return p, goesOn, false
	}
	heap, n := int(turn[0])-'a', 0
	if size, isNumber := number(turn[1:]); isNumber {
		n = size
	}
	if heap < 0 || heap >= g.heaps || n < 1 || n > int(p[heap]) {
		return p, goesOn, false
	}
	if p = p.less(heap, uint8(n)); p.sum() == 0 {
		end = won
	}
	return p, end, true
}

func (g nimGame) turned(p piles) piles { return p }

// answers is what the partner may do.
func (g nimGame) answers(p piles) []way[piles] {
	var all []way[piles]
	for heap := range g.heaps {
		for n := uint8(1); n <= p[heap]; n++ {
			w := way[piles]{to: p.less(heap, n)}
			if w.to.sum() == 0 {
				w.end = lost
			}
			all = append(all, w)
		}
	}
	weigh(all, g.skill, func(w way[piles]) bool { return p.odd() == 0 || w.to.odd() == 0 })
	return all
}

// weigh gives the answers of a partner their probabilities: with probability skill it is one of the good
// ones, and otherwise any.
func weigh[P comparable](all []way[P], skill float64, good func(w way[P]) bool) {
	n := 0
	for _, w := range all {
		if good(w) {
			n++
		}
	}
	for i, w := range all {
		if all[i].chance = (1 - skill) / float64(len(all)); good(w) {
			all[i].chance += skill / float64(n)
		}
	}
}

// near counts the objects that are gone, where whoever is to play wins.
func (g nimGame) near(p piles) float64 {
	if p.odd() == 0 {
		return 0
	}
	return 1 - float64(p.sum())/float64(g.first.sum())
}
