package tasks

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// oracles tell for families with more than one right answer, or tolerance,
// whether one is right, by other means than their checks: floats for exact
// numbers, Go's parser for ours, a plain simulation for a search. They may call
// right what is badly written, and nothing that is wrong. Tolerances are those that
// the families' texts promise (rlzero tasks show NAME).
var oracles = map[string]func(row verify.Problem, answer string) bool{
	"coin_flip":                 nearly(1e-4),
	"complex_arithmetic":        complexAs,
	"chain_sum":                 func(row verify.Problem, answer string) bool { return strings.HasSuffix(answer, "="+row.Answer) },
	"cryptarithm":               cryptarithmHolds,
	"decimal_arithmetic":        nearly(1e-11),
	"dice":                      nearly(1e-6),
	"fraction_simplification":   nearly(0x1p-52),
	"futoshiki":                 numbersAs(0, false),
	"graph_color":               coloursDiffer,
	"group_anagrams":            setsAs,
	"jugs":                      jugsReach,
	"kakurasu":                  digitsAs,
	"knights_knaves":            rolesFollowNames,
	"mixture":                   func(row verify.Problem, answer string) bool { return strings.HasSuffix(answer, "="+row.Answer) }, // a sum
	"n_queens":                  queensAgree,
	"number_filtering":          numbersAs(0, false),
	"number_sorting":            numbersAs(0, false),
	"palindrome_generation":     isPalindrome,
	"polynomial_equations":      numbersAs(5e-5, true),
	"polynomial_multiplication": termsAs,
	"pool_matrix":               numbersAs(0.01, false),
	"power_function":            nearly(5e-3),
	"prime_factorization":       numbersAs(0, true),
	"propositional_logic":       follows,
	"puzzle24":                  makes24,
	"quantum_lock":              lockOpens,
	"rewrite":                   findsFirst,
	"shortest_path":             gridWay,
	"survo":                     digitsAs,
	"table":                     tableTells,
	"sudoku":                    digitsAs,
	"mini_sudoku":               digitsAs,
	"time_intervals":            numbersAs(0, false),
	"tower_of_hanoi":            towerMoves,
}

// tableTells works out a query, or what is said, row by row with the columns of the metadata.
func tableTells(row verify.Problem, answer string) bool {
	var all []map[string][][]float64
	if _, err := row.Field("rows", &all); err != nil {
		return false
	}
	words := strings.Fields(row.Question)
	of, by, sign, limit := words[len(words)-2], words[len(words)-1][:1], words[len(words)-1][1:2], floats(words[len(words)-1])[0]
	holds := func(rows [][]float64, of, by, sign string, limit float64) (out []float64) {
		for _, r := range rows {
			if d := r[strings.Index("ab", by)] - limit; d < 0 && sign == "<" || d > 0 && sign == ">" {
				out = append(out, r[strings.Index("ab", of)])
			}
		}
		return out
	}
	results := map[string]func([]float64) float64{"max": slices.Max[[]float64], "min": slices.Min[[]float64], "sum": func(all []float64) (sum float64) {
		for _, x := range all {
			sum += x
		}
		return sum
	}}
	if what := words[len(words)-3]; what != "say" {
		m := regexp.MustCompile(`(max|min|sum)\((.)\)+FROM\(t\)WHERE\((.)(.)(\d+)`).FindStringSubmatch(answer)
		return m != nil && !slices.ContainsFunc(all, func(one map[string][][]float64) bool {
			asked, got := holds(one["t"], of, by, sign, limit), holds(one["t"], m[2], m[3], m[4], floats(m[5])[0])
			return len(got) == 0 || results[what](asked) != results[m[1]](got)
		})
	}
	values, said := holds(all[0]["t"], of, by, sign, limit), floats(strings.ReplaceAll(answer, "-", " "))
	has := func(in []float64) func(float64) bool { return func(x float64) bool { return !slices.Contains(in, x) } }
	return !slices.ContainsFunc(said, has(values)) && !slices.ContainsFunc([]float64{slices.Min(values), slices.Max(values)}, has(said))
}

// findsFirst ranks the documents, all of three words, by the words of a query that they have, in floats.
func findsFirst(row verify.Problem, answer string) bool {
	documents, chain, err := shelves(row)
	if err != nil {
		return false
	}
	words := regexp.MustCompile(`[0-9]+|[a-zA-Z]+`).FindAllString(strings.ToLower(answer), -1)
	score := func(d string) (sum float64) {
		for _, w := range words {
			has := func(d string) bool { return slices.Contains(strings.Fields(d), w) }
			if n := float64(len(slices.DeleteFunc(slices.Clone(documents), func(d string) bool { return !has(d) }))); has(d) {
				sum += math.Log(1 + (float64(len(documents))-n+0.5)/(n+0.5))
			}
		}
		return sum
	}
	return !slices.ContainsFunc(documents, func(d string) bool { return d != chain[0] && score(d) >= score(chain[0]) })
}

