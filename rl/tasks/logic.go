package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Logic: knights_knaves, propositional_logic, circuit_logic, zebra_puzzles,
// self_reference.

var people = []string{"Ada", "Bela", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kira", "Luis", "Mira", "Nils", "Oya", "Pavel"}

// roleFillers are the words between a name and its role.
var roleFillers = []string{"is", "a", "an", "and", "the", "-"}

// rolesOf reads "X is a knight, and Y is a knave" as pairs; any word that is
// neither a name, a role nor a filler makes a pair that no reference has.
func rolesOf(text string) ([][2]string, error) {
	var words []string
	split := func(c rune) bool { return strings.ContainsRune(" \t\r\n,.;:", c) }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), split) {
		if !slices.Contains(roleFillers, w) {
			words = append(words, w)
		}
	}
	if len(words)%2 == 1 {
		return nil, errors.New("it is not a list of names, each with a role")
	}
	var pairs [][2]string
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, [2]string{words[i], words[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	return pairs, nil
}

// claim is a statement about who tells the truth.
type claim struct {
	text string
	true func(knights uint) bool
}

// randomClaim nests to a depth.
func randomClaim(r *random.Rand, names []string, roles [2]string, depth int) claim {
	if depth <= 1 || r.Chance(0.4) {
		i, knight := r.Between(0, len(names)-1), r.Between(0, 1)
		return claim{fmt.Sprintf("%s is a %s", names[i], roles[1-knight]), func(k uint) bool { return k>>i&1 == uint(knight) }}
	}
	a, b := randomClaim(r, names, roles, depth-1), randomClaim(r, names, roles, depth-1)
	switch r.Between(0, 3) {
	case 0:
		return claim{"both (" + a.text + ") and (" + b.text + ")", func(k uint) bool { return a.true(k) && b.true(k) }}
	case 1:
		return claim{"(" + a.text + ") or (" + b.text + ") or both", func(k uint) bool { return a.true(k) || b.true(k) }}
	case 2:
		return claim{"if (" + a.text + ") then (" + b.text + ")", func(k uint) bool { return !a.true(k) || b.true(k) }}
	}
	return claim{"it is not so that (" + a.text + ")", func(k uint) bool { return !a.true(k) }}
}

func init() {
	type settings struct {
		NPeople         int `toml:"n_people" range:"[1,10]" about:"number of people"`
		DepthConstraint int `toml:"depth_constraint" range:"[1,4]" about:"maximum nesting depth of statements"`
	}
	generate(family[settings]{
		name: "knights_knaves", summary: "find who tells the truth and who lies",
		about: `find who always tells the truth and who always lies from what each says; there is one
solution. Right: every name with its role, in any order and case, and no other words.`,
		format:   "The answer gives everyone a role, such as: Ada is a knight, and Emil is a knave.",
		defaults: settings{2, 2},
		curriculum: []Attribute{
			{"n_people", []float64{2, 3, 4, 5}, []string{"n_people"}},
			{"depth_constraint", []float64{2, 3}, []string{"depth_constraint"}},
		},
		check: func(row verify.Problem, answer string) error {
			want, err := rolesOf(row.Answer)
			if err != nil || len(want) == 0 {
				return lacks("the row's answer is not a list of names, each with a role")
			}
			got, err := rolesOf(answer)
			if err != nil {
				return err
			}
			return judged(row, slices.Equal(got, want))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			names := sample(r, people, s.NPeople)
			roles := pick(r, [][2]string{{"knight", "knave"}, {"saint", "sinner"}, {"hero", "villain"}, {"sage", "fool"}})
			var said []string
			claims := make([]claim, len(names))
			for i, name := range names {
				claims[i] = randomClaim(r, names, roles, s.DepthConstraint)
				said = append(said, fmt.Sprintf("%s says: %s.", name, claims[i].text))
			}
			var solutions []uint
			for k := range uint(1) << len(names) {
				holds := true
				for i, c := range claims {
					holds = holds && c.true(k) == (k>>i&1 == 1)
				}
				if holds {
					solutions = append(solutions, k)
				}
			}
			if len(solutions) != 1 {
				return problem{}, false
			}
			var parts []string
			for i, name := range names {
				parts = append(parts, fmt.Sprintf("%s is a %s", name, roles[1-solutions[0]>>i&1]))
			}
			answer := strings.Join(parts, ", and ")
			return problem{
				question: fmt.Sprintf("Everyone here is either a %s, who only says what is true, or a %s, who only says what is false.\n%s\nWho is what?", roles[0], roles[1], strings.Join(said, "\n")),
				answer:   answer,
			}, true
		},
	})
}

// gate is a circuit's node: a function of inputs and earlier gates.
type gate struct {
	kind   string
	inputs []int // inputs first, then gates
	negate []bool
}

func (g gate) value(values []bool) bool {
	ones := 0
	for k, i := range g.inputs {
		if values[i] != g.negate[k] {
			ones++
		}
	}
	switch g.kind {
	case "AND":
		return ones == len(g.inputs)
	case "NAND":
		return ones < len(g.inputs)
	case "OR":
		return ones > 0
	case "NOR":
		return ones == 0
	}
	return ones%2 == 1 // XOR
}

func init() {
	type settings struct {
		MinTerms  int     `toml:"min_terms" range:"[1,30]" about:"minimum number of gates"`
		MaxTerms  int     `toml:"max_terms" range:"[1,30]" about:"maximum number of gates"`
		MinInputs int     `toml:"min_inputs" range:"[2,10]" about:"minimum number of inputs of a gate"`
		MaxInputs int     `toml:"max_inputs" range:"[2,10]" about:"maximum number of inputs of a gate"`
		NegProb   float64 `toml:"neg_prob" range:"[0,1]" about:"probability that an input is negated"`
		Balanced  bool    `toml:"balanced" about:"draw both outputs equally often; false: leave it to chance"`
	}
	generate(family[settings]{
		name: "circuit_logic", summary: "find the output of a circuit of gates",
		about:    "find the output of a circuit, given as a list of gates and the values of its inputs. Right: 0 or 1.",
		format:   "The answer is 0 or 1.",
		defaults: settings{3, 5, 2, 4, 0.3, true},
		curriculum: []Attribute{
			{"terms", []float64{3, 5, 10, 20, 30}, []string{"min_terms", "max_terms"}},
			{"inputs", []float64{2, 4, 6, 8, 10}, []string{"min_inputs", "max_inputs"}},
		},
		check: sameText,
		balance: halves("with the answer 1", "with the answer 0", func(p problem) bool { return p.answer == "1" },
			func(s *settings) (float64, bool) { return 0.5, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(max(2, s.MinInputs), max(2, s.MinInputs)+s.MaxInputs)
			names, values := make([]string, n), make([]bool, n)
			var given []string
			for i := range n {
				names[i], values[i] = string(rune('A'+i)), r.Chance(0.5)
				given = append(given, fmt.Sprintf("%s = %d", names[i], map[bool]int{true: 1}[values[i]]))
			}
			var lines []string
			for k := range r.Between(s.MinTerms, s.MaxTerms) {
				g := gate{kind: pick(r, []string{"AND", "NAND", "OR", "NOR", "XOR"})}
				g.inputs = sample(r, countTo(len(values)), min(len(values), r.Between(s.MinInputs, s.MaxInputs)))
				if last := len(values) - 1; k > 0 && !slices.Contains(g.inputs, last) {
					g.inputs[0] = last // so that every gate counts
				}
				var terms []string
				for _, i := range g.inputs {
					negated := r.Chance(s.NegProb)
					g.negate = append(g.negate, negated)
					terms = append(terms, map[bool]string{true: "NOT "}[negated]+names[i])
				}
				name := fmt.Sprintf("g%d", k+1)
				lines = append(lines, fmt.Sprintf("%s = %s(%s)", name, g.kind, strings.Join(terms, ", ")))
				names, values = append(names, name), append(values, g.value(values))
			}
			out := values[len(values)-1]
			return problem{
				question: fmt.Sprintf("A circuit has the inputs %s and these gates; XOR is 1 if an odd number of its inputs is 1.\n%s\nWhat is %s?", strings.Join(given, ", "), strings.Join(lines, "\n"), names[len(names)-1]),
				answer:   strconv.Itoa(map[bool]int{true: 1}[out]),
			}, true
		},
	})
}

func isPrimeCount(n int) bool { return slices.Contains([]int{2, 3, 5, 7}, n) }

// selfStatement draws one of n statements about each other: its text and its truth,
// given which are true and how many.
func selfStatement(r *random.Rand, n int) (string, func(truth uint, count int) bool) {
	k, i, j := r.Between(0, n), r.Between(0, n-1), r.Between(0, n-1)
	about, false_ := "true", r.Chance(0.5)
	if false_ {
		about = "false"
	}
	of := func(count int) int {
		if false_ {
			return n - count
		}
		return count
	}
	switch r.Between(0, 4) {
	case 0:
		return fmt.Sprintf("At least %d of these statements are %s.", k, about), func(_ uint, c int) bool { return of(c) >= k }
	case 1:
		return fmt.Sprintf("At most %d of these statements are %s.", k, about), func(_ uint, c int) bool { return of(c) <= k }
	case 2:
		return fmt.Sprintf("Exactly %d of these statements are %s.", k, about), func(_ uint, c int) bool { return of(c) == k }
	case 3:
		return fmt.Sprintf("The number of %s statements is 2, 3, 5 or 7.", about), func(_ uint, c int) bool { return isPrimeCount(of(c)) }
	}
	return fmt.Sprintf("Of statement %d and statement %d exactly one is true.", i+1, j+1), func(t uint, _ int) bool { return t>>i&1 != t>>j&1 }
}

func init() {
	type settings struct {
		Difficulty int  `toml:"difficulty" range:"[1,10]" about:"statements: 4 + difficulty / 2"`
		Balanced   bool `toml:"balanced" about:"draw problems with 0, 1, 2 and more ways equally often; false: leave it to chance"`
	}
	generate(family[settings]{
		name: "self_reference", summary: "count the consistent truth values of statements about each other",
		about:      "count the ways in which statements about each other can be consistently true or false. Right: a number equal to the count.",
		format:     wholeNumber,
		defaults:   settings{5, true},
		curriculum: []Attribute{{"difficulty", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []string{"difficulty"}}},
		check:      sameNumber,
		balance: &balance[settings]{
			kinds: []string{"with the answer 0", "with the answer 1", "with the answer 2", "with an answer above 2"},
			kind: func(p problem) int {
				if i := slices.Index([]string{"0", "1", "2"}, p.answer); i >= 0 {
					return i
				}
				return 3
			},
			shares: func(s *settings) []float64 {
				if !s.Balanced {
					return nil
				}
				return []float64{0.25, 0.25, 0.25, 0.25}
			},
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := 4 + s.Difficulty/2
			lines, holds := make([]string, n), make([]func(uint, int) bool, n)
			for i := range n {
				var text string
				text, holds[i] = selfStatement(r, n)
				lines[i] = fmt.Sprintf("%d. %s", i+1, text)
			}
			ways := 0
			for truth := range uint(1) << n {
				count, fits := 0, true
				for i := range n {
					count += int(truth >> i & 1)
				}
				for i := range n {
					fits = fits && holds[i](truth, count) == (truth>>i&1 == 1)
				}
				if fits {
					ways++
				}
			}
			return problem{
				question: "In how many ways can each of these statements be true or false so that each is true exactly if what it says is so?\n" + strings.Join(lines, "\n"),
				answer:   strconv.Itoa(ways),
			}, true
		},
	})
}
