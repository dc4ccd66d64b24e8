package tasks

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[tictactoeSettings, noughts]{
		name:    "tictactoe",
		summary: "get three in a row against a partner, from a position that can be won",
		about: `get three in a row against a partner, from a position that can be won.

    x..
    .o.
    ..x    3, and the board is told again with the partner's move

You are x, and it is your turn. A turn is the number of an empty field: 1 to 9, row by row. Then the
partner sets an o. Three x in a row, a column or a diagonal win; three o, or a full board, lose.

Positions after two or four random moves are drawn. One is discarded if the game is over, if one move
wins, or if x cannot win for sure. One in 16 is held out, chosen by the CRC-32 of the position.

Best play follows a table of all positions, and always wins. With probability skill the partner plays as
well as possible, otherwise on any empty field. Random turns are 1 to 9, all alike, possible or not; what
they earn is worked out for each position, over all that the partner may do.

Demonstrations: with probability aimed a turn is the best player's, otherwise any empty field.`,
		asked: `Play tic-tac-toe as x. You are told the board; its fields are 1 to 9, row by row, and those with a point are empty. Each of your turns is the number of an empty field and nothing else. ` +
			`Then your partner sets an o, and you are told the board, with ? before it if your turn was not possible. Three x in a row, a column or a diagonal win. You can win for sure.`,
		defaults: tictactoeSettings{Skill: 0.5, Aimed: 0.5},
		draw: func(_ *tictactoeSettings, r *random.Rand) (verify.Problem, bool) {
			b := emptyBoard
			plies := 2 * r.Between(1, 2)
			for i, at := range r.Shuffled(9)[:plies] {
				b[at] = "xo"[i%2]
			}
			text := b.String()
			return verify.Problem{ID: text, Question: text}, solved()[b].turns > 1
		},
		open: func(s *tictactoeSettings, row verify.Problem) (game[noughts], error) {
			b, err := boardOf(row.Question)
			return tictactoe{b, s.Skill}, err
		},
		seats: []string{"x", "o"},
		turns: func(*tictactoeSettings) int { return 4 }, // seven empty fields at most
		aimed: func(s *tictactoeSettings) float64 { return s.Aimed },
		forms: func(*tictactoeSettings) []string { return strings.Split("123456789", "") },
		words: func(*tictactoeSettings) []string { return strings.Split("xo.123456789", "") },
		shown: func(*tictactoeSettings) int { return 9 },
		moved: func(*tictactoeSettings) int { return 1 },
		think: func(history []world.Message) (best string, allowed []string) {
			b, err := boardOf(seen(history))
			if err != nil {
				return "", nil
			}
			for at, field := range b {
				if field == '.' {
					allowed = append(allowed, strconv.Itoa(at+1))
				}
			}
			return strconv.Itoa(solved()[b].best + 1), allowed
		},
	})
}

