package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Deduction: propositional_logic, zebra_puzzles.

const (
	maxFormulaBytes     = 4096
	maxFormulaVariables = 12
	maxFormulaDepth     = 64
)

// truthTable holds a formula's value under each assignment of its variables;
// assignment k gives variable i bit i of k.
type truthTable []bool

// formula reads formulas over named variables:
//
//	level 0..3  ↔, → (to the right), ∨, ∧, in rising strength
//	unary       "¬" unary | "(" formula ")" | variable
type formula struct {
	variables   []string
	text        string // what is left
	depth       int
	connectives int // read so far
}

var connectives = []string{"↔", "→", "∨", "∧"}

// read returns the truth table of text, and how many connectives it has.
func (f *formula) read(text string) (truthTable, error) {
	if len(text) > maxFormulaBytes {
		return nil, fmt.Errorf("the formula has %d bytes: at most %d are read", len(text), maxFormulaBytes)
	}
	f.text, f.depth, f.connectives = strings.Join(strings.Fields(text), ""), 0, 0
	table, err := f.level(0)
	if err == nil && f.text != "" {
		err = fmt.Errorf("%s is not a formula of the given variables", short(f.text))
	}
	return table, err
}

func (f *formula) level(k int) (truthTable, error) {
	if f.depth++; f.depth > maxFormulaDepth*(len(connectives)+1) {
		return nil, fmt.Errorf("the formula is nested deeper than %d", maxFormulaDepth)
	}
	defer func() { f.depth-- }()
	if k == len(connectives) {
		return f.unary()
	}
	left, err := f.level(k + 1)
	for err == nil {
		rest, found := strings.CutPrefix(f.text, connectives[k])
		if !found {
			return left, nil
		}
		f.text = rest
		f.connectives++
		next := k + 1
		if connectives[k] == "→" {
			next = k
		}
		var right truthTable
		if right, err = f.level(next); err == nil {
			left = combine(connectives[k], left, right)
		}
	}
	return nil, err
}

func combine(connective string, a, b truthTable) truthTable {
	out := make(truthTable, len(a))
	for i := range out {
		switch connective {
		case "↔":
			out[i] = a[i] == b[i]
		case "→":
			out[i] = !a[i] || b[i]
		case "∨":
			out[i] = a[i] || b[i]
		default:
			out[i] = a[i] && b[i]
		}
	}
	return out
}

