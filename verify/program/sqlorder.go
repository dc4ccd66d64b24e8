package program

import (
	"strconv"
	"strings"
)

// topOrder finds the ORDER BY that stands outside all parentheses and with that
// orders the result. end is where its terms end: before LIMIT, or after the last
// word of the query.
func topOrder(query string) (end int, ordered bool) {
	depth := 0
	before := "" // the word before, in lower case
	for i := 0; i < len(query); {
		c := query[i]
		next := i + 1
		switch {
		case strings.HasPrefix(query[i:], "--"):
			i = skip(query, next, "\n")
			continue
		case strings.HasPrefix(query[i:], "/*"):
			i = skip(query, next+1, "*/")
			continue
		case c <= ' ' || c == ';':
			i++
			continue
		case c == '\'' || c == '"' || c == '`':
			next, before = skip(query, next, string(c)), ""
		case c == '[':
			next, before = skip(query, next, "]"), ""
		case isWord(c):
			for next < len(query) && isWord(query[next]) {
				next++
			}
			word := strings.ToLower(query[i:next])
			if depth == 0 && ordered && word == "limit" {
				return end, true
			}
			ordered = ordered || depth == 0 && before == "order" && word == "by"
			before = word
		case c == '(':
			depth++
			before = ""
		case c == ')':
			depth--
			before = ""
		default:
			before = ""
		}
		i, end = next, next
	}
	return end, ordered
}

// refined is a query whose ties are broken by its columns, all ascending or all
// descending. The two show between them which rows tie. end is that of topOrder.
func refined(query string, end, columns int, descending bool) string {
	var terms strings.Builder
	for i := range columns {
		terms.WriteString(", " + strconv.Itoa(i+1) + " COLLATE BINARY")
		if descending {
			terms.WriteString(" DESC")
		}
	}
	return query[:end] + terms.String() + query[end:]
}

// skip is the place after the next mark, or the end.
func skip(text string, from int, mark string) int {
	if from > len(text) {
		return len(text)
	}
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
