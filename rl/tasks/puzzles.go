package tasks

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Puzzles: n_queens, survo, kakurasu, puzzle24, cryptarithm. Sudokus and their
// kin are in latin.go, tower_of_hanoi and quantum_lock in moves.go.

// attacked tells whether two queens, given by their column in each row, attack
// each other; -1 is a row without one.
func attacked(columns []int) bool {
	for i, a := range columns {
		for j := range i {
			if b := columns[j]; a >= 0 && b >= 0 && (a == b || a-b == i-j || b-a == i-j) {
				return true
			}
		}
	}
	return false
}

// queenColumns reads a board of _ and Q.
func queenColumns(board [][]string) ([]int, error) {
	columns := make([]int, len(board))
	for i, row := range board {
		if columns[i] = -1; len(row) != len(board) {
			return nil, errors.New("the board is not square")
		}
		for j, c := range row {
			switch {
			case c == "_":
			case c != "Q" || columns[i] >= 0:
				return nil, fmt.Errorf("row %d is not made of _ and at most one Q", i+1)
			default:
				columns[i] = j
			}
		}
	}
	return columns, nil
}

func queenBoard(columns []int) [][]string {
	board := make([][]string, len(columns))
	for i, c := range columns {
		board[i] = strings.Split(strings.Repeat("_", len(columns)), "")
		if c >= 0 {
			board[i][c] = "Q"
		}
	}
	return board
}

func checkQueens(row verify.Problem, answer string) error {
	board := gridOf(answer)
	var start [][]string
	if found, err := row.Field("board", &start); err != nil {
		return &rowError{err}
	} else if !found { // reasoning-gym lists all completions
		var valid []string
		if err := needed(row, "valid_answers", &valid); err != nil {
			return err
		}
		ok := slices.ContainsFunc(valid, func(v string) bool { return slices.EqualFunc(gridOf(v), board, slices.Equal[[]string]) })
		return judged(row, ok)
	}
	given, err := queenColumns(start)
	if err != nil {
		return &rowError{err}
	}
	columns, err := queenColumns(board)
	switch {
	case err != nil:
		return err
	case len(columns) != len(given):
		return fmt.Errorf("the board has %d rows, not %d", len(columns), len(given))
	case slices.Contains(columns, -1):
		return errors.New("some rows have no queen")
	case attacked(columns):
		return errors.New("two queens attack each other")
	}
	for i, c := range given {
		if c >= 0 && columns[i] != c {
			return fmt.Errorf("the queen given in row %d was moved", i+1)
		}
	}
	return nil
}

// queens is a random placement of n queens that do not attack each other.
func queens(r *random.Rand, n int) []int {
	columns := make([]int, 0, n)
	var place func() bool
	place = func() bool {
		if len(columns) == n {
			return true
		}
		for _, c := range sample(r, countTo(n), n) {
			if columns = append(columns, c); !attacked(columns) && place() {
				return true
			}
			columns = columns[:len(columns)-1]
		}
		return false
	}
	place()
	return columns
}

