package tasks

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[shopSettings, shopper]{
		name:    "shop",
		summary: "find out by a few questions which article of a table a user wants, and offer it",
		about: `find out by a few questions which article of a table a user wants, and offer it.

    1 0 2
    1 1 2
    0 1 0
    . . .    b, and the user says . 1 .    a    1 1 .    2

A row of the table is an article, a column one of its features. The last row is what the user has said
so far. A turn is a letter or a number. A letter asks for a feature, a for the first column: the user tells
what the article has that they want. A number offers an article, 1 for the first row, and ends the game: it
is won if that is the article, and lost otherwise. The user answers no question twice.

The user is simulated: any article is wanted with equal probability, and the answers are always true.
Articles are drawn with equal probability. A draw is discarded if no player can always find the article
in time, or if one question always tells it. One problem in 16 is held out, chosen by the CRC-32 of the
table.

Best play asks for the feature after which the fewest questions are left in the worst case, and offers an
article as soon as no other is possible. Random turns are the letters and numbers, all alike. An offer is
right with probability 1/articles whatever was asked, so with a articles and f features random turns earn
(1 - (f/(a + f))^turns)/a.

Demonstrations: with probability aimed a turn is the best player's, otherwise any that is possible.`,
		asked: `Sell a user the article that they want. You are told a table: a row is an article, a column a feature; the last row is what the user has said, with a point where you have not asked. ` +
			`Each of your turns is a letter or a number and nothing else. A letter asks for a feature, a for the first. A number offers an article, 1 for the first, and ends the talk. ` +
			`You are told the table again, with ? before it if your turn was not possible.`,
		defaults: shopSettings{Articles: 6, Features: 4, Values: 2, Turns: 4, Aimed: 0.5},
		draw:     drawShop,
		open:     func(_ *shopSettings, row verify.Problem) (game[shopper], error) { return shopAsked(row.Question) },
		turns:    func(s *shopSettings) int { return s.Turns },
		aimed:    func(s *shopSettings) float64 { return s.Aimed },
		forms: func(s *shopSettings) []string {
			return append(strings.Split(featureLetters[:s.Features], ""), numbersTo(s.Articles)...)
		},
		words: func(*shopSettings) []string { return strings.Split(".0123456789"+featureLetters, "") },
		shown: func(s *shopSettings) int { return (s.Articles + 1) * s.Features },
		moved: func(*shopSettings) int { return 1 },
		think: func(history []world.Message) (best string, allowed []string) {
			s, err := shopOf(seen(history))
			if err != nil {
				return "", nil
			}
			return s.think()
		},
	})
}

