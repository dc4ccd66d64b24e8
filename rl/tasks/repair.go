package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[repairSettings, operations]{
		name:    "repair",
		summary: "find the line of a small program that is wrong by its tests, put it right, and hand it in",
		about: `find the line of a small program that is wrong by its tests, put it right, and hand it in.

    + 3
    * 4
    - 1
    1 : 15 11
    2 : 19 13    2*2    and the same with * 2, 1 : 7 11 and 2 : 9 13    and so on, and last s

A line of the program is an operation on a number. A line after it is a test: what goes in, what comes out,
and what should. A result below 0 or above largest_result is told as !. A turn is the number of a line and
what is to stand there, or s. That hands the program in and ends the game: it is won if both tests come out
as they should, and lost otherwise. Two tests tell programs of such lines apart: those that pass both do
the same with every number.

A line is + - or * with a number from 1 to 4. Lines are drawn with equal probability; one of them is then
changed into another, which is the fault. A draw is discarded if the program still passes or a result of a
test is out of bounds. One problem in 16 is held out, chosen by the CRC-32 of the prompt.

Best play makes the change with which the tests pass, of several the one with the smallest number, and takes
changes back until there is one. Random turns are all changes and s, all alike; what they earn is worked out
for each problem, from the programs that they can lead to.

Demonstrations: with probability aimed a turn is the best player's, otherwise any.`,
		asked: `Put a program right in which one line is wrong. Its first lines are operations, one after the other, on a number; each line after them is a test: what goes in, what comes out, and what should. ` +
			`Each of your turns is one of these and nothing else: the number of a line and what is to stand there, such as 2*3, or s, which hands the program in and ends the game. ` +
			`You are told the program after it, with ? before it if your turn was not possible.`,
		defaults: repairSettings{Lines: 3, Result: 99, Turns: 3, Aimed: 0.5},
		draw:     drawRepair,
		open: func(s *repairSettings, row verify.Problem) (game[operations], error) {
			r, err := repairOf(row.Question)
			if err != nil {
				return nil, fmt.Errorf("task repair: the row does not belong to this task: its question is no program with two tests: %w", err)
			}
			r.result = s.Result
			return r, nil
		},
		turns: func(s *repairSettings) int { return s.Turns },
		aimed: func(s *repairSettings) float64 { return s.Aimed },
		forms: func(s *repairSettings) []string { return append(slices.Clone(changes[s.Lines]), "s") },
		words: func(s *repairSettings) []string {
			words := strings.Split("+-*:!s", "")
			for n := range s.Result + 1 {
				words = append(words, strconv.Itoa(n))
			}
			return words
		},
		shown: func(s *repairSettings) int { return 2*s.Lines + 4*tested },
		moved: func(*repairSettings) int { return 3 },
		think: thinkRepair,
	})
}