type tictactoeSettings struct {
	Skill float64 `toml:"skill" range:"[0,1]" about:"how often the partner plays as well as possible"`
	Aimed float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// noughts is a board, row by row: x, o or a point.
type noughts [9]byte

var emptyBoard = noughts{'.', '.', '.', '.', '.', '.', '.', '.', '.'}

var threes = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// String is how prompts and replies write it.
func (b noughts) String() string {
	return string(b[0:3]) + "\n" + string(b[3:6]) + "\n" + string(b[6:9])
}

// boardOf reads a position in which it is the turn of x, as it is shown.
func boardOf(text string) (noughts, error) {
	var b noughts
	rows := strings.Split(text, "\n")
	if len(rows) != 3 || len(rows[0]) != 3 || len(rows[1]) != 3 || len(rows[2]) != 3 {
		return b, errNoBoard
	}
	copy(b[:], strings.Join(rows, ""))
	if _, known := solved()[b]; !known {
		return b, errNoBoard
	}
	return b, nil
}

var errNoBoard = errors.New("task tictactoe: the row does not belong to this task: its question is no board on which it is the turn of x")

// has says whether somebody has three in a row.
func (b noughts) has(who byte) bool {
	for _, t := range threes {
		if b[t[0]] == who && b[t[1]] == who && b[t[2]] == who {
			return true
		}
	}
	return false
}

// sets are the boards after somebody sets one more, by the field; a full board has none.
func (b noughts) sets(who byte) (fields []int, boards []noughts) {
	for at, field := range b {
		if field == '.' {
			next := b
			next[at] = who
			fields, boards = append(fields, at), append(boards, next)
		}
	}
	return fields, boards
}

// solution is what is known of a board on which it is the turn of x.
type solution struct {
	value int // of best play on both sides: 1 if x wins, 0 if nobody does, -1 if o does
	turns int // of x until it has won at the latest; 0: it does not win for sure
	best  int // the field to set
}

// solved has all boards on which it is the turn of x, and the game is not over. Those on which o has one more are of a game
// that o began: whoever plays second sees them.
var solved = sync.OnceValue(func() map[noughts]solution {
	all := map[noughts]solution{}
	var solve func(b noughts) solution
	solve = func(b noughts) solution {
		if s, known := all[b]; known {
			return s
		}
		out := solution{value: -2}
		fields, boards := b.sets('x')
		for i, next := range boards {
			s := solution{value: 1, turns: 1}
			if !next.has('x') {
				s = answered(next, solve)
			}
			if s.value > out.value || s.value == out.value && s.turns < out.turns {
				out = solution{s.value, s.turns, fields[i]}
			}
		}
		all[b] = out
		return out
	}
	solve(emptyBoard)
	_, begun := emptyBoard.sets('o')
	for _, b := range begun {
		solve(b)
	}
	return all
})

// answered is what a board is worth on which it is the turn of o: the worst for x of all its answers.
func answered(b noughts, solve func(noughts) solution) solution {
	_, boards := b.sets('o')
	if boards == nil {
		return solution{} // full: nobody wins
	}
	out := solution{value: 2}
	for _, next := range boards {
		s := solution{value: -1}
		if !next.has('o') {
			if s = solve(next); s.value == 1 {
				s.turns++
			}
		}
		if s.value < out.value || s.value == out.value && s.turns > out.turns {
			out = s
		}
	}
	return out
}

// tictactoe is a problem.
type tictactoe struct {
	first noughts
	skill float64 // of the partner
}

func (g tictactoe) start() noughts { return g.first }

func (g tictactoe) show(b noughts) string { return b.String() }

func (g tictactoe) after(b noughts, turn string) []way[noughts] {
	b, end, allowed := g.taken(b, turn)
	switch {
	case !allowed:
		return nil
	case end == won:
		return []way[noughts]{{1, b, won}}
	case end == even:
		return []way[noughts]{{1, b, lost}}
	}
	_, boards := b.sets('o')
	ways, worst := make([]way[noughts], len(boards)), 1
	value := func(w way[noughts]) int {
		if w.to.has('o') {
			return -1
		}
		return solved()[w.to].value
	}
	for i, next := range boards {
		ways[i].to = next
		if next.has('o') {
			ways[i].end = lost
		}
		worst = min(worst, value(ways[i]))
	}
	weigh(ways, g.skill, func(w way[noughts]) bool { return value(w) == worst })
	return ways
}

func (g tictactoe) taken(b noughts, turn string) (to noughts, end ending, allowed bool) {
	if len(turn) != 1 || turn[0] < '1' || turn[0] > '9' || b[turn[0]-'1'] != '.' {
		return b, goesOn, false
	}
	b[turn[0]-'1'] = 'x'
	switch {
	case b.has('x'):
		end = won
	case !slices.Contains(b[:], '.'):
		end = even
	}
	return b, end, true
}

// turned is the board with x for o: each seat sees itself as x.
func (g tictactoe) turned(b noughts) noughts {
	for at, field := range b {
		switch field {
		case 'x':
			b[at] = 'o'
		case 'o':
			b[at] = 'x'
		}
	}
	return b
}

func (g tictactoe) near(b noughts) float64 {
	if turns := solved()[b].turns; turns > 0 {
		return 1 - float64(turns)/float64(solved()[g.first].turns)
	}
	return 0
}
