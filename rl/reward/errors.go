package reward

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with a reward: with its expression or with a
// verifier that it declares.
type Error struct {
	Verifier     int    // index of the verifier; -1: the expression
	Key          string // the verifier's key; "" for the expression
	Line, Column int    // within the expression, from 1; 0: the whole of it
	Text         string // what was found and what is accepted
	Unknown      string // a name that is not known, "" if that is not what is wrong
	Known        []string
}

// Error says what is wrong. Column and line are told only where they are known.
func (e *Error) Error() string {
	switch {
	case e.Line > 1:
		return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Text)
	case e.Line == 1:
		return fmt.Sprintf("column %d of the expression: %s", e.Column, e.Text)
	}
	return e.Text
}

// Errors are all that is wrong with a reward.
type Errors []*Error

func (es Errors) Error() string {
	var lines []string
	for _, e := range es {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}