func init() {
	type settings struct {
		N         int `toml:"n" range:"[4,12]" about:"number of rows and columns"`
		MinRemove int `toml:"min_remove" range:"[1,12]" about:"minimum number of queens to place"`
		MaxRemove int `toml:"max_remove" range:"[1,12]" about:"maximum number of queens to place; not above n"`
	}
	generate(family[settings]{
		name: "n_queens", summary: "place queens that do not attack each other",
		about:    "complete a board to n queens that do not attack each other. Right: every such board that keeps the given queens.",
		format:   "The answer is the board in the same form, with Q and _.",
		defaults: settings{8, 1, 7},
		curriculum: []Attribute{
			{"n", []float64{4, 6, 8, 10, 12}, []string{"n"}},
			{"num_removed", []float64{2, 4, 6, 8, 10}, []string{"min_remove", "max_remove"}},
		},
		check: checkQueens,
		valid: func(s *settings) error {
			if s.MinRemove > s.N {
				return outOfRange("min_remove", s.MinRemove, fmt.Sprintf("a whole number from 1 to n = %d", s.N))
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			full := queens(r, s.N)
			given := slices.Clone(full)
			for _, i := range sample(r, countTo(s.N), r.Between(s.MinRemove, min(s.MaxRemove, s.N))) {
				given[i] = -1
			}
			return problem{
				key:      fmt.Sprint(given),
				question: fmt.Sprintf("Replace some _ of this board by Q so that it holds %d queens in all and no two share a row, a column or a diagonal.\n%s", s.N, gridText(queenBoard(given))),
				answer:   gridText(queenBoard(full)), metadata: map[string]any{"board": queenBoard(given)},
			}, true
		},
	})
}

// bitGrid reads rows of 0 and 1, with or without white space, commas or bars
// between.
func bitGrid(text string) ([][]int, error) {
	var out [][]int
	for line := range strings.Lines(text) {
		var row []int
		for _, c := range line {
			switch {
			case c == '0' || c == '1':
				row = append(row, int(c-'0'))
			case !strings.ContainsRune(" \t\r\n,|", c):
				return nil, fmt.Errorf("%q is neither 0 nor 1", c)
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
		MinRows int     `toml:"min_rows" range:"[3,9]" about:"minimum number of rows"`
		MaxRows int     `toml:"max_rows" range:"[3,9]" about:"maximum number of rows"`
		MinCols int     `toml:"min_cols" range:"[3,9]" about:"minimum number of columns"`
		MaxCols int     `toml:"max_cols" range:"[3,9]" about:"maximum number of columns"`
		POnes   float64 `toml:"p_ones" range:"[0.05,0.95]" about:"share of ones"`
	}
	sums := func(grid [][]int) (rows, cols []int) {
		rows, cols = make([]int, len(grid)), make([]int, len(grid[0]))
		for i, row := range grid {
			for j, x := range row {
				rows[i] += x * (j + 1)
				cols[j] += x * (i + 1)
			}
		}
		return rows, cols
	}
	generate(family[settings]{
		name: "kakurasu", summary: "fill a grid with 0 and 1 to weighted sums",
		about:    "fill a grid with 0 and 1 so that the weighted sums of rows and columns are the given ones. Right: every such grid.",
		format:   matrixFormat,
		defaults: settings{4, 5, 4, 5, 0.3},
		curriculum: []Attribute{
			{"rows", []float64{4, 6, 7, 9}, []string{"min_rows", "max_rows"}}, {"cols", []float64{4, 6, 7, 9}, []string{"min_cols", "max_cols"}},
			{"p_ones", []float64{0.5, 0.4, 0.3, 0.2}, []string{"p_ones"}},
		},
		check: func(row verify.Problem, answer string) error {
			var wantRows, wantCols []int
			if err := cmpErr(needed(row, "row_sums", &wantRows), needed(row, "col_sums", &wantCols)); err != nil {
				return err
			}
			grid, err := bitGrid(answer)
			if err != nil {
				return err
			}
			if len(grid) == 0 || len(grid) != len(wantRows) {
				return fmt.Errorf("the grid has %d rows, not %d", len(grid), len(wantRows))
			}
			for _, line := range grid {
				if len(line) != len(wantCols) {
					return fmt.Errorf("a row has %d cells, not %d", len(line), len(wantCols))
				}
			}
			rows, cols := sums(grid)
			if !slices.Equal(rows, wantRows) || !slices.Equal(cols, wantCols) {
				return errors.New("the sums differ")
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			grid := digitLike(r.Between(s.MinRows, s.MaxRows), r.Between(s.MinCols, s.MaxCols))
			ones := 0
			for i := range grid {
				for j := range grid[i] {
					if r.Chance(s.POnes) {
						grid[i][j] = 1
						ones++
					}
				}
			}
			rows, cols := sums(grid)
			return problem{
				question: fmt.Sprintf("Fill a grid of %d rows and %d columns with 0 and 1. A 1 adds the number of its column, counted from 1, to the sum of its row, and the number of its row to the sum of its column. The sums of the rows are to be %s, those of the columns %s.",
					len(grid), len(grid[0]), joined(rows, ", "), joined(cols, ", ")),
				answer: gridText(grid), metadata: map[string]any{"row_sums": rows, "col_sums": cols},
			}, ones > 0
		},
	})
}

func init() {
	type settings struct {
		MinBoardSize int `toml:"min_board_size" range:"[4,10]" about:"minimum number of rows and columns, including sums"`
		MaxBoardSize int `toml:"max_board_size" range:"[4,10]" about:"maximum number of rows and columns, including sums"`
		MinEmpty     int `toml:"min_empty" range:"[1,9]" about:"minimum number of empty cells"`
		MaxEmpty     int `toml:"max_empty" range:"[1,9]" about:"maximum number of empty cells"`
		MinNum       int `toml:"min_num" range:"[1,99]" about:"smallest number of a cell"`
		MaxNum       int `toml:"max_num" range:"[2,99]" about:"largest number of a cell"`
	}
	generate(family[settings]{
		name: "survo", summary: "put given numbers into a matrix with sums",
		about:    "put given numbers into the empty cells of a matrix so that the sums are right. Right: the completed matrix. There is only one.",
		format:   "The answer is the whole matrix, the sums included: one row a line, numbers with spaces between.",
		defaults: settings{4, 5, 3, 5, 1, 9},
		curriculum: []Attribute{
			{"board_size", []float64{4, 5, 6, 7}, []string{"min_board_size", "max_board_size"}},
			{"empty", []float64{4, 5, 6, 7}, []string{"min_empty", "max_empty"}},
		},
		check: sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinBoardSize, s.MaxBoardSize) - 1
			full := digitLike(n+1, n+1)
			for i := range n {
				for j := range n {
					x := r.Between(s.MinNum, s.MaxNum)
					full[i][j] = x
					full[i][n] += x
					full[n][j] += x
					full[n][n] += x
				}
			}
			grid := cloned(full)
			var cells [][2]int
			var numbers []int
			for _, k := range sample(r, countTo(n*n), min(r.Between(s.MinEmpty, s.MaxEmpty), n*n)) {
				cells = append(cells, [2]int{k / n, k % n})
				numbers = append(numbers, full[k/n][k%n])
				grid[k/n][k%n] = 0
			}
			slices.Sort(numbers)
			return problem{
				key:      gridText(grid),
				question: fmt.Sprintf("In this matrix the last number of each row and column is the sum of the others. Replace the zeros by the numbers %s, each as often as it is listed.\n%s", joined(numbers, ", "), gridText(grid)),
				answer:   gridText(full),
			}, survoFits(cloned(grid), cells, numbers) == 1
		},
	})
}

// survoFits counts, up to 2, the ways to put the numbers into the empty cells.
func survoFits(grid [][]int, cells [][2]int, numbers []int) int {
	n := len(grid) - 1
	holds := func() bool {
		for i := range n {
			row, col := 0, 0
			for j := range n {
				row, col = row+grid[i][j], col+grid[j][i]
			}
			if row != grid[i][n] || col != grid[n][i] {
				return false
			}
		}
		return true
	}
	count, used := 0, make([]bool, len(numbers))
	var place func(k int)
	place = func(k int) {
		if k == len(cells) {
			if holds() {
				count++
			}
			return
		}
		tried := map[int]bool{}
		for i, x := range numbers {
			if !used[i] && !tried[x] && count < 2 {
				tried[x], used[i] = true, true
				grid[cells[k][0]][cells[k][1]] = x
				place(k + 1)
				used[i] = false
			}
		}
	}
	place(0)
	return count
}

var literal = regexp.MustCompile(`\d+`)

// term is a number made on the way to 24: over/under, and how it is written.
type term struct {
	over, under int
	text        string
}

// joint is a combined with b; false where it divides by 0.
func (a term) joint(op string, b term) (term, bool) {
	text := "(" + a.text + " " + op + " " + b.text + ")"
	switch op {
	case "+":
		return term{a.over*b.under + b.over*a.under, a.under * b.under, text}, true
	case "-":
		return term{a.over*b.under - b.over*a.under, a.under * b.under, text}, true
	case "*":
		return term{a.over * b.over, a.under * b.under, text}, true
	}
	return term{a.over * b.under, a.under * b.over, text}, b.over != 0
}

// twentyFour is a way to make 24 of the terms, or "".
func twentyFour(terms []term) string {
	if len(terms) == 1 {
		if terms[0].over == 24*terms[0].under {
			return terms[0].text
		}
		return ""
	}
	for i, a := range terms {
		for j, b := range terms {
			if i == j {
				continue
			}
			rest := []term{{}} // the joint
			for k, c := range terms {
				if k != i && k != j {
					rest = append(rest, c)
				}
			}
			for _, op := range []string{"+", "-", "*", "/"} {
				joint, ok := a.joint(op, b)
				if !ok || i > j && (op == "+" || op == "*") {
					continue
				}
				rest[0] = joint
				if found := twentyFour(rest); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

func init() {
	type settings struct {
		MinValue int `toml:"min_value" range:"[1,20]" about:"smallest number"`
		MaxValue int `toml:"max_value" range:"[2,20]" about:"largest number"`
	}
	generate(family[settings]{
		name: "puzzle24", summary: "make 24 from four numbers",
		about: `combine four numbers, each used once, with + - * / and brackets into 24. Right: every
expression of exactly these numbers whose exact value is 24; "= 24" may follow. For rows
without "numbers", such as reasoning-gym's, the numbers are those of the reference.`,
		format:     "The answer is the expression alone.",
		defaults:   settings{1, 10},
		curriculum: []Attribute{{"value", []float64{5, 6, 7, 8, 9, 10}, []string{"max_value"}}},
		check: func(row verify.Problem, answer string) error {
			var numbers []int
			if found, err := row.Field("numbers", &numbers); err != nil {
				return &rowError{err}
			} else if !found {
				for _, text := range literal.FindAllString(row.Answer, 16) {
					n, _ := strconv.Atoi(text)
					numbers = append(numbers, n)
				}
			}
			if len(numbers) == 0 {
				return lacks("the row has no numbers")
			}
			own := verify.Problem{Metadata: metadata(map[string]any{"numbers": numbers, "target": 24})}
			v := verify.Countdown{Form: verify.FormExpression, UseAll: true, Extract: verify.ExtractNone}.Verify(own, answer)
			if v.Verdict != verify.Right {
				return errors.New(v.Reason)
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			numbers := several(r, 4, 4, s.MinValue, s.MaxValue)
			terms := make([]term, len(numbers))
			for i, n := range numbers {
				terms[i] = term{n, 1, strconv.Itoa(n)}
			}
			found := strings.TrimSuffix(strings.TrimPrefix(twentyFour(terms), "("), ")") // the outer brackets
			return problem{
				key:      joined(slices.Sorted(slices.Values(numbers)), ","),
				question: "Use each of the numbers " + joined(numbers, ", ") + " exactly once, with +, -, *, / and brackets, to make 24.",
				answer:   found, metadata: map[string]any{"numbers": numbers},
			}, found != ""
		},
	})
}

func init() {
	type settings struct {
		MinWords         int  `toml:"min_words" range:"[2,20]" about:"minimum number of words added"`
		MaxWords         int  `toml:"max_words" range:"[2,20]" about:"maximum number of words added"`
		AllowLeadingZero bool `toml:"allow_leading_zero" about:"a word may begin with the letter of 0"`
	}
	generate(family[settings]{
		name: "cryptarithm", summary: "find the digits that the letters of a sum stand for",
		about: `replace letters by different digits so that a sum is correct. Right: every mapping,
written as letter=digit, that has exactly the letters of the sum, each once, and makes the
sum correct. No word may begin with 0 unless the row allows it.`,
		format:     "The answer is the digits of all letters in the form A=1,B=2,C=3.",
		defaults:   settings{2, 3, false},
		curriculum: []Attribute{{"words", []float64{2, 5, 10, 20}, []string{"min_words", "max_words"}}},
		check:      checkCryptarithm,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			alphabet := sample(r, strings.Split("ABCDEFGHIJKLMNOPQRSTUVWXYZ", ""), 10)
			spell := func(n int) string {
				var b strings.Builder
				for _, c := range strconv.Itoa(n) {
					b.WriteString(alphabet[c-'0'])
				}
				return b.String()
			}
			total, words := 0, []string{}
			for range r.Between(s.MinWords, s.MaxWords) {
				n := digitsBetween(r, 3, 5)
				total += n
				words = append(words, spell(n))
			}
			var pairs []string
			for d, c := range alphabet {
				if strings.Contains(strings.Join(words, "")+spell(total), c) {
					pairs = append(pairs, fmt.Sprintf("%s=%d", c, d))
				}
			}
			rule := "no number begins with 0"
			if s.AllowLeadingZero {
				rule = "numbers may begin with 0"
			}
			return problem{
				question: fmt.Sprintf("Each letter stands for a digit, different letters for different digits, and %s. Which digits make this sum come out?\n%s = %s", rule, strings.Join(words, " + "), spell(total)),
				answer:   strings.Join(slices.Sorted(slices.Values(pairs)), ","),
				metadata: map[string]any{"words_letters": words, "result_letters": spell(total), "allow_leading_zero": s.AllowLeadingZero},
			}, true
		},
	})
}

// checkCryptarithm adds the words up with the digits of an answer.
func checkCryptarithm(row verify.Problem, answer string) error {
	var words []string
	var result string
	var zero bool
	if err := cmpErr(needed(row, "words_letters", &words), needed(row, "result_letters", &result), needed(row, "allow_leading_zero", &zero)); err != nil {
		return err
	}
	letters := map[rune]int{}
	for _, c := range strings.Join(words, "") + result {
		letters[c] = -1
	}
	taken := map[int]bool{}
	for part := range strings.SplitSeq(answer, ",") {
		name, digit, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		d, err := strconv.Atoi(strings.TrimSpace(digit))
		if err != nil || d < 0 || d > 9 || len([]rune(name)) != 1 {
			return fmt.Errorf("%s is not in the form A=1", short(part))
		}
		if old, ok := letters[[]rune(name)[0]]; !ok || old >= 0 || taken[d] {
			return fmt.Errorf("%s is not a letter of the sum, or the letter or digit appears twice", short(part))
		}
		letters[[]rune(name)[0]], taken[d] = d, true
	}
	// Digits from the right; the carry stays below the number of words.
	carry, longest := 0, len(result)
	for _, w := range append(slices.Clone(words), result) {
		longest = max(longest, len(w))
		if w == "" || letters[rune(w[0])] == 0 && !zero && len(w) > 1 {
			return errors.New("a word begins with 0")
		}
	}
	for i := range longest {
		digit := func(w string) int {
			if i < len(w) {
				return letters[rune(w[len(w)-1-i])]
			}
			return 0
		}
		for _, w := range words {
			if digit(w) < 0 {
				return errors.New("a letter has no digit")
			}
			carry += digit(w)
		}
		if carry%10 != digit(result) {
			return errors.New("the sum is not correct")
		}
		carry /= 10
	}
	if carry != 0 {
		return errors.New("the sum is not correct")
	}
	return nil
}
