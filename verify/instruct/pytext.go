package instruct

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The reference checkers are Python programs, and Python's notions of space,
// word, digit and case differ from Go's. This file has them (Python 3.11,
// docs.python.org/3/library/stdtypes.html#string-methods).

// punctuation is Python's string.punctuation.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// The insides of character classes that mean Python's \s, \w and \d to both
// regular expression engines.
const (
	spaceClass = `\t-\r\x1c-\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	wordClass  = `\p{L}\p{N}_`
	digitClass = `\p{Nd}`
)

// isSpace is str.isspace of one character.
func isSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= ' ', r == 0x85, r == 0xa0:
		return true
	case r < 0x1680:
		return false
	}
	return r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x2028 || r == 0x2029 ||
		r == 0x202f || r == 0x205f || r == 0x3000
}

// isWord is \w.
func isWord(r rune) bool { return r == '_' || isAlnum(r) }

// isAlnum is str.isalnum of one character.
func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isDecimal is \d.
func isDecimal(r rune) bool { return unicode.Is(unicode.Nd, r) }

// otherDigits are the characters that are digits to str.isdigit without being
// decimal: superscripts, circled digits and the like (Numeric_Type=Digit).
var otherDigits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xb2, 0xb3, 1}, {0xb9, 0xb9, 1}, {0x1369, 0x1371, 1}, {0x19da, 0x19da, 1}, {0x2070, 0x2070, 1},
		{0x2074, 0x2079, 1}, {0x2080, 0x2089, 1}, {0x2460, 0x2468, 1}, {0x2474, 0x247c, 1},
		{0x2488, 0x2490, 1}, {0x24ea, 0x24ea, 1}, {0x24f5, 0x24fd, 1}, {0x24ff, 0x24ff, 1},
		{0x2776, 0x277e, 1}, {0x2780, 0x2788, 1}, {0x278a, 0x2792, 1},
	},
	R32: []unicode.Range32{
		{0x10a40, 0x10a43, 1}, {0x10e60, 0x10e68, 1}, {0x11052, 0x1105a, 1}, {0x1f100, 0x1f10a, 1},
	},
	LatinOffset: 2,
}

// isDigits is str.isdigit.
func isDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !isDecimal(r) && !unicode.Is(otherDigits, r)
	}) < 0
}

func isUpperRune(r rune) bool {
	return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r)
}

func isLowerRune(r rune) bool {
	return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r)
}

// isUpper is str.isupper: at least one upper case letter, none of lower or
// title case.
func isUpper(s string) bool { return onlyCase(s, isUpperRune, isLowerRune) }

// isLower is str.islower.
func isLower(s string) bool { return onlyCase(s, isLowerRune, isUpperRune) }

func onlyCase(s string, wanted, refused func(rune) bool) bool {
	found := false
	for _, r := range s {
		if refused(r) || unicode.IsTitle(r) {
			return false
		}
		found = found || wanted(r)
	}
	return found
}

// lower is str.lower: İ becomes two code points, and a capital sigma at the end
// of a word becomes ς (Unicode SpecialCasing).
func lower(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	afterCased := false // the last character that is not case-ignorable is cased
	for i, r := range s {
		switch {
		case r == 'İ':
			b.WriteString("i̇")
		case r == 'Σ' && afterCased && !startsCased(s[i+len("Σ"):]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		if !caseIgnorable(r) {
			afterCased = cased(r)
		}
	}
	return b.String()
}

func cased(r rune) bool { return isUpperRune(r) || isLowerRune(r) || unicode.IsTitle(r) }

// caseIgnorable follows Unicode's definition D136.
func caseIgnorable(r rune) bool {
	return strings.ContainsRune("'.:·՟״‘’․‧﹒﹕＇．：", r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// startsCased says whether the first character of s that is not case-ignorable
// is cased. It looks at no more than 64 characters, so that lower is linear.
func startsCased(s string) bool {
	seen := 0
	for _, r := range s {
		if seen++; !caseIgnorable(r) || seen > 64 {
			return cased(r)
		}
	}
	return false
}

// strip is str.strip().
func strip(s string) string { return strings.TrimFunc(s, isSpace) }

// stripPunct is str.strip(string.punctuation + " ").
func stripPunct(s string) string { return strings.Trim(s, punctuation+" ") }

// split is str.split(): the words between white space.
func split(s string) []string { return strings.FieldsFunc(s, isSpace) }

// join is " ".join.
func join(words []string) string { return strings.Join(words, " ") }

// dropPunct takes out every ASCII punctuation mark.
func dropPunct(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && strings.IndexByte(punctuation, byte(r)) >= 0 {
			return -1
		}
		return r
	}, s)
}

// wordRuns are the matches of \w+.
func wordRuns(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) })
}

// digitRuns are the matches of \d+.
func digitRuns(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !isDecimal(r) })
}

// length is len(s) in code points.
func length(s string) int { return utf8.RuneCountInString(s) }

// first is the first character of s, which is not empty.
func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// reversed is s[::-1].
func reversed(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// slice is s[from:to], indices in code points, negative ones from the end.
func slice(s string, from, to int) string {
	runes := []rune(s)
	bound := func(i int) int {
		if i < 0 {
			i += len(runes)
		}
		return min(max(i, 0), len(runes))
	}
	from, to = bound(from), bound(to)
	if from >= to {
		return ""
	}
	return string(runes[from:to])
}