func (f *formula) unary() (truthTable, error) {
	if rest, found := strings.CutPrefix(f.text, "¬"); found {
		f.text = rest
		f.connectives++
		if f.depth++; f.depth > maxFormulaDepth*(len(connectives)+1) {
			return nil, fmt.Errorf("the formula is nested deeper than %d", maxFormulaDepth)
		}
		table, err := f.unary()
		f.depth--
		out := make(truthTable, len(table))
		for i, x := range table {
			out[i] = !x
		}
		return out, err
	}
	if rest, found := strings.CutPrefix(f.text, "("); found {
		f.text = rest
		table, err := f.level(0)
		if err == nil {
			if f.text, found = strings.CutPrefix(f.text, ")"); !found {
				err = errors.New("a bracket is not closed")
			}
		}
		return table, err
	}
	for i, name := range f.variables {
		if rest, found := strings.CutPrefix(f.text, name); found {
			f.text = rest
			out := make(truthTable, 1<<len(f.variables))
			for k := range out {
				out[k] = k>>i&1 == 1
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("found %s where a variable, ¬ or a bracket is expected", short(f.text))
}

// implies tells whether b holds wherever a does.
func implies(a, b truthTable) bool { return !slices.Contains(combine("→", a, b), false) }

// bare is a formula's text without white space and outer brackets, for the
// comparison with a premise.
func bare(text string) string {
	text = strings.Join(strings.Fields(text), "")
	for strings.HasPrefix(text, "(") && matching(text) == len(text)-1 {
		text = text[1 : len(text)-1]
	}
	return text
}

// matching is the place of the bracket that closes the one text begins with.
func matching(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// conjuncts splits a formula at the ∧ outside all brackets.
func conjuncts(text string) []string {
	var parts []string
	depth, from := 0, 0
	text = bare(text)
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '∧':
			if depth == 0 {
				parts, from = append(parts, text[from:i]), i+len("∧")
			}
		}
	}
	return append(parts, text[from:])
}

// checkConclusion: a formula with a connective that follows from the premises
// and says something, and is more than premises repeated.
func checkConclusion(row verify.Problem, answer string) error {
	var f formula
	var premises []string
	if err := cmpErr(needed(row, "premises", &premises), needed(row, "variables", &f.variables)); err != nil {
		return err
	}
	if len(f.variables) > maxFormulaVariables || len(f.variables) == 0 || slices.Contains(f.variables, "") {
		return lacks("the row has %d variables; accepted: 1 to %d with names", len(f.variables), maxFormulaVariables)
	}
	given := make(truthTable, 1<<len(f.variables))
	for i := range given {
		given[i] = true
	}
	var known []string
	for _, p := range premises {
		table, err := f.read(p)
		if err != nil {
			return lacks("premise %s: %v", short(p), err)
		}
		given, known = combine("∧", given, table), append(known, bare(p))
	}
	table, err := f.read(answer)
	switch {
	case err != nil:
		return err
	case !slices.Contains(given, true):
		return errors.New("the premises contradict each other, so every formula follows from them")
	case !implies(given, table):
		return errors.New("it does not follow from the premises")
	case !slices.Contains(table, false):
		return errors.New("it is always true")
	case f.connectives == 0:
		return errors.New("it is a single variable")
	case !slices.ContainsFunc(conjuncts(answer), func(part string) bool { return !slices.Contains(known, bare(part)) }):
		return errors.New("it only repeats premises")
	}
	return nil
}

// randomFormula nests to a depth.
func randomFormula(r *random.Rand, variables []string, depth int) string {
	if depth == 0 {
		return pick(r, variables)
	}
	if r.Chance(0.25) {
		return "¬" + randomFormula(r, variables, depth-1)
	}
	return "(" + randomFormula(r, variables, r.Between(0, depth-1)) + " " + pick(r, connectives) + " " + randomFormula(r, variables, depth-1) + ")"
}

func init() {
	type settings struct {
		MinVars       int `toml:"min_vars" range:"[2,10]" about:"minimum number of variables"`
		MaxVars       int `toml:"max_vars" range:"[2,10]" about:"maximum number of variables"`
		MinStatements int `toml:"min_statements" range:"[2,10]" about:"minimum number of premises"`
		MaxStatements int `toml:"max_statements" range:"[2,10]" about:"maximum number of premises"`
		MinComplexity int `toml:"min_complexity" range:"[1,5]" about:"minimum nesting depth of premises"`
		MaxComplexity int `toml:"max_complexity" range:"[1,5]" about:"maximum nesting depth of premises"`
	}
	generate(family[settings]{
		name: "propositional_logic", summary: "draw a conclusion from premises",
		about: `find a formula that follows from consistent premises. Right: every formula that has a
connective, follows from the premises, is not a tautology, and does not only repeat
premises, alone or joined by ∧.`,
		format:   "The answer is one formula in the signs ¬ ∧ ∨ → ↔, with at least one of them.",
		defaults: settings{2, 4, 2, 4, 1, 3},
		curriculum: []Attribute{
			{"vars", []float64{2, 4, 6, 8, 10}, []string{"min_vars", "max_vars"}},
			{"statements", []float64{2, 4, 6, 8, 10}, []string{"min_statements", "max_statements"}},
			{"complexity", []float64{1, 2, 3, 4, 5}, []string{"min_complexity", "max_complexity"}},
		},
		check: checkConclusion,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			// Any letters, as A → B would follow from most premises about A and B.
			variables := sample(r, strings.Split("ABCDEFGHIJKLMNOPQRSTUVWXYZ", ""), r.Between(s.MinVars, s.MaxVars))
			slices.Sort(variables)
			premises := make([]string, r.Between(s.MinStatements, s.MaxStatements))
			for i := range premises {
				premises[i] = randomFormula(r, variables, r.Between(s.MinComplexity, s.MaxComplexity))
			}
			p := problem{
				question: "These statements are true: " + strings.Join(premises, "; ") + "\nWrite a statement that follows from them, that is not true in any case, and that does more than repeat statements.",
				metadata: map[string]any{"premises": premises, "variables": variables},
			}
			row := verify.Problem{Metadata: metadata(p.metadata)}
			for range 50 {
				if p.answer = randomFormula(r, variables, r.Between(1, 2)); checkConclusion(row, p.answer) == nil {
					return p, true
				}
			}
			return p, false
		},
	})
}

// zebra is a puzzle of houses in a row: place[a][v] is the house of value v of
// attribute a.
type zebra struct {
	houses int
	place  [][]int
	clues  []zebraClue
}

// zebraClue relates two values, (attribute, value) each: in the same house, the
// first right beside the second on its left, or the first in a given house.
type zebraClue struct {
	kind  int // 0 same, 1 left of, 2 house
	a, b  [2]int
	house int
}

func (c zebraClue) holds(place [][]int) bool {
	a := place[c.a[0]][c.a[1]]
	switch c.kind {
	case 0:
		return a == place[c.b[0]][c.b[1]]
	case 1:
		return a+1 == place[c.b[0]][c.b[1]]
	}
	return a == c.house
}

// last is the attribute that has to be placed before the clue can be tested.
func (c zebraClue) last() int { return max(c.a[0], c.b[0]) }

// count is how many ways there are to place all values, up to 2.
func (z *zebra) count() int {
	place, found := make([][]int, len(z.place)), 0
	var attribute func(a int)
	attribute = func(a int) {
		if a == len(place) {
			found++
			return
		}
		permute(countTo(z.houses), func(order []int) bool {
			place[a] = order
			for _, c := range z.clues {
				if c.last() == a && !c.holds(place) {
					return found < 2
				}
			}
			attribute(a + 1)
			return found < 2
		})
	}
	attribute(0)
	return found
}

// permute visits the orders of a until visit says to stop; it returns false
// then.
func permute(a []int, visit func(order []int) bool) bool {
	var from func(i int) bool
	from = func(i int) bool {
		if i == len(a) {
			return visit(slices.Clone(a))
		}
		for j := i; j < len(a); j++ {
			a[i], a[j] = a[j], a[i]
			ok := from(i + 1)
			a[i], a[j] = a[j], a[i]
			if !ok {
				return false
			}
		}
		return true
	}
	return from(0)
}

// zebraValues are the attributes besides the name: how a clue calls the person.
var zebraValues = []struct {
	who    string
	values []string
}{
	{"the person who drinks %s", []string{"tea", "coffee", "milk", "water", "juice", "cocoa"}},
	{"the person who keeps a %s", []string{"parrot", "turtle", "goldfish", "hamster", "lizard", "pony"}},
	{"the person who plays the %s", []string{"flute", "cello", "drum", "harp", "piano", "horn"}},
	{"the person who likes %s best", []string{"red", "green", "blue", "yellow", "black", "white"}},
	{"the person who works as a %s", []string{"baker", "pilot", "nurse", "tailor", "farmer", "welder"}},
}

func init() {
	type settings struct {
		NumPeople          int `toml:"num_people" range:"[2,5]" about:"number of houses"`
		NumCharacteristics int `toml:"num_characteristics" range:"[2,5]" about:"number of attributes of a person, including the name"`
	}
	generate(family[settings]{
		name: "zebra_puzzles", summary: "find who lives in a house",
		about:    "use clues to find who lives in one of the houses of a row; there is one solution. Right: the name, in any case.",
		format:   "The answer is one name.",
		defaults: settings{4, 4},
		curriculum: []Attribute{
			{"num_people", []float64{2, 3, 4, 5}, []string{"num_people"}},
			{"num_characteristics", []float64{2, 3, 4, 5}, []string{"num_characteristics"}},
		},
		check: sameFold,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			z := &zebra{houses: s.NumPeople}
			values := [][]string{sample(r, people, z.houses)}
			kinds := sample(r, zebraValues, s.NumCharacteristics-1)
			for _, k := range kinds {
				values = append(values, sample(r, k.values, z.houses))
			}
			for range values {
				z.place = append(z.place, sample(r, countTo(z.houses), z.houses))
			}
			call := func(v [2]int) string {
				if v[0] == 0 {
					return values[0][v[1]]
				}
				return fmt.Sprintf(kinds[v[0]-1].who, values[v[0]][v[1]])
			}
			for len(z.clues) < 60 {
				c := zebraClue{kind: pick(r, []int{0, 0, 0, 1, 1, 2}), a: [2]int{r.Between(0, len(values)-1), r.Between(0, z.houses-1)}, b: [2]int{r.Between(0, len(values)-1), r.Between(0, z.houses-1)}}
				if c.kind == 2 {
					c.b, c.house = c.a, z.place[c.a[0]][c.a[1]]
				}
				if !c.holds(z.place) || c.kind == 0 && c.a[0] == c.b[0] || slices.Contains(z.clues, c) {
					continue
				}
				if z.clues = append(z.clues, c); len(z.clues) >= z.houses && z.count() == 1 {
					break
				}
			}
			for i := len(z.clues) - 1; i >= 0; i-- { // leave out what is not needed
				all := z.clues
				if z.clues = slices.Delete(slices.Clone(all), i, i+1); z.count() != 1 {
					z.clues = all
				}
			}
			var lines []string
			for i, c := range z.clues {
				text := fmt.Sprintf("%s lives in house %d", call(c.a), c.house+1)
				switch c.kind {
				case 0:
					text = call(c.a) + " is " + call(c.b)
				case 1:
					text = call(c.a) + " lives next to " + call(c.b) + ", on the left"
				}
				lines = append(lines, fmt.Sprintf("%d. %s.", i+1, strings.ToUpper(text[:1])+text[1:]))
			}
			var each []string
			for a, v := range values {
				list := slices.Sorted(slices.Values(v))
				if a > 0 {
					each = append(each, fmt.Sprintf(kinds[a-1].who, strings.Join(list, ", ")))
				} else {
					each = append(each, strings.Join(list, ", "))
				}
			}
			house := r.Between(0, z.houses-1)
			return problem{
				question: fmt.Sprintf("%d houses stand in a row, house 1 on the left. In each lives one person, and each of these stands for a different person: %s.\n%s\nWho lives in house %d?", z.houses, strings.Join(each, "; "), strings.Join(lines, "\n"), house+1),
				answer:   values[0][slices.Index(z.place[0], house)],
			}, z.count() == 1
		},
	})
}
