package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Texts and counts rewritten by rules: ab, string_insertion, string_manipulation,
// string_splitting, string_synthesis.

// abReduce is the normal form of a program of A::B. The rules are confluent, so
// the order of their use does not matter.
func abReduce(tokens []string) []string {
	tokens = slices.Clone(tokens)
	for changed := true; changed; {
		changed = false
		for i := 0; i+1 < len(tokens); i++ {
			a, b := tokens[i], tokens[i+1]
			switch {
			case a[1] != '#' || b[0] != '#': // the marks do not face each other
			case a[0] == b[1]:
				tokens = slices.Delete(tokens, i, i+2)
				changed = true
			default:
				tokens[i], tokens[i+1] = b, a
				changed = true
			}
		}
	}
	return tokens
}

func init() {
	type settings struct {
		Length int `toml:"length" range:"[2,200]" about:"number of tokens in the program"`
	}
	generate(family[settings]{
		name: "ab", summary: "run a program of the rewriting system A::B",
		about: `run a program of the rewriting system A::B. Right: the tokens of the final state, with
any white space between. Problems whose final state is empty are not drawn. For other rows
with an empty answer, an empty answer is right.`,
		format:     "The answer is the tokens of the final state with spaces between.",
		defaults:   settings{10},
		curriculum: []Attribute{{"length", []float64{10, 25, 50, 100}, []string{"length"}}},
		check:      sameFields,
		empty:      true,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			tokens := make([]string, s.Length)
			for i := range tokens {
				tokens[i] = pick(r, []string{"A#", "#A", "B#", "#B"})
			}
			final := abReduce(tokens)
			return problem{
				key: strings.Join(tokens, " "),
				question: "A program is a row of the tokens A#, #A, B#, #B. Wherever a token ends in # and the next one begins with #, the two are rewritten:\n" +
					"A# #A and B# #B vanish; A# #B becomes #B A#; B# #A becomes #A B#.\n" +
					"This goes on until no rule applies. What is left of this program?\n" + strings.Join(tokens, " "),
				answer: strings.Join(final, " "),
			}, len(final) > 0
		},
	})
}

