package instruct

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// pattern is a Python regular expression out of a task row.
type pattern struct {
	program *program
	steps   *int // that it may still take, and others with it
}

// newPattern compiles a Python regular expression, as re.compile does without
// flags or with re.IGNORECASE.
func newPattern(python string, ignoreCase bool) (*pattern, error) {
	if len(python) > maxPatternBytes {
		return nil, fmt.Errorf("a pattern of %d bytes: at most %d are accepted", len(python), maxPatternBytes)
	}
	root, groups, err := readPattern(python)
	if err != nil {
		return nil, err
	}
	p, err := compile(root, groups, ignoreCase)
	if err != nil {
		return nil, err
	}
	steps := maxAllSteps
	return &pattern{p, &steps}, nil
}

// found says whether re.search finds something.
func (p *pattern) found(text string) (bool, error) {
	m := newMatcher(p.program, text, *p.steps)
	defer m.pay(p.steps)
	return m.search(0, false)
}

// findAll is re.findall: the matches or, with a group, what the first group
// holds.
func (p *pattern) findAll(text string) ([]string, error) {
	m := newMatcher(p.program, text, *p.steps)
	defer m.pay(p.steps)
	group := min(p.program.groups, 1)
	var all []string
	for at, must := 0, false; ; {
		found, err := m.search(at, must)
		if err != nil || !found {
			return all, err
		}
		part := ""
		if from := m.slots[2*group]; from >= 0 {
			part = string(m.text[from:m.slots[2*group+1]])
		}
		all = append(all, part)
		must = m.slots[1] == m.slots[0]
		at = m.slots[1]
	}
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
