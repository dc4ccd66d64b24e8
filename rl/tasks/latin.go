package tasks

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Latin squares: sudoku, mini_sudoku, futoshiki.

// latin is a square of n x n numbers 1 to n, each once in every row and column
// and, with box > 0, in every box of box x box. 0 is an empty cell.
type latin struct {
	n, box int
	cells  []int
	// less lists pairs of cells of which the first holds the smaller number.
	less [][2]int
}

// allowed is the set of numbers, as bits, that a cell may hold.
func (l *latin) allowed(cell int) uint {
	set := uint(1)<<(l.n+1) - 2
	row, col := cell/l.n, cell%l.n
	for k := range l.n {
		set &^= 1<<l.cells[row*l.n+k] | 1<<l.cells[k*l.n+col]
	}
	if l.box > 0 {
		for k := range l.n {
			y, x := row/l.box*l.box+k/l.box, col/l.box*l.box+k%l.box
			set &^= 1 << l.cells[y*l.n+x]
		}
	}
	for _, pair := range l.less {
		if a, b := l.cells[pair[0]], l.cells[pair[1]]; pair[0] == cell && b > 0 {
			set &= 1<<b - 1
		} else if pair[1] == cell && a > 0 {
			set &^= 1<<(a+1) - 1
		}
	}
	return set
}

// solutions counts, up to limit, the ways to fill the empty cells; order gives
// the numbers in the order to try them. With limit 1 the cells keep the way
// found. steps bounds the search; it is negative afterwards if it was given up.
func (l *latin) solutions(limit int, order []int, steps *int) int {
	if *steps--; *steps < 0 {
		return 0
	}
	best, fewest := -1, l.n+1
	var choices uint
	for cell, x := range l.cells {
		if x == 0 {
			set := l.allowed(cell)
			if n := bits.OnesCount(set); n < fewest {
				best, fewest, choices = cell, n, set
			}
		}
	}
	if best < 0 {
		return 1
	}
	count := 0
	for _, x := range order {
		if choices>>x&1 == 1 {
			l.cells[best] = x
			if count += l.solutions(limit-count, order, steps); count >= limit {
				if limit > 1 {
					l.cells[best] = 0
				}
				return count
			}
			l.cells[best] = 0
		}
	}
	return count
}

// maxLatinSteps bounds one search; squares that take more are not drawn.
const maxLatinSteps = 20_000

func oneTo(n int) []int { return countTo(n + 1)[1:] }

// unique tells whether the empty cells can be filled in exactly one way.
func (l *latin) unique() bool {
	own, steps := *l, maxLatinSteps
	own.cells = slices.Clone(l.cells)
	return own.solutions(2, oneTo(l.n), &steps) == 1 && steps >= 0
}

// fill fills an empty square at random.
func (l *latin) fill(r *random.Rand) {
	for {
		steps := maxLatinSteps
		if l.cells = make([]int, l.n*l.n); l.solutions(1, sample(r, oneTo(l.n), l.n), &steps) == 1 {
			break
		}
	}
	// The search fills cells in a fixed order, so rows, columns and numbers are
	// shuffled as the rules allow.
	rows, cols, names := l.shuffledLines(r), l.shuffledLines(r), sample(r, oneTo(l.n), l.n)
	next := make([]int, len(l.cells))
	for i := range l.n {
		for j := range l.n {
			next[i*l.n+j] = names[l.cells[rows[i]*l.n+cols[j]]-1]
		}
	}
	l.cells = next
}

// shuffledLines is an order of rows or columns that keeps boxes together.
func (l *latin) shuffledLines(r *random.Rand) []int {
	if l.box == 0 {
		return sample(r, countTo(l.n), l.n)
	}
	var lines []int
	for _, band := range sample(r, countTo(l.n/l.box), l.n/l.box) {
		for _, k := range sample(r, countTo(l.box), l.box) {
			lines = append(lines, band*l.box+k)
		}
	}
	return lines
}

// dig empties up to n cells while the solution stays unique and says how many.
func (l *latin) dig(r *random.Rand, n int) int {
	empty := 0
	for _, cell := range sample(r, countTo(len(l.cells)), len(l.cells)) {
		if empty == n {
			break
		}
		x := l.cells[cell]
		if l.cells[cell] = 0; l.unique() {
			empty++
		} else {
			l.cells[cell] = x
		}
	}
	return empty
}

// grid is the square as words, _ for an empty cell.
func (l *latin) grid() [][]string {
	out := make([][]string, l.n)
	for i, x := range l.cells {
		word := "_"
		if x > 0 {
			word = strconv.Itoa(x)
		}
		out[i/l.n] = append(out[i/l.n], word)
	}
	return out
}

