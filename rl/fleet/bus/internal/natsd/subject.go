package natsd

import "strings"

// wellFormed says whether a subject has tokens, none of them empty, and > nowhere but at the end.
// The parser has seen to it that no space is in it.
func wellFormed(subject string) bool {
	for {
		token, rest, more := strings.Cut(subject, ".")
		if token == "" || token == ">" && more {
			return false
		}
		if !more {
			return true
		}
		subject = rest
	}
}

// literal says whether a subject names one thing: it has no wildcard.
func literal(subject string) bool {
	if !wellFormed(subject) {
		return false
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "*" || token == ">" {
			return false
		}
	}
	return true
}

// covers says whether a pattern has every subject that another pattern has; a literal subject is
// a pattern too. * stands for one token, > for one or more at the end.
func covers(pattern, other string) bool {
	for {
		p, patternRest, patternMore := strings.Cut(pattern, ".")
		o, otherRest, otherMore := strings.Cut(other, ".")
		if p == ">" {
			return true
		}
		if o == ">" || p != "*" && p != o || patternMore != otherMore {
			return false
		}
		if !patternMore {
			return true
		}
		pattern, other = patternRest, otherRest
	}
}
