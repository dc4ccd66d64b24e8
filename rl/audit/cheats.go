package audit

import (
	"slices"
	"unicode/utf8"

	"github.com/rlzero/rlzero/verify"
)

// Cheat is a text that no honest judge pays.
type Cheat struct {
	Attack string // its name in the table
	Text   string
}

// mostCheat bounds the texts, bytes: what is longer asks for the judge's room, not for its judgement.
const mostCheat = 4096

// Cheats are the texts of the hopeless attacks on answers to a row that a model could write: none states
// the row's own answer.
func Cheats(row verify.Problem) []Cheat {
	var out []Cheat
	t := target{row: row, right: stated(row.Answer)}
	for _, a := range slices.Concat(nothing, echoes) {
		if !slices.Contains(a.hopeless, answers) {
			continue
		}
		for _, try := range a.tries(t) {
			if utf8.ValidString(try.text) && len(try.text) <= mostCheat && !(try.claims && sameAnswer(try.claim, t.right)) {
				out = append(out, Cheat{a.name, try.text})
			}
		}
	}
	return out
}