func init() {
	type settings struct {
		MinEmpty int `toml:"min_empty" range:"[1,55]" about:"minimum number of empty cells"`
		MaxEmpty int `toml:"max_empty" range:"[1,55]" about:"maximum number of empty cells"`
	}
	generate(family[settings]{
		name: "sudoku", summary: "solve a sudoku",
		about:      "solve a sudoku of 9 x 9, which has one solution. Right: that grid. All problems with the same solution belong to the same split.",
		format:     matrixFormat,
		defaults:   settings{30, 50},
		curriculum: []Attribute{{"empty", []float64{20, 30, 40, 50}, []string{"min_empty", "max_empty"}}},
		check:      sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			l := &latin{n: 9, box: 3}
			l.fill(r)
			solution := gridText(l.grid())
			return problem{
				key: solution, answer: solution,
				finish: func(p *problem) {
					l.dig(r, r.Between(s.MinEmpty, s.MaxEmpty))
					p.question = "Fill the empty cells _ of this sudoku: every row, every column and each of the nine boxes of 3 x 3 holds the numbers 1 to 9.\n" + gridText(l.grid())
				},
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinEmpty int `toml:"min_empty" range:"[1,12]" about:"minimum number of empty cells"`
		MaxEmpty int `toml:"max_empty" range:"[1,12]" about:"maximum number of empty cells"`
	}
	generate(family[settings]{
		name: "mini_sudoku", summary: "solve a sudoku of 4 x 4",
		about:      "solve a sudoku of 4 x 4, which has one solution. Right: that grid.",
		format:     matrixFormat,
		defaults:   settings{8, 12},
		curriculum: []Attribute{{"empty", []float64{4, 6, 8, 10, 12}, []string{"min_empty", "max_empty"}}},
		check:      sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			l := &latin{n: 4, box: 2}
			l.fill(r)
			solution, empty := gridText(l.grid()), r.Between(s.MinEmpty, s.MaxEmpty)
			dug := l.dig(r, empty)
			return problem{
				key:      gridText(l.grid()),
				question: "Fill the empty cells _ of this square: every row, every column and each of the four boxes of 2 x 2 holds the numbers 1 to 4.\n" + gridText(l.grid()),
				answer:   solution,
			}, dug == empty
		},
	})
}

// futoshikiText writes a square with its signs between the cells.
func futoshikiText(l *latin) string {
	var b strings.Builder
	sign := func(from, to int, smaller, larger string) string {
		switch {
		case slices.Contains(l.less, [2]int{from, to}):
			return smaller
		case slices.Contains(l.less, [2]int{to, from}):
			return larger
		}
		return " "
	}
	for i, row := range l.grid() {
		for j, word := range row {
			if j > 0 {
				b.WriteString(" " + sign(i*l.n+j-1, i*l.n+j, "<", ">") + " ")
			}
			b.WriteString(word)
		}
		b.WriteByte('\n')
		if i < l.n-1 {
			for j := range l.n {
				b.WriteString(sign(i*l.n+j, (i+1)*l.n+j, "∧", "∨") + "   ")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// futoshikiNumbers are the rows of numbers of an answer; signs are passed over,
// anything else is an error.
func futoshikiNumbers(text string) ([][]string, error) {
	var out [][]string
	for _, line := range gridOf(text) {
		var row []string
		for _, w := range line {
			if _, err := strconv.Atoi(w); err == nil {
				row = append(row, w)
			} else if !slices.Contains([]string{"<", ">", "∧", "∨", "^", "v"}, w) {
				return nil, fmt.Errorf("%s is not a number or a sign", short(w))
			}
		}
		if row != nil {
			out = append(out, row)
		}
	}
	return out, nil
}

func init() {
	type settings struct {
		MinBoardSize  int `toml:"min_board_size" range:"[4,7]" about:"minimum number of rows and columns"`
		MaxBoardSize  int `toml:"max_board_size" range:"[4,7]" about:"maximum number of rows and columns"`
		MinDifficulty int `toml:"min_difficulty" range:"[0,3]" about:"smallest difficulty: a higher one gives fewer numbers and signs"`
		MaxDifficulty int `toml:"max_difficulty" range:"[0,3]" about:"largest difficulty"`
	}
	generate(family[settings]{
		name: "futoshiki", summary: "solve a Latin square with inequality signs",
		about: `solve a Latin square in which < > ∧ ∨ order some neighbours; it has one solution.
Right: its numbers row by row, with or without the signs.`,
		format:   "The answer is the rows of numbers, one a line, with spaces between; the signs may be kept.",
		defaults: settings{4, 6, 0, 3},
		curriculum: []Attribute{
			{"board_size", []float64{4, 5, 6, 7}, []string{"min_board_size", "max_board_size"}},
			{"difficulty", []float64{0, 1, 2, 3}, []string{"min_difficulty", "max_difficulty"}},
		},
		check: func(row verify.Problem, answer string) error {
			want, err := futoshikiNumbers(row.Answer)
			if err != nil || want == nil {
				return lacks("the row's answer is not a solved square")
			}
			got, err := futoshikiNumbers(answer)
			if err != nil {
				return err
			}
			return judged(row, slices.EqualFunc(got, want, slices.Equal[[]string]))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			l := &latin{n: r.Between(s.MinBoardSize, s.MaxBoardSize)}
			difficulty := r.Between(s.MinDifficulty, s.MaxDifficulty)
			l.fill(r)
			solution := futoshikiText(l)
			return problem{
				key: solution, // without signs, as they are chosen later
				finish: func(p *problem) {
					for cell := range l.cells {
						for _, other := range []int{cell + 1, cell + l.n} {
							beside := other == cell+1 && other%l.n != 0 || other == cell+l.n && other < len(l.cells)
							if beside && r.Chance(0.45-0.1*float64(difficulty)) {
								pair := [2]int{cell, other}
								if l.cells[cell] > l.cells[other] {
									pair = [2]int{other, cell}
								}
								l.less = append(l.less, pair)
							}
						}
					}
					p.answer = strings.TrimRight(futoshikiText(l), "\n")
					l.dig(r, len(l.cells)*(6+difficulty)/10)
					p.question = fmt.Sprintf("Fill the empty cells _ so that every row and every column holds the numbers 1 to %d. A sign between two neighbours says which number is the smaller one: < and > between the left and the right one, ∧ (the upper is smaller) and ∨ (the lower is smaller) between two rows.\n%s", l.n, futoshikiText(l))
				},
			}, true
		},
	})
}