// inserted puts a letter after each of the five patterns, from left to right,
// and goes on after it.
func inserted(text string) string {
	patterns := map[string]string{"ABCD": "A", "BCDE": "B", "CDEA": "C", "DEAB": "D", "EABC": "E"}
	var b strings.Builder
	for i := 0; i < len(text); {
		if letter, ok := patterns[text[i:min(i+4, len(text))]]; ok {
			b.WriteString(text[i:i+4] + letter)
			i += 4
		} else {
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

func init() {
	type settings struct {
		MinStringLength int `toml:"min_string_length" range:"[5,1000]" about:"minimum number of letters"`
		MaxStringLength int `toml:"max_string_length" range:"[5,1000]" about:"maximum number of letters"`
	}
	generate(family[settings]{
		name: "string_insertion", summary: "insert letters after patterns",
		about:      "insert a letter after each occurrence of five patterns. Right: exactly the resulting text.",
		format:     "The answer is the text alone.",
		defaults:   settings{5, 20},
		curriculum: []Attribute{{"string_length", []float64{10, 50, 100, 500}, []string{"min_string_length", "max_string_length"}}},
		check:      sameText,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinStringLength, s.MaxStringLength)
			text := ""
			for len(text) < n {
				if r.Chance(0.3) {
					text += pick(r, []string{"ABCD", "BCDE", "CDEA", "DEAB", "EABC"})
				} else {
					text += letters(r, "ABCDE", 1)
				}
			}
			text = text[:n]
			return problem{
				key: text,
				question: "Read a text from left to right. Behind ABCD insert A, behind BCDE insert B, behind CDEA insert C, behind DEAB insert D, behind EABC insert E. " +
					"After an insertion, go on reading behind the inserted letter; letters that were part of a pattern do not count again.\nThe text is " + text,
				answer: inserted(text),
			}, true
		},
	})
}

// rewriteRule changes a text, or does not apply.
type rewriteRule struct {
	about string
	apply func(text string) (string, bool)
}

func prefixRule(prefix, to, after string) rewriteRule {
	about := fmt.Sprintf("it begins with %q: replace these letters by %q", prefix, to)
	if after != "" {
		about += fmt.Sprintf(" and put %q at the end", after)
	}
	return rewriteRule{about, func(text string) (string, bool) {
		rest, ok := strings.CutPrefix(text, prefix)
		return to + rest + after, ok
	}}
}

func suffixRule(suffix, to, before string) rewriteRule {
	about := fmt.Sprintf("it ends in %q: replace these letters by %q", suffix, to)
	if before != "" {
		about += fmt.Sprintf(" and put %q at the beginning", before)
	}
	return rewriteRule{about, func(text string) (string, bool) {
		rest, ok := strings.CutSuffix(text, suffix)
		return before + rest + to, ok
	}}
}

func innerRule(part, to string) rewriteRule {
	return rewriteRule{fmt.Sprintf("it contains %q: replace its first occurrence by %q", part, to), func(text string) (string, bool) {
		return strings.Replace(text, part, to, 1), strings.Contains(text, part)
	}}
}

var rewriteRules = []rewriteRule{
	prefixRule("ab", "ca", ""), prefixRule("ca", "bb", "c"), prefixRule("cc", "", ""), prefixRule("bc", "", "aa"), prefixRule("ac", "zz", ""), prefixRule("bb", "b", ""),
	suffixRule("ac", "cb", ""), suffixRule("cc", "b", "a"), suffixRule("ba", "ab", ""), suffixRule("aa", "cc", ""), suffixRule("bb", "", ""), suffixRule("ca", "", "c"),
	innerRule("abc", "cab"), innerRule("acb", "bca"), innerRule("bca", ""), innerRule("aab", "ba"), innerRule("zz", "c"), innerRule("cba", "a"),
	{`it is longer than 15 letters: take out its middle letter, the one behind the first half rounded down`, func(text string) (string, bool) {
		if len(text) <= 15 {
			return text, false
		}
		return text[:len(text)/2] + text[len(text)/2+1:], true
	}},
	{`the number of its letters "b" is even and not 0: put "ab" at the end`, func(text string) (string, bool) {
		n := strings.Count(text, "b")
		return text + "ab", n > 0 && n%2 == 0
	}},
}

// maxRewrites bounds a run of rules: longer ones are not asked for.
const maxRewrites = 1000

// rewritten applies the first rule that applies, again and again; a text that
// came up before is thrown away, and the one before it is the result.
func rewritten(text string, rules []rewriteRule) (string, bool) {
	seen := map[string]bool{text: true}
	for range maxRewrites {
		next := text
		for _, rule := range rules {
			if to, ok := rule.apply(text); ok {
				next = to
				break
			}
		}
		if next == text || seen[next] {
			return text, true
		}
		seen[next] = true
		text = next
	}
	return "", false
}

func init() {
	type settings struct {
		MinStringLength int `toml:"min_string_length" range:"[5,1000]" about:"minimum number of letters"`
		MaxStringLength int `toml:"max_string_length" range:"[5,1000]" about:"maximum number of letters"`
		MinNumRules     int `toml:"min_num_rules" range:"[3,20]" about:"minimum number of rules"`
		MaxNumRules     int `toml:"max_num_rules" range:"[3,20]" about:"maximum number of rules"`
	}
	generate(family[settings]{
		name: "string_manipulation", summary: "rewrite a text by rules until nothing changes",
		about: `apply the first rule that applies, again and again. Right: exactly the final text;
problems whose final text is empty are not drawn.`,
		format:   "The answer is the final text alone.",
		defaults: settings{5, 20, 3, 8},
		curriculum: []Attribute{
			{"string_length", []float64{10, 50, 100, 500}, []string{"min_string_length", "max_string_length"}},
			{"num_rules", []float64{3, 5, 10, 15, 20}, []string{"min_num_rules", "max_num_rules"}},
		},
		check: sameText,
		empty: true,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text := letters(r, "abc", r.Between(s.MinStringLength, s.MaxStringLength))
			rules := sample(r, rewriteRules, r.Between(s.MinNumRules, s.MaxNumRules))
			final, ends := rewritten(text, rules)
			var b strings.Builder
			for i, rule := range rules {
				fmt.Fprintf(&b, "%d. If %s.\n", i+1, rule.about)
			}
			return problem{
				question: "Change a text by the first of these rules whose condition holds, then begin again at rule 1 with the new text:\n" + b.String() +
					"Stop when no rule changes the text, or when a rule would give a text that was there before; that last change is not made.\nThe text is " + text,
				answer: final,
			}, ends && final != "" && final != text
		},
	})
}

