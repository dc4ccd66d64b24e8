package verify

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Answer takes the answer out of a completion as the option "extract" says, for
// verifiers of other packages. rule names what matched, as in [Verdict.Rule];
// the error says why there is no answer or that it is longer than maxBytes.
func Answer(completion, how string, maxBytes int) (answer, rule string, err error) {
	if len(completion) > maxCompletionBytes {
		return "", "", fmt.Errorf("the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	if how == ExtractNone {
		answer, rule = strings.TrimSpace(completion), "whole"
	} else if answer, rule, err = findAnswer(completion, how); err != nil {
		return "", "", err
	}
	if answer == "" {
		return "", "", ErrEmptyAnswer
	}
	if len(answer) > maxBytes {
		return answer, rule, fmt.Errorf("the answer has %d bytes: at most %d are read", len(answer), maxBytes)
	}
	return answer, rule, nil
}

// ErrEmptyAnswer is the error of [Answer] for a completion whose answer is
// there and empty.
var ErrEmptyAnswer = errors.New("the answer is empty")

// ParseNumber reads one number exactly: a decimal with an optional sign,
// separators of thousands and exponent, or, unless plain, a fraction of two
// decimals. Digits and exponents are bounded.
func ParseNumber(text string, plain bool) (*big.Rat, error) { return parseNumber(text, plain) }

// CheckExtract is the error for a value of the option "extract" that is not one
// of the Extract constants.
func CheckExtract(how string) error {
	return oneOf("extract", how, ExtractAnnounced, ExtractLastLine, ExtractLastNumber, ExtractNone)
}
