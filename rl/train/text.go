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

// patterns has a row for every fact about where matches of a regular expression lie in the
// text of a completion: whether it holds for a token that has some of the text from byte from
// up to byte to, and a match.
var patterns = map[string]func(from, to int, match []int) bool{
	"inside": func(from, to int, match []int) bool { return from < match[1] && match[0] < to },
	"begins": func(from, to int, match []int) bool { return from <= match[0] && match[0] < to },
}

// patternOf splits a call such as inside("a+") into the fact and its pattern.
func patternOf(call string) (fact, pattern string, ok bool) {
	fact, rest, called := strings.Cut(call, "(")
	if !called || patterns[fact] == nil {
		return "", "", false
	}
	pattern, err := strconv.Unquote(strings.TrimSuffix(rest, ")"))
	return fact, pattern, err == nil
}

// matching is such a fact, for every token.
func (x drawn) matching(fact, pattern string) (formula.Column, error) {
	expr, err := regexp.Compile(pattern)
	if err != nil { // the formula was checked
		return formula.Column{}, fmt.Errorf("%s: %w", fact, err)
	}
	c, is := formula.Column{Level: formula.Token, V: []float64{}}, patterns[fact]
	for i := range x.cs {
		pieces := x.Prompts.Pieces(x.cs[i].View.Drawn())
		matches, at := expr.FindAllStringIndex(strings.Join(pieces, ""), -1), 0
		for _, piece := range pieces {
			for len(matches) > 0 && (matches[0][1] < at || matches[0][1] == at && matches[0][0] < at) { // over
				matches = matches[1:]
			}
			to := at + len(piece)
			found := false
			for _, m := range matches {
				if found = is(at, to, m); found || m[0] >= to { // those behind begin later still
					break
				}
			}
			c.V = append(c.V, holds(found))
			at = to
		}
	}
	return c, nil
}

// valueOf is a value that the reward gives a name.
func valueOf(name string) func(drawn) formula.Column {
	return ofCompletions(func(c *Completion) (float64, string) {
		if i := slices.IndexFunc(c.Terms, func(t reward.Term) bool { return t.Name == name }); i >= 0 {
			return c.Terms[i].Value, "reward." + name + " has no value"
		}
		return math.NaN(), "a stored group has its reward alone"
	})
}
