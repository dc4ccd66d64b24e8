package verify

import (
	"regexp"
	"strings"

	"github.com/rlzero/rlzero/verify/internal/mathans"
)

// A number in prose is an answer only if the prose says so: "not 42", "at most 42" and "42 is
// wrong" name 42 and do not give it as the answer. They are read as words.

// fillers may stand between a word that denies and its number: "not equal to the value of 42".
const fillers = `(?:(?:be|to|or|equal|equals|the|number|a|an|exactly|value|of|is|just|only|simply)\b[\s,:=]*){0,5}`

var (
	deniedBefore = regexp.MustCompile(`(?i)(?:(?:\b(?:not|never|cannot|neither|nor|except|excluding|besides|rather than|instead of|other than|anything but|different from|` +
		`at most|at least|(?:more|less|fewer|greater|smaller|larger|higher|lower|bigger) than|up to|below|above|exceed(?:s|ing)?|beyond|incorrect(?:ly)?|wrong(?:ly)?)|\w+n['’]t)\b[\s,:*_"]*` +
		fillers + `|[<>≤≥≠]=?\s*|!=\s*)[*_"(\s]*[$€£¥]?\s*$`)
	deniedAfter = regexp.MustCompile(`(?i)^[*_")\s]*(?:(?:is|was|are|were|would be)\s+(?:not|never|wrong|incorrect|too\b)|(?:is|was|are|were|would|can|could)n['’]t\b|` +
		`or (?:more|less|fewer|greater|above|below|higher|lower|over|under)\b|at (?:most|least)\b)`)
)

// deniedBytes is how much of the text before and after a number is looked at.
const deniedBytes = 120

// denied says that a number or a formula between two texts is denied or only a bound.
func denied(before, after string) bool {
	return deniedBefore.MatchString(before[max(0, len(before)-deniedBytes):]) || deniedAfter.MatchString(after[:min(len(after), deniedBytes)])
}

// asWords is an answer in prose that gives no number.
func asWords(text, rule string) found {
	text = strings.TrimRight(strings.TrimSpace(text), ".!")
	return found{answer: mathans.Words(text), text: text, rule: rule}
}
