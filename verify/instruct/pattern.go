package instruct

import (
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// pattern is a Python regular expression out of a task row. It runs on Go's
// linear-time engine where that can express it, else (look-around, references,
// atomic groups, \b, which is about ASCII in Go, and patterns that match the
// empty string, whose places differ) on a backtracking one with limits.
type pattern struct {
	linear *regexp.Regexp
	back   *regexp2.Regexp
	groups int
}

// Limits of the backtracking engine. Only a pattern of a task row, never text
// of a model, chooses it.
const (
	maxPatternBytes = 4096
	maxBackBytes    = 64 << 10 // of text
	maxBackStack    = 1 << 20  // slots
	backTimeout     = 500 * time.Millisecond
)

var errBudget = errors.New("the pattern takes too long on this text")

// newPattern compiles a Python regular expression, as re.compile does without
// flags or with re.IGNORECASE.
func newPattern(python string, ignoreCase bool) (*pattern, error) {
	if len(python) > maxPatternBytes {
		return nil, fmt.Errorf("a pattern of %d bytes: at most %d are accepted", len(python), maxPatternBytes)
	}
	expr, backtracks, err := translate(python, ignoreCase)
	if err != nil {
		return nil, err
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	if !backtracks {
		re, err := regexp.Compile(expr)
		if err == nil && !re.MatchString("") {
			return &pattern{linear: re, groups: re.NumSubexp()}, nil
		}
	}
	re, err := regexp2.Compile(expr, regexp2.OptionMaintainCaptureOrder(), regexp2.OptionMaxBacktrackingStackSize(maxBackStack))
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = backTimeout
	return &pattern{back: re, groups: len(re.GetGroupNumbers()) - 1}, nil
}

// found says whether re.search finds something.
func (p *pattern) found(text string) (bool, error) {
	if p.linear != nil {
		return p.linear.MatchString(text), nil
	}
	if len(text) > maxBackBytes {
		return false, errBudget
	}
	ok, err := p.back.MatchString(text)
	if err != nil {
		return false, errBudget
	}
	return ok, nil
}

// findAll is re.findall: the matches or, with a group, what the first group
// holds.
func (p *pattern) findAll(text string) ([]string, error) {
	group := min(p.groups, 1)
	var all []string
	if p.linear != nil {
		for _, m := range p.linear.FindAllStringSubmatchIndex(text, -1) {
			part := ""
			if from := m[2*group]; from >= 0 {
				part = text[from:m[2*group+1]]
			}
			all = append(all, part)
		}
		return all, nil
	}
	if len(text) > maxBackBytes {
		return nil, errBudget
	}
	deadline := time.Now().Add(backTimeout)
	m, err := p.back.FindStringMatch(text)
	for ; m != nil && err == nil; m, err = p.back.FindNextMatch(m) {
		all = append(all, m.GroupByNumber(group).String())
		if time.Now().After(deadline) {
			return nil, errBudget
		}
	}
	if err != nil {
		return nil, errBudget
	}
	return all, nil
}

// count is the number of matches that do not overlap.
func (p *pattern) count(text string) (int, error) {
	all, err := p.findAll(text)
	return len(all), err
}

// hasWord says whether `\bword\b` is found in text, word being literal; with
// fold, case does not count. Matches may overlap.
func hasWord(text, word string, fold bool) bool {
	if word == "" { // \b\b: any boundary
		return len(wordRuns(text)) > 0
	}
	t, w := []rune(text), []rune(word)
	if fold {
		foldAll(t)
		foldAll(w)
	}
	wordAt := func(i int) bool { return i >= 0 && i < len(t) && isWord(t[i]) }
	table := failures(w)
	for i, k := 0, 0; i < len(t); i++ { // Knuth, Morris and Pratt: linear on any text
		for k > 0 && t[i] != w[k] {
			k = table[k-1]
		}
		if t[i] == w[k] {
			k++
		}
		if k == len(w) {
			from := i + 1 - k
			if wordAt(from-1) != wordAt(from) && wordAt(i) != wordAt(i+1) {
				return true
			}
			k = table[k-1]
		}
	}
	return false
}

// failures has, for each prefix of w, the length of its longest proper prefix
// that is also its suffix.
func failures(w []rune) []int {
	table := make([]int, len(w))
	for i, k := 1, 0; i < len(w); i++ {
		for k > 0 && w[i] != w[k] {
			k = table[k-1]
		}
		if w[i] == w[k] {
			k++
		}
		table[i] = k
	}
	return table
}

func foldAll(runes []rune) {
	for i, r := range runes {
		runes[i] = fold(r)
	}
}

// fold gives characters that re.IGNORECASE holds equal the same value: the
// smallest of their Unicode folding orbit, and i for its dotted and dotless kin.
func fold(r rune) rune {
	if r == 'İ' || r == 'ı' || r == 'i' {
		return 'I'
	}
	if r < utf8.RuneSelf && (r < 'a' || r > 'z') {
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