var (
	aNumber  = regexp.MustCompile(`-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)
	aDigit   = regexp.MustCompile(`\d`)
	whole    = regexp.MustCompile(`\b0*(\d+)`)
	nothing  = regexp.MustCompile(`^0*$`)
	aTerm    = regexp.MustCompile(`([-+]*)(\d*\.?\d*)([ij]?)`)
	leading  = regexp.MustCompile(`(^|[-+])0+(\d)`)
	timesOne = regexp.MustCompile(`([a-z])1$|^(-?)1([a-z])`)
)

func floats(text string) []float64 {
	var out []float64
	for _, s := range aNumber.FindAllString(text, -1) {
		x, _ := strconv.ParseFloat(s, 64)
		out = append(out, x)
	}
	return out
}

func digitsOf(text string) []string { return aDigit.FindAllString(text, -1) }

// numbersAs: the reference's numbers in their order, or in any, each to within
// a share of itself.
func numbersAs(tolerance float64, anyOrder bool) func(row verify.Problem, answer string) bool {
	return func(row verify.Problem, answer string) bool {
		want, got := floats(row.Answer), floats(answer)
		if anyOrder {
			slices.Sort(want)
			slices.Sort(got)
		}
		return slices.EqualFunc(want, got, func(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a)) })
	}
}

func digitsAs(row verify.Problem, answer string) bool {
	return slices.Equal(digitsOf(row.Answer), digitsOf(answer))
}

// nearly: one number, or a fraction of two, to within a share of the reference.
func nearly(tolerance float64) func(row verify.Problem, answer string) bool {
	value := func(text string) float64 {
		over, under, found := strings.Cut(text, "/")
		x := floats(over)
		if len(x) != 1 {
			return math.NaN()
		}
		if y := floats(under); found && len(y) == 1 {
			return x[0] / y[0]
		}
		return x[0]
	}
	return func(row verify.Problem, answer string) bool {
		want := value(row.Answer)
		return math.Abs(value(answer)-want) <= tolerance*math.Abs(want)
	}
}

// complexAs: real and imaginary parts, each the sum of its terms.
func complexAs(row verify.Problem, answer string) bool {
	value := func(text string) complex128 {
		var sum complex128
		for _, m := range aTerm.FindAllStringSubmatch(strings.ReplaceAll(strings.ToLower(text), " ", ""), -1) {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil && m[3] != "" {
				x = 1
			}
			if strings.Count(m[1], "-")%2 == 1 {
				x = -x
			}
			if m[3] != "" {
				sum += complex(0, x)
			} else {
				sum += complex(x, 0)
			}
		}
		return sum
	}
	return value(row.Answer) == value(answer)
}

// termsAs: the terms of a sum in any order.
func termsAs(row verify.Problem, answer string) bool {
	terms := func(text string) []string {
		text = strings.NewReplacer(" ", "", "*", "", "^", "").Replace(text)
		text = leading.ReplaceAllString(strings.ReplaceAll(text, "-+", "-"), "$1$2")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "-", "+-"), "++", "+")
		out := strings.Split(strings.Trim(text, "+"), "+")
		out = slices.DeleteFunc(out, nothing.MatchString)
		for i := range out {
			out[i] = timesOne.ReplaceAllString(out[i], "$1$2$3")
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(terms(row.Answer), terms(answer))
}

func setsAs(row verify.Problem, answer string) bool {
	sorted := func(text string) []string {
		var groups [][]string
		if json.Unmarshal([]byte(text), &groups) != nil {
			return []string{text}
		}
		var out []string
		for _, g := range groups {
			slices.Sort(g)
			out = append(out, strings.Join(g, " "))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(sorted(row.Answer), sorted(answer))
}

func field[T any](row verify.Problem, name string) T {
	var v T
	if found, err := row.Field(name, &v); !found || err != nil {
		panic(fmt.Sprintf("the row has no %s: %v", name, err))
	}
	return v
}

func cryptarithmHolds(row verify.Problem, answer string) bool {
	digit := map[rune]int{}
	for _, m := range regexp.MustCompile(`([A-Z])\s*=\s*(\d+)`).FindAllStringSubmatch(answer, -1) {
		digit[rune(m[1][0])], _ = strconv.Atoi(m[2])
	}
	value := func(word string) int {
		n := 0
		for _, c := range word {
			n = 10*n + digit[c]
		}
		return n
	}
	sum := 0
	for _, word := range field[[]string](row, "words_letters") {
		sum += value(word)
	}
	return sum == value(field[string](row, "result_letters")) && len(digit) == strings.Count(row.Answer, "=")
}

func coloursDiffer(row verify.Problem, answer string) bool {
	var colour map[string]int
	if json.Unmarshal([]byte(answer), &colour) != nil {
		return false
	}
	puzzle := field[struct {
		Vertices []int
		Edges    [][2]int
		Options  []int `json:"color_options"`
	}](row, "puzzle")
	for _, e := range puzzle.Edges {
		if colour[fmt.Sprint(e[0])] == colour[fmt.Sprint(e[1])] {
			return false
		}
	}
	for _, v := range puzzle.Vertices {
		if !slices.Contains(puzzle.Options, colour[fmt.Sprint(v)]) {
			return false
		}
	}
	return len(colour) == len(puzzle.Vertices)
}

func jugsReach(row verify.Problem, answer string) bool {
	puzzle := field[struct {
		Sizes  []int `json:"jug_capacities"`
		Target int
	}](row, "puzzle")
	held := make([]int, len(puzzle.Sizes))
	for _, m := range regexp.MustCompile(`(fill|empty|pour) ([A-Z])(?:->([A-Z]))?`).FindAllStringSubmatch(answer, -1) {
		at := int(m[2][0] - 'A')
		switch m[1] {
		case "fill":
			held[at] = puzzle.Sizes[at]
		case "empty":
			held[at] = 0
		default:
			to := int(m[3][0] - 'A')
			n := min(held[at], puzzle.Sizes[to]-held[to])
			held[at], held[to] = held[at]-n, held[to]+n
		}
	}
	return slices.Contains(held, puzzle.Target)
}

func rolesFollowNames(row verify.Problem, answer string) bool {
	roles := func(text string) []string {
		var out []string
		for _, word := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(text, -1) {
			if !slices.Contains([]string{"is", "a", "an", "and"}, word) {
				out = append(out, word)
			}
		}
		var pairs []string
		for pair := range slices.Chunk(out, 2) {
			pairs = append(pairs, strings.Join(pair, " "))
		}
		slices.Sort(pairs)
		return pairs
	}
	return slices.Equal(roles(row.Answer), roles(answer))
}

func queensAgree(row verify.Problem, answer string) bool {
	lines, given := strings.Split(strings.TrimSpace(answer), "\n"), strings.Split(row.Question, "\n")
	var at []int
	for _, line := range lines {
		cells := strings.Fields(line)
		if strings.Count(line, "Q") != 1 || len(cells) != len(lines) {
			return false
		}
		at = append(at, slices.Index(cells, "Q"))
	}
	for i := range at {
		for j := range i {
			if at[i] == at[j] || i-j == at[i]-at[j] || i-j == at[j]-at[i] {
				return false
			}
		}
	}
	// The board of the question has its queens where the answer has them.
	first := slices.IndexFunc(given, func(line string) bool { return strings.HasPrefix(line, "_ ") || strings.HasPrefix(line, "Q ") })
	for i, line := range given[first : first+len(at)] {
		if q := slices.Index(strings.Fields(line), "Q"); q >= 0 && q != at[i] {
			return false
		}
	}
	return true
}

func isPalindrome(row verify.Problem, answer string) bool {
	a, b := strings.Split(strings.ToLower(strings.TrimSpace(answer)), ""), strings.Split(strings.ToLower(row.Answer), "")
	back := slices.Clone(a)
	slices.Reverse(back)
	if !slices.Equal(a, back) {
		return false
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// makes24 works the expression out with Go's parser and floats.
func makes24(row verify.Problem, answer string) bool {
	expression, _, _ := strings.Cut(strings.NewReplacer("++", "+ +", "--", "- -").Replace(answer), "=")
	expression = whole.ReplaceAllString(expression, "$1")
	tree, err := parser.ParseExpr(expression)
	if err != nil {
		return false
	}
	want, got := whole.FindAllString(row.Answer, -1), whole.FindAllString(expression, -1)
	slices.Sort(want)
	slices.Sort(got)
	// A value that is not 24 is away from it by a fraction over at most 20³.
	return slices.Equal(want, got) && math.Abs(worked(tree)-24) < 1.0/(2*20*20*20)
}

func worked(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return worked(e.X)
	case *ast.BasicLit:
		x, _ := strconv.ParseFloat(e.Value, 64)
		return x
	case *ast.UnaryExpr:
		if e.Op == gotoken.SUB {
			return -worked(e.X)
		}
		return worked(e.X)
	case *ast.BinaryExpr:
		a, b := worked(e.X), worked(e.Y)
		switch e.Op {
		case gotoken.ADD:
			return a + b
		case gotoken.SUB:
			return a - b
		case gotoken.MUL:
			return a * b
		case gotoken.QUO:
			return a / b
		}
	}
	return math.NaN()
}

// follows tries every assignment: where all premises hold the answer does, and
// somewhere it does not. Go's operators stand for ours by their precedence.
func follows(row verify.Problem, answer string) bool {
	read := func(text string) ast.Expr {
		tree, err := parser.ParseExpr(strings.NewReplacer("¬", "!", "∧", "*", "∨", "+", "→", "<", "↔", "&&").Replace(text))
		if err != nil {
			return nil
		}
		return tree
	}
	conclusion := read(answer)
	if conclusion == nil {
		return false
	}
	var premises []ast.Expr
	for _, p := range field[[]string](row, "premises") {
		premises = append(premises, read(p))
	}
	fails := false
	variables := field[[]string](row, "variables")
	for k := range uint(1) << len(variables) {
		world := uint(0) // a bit for each letter
		for i, name := range variables {
			world |= (k >> i & 1) << (name[0] - 'A')
		}
		holds := holdsIn(world, conclusion)
		all := !slices.ContainsFunc(premises, func(p ast.Expr) bool { return !holdsIn(world, p) })
		if all && !holds {
			return false
		}
		fails = fails || !holds
	}
	return fails
}

func holdsIn(world uint, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return holdsIn(world, e.X)
	case *ast.Ident:
		return world>>(e.Name[0]-'A')&1 == 1
	case *ast.UnaryExpr:
		return !holdsIn(world, e.X)
	case *ast.BinaryExpr:
		a, b := holdsIn(world, e.X), holdsIn(world, e.Y)
		switch e.Op {
		case gotoken.MUL:
			return a && b
		case gotoken.ADD:
			return a || b
		case gotoken.LSS:
			return !a || b
		case gotoken.LAND:
			return a == b
		}
	}
	panic("oracle: no formula")
}

func lockOpens(row verify.Problem, answer string) bool {
	type button struct {
		Name, Type string
		Value      int
		State      string `json:"active_state"`
	}
	value, state := field[int](row, "initial_value"), field[string](row, "initial_state")
	presses := regexp.MustCompile(`[A-Z]`).FindAllString(answer, -1)
	for _, name := range presses {
		for _, b := range field[[]button](row, "buttons") {
			if b.Name != name || b.State != "any" && b.State != state {
				continue
			}
			switch b.Type {
			case "add":
				value += b.Value
			case "subtract":
				value -= b.Value
			case "multiply":
				value *= b.Value
			}
		}
		state = map[string]string{"red": "green", "green": "red"}[state]
	}
	return value == field[int](row, "target_value") && len(presses) == len(strings.Split(row.Answer, "→"))
}

var (
	towerTask = regexp.MustCompile(`Of (\d+) pegs, peg (\d+) holds (\d+) disks[^.]*\..* to peg (\d+)`)
	towerMove = regexp.MustCompile(`(?i)disk (\d+) from peg (\d+) to peg (\d+)`)
)

func towerMoves(row verify.Problem, answer string) bool {
	var n [4]int // pegs, start, disks, goal
	for i, s := range towerTask.FindStringSubmatch(row.Question)[1:] {
		n[i], _ = strconv.Atoi(s)
	}
	at := make([]int, n[2]+1) // peg of each disk; 0 is none
	for d := range at {
		at[d] = n[1]
	}
	moves := towerMove.FindAllStringSubmatch(answer, -1)
	for _, m := range moves {
		disk, _ := strconv.Atoi(m[1])
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		if disk < 1 || disk > n[2] || at[disk] != from || to < 1 || to > n[0] {
			return false
		}
		for smaller := 1; smaller < disk; smaller++ {
			if at[smaller] == from || at[smaller] == to {
				return false
			}
		}
		at[disk] = to
	}
	return len(moves) == strings.Count(row.Answer, "\n")+1 && !slices.ContainsFunc(at[1:], func(peg int) bool { return peg != n[3] })
}

func gridWay(row verify.Problem, answer string) bool {
	var grid [][]string
	for _, line := range strings.Split(row.Question, "\n") {
		if cells := strings.Fields(line); len(cells) > 1 && !slices.ContainsFunc(cells, func(c string) bool { return !strings.Contains("*#XO", c) }) {
			grid = append(grid, cells)
		}
	}
	y := slices.IndexFunc(grid, func(cells []string) bool { return slices.Contains(cells, "*") })
	x := slices.Index(grid[y], "*")
	steps := strings.Fields(answer)
	for _, s := range steps {
		d := map[string][2]int{"left": {-1, 0}, "right": {1, 0}, "up": {0, -1}, "down": {0, 1}}[s]
		x, y = x+d[0], y+d[1]
		if y < 0 || y >= len(grid) || x < 0 || x >= len(grid[y]) || grid[y][x] == "X" {
			return false
		}
	}
	return grid[y][x] == "#" && len(steps) == len(strings.Fields(row.Answer))
}