type repairSettings struct {
	Lines  int     `toml:"lines" range:"[2,4]" about:"lines of the program"`
	Result int     `toml:"largest_result" range:"[20,999]" about:"largest number that is shown"`
	Turns  int     `toml:"turns" range:"[2,4]" about:"turns in an episode; what random turns earn takes long to work out for many"`
	Aimed  float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// operations are a program of at most 4 lines; where there are fewer, the others are empty.
type operations [4]operation

type operation struct {
	op byte // + - or *
	n  uint8
}

func (l operation) String() string { return fmt.Sprintf("%c %d", l.op, l.n) }

// tested is the number of tests: two of them determine what a chain of + - * does.
const tested = 2

// repair is a problem.
type repair struct {
	lines  int
	result int // largest that is shown
	first  operations
	tests  [tested]struct{ in, want int }
}

// operands is the largest number in a line.
const operands = 4

// changes are the turns that change a program of so many lines, those to small numbers first.
var changes = func() (turns [len(operations{}) + 1][]string) {
	for lines := range turns {
		for n := range operands {
			for line := range lines {
				for _, op := range "+-*" {
					turns[lines] = append(turns[lines], fmt.Sprintf("%d%c%d", line+1, op, n+1))
				}
			}
		}
	}
	return turns
}()

// lineOf reads a line.
func lineOf(op, n byte) (l operation, ok bool) {
	return operation{op, n - '0'}, strings.IndexByte("+-*", op) >= 0 && '1' <= n && n <= '0'+operands
}

// repairOf reads a program with its tests as it is shown.
func repairOf(text string) (*repair, error) {
	r := &repair{}
	tests := 0
	for shown := range strings.SplitSeq(text, "\n") {
		parts := strings.Fields(shown)
		if len(shown) == 3 && len(parts) == 2 && tests == 0 && r.lines < len(r.first) {
			if line, ok := lineOf(shown[0], shown[2]); ok {
				r.first[r.lines] = line
				r.lines++
				continue
			}
		}
		if len(parts) == 4 && parts[1] == ":" && tests < tested {
			in, isNumber := number(parts[0])
			want, wanted := number(parts[3])
			if isNumber && wanted {
				r.tests[tests].in, r.tests[tests].want = in, want
				tests++
				continue
			}
		}
		return nil, fmt.Errorf("found %q", shown)
	}
	if r.lines < 2 || tests != tested || r.tests[0].in == r.tests[1].in {
		return nil, fmt.Errorf("found %d lines and %d different tests", r.lines, tests)
	}
	return r, nil
}

func (r *repair) start() operations { return r.first }

// runs is what a program makes of a number.
func (r *repair) runs(p operations, x int) int {
	for _, line := range p[:r.lines] {
		switch n := int(line.n); line.op {
		case '+':
			x += n
		case '-':
			x -= n
		default:
			x *= n
		}
	}
	return x
}

func (r *repair) passes(p operations) bool {
	for _, t := range r.tests {
		if r.runs(p, t.in) != t.want {
			return false
		}
	}
	return true
}

func (r *repair) show(p operations) string {
	var lines []string
	for _, line := range p[:r.lines] {
		lines = append(lines, line.String())
	}
	for _, t := range r.tests {
		out := "!"
		if n := r.runs(p, t.in); 0 <= n && n <= r.result {
			out = strconv.Itoa(n)
		}
		lines = append(lines, fmt.Sprintf("%d : %s %d", t.in, out, t.want))
	}
	return strings.Join(lines, "\n")
}

// change is a program after a turn; false: it is none that changes a program.
func (r *repair) change(p operations, turn string) (operations, bool) {
	if len(turn) != 3 || turn[0] < '1' || int(turn[0]-'1') >= r.lines {
		return p, false
	}
	line, ok := lineOf(turn[1], turn[2])
	if ok {
		p[turn[0]-'1'] = line
	}
	return p, ok
}

func (r *repair) after(p operations, turn string) []way[operations] {
	if turn == "s" {
		if r.passes(p) {
			return []way[operations]{{1, p, won}}
		}
		return []way[operations]{{1, p, lost}}
	}
	next, ok := r.change(p, turn)
	if !ok {
		return nil
	}
	return []way[operations]{{1, next, goesOn}}
}

// best is what the best player does: it hands in what passes, makes the change with which the tests pass,
// or takes one back.
func (r *repair) best(p operations) string {
	if r.passes(p) {
		return "s"
	}
	for _, turn := range changes[r.lines] {
		if next, ok := r.change(p, turn); ok && r.passes(next) {
			return turn
		}
	}
	for i, line := range r.first {
		if p[i] != line {
			return fmt.Sprintf("%d%c%d", i+1, line.op, line.n)
		}
	}
	return "" // the question has more than one fault
}

func (r *repair) near(p operations) float64 {
	left := func(p operations) int {
		for turns := 1; ; turns++ {
			next, ok := r.change(p, r.best(p))
			if !ok {
				return turns
			}
			p = next
		}
	}
	return 1 - float64(left(p))/float64(left(r.first))
}

func thinkRepair(history []world.Message) (best string, allowed []string) {
	asked, err := repairOf(history[0].Text)
	now, nowErr := repairOf(seen(history))
	if err != nil || nowErr != nil {
		return "", nil
	}
	return asked.best(now.first), append(slices.Clone(changes[now.lines]), "s")
}

// drawRepair draws a program with a fault.
func drawRepair(s *repairSettings, r *random.Rand) (verify.Problem, bool) {
	line := func() operation { return operation{"+-*"[r.Between(0, 2)], uint8(r.Between(1, operands))} }
	g := &repair{lines: s.Lines, result: s.Result}
	for i := range s.Lines {
		g.first[i] = line()
	}
	inside := true
	for i, in := range r.Shuffled(5)[:tested] {
		want := g.runs(g.first, in+1)
		g.tests[i].in, g.tests[i].want = in+1, want
		inside = inside && 0 <= want && want <= s.Result
	}
	g.first[r.Between(0, s.Lines-1)] = line()
	if !inside || g.passes(g.first) {
		return verify.Problem{}, false
	}
	text := g.show(g.first)
	if strings.Contains(text, "!") {
		return verify.Problem{}, false
	}
	return verify.Problem{ID: text, Question: text}, true
}
