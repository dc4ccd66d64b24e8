package verify

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "format",
		Summary: "the form of the completion: tags in order, or a regular expression",
		Doc: `format: right when the completion has the required form; its content is not checked.

Row: no fields are needed.

Options (one of the two)
tags      names: the completion is <name>…</name> for each in this order, with each
          opening and closing tag exactly once and only white space outside and between.
          Default ["think", "answer"].
pattern   RE2 regular expression that the whole completion has to match; a dot matches
          line ends too. Syntax: https://github.com/google/re2/wiki/Syntax
`,
		New: newFormat,
	})
}

type formatOptions struct {
	Tags    []string `toml:"tags"`
	Pattern string   `toml:"pattern"`
}

var tagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

func newFormat(options json.RawMessage) (Verifier, error) {
	var o formatOptions
	if err := DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	switch {
	case o.Pattern != "" && o.Tags != nil:
		return nil, fmt.Errorf("options pattern and tags are both given; accepted: one of them")
	case o.Pattern != "":
		return newPattern(o.Pattern)
	case o.Tags == nil:
		return tagFormat{"think", "answer"}, nil
	}
	if len(o.Tags) == 0 || len(o.Tags) > maxTags {
		return nil, fmt.Errorf("option tags has %d names; accepted: 1 to %d", len(o.Tags), maxTags)
	}
	seen := map[string]bool{}
	for _, tag := range o.Tags {
		if !tagName.MatchString(tag) || seen[tag] {
			return nil, fmt.Errorf("option tags holds %s; accepted: different names of letters, digits, _ and -", quote(tag))
		}
		seen[tag] = true
	}
	return tagFormat(o.Tags), nil
}

// patternFormat matches whole completions.
type patternFormat struct{ whole *regexp.Regexp }

func newPattern(pattern string) (Verifier, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("option pattern has %d bytes; accepted: at most %d", len(pattern), maxPatternBytes)
	}
	if _, err := regexp.Compile(pattern); err != nil { // checked alone first: "a)|(b" is no pattern
		return nil, fmt.Errorf("option pattern: %w", err)
	}
	whole, err := regexp.Compile(`(?s)\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("option pattern: %w", err)
	}
	return patternFormat{whole}, nil
}

func (p patternFormat) Verify(_ Problem, completion string) Verdict {
	switch {
	case len(completion) > maxCompletionBytes:
		return Reject("", "pattern", "the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	case !p.whole.MatchString(completion):
		return Reject(completion, "pattern", "the completion does not match the pattern")
	}
	return Accept(completion, "pattern", "the completion matches the pattern")
}

// tagFormat lists the tags in their order.
type tagFormat []string

func (tags tagFormat) Verify(_ Problem, completion string) Verdict {
	if len(completion) > maxCompletionBytes {
		return Reject("", "tags", "the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	for _, tag := range tags {
		for _, mark := range []string{"<" + tag + ">", "</" + tag + ">"} {
			if n := strings.Count(completion, mark); n != 1 {
				return Reject(completion, "tags", "%s appears %d times, expected once", mark, n)
			}
		}
	}
	rest := completion
	for _, tag := range tags {
		before, after, found := strings.Cut(rest, "<"+tag+">")
		if !found {
			return Reject(completion, "tags", "<%s> is out of order", tag)
		}
		if text := strings.TrimSpace(before); text != "" {
			return Reject(completion, "tags", "found %s before <%s>", quote(text), tag)
		}
		if _, rest, found = strings.Cut(after, "</"+tag+">"); !found {
			return Reject(completion, "tags", "</%s> comes before <%s>", tag, tag)
		}
	}
	if text := strings.TrimSpace(rest); text != "" {
		return Reject(completion, "tags", "found %s after the last tag", quote(text))
	}
	return Accept(completion, "tags", "all tags in order, once each")
}
