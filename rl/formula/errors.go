package formula

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error is one thing that is wrong with a formula, and where.
type Error struct {
	Part         string // name of the formula
	Line, Column int    // from 1; 0: the whole of it
	Text         string // what was found and what is accepted
	Near         string // the known name that is most like the unknown one; "" if there is none
}

// Error is the place and what is wrong there.
func (e *Error) Error() string {
	place := ""
	switch {
	case e.Line > 1:
		place = fmt.Sprintf("line %d, column %d: ", e.Line, e.Column)
	case e.Line == 1:
		place = fmt.Sprintf("column %d: ", e.Column)
	}
	if e.Part != "" {
		place = e.Part + ": " + place
	}
	hint := ""
	if e.Near != "" {
		hint = "; did you mean " + e.Near + "?"
	}
	return place + e.Text + hint
}

// joined is nil if nothing is wrong.
func joined(faults []*Error) error {
	var all []error
	for _, e := range faults {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// errorAt is an error at a byte of a formula.
func errorAt(part, text string, at int, format string, args ...any) *Error {
	before := text[:min(at, len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
	return &Error{Part: part, Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
}

// nearest is the known name with the fewest letters to change, about a third
// of them; "" if there is none.
func nearest(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts letters that are changed, added, left out or swapped with
// their neighbour.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