// exchange turns counts of things into others.
type exchange struct {
	about string
	take  []int
	give  []int
}

// exhausted applies the rules in turn, each as often as it goes, until none
// applies, at most 1,000 times.
func exhausted(counts []int, rules []exchange) []int {
	counts = slices.Clone(counts)
	for range maxRewrites {
		applied := false
		for _, rule := range rules {
			if applied = affordable(counts, rule.take); applied {
				for i := range counts {
					counts[i] += rule.give[i] - rule.take[i]
				}
				break
			}
		}
		if !applied {
			break
		}
	}
	return counts
}

func affordable(counts, take []int) bool {
	for i := range counts {
		if counts[i] < take[i] {
			return false
		}
	}
	return true
}

// describeExchanges numbers the rules.
func describeExchanges(rules []exchange) string {
	var b strings.Builder
	for i, rule := range rules {
		fmt.Fprintf(&b, "%d. %s\n", i+1, rule.about)
	}
	return b.String()
}

const exchangeOrder = "Apply the first rule that can be applied, then begin again at rule 1, until no rule can be applied, but at most 1000 times."

func init() {
	type settings struct {
		MinInitialMachines int `toml:"min_initial_machines" range:"[0,500]" about:"minimum number of machines of a kind"`
		MaxInitialMachines int `toml:"max_initial_machines" range:"[1,500]" about:"maximum number of machines of a kind"`
	}
	rules := []exchange{ // A B C X Y Z
		{"1 machine A gives 2 parts X and 1 part Y.", []int{1, 0, 0, 0, 0, 0}, []int{0, 0, 0, 2, 1, 0}},
		{"2 machines B give 1 part X.", []int{0, 2, 0, 0, 0, 0}, []int{0, 0, 0, 1, 0, 0}},
		{"2 machines C give 1 part Y.", []int{0, 0, 2, 0, 0, 0}, []int{0, 0, 0, 0, 1, 0}},
		{"1 machine B and 1 machine C give 1 machine A.", []int{0, 1, 1, 0, 0, 0}, []int{1, 0, 0, 0, 0, 0}},
		{"1 part X and 1 part Y give 1 part Z.", []int{0, 0, 0, 1, 1, 0}, []int{0, 0, 0, 0, 0, 1}},
	}
	generate(family[settings]{
		name: "string_splitting", summary: "take machines apart by rules",
		about:      "apply rules until none applies, then count machines and parts. Right: the six counts.",
		format:     "The answer is the six counts of A B C X Y Z with spaces between.",
		defaults:   settings{0, 5},
		curriculum: []Attribute{{"initial_machines", []float64{5, 10, 50, 100, 300}, []string{"max_initial_machines"}}},
		check:      sameFields,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			counts := append(several(r, 3, 3, s.MinInitialMachines, s.MaxInitialMachines), 0, 0, 0)
			return problem{
				key: spaced(counts[:3]),
				question: fmt.Sprintf("A workshop takes machines A, B, C apart into parts X, Y, Z:\n%s%s\nIt begins with %d A, %d B and %d C. How many of each are there in the end?",
					describeExchanges(rules), exchangeOrder, counts[0], counts[1], counts[2]),
				answer: spaced(exhausted(counts, rules)),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinInitialBlocks int `toml:"min_initial_blocks" range:"[0,500]" about:"minimum number of blocks of a kind"`
		MaxInitialBlocks int `toml:"max_initial_blocks" range:"[1,500]" about:"maximum number of blocks of a kind"`
	}
	rules := []exchange{ // [A] [B] [C] {A} {B} {C} (A) (B) (C)
		{"1 [A], 1 [B] and 1 [C] make 1 {A}.", []int{1, 1, 1, 0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 1, 0, 0, 0, 0, 0}},
		{"1 [A] and 1 [B] make 1 {C}.", []int{1, 1, 0, 0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 1, 0, 0, 0}},
		{"1 [B] and 1 [C] make 1 {B}.", []int{0, 1, 1, 0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 1, 0, 0, 0, 0}},
		{"2 [C] make 1 {C}.", []int{0, 0, 2, 0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 1, 0, 0, 0}},
		{"1 {A} and 1 {C} make 1 (A) and 1 (B).", []int{0, 0, 0, 1, 0, 1, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0, 1, 1, 0}},
		{"2 {B} make 1 (C).", []int{0, 0, 0, 0, 2, 0, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0, 0, 0, 1}},
	}
	generate(family[settings]{
		name: "string_synthesis", summary: "combine blocks by rules",
		about:      "apply rules until none applies, then count blocks. Right: the nine counts.",
		format:     "The answer is the nine counts of [A] [B] [C] {A} {B} {C} (A) (B) (C) with spaces between.",
		defaults:   settings{0, 5},
		curriculum: []Attribute{{"initial_blocks", []float64{5, 10, 50, 100, 300}, []string{"max_initial_blocks"}}},
		check:      sameFields,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			counts := append(several(r, 3, 3, s.MinInitialBlocks, s.MaxInitialBlocks), 0, 0, 0, 0, 0, 0)
			return problem{
				key: spaced(counts[:3]),
				question: fmt.Sprintf("Blocks are combined by these rules:\n%s%s\nThere are %d [A], %d [B] and %d [C] to begin with. How many of each kind are there in the end?",
					describeExchanges(rules), exchangeOrder, counts[0], counts[1], counts[2]),
				answer: spaced(exhausted(counts, rules)),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinRectangles int `toml:"min_rectangles" range:"[1,40]" about:"minimum number of rectangles"`
		MaxRectangles int `toml:"max_rectangles" range:"[1,40]" about:"maximum number of rectangles"`
		Width         int `toml:"width" range:"[10,200]" about:"width of the drawing, in columns"`
		Height        int `toml:"height" range:"[10,200]" about:"height of the drawing, in rows"`
	}
	generate(family[settings]{
		name: "rectangle_count", summary: "count the rectangles of a drawing in characters",
		about: `count rectangles drawn with #, whose outlines may cross but share no corner and no piece of
an edge. Right: a number equal to the count.`,
		format:     wholeNumber,
		defaults:   settings{1, 10, 80, 80},
		curriculum: []Attribute{{"max_rectangles", []float64{5, 10, 15, 20, 25}, []string{"max_rectangles"}}},
		check: func(row verify.Problem, answer string) error {
			return sameNumber(row, answer)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinRectangles, s.MaxRectangles)
			var placed [][4]int // left, top, right, bottom
			for tries := 0; len(placed) < n && tries < 200*n; tries++ {
				w, h := r.Between(3, max(3, s.Width/3)), r.Between(3, max(3, s.Height/3))
				left, top := r.Between(0, s.Width-w), r.Between(0, s.Height-h)
				box := [4]int{left, top, left + w - 1, top + h - 1}
				if !slices.ContainsFunc(placed, func(p [4]int) bool { return touching(box, p) }) {
					placed = append(placed, box)
				}
			}
			grid := make([][]byte, s.Height)
			for y := range grid {
				grid[y] = []byte(strings.Repeat(".", s.Width))
			}
			for _, p := range placed {
				for x := p[0]; x <= p[2]; x++ {
					grid[p[1]][x], grid[p[3]][x] = '#', '#'
				}
				for y := p[1]; y <= p[3]; y++ {
					grid[y][p[0]], grid[y][p[2]] = '#', '#'
				}
			}
			var b strings.Builder
			for _, line := range grid {
				b.Write(line)
				b.WriteByte('\n')
			}
			return problem{
				question: "The outlines of rectangles are drawn with #. They may cross and lie inside each other, but no two have edges on the same or neighbouring lines beside each other. How many rectangles were drawn?\n" + b.String(),
				answer:   strconv.Itoa(len(placed)),
			}, len(placed) == n
		},
	})
}

// touching tells whether two boxes have parallel edges on the same or
// neighbouring lines, which would make the drawing ambiguous.
func touching(a, b [4]int) bool {
	for axis := range 2 {
		overlap := a[1-axis] <= b[3-axis]+1 && b[1-axis] <= a[3-axis]+1
		for _, x := range []int{a[axis], a[axis+2]} {
			for _, y := range []int{b[axis], b[axis+2]} {
				if overlap && max(x-y, y-x) <= 1 {
					return true
				}
			}
		}
	}
	return false
}
