package train

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/reward"
)

// pattern says whether a fact about where matches of a regular expression lie in the text of a
// completion holds for a token that has some of the text from byte from up to byte to, and a match.
type pattern func(from, to int, match []int) bool

func inside(from, to int, match []int) bool { return from < match[1] && match[0] < to }
func begins(from, to int, match []int) bool { return from <= match[0] && match[0] < to }

// matching is such a fact, for every token. The fact is a call such as inside("a+").
func matching(is pattern) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, fact string) (formula.Column, error) {
		_, rest, _ := strings.Cut(fact, "(")
		text, err := strconv.Unquote(strings.TrimSuffix(rest, ")"))
		if err != nil {
			return formula.Column{}, fmt.Errorf("%s: %w", fact, err)
		}
		expr, err := regexp.Compile(text)
		if err != nil { // the formula was checked
			return formula.Column{}, fmt.Errorf("%s: %w", fact, err)
		}
		c := formula.Column{Level: formula.Token, V: []float64{}}
		for i := range x.cs {
			v, pieces := &x.cs[i].View, []string(nil)
			for _, s := range v.Spans {
				pieces = append(pieces, x.prompts.Pieces(v.IDs[s.From:s.To])...)
			}
			for _, found := range matched(pieces, expr, is) {
				c.V = append(c.V, holds(found))
			}
		}
		return c, nil
	}
}

// matched tells for each piece of a text whether a pattern holds for some match.
func matched(pieces []string, expr *regexp.Regexp, is pattern) []bool {
	var out []bool
	matches, at := expr.FindAllStringIndex(strings.Join(pieces, ""), -1), 0
	for _, piece := range pieces {
		for len(matches) > 0 && (matches[0][1] < at || matches[0][1] == at && matches[0][0] < at) { // over
			matches = matches[1:]
		}
		to := at + len(piece)
		found := false
		for _, m := range matches {
			if found = is(at, to, m); found || m[0] >= to { // those after it begin later still
				break
			}
		}
		out = append(out, found)
		at = to
	}
	return out
}

// valueOf is a value that the reward gives a name.
func valueOf(x subject, fact string) ([]formula.Column, error) {
	_, name, _ := strings.Cut(fact, ".")
	return []formula.Column{completionColumn(x, func(i int) (float64, string) {
		terms := x.cs[i].Score.Terms
		if k := slices.IndexFunc(terms, func(t reward.Term) bool { return t.Name == name }); k >= 0 {
			return terms[k].Value, "reward." + name + " has no value"
		}
		return math.NaN(), "a stored group has only its reward"
	})}, nil
}
