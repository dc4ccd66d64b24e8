package settings

import (
	"fmt"
	"strings"
)

// Bounds of a recipe's text. The TOML parser takes time that grows with the third
// power of the parts of a key (3,000 parts: hours), and with the square of nesting and
// of the number of tables; errors read the text again for each place that they name. A
// recipe is far below all of these, and a text at the bounds is refused or read in a
// second.
const (
	MaxBytes = 1 << 20 // of the text, scripts included
	maxParts = 16      // of a key: a.b.c has three
	maxDepth = 32      // of lists and tables in a value
	maxKeys  = 2_000   // with a value or as the head of a table
)

// bounded says whether a text, of a file or of an override, is within the bounds. It
// reads just enough TOML to tell keys from texts and comments; what is no TOML is left
// to the parser.
func bounded(text string) (line, column int, err error) {
	if len(text) > MaxBytes {
		return 1, 1, fmt.Errorf("%d bytes; accepted: at most %d", len(text), MaxBytes)
	}
	parts, depth, keys := 1, 0, 0
	for i := 0; i < len(text) && err == nil; i++ {
		switch c := text[i]; c {
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end > 0 {
				i += end - 1
			} else {
				i = len(text) - 1
			}
		case '"', '\'':
			i += quoted(text[i:]) - 1
		case '.':
			parts++
		case ']', '}':
			depth = max(0, depth-1)
		case '[', '{':
			depth++
			if i == 0 || text[i-1] == '\n' {
				keys, depth = keys+1, 1 // the head of a table
			}
		case '=':
			keys++
		}
		if strings.IndexByte("=,[]{}\n", text[i]) >= 0 {
			parts = 1
		}
		switch {
		case parts > maxParts:
			err = fmt.Errorf("a key of more than %d parts; accepted: at most %d", maxParts, maxParts)
		case depth > maxDepth:
			err = fmt.Errorf("lists or tables in more than %d others; accepted: at most %d", maxDepth, maxDepth)
		case keys > maxKeys:
			err = fmt.Errorf("more than %d keys and tables; accepted: at most %d", maxKeys, maxKeys)
		}
		if err != nil {
			line, column = 1+strings.Count(text[:i], "\n"), i-strings.LastIndexByte(text[:i], '\n')
		}
	}
	return line, column, err
}

// quoted is the number of bytes of the quoted text that begins a text; one that does
// not end goes to the end of its line.
func quoted(text string) int {
	mark, end := text[:1], "\n"
	if long := strings.Repeat(mark, 3); strings.HasPrefix(text, long) {
		mark, end = long, ""
	}
	for i := len(mark); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], mark):
			return i + len(mark)
		case end != "" && text[i] == '\n':
			return i
		case mark[0] == '"' && text[i] == '\\':
			i++
		}
	}
	return len(text)
}