type shopSettings struct {
	Articles int     `toml:"articles" range:"[3,9]" about:"rows of the table"`
	Features int     `toml:"features" range:"[2,6]" about:"columns of the table"`
	Values   int     `toml:"values" range:"[2,9]" about:"number of values of a feature"`
	Turns    int     `toml:"turns" range:"[3,7]" about:"turns in an episode, the offer among them"`
	Aimed    float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

const featureLetters = "abcdef"

// shopper is what is known of a user: a bit for each article that may still be the one, and for each
// feature that was told. What the user wants is decided as it is asked for: an answer has the share of the
// articles that are left and have it. That is the same as to draw the article first.
type shopper struct {
	articles uint16
	told     uint8
}

// shop is a problem.
type shop struct {
	rows  []string // [article][feature] a digit
	first shopper
	turns map[shopper]int // that the best player needs, the offer among them, where more than one article is left after questions
}

// shopOf reads a table as it is shown, with what the user has said.
func shopOf(text string) (*shop, error) {
	rows := strings.Split(strings.ReplaceAll(text, " ", ""), "\n")
	s := &shop{rows: rows[:len(rows)-1], turns: map[shopper]int{}}
	said := rows[len(s.rows)]
	if len(s.rows) < 3 || len(s.rows) > 9 || len(said) < 2 || len(said) > len(featureLetters) {
		return nil, fmt.Errorf("found %d articles with %d features", len(s.rows), len(said))
	}
	for feature, answer := range []byte(said) {
		if answer != '.' {
			s.first.told |= 1 << feature
		}
	}
	for i, row := range s.rows {
		if len(row) != len(said) || strings.Trim(row, "0123456789") != "" {
			return nil, fmt.Errorf("found %q", row)
		}
		fits := true
		for feature, answer := range []byte(said) {
			fits = fits && (answer == '.' || answer == row[feature])
		}
		if fits {
			s.first.articles |= 1 << i
		}
	}
	if s.first.articles == 0 {
		return nil, errors.New("no article has what the user says")
	}
	s.measure(s.first)
	return s, nil
}

// shopAsked is the table of a question, in which nothing is told yet.
func shopAsked(question string) (*shop, error) {
	s, err := shopOf(question)
	if err == nil && s.first.told != 0 {
		err = errors.New("the user has said something")
	}
	if err != nil {
		return nil, fmt.Errorf("task shop: the row does not belong to this task: its question is no table: %w", err)
	}
	return s, nil
}

func (s *shop) features() int { return len(s.rows[0]) }

func (s *shop) start() shopper { return s.first }

func (s *shop) show(p shopper) string {
	said := []byte(s.rows[bits.TrailingZeros16(p.articles)]) // all that are left agree in what was told
	for feature := range said {
		if p.told>>feature&1 == 0 {
			said[feature] = '.'
		}
	}
	var lines []string
	for _, row := range append(slices.Clone(s.rows), string(said)) {
		lines = append(lines, strings.Join(strings.Split(row, ""), " "))
	}
	return strings.Join(lines, "\n")
}

// answers are what the user may say about a feature, each with what is known after it.
func (s *shop) answers(p shopper, feature int) []shopper {
	var having [10]uint16 // by value
	for i, row := range s.rows {
		if p.articles>>i&1 == 1 {
			having[row[feature]-'0'] |= 1 << i
		}
	}
	var all []shopper
	for _, articles := range having {
		if articles != 0 {
			all = append(all, shopper{articles, p.told | 1<<feature})
		}
	}
	return all
}

func (s *shop) after(p shopper, turn string) []way[shopper] {
	if len(turn) != 1 {
		return nil
	}
	left := float64(bits.OnesCount16(p.articles))
	if feature := strings.Index(featureLetters[:s.features()], turn); feature >= 0 {
		if p.told>>feature&1 == 1 {
			return nil
		}
		var ways []way[shopper]
		for _, next := range s.answers(p, feature) {
			ways = append(ways, way[shopper]{float64(bits.OnesCount16(next.articles)) / left, next, goesOn})
		}
		return ways
	}
	offer := int(turn[0]) - '1'
	if offer < 0 || offer >= len(s.rows) {
		return nil
	}
	its := shopper{1 << offer, p.told}
	switch p.articles & its.articles {
	case 0:
		return []way[shopper]{{1, p, lost}}
	case p.articles:
		return []way[shopper]{{1, its, won}}
	}
	return []way[shopper]{{1 / left, its, won}, {1 - 1/left, shopper{p.articles &^ its.articles, p.told}, lost}}
}

// never is more turns than any episode has.
const never = 99

// measure finds the turns of the best player after what is known, and after all that further questions tell.
func (s *shop) measure(p shopper) {
	if _, done := s.turns[p]; done || bits.OnesCount16(p.articles) == 1 {
		return
	}
	fewest := never
	for feature := range s.features() {
		if p.told>>feature&1 == 0 {
			for _, next := range s.answers(p, feature) {
				s.measure(next)
			}
			fewest = min(fewest, 1+s.worst(p, feature))
		}
	}
	s.turns[p] = fewest
}

// left is how many turns the best player needs, whatever the user wants; never: no questions tell it.
func (s *shop) left(p shopper) int {
	if bits.OnesCount16(p.articles) == 1 {
		return 1
	}
	return s.turns[p]
}

// worst is how many turns are left after a question, at most.
func (s *shop) worst(p shopper, feature int) int {
	longest := 0
	for _, next := range s.answers(p, feature) {
		longest = max(longest, s.left(next))
	}
	return min(longest, never-1)
}

func (s *shop) near(p shopper) float64 {
	return 1 - float64(s.left(p))/float64(s.left(s.first))
}

// think is the best turn, and all that are possible.
func (s *shop) think() (best string, allowed []string) {
	p, fewest := s.first, never
	for feature := range s.features() {
		if p.told>>feature&1 == 1 {
			continue
		}
		ask := featureLetters[feature : feature+1]
		if allowed = append(allowed, ask); s.worst(p, feature) < fewest {
			best, fewest = ask, s.worst(p, feature)
		}
	}
	if bits.OnesCount16(p.articles) == 1 {
		best = strconv.Itoa(bits.TrailingZeros16(p.articles) + 1)
	}
	return best, append(allowed, numbersTo(len(s.rows))...)
}

// drawShop draws a table.
func drawShop(o *shopSettings, r *random.Rand) (verify.Problem, bool) {
	var lines []string
	for range o.Articles {
		row := make([]byte, o.Features)
		for i := range row {
			row[i] = '0' + byte(r.Between(0, o.Values-1))
		}
		lines = append(lines, string(row))
	}
	s, err := shopOf(strings.Join(append(lines, strings.Repeat(".", o.Features)), "\n"))
	if err != nil {
		panic(err) // it was just made
	}
	needed := s.left(s.first)
	text := s.show(s.first)
	return verify.Problem{ID: text, Question: text}, 2 < needed && needed <= o.Turns
}
