package text

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// The split patterns of GPT-2 (in the code of the ByteLevel pre-tokenizer), Llama
// 3, Qwen 2 to 3, and NewWords, as they stand in tokenizer.json. They are matched
// by hand: several times faster than a regular expression with lookahead.
const (
	gpt2Pattern  = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llamaPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenPattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	wordsPattern = `\d+|\S`
)

// span is a piece of text that a pattern matches, or that lies between matches.
type span struct {
	text  string
	match bool
}

// pattern cuts text into spans that cover it all, none of them empty.
type pattern func(text string) ([]span, error)

// compilePattern takes the hand-written scanner of a known pattern, and compiles
// others. Their \s, \d and \p are those of Unicode, as in the Rust library.
func compilePattern(expr string) (pattern, error) {
	switch expr {
	case gpt2Pattern:
		return scan(gpt2Word), nil
	case llamaPattern:
		return scan(func(s string) int { return llamaWord(s, 3) }), nil
	case qwenPattern:
		return scan(func(s string) int { return llamaWord(s, 1) }), nil
	case wordsPattern:
		return wordsSpans, nil
	}
	re, err := regexp2.Compile(expr, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", expr, err)
	}
	re.MatchTimeout = 5 * time.Second // a pattern that backtracks without end is an error, not a hang
	return func(text string) ([]span, error) { return regexpSpans(re, text) }, nil
}

// scan makes a pattern of a function that gives the length of the match at the
// beginning of a text, which is never 0.
func scan(word func(string) int) pattern {
	return func(text string) ([]span, error) {
		var spans []span
		for text != "" {
			n := word(text)
			spans = append(spans, span{text[:n], true})
			text = text[n:]
		}
		return spans, nil
	}
}

func regexpSpans(re *regexp2.Regexp, text string) ([]span, error) {
	runes := []rune(text)
	var spans []span
	add := func(from, to int, match bool) {
		if from < to {
			spans = append(spans, span{string(runes[from:to]), match})
		}
	}
	done := 0
	err := re.FindRunesMatches(runes, 0, func(m regexp2.MatchView) bool {
		i, n, _ := m.GroupRange(0)
		add(done, i, false)
		add(i, i+n, true)
		done = i + n
		return true
	})
	add(done, len(runes), false)
	return spans, err
}

// literalSpans cuts at a fixed string.
func literalSpans(literal, text string) []span {
	var spans []span
	for text != "" {
		i := strings.Index(text, literal)
		if i < 0 {
			return append(spans, span{text, false})
		}
		if i > 0 {
			spans = append(spans, span{text[:i], false})
		}
		spans = append(spans, span{literal, true})
		text = text[i+len(literal):]
	}
	return spans
}

// wordsSpans matches wordsPattern: a run of digits, or one other visible character.
func wordsSpans(text string) ([]span, error) {
	var spans []span
	for text != "" {
		n, match := prefix(text, unicode.IsDigit), true
		if n == 0 {
			n, match = prefix(text, unicode.IsSpace), false
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			match = true
		}
		spans = append(spans, span{text[:n], match})
		text = text[n:]
	}
	return spans, nil
}

// gpt2Word is the length of the match of gpt2Pattern at the beginning of s.
func gpt2Word(s string) int {
	if n := contraction(s, false); n > 0 {
		return n
	}
	space := 0
	if s[0] == ' ' {
		space = 1
	}
	for _, class := range []func(rune) bool{unicode.IsLetter, unicode.IsNumber, isOther} {
		if n := prefix(s[space:], class); n > 0 {
			return space + n
		}
	}
	return spaces(s)
}

// llamaWord is the length of the match of llamaPattern (numbers up to 3 digits
// long) or qwenPattern (1) at the beginning of s.
func llamaWord(s string, maxDigits int) int {
	if n := contraction(s, true); n > 0 {
		return n
	}
	r, first := utf8.DecodeRuneInString(s)
	if unicode.IsLetter(r) {
		return prefix(s, unicode.IsLetter)
	}
	if unicode.IsNumber(r) {
		n := first
		for range maxDigits - 1 {
			r, size := utf8.DecodeRuneInString(s[n:])
			if size == 0 || !unicode.IsNumber(r) {
				break
			}
			n += size
		}
		return n
	}
	if r != '\r' && r != '\n' {
		if n := prefix(s[first:], unicode.IsLetter); n > 0 {
			return first + n
		}
	}
	space := 0
	if r == ' ' {
		space = 1
	}
	if n := prefix(s[space:], isOther); n > 0 {
		n += space
		return n + prefix(s[n:], func(r rune) bool { return r == '\r' || r == '\n' })
	}
	// \s*[\r\n]+ reaches to the last line end of the white space.
	if end := strings.LastIndexAny(s[:prefix(s, unicode.IsSpace)], "\r\n"); end >= 0 {
		return end + 1
	}
	return spaces(s)
}

// contraction is the length of 's, 't, 're, 've, 'm, 'll or 'd at the beginning
// of s, 0 for none. Folding case, 's also has the long s (U+017F).
func contraction(s string, foldCase bool) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	if foldCase && strings.HasPrefix(s[1:], "ſ") {
		return 1 + len("ſ")
	}
	tail := s[1:min(len(s), 3)]
	if foldCase {
		tail = lowerASCII(tail)
	}
	switch tail[0] {
	case 's', 't', 'm', 'd':
		return 2
	}
	switch tail {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// spaces is the length of \s+(?!\S)|\s+: all white space at the end of a text,
// else all but the last character, which belongs to the next word.
func spaces(s string) int {
	n := prefix(s, unicode.IsSpace)
	if n == len(s) {
		return n
	}
	_, last := utf8.DecodeLastRuneInString(s[:n])
	if n > last {
		return n - last
	}
	return n
}

// isOther is [^\s\p{L}\p{N}].
func isOther(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

// prefix is the length of the run of characters of a class that begins s.
func prefix(s string, class func(rune) bool) int {
	for i, r := range s {
		if !class(r) {
			return i
		}
	}
	return len(s)
}
