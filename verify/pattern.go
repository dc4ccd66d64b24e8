package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

func init() {
	Register(Entry{
		Name:    "regex",
		Summary: "the answer matches a regular expression (RE2)",
		Doc: `regex: right when the answer matches a regular expression.

Expressions are RE2's, which take time linear in the text:
https://github.com/google/re2/wiki/Syntax

Row: pattern; else its answer is the expression. The option takes precedence over both.

Options
pattern   the expression. Default: the row's.
anchored  true: the expression has to match the whole answer. Default true.
` + metricExtractDoc + `
Not scored when neither the row nor the options have an expression, or when it is not
valid RE2.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := Regex{Anchored: true, Extract: ExtractNone}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			if o.Pattern != "" {
				if _, err := o.compile(o.Pattern); err != nil {
					return nil, fmt.Errorf("option pattern: %w", err)
				}
			}
			return o, oneOf("extract", o.Extract, ExtractNone, ExtractAnnounced)
		},
	})
}

// Regex is the verifier "regex".
type Regex struct {
	Pattern  string `toml:"pattern"`
	Anchored bool   `toml:"anchored"`
	Extract  string `toml:"extract"`
}

func (v Regex) compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("the expression has %d bytes; accepted: at most %d", len(pattern), maxPatternBytes)
	}
	re, err := regexp.Compile(pattern) // checked alone first: "a)|(b" is no expression
	if err != nil || !v.Anchored {
		return re, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

// Check implements [Checker].
func (v Regex) Check(row Problem) error {
	_, _, err := v.patternOf(row)
	return err
}

// patternOf is the expression of the options, else the row's, as written and compiled.
func (v Regex) patternOf(row Problem) (pattern string, re *regexp.Regexp, err error) {
	if pattern = v.Pattern; pattern == "" {
		pattern = row.Answer
		if _, err := row.Field("pattern", &pattern); err != nil {
			return "", nil, err
		}
	}
	if pattern == "" {
		return "", nil, errors.New("the row has no pattern and no answer")
	}
	if re, err = v.compile(pattern); err != nil {
		err = fmt.Errorf("the row's pattern: %w", err)
	}
	return pattern, re, err
}

// Verify implements [Verifier].
func (v Regex) Verify(row Problem, completion string) Verdict {
	pattern, re, err := v.patternOf(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule := completion, "whole"
	if len(text) > maxCompletionBytes {
		return Reject("", rule, "the completion has %d bytes: at most %d are read", len(text), maxCompletionBytes)
	}
	if v.Extract != ExtractNone {
		if text, rule, err = extractAnswer(completion, v.Extract); err != nil {
			return Reject(text, rule, "%v", err)
		}
	}
	if !re.MatchString(text) {
		return Reject(text, rule, "it does not match %s", quote(pattern))
	}
	return Accept(text, rule, "it matches %s", quote(pattern))
}
