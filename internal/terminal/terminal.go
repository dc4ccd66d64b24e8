package terminal

import (
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds in characters. A message is what a person reads at once.
const (
	quoteLength   = 80
	messageLength = 2000 // of a line
	messageLines  = 60
)

// Line is text on one line of at most length characters, and "…" where it was cut.
func Line(text string, length int) string {
	var b strings.Builder
	for n := 0; len(text) > 0; n++ {
		if n == length {
			b.WriteRune('…')
			break
		}
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			escaped := strconv.Quote(text[:size])
			b.WriteString(escaped[1 : len(escaped)-1])
		} else {
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// Text is text as it comes, of any length: line ends and tabs stay, nothing is cut.
func Text(text string) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexAny(text, "\n\t")
		if n < 0 {
			n = len(text)
		}
		b.WriteString(Line(text[:n], n))
		b.WriteString(text[n:min(n+1, len(text))])
		text = text[min(n+1, len(text)):]
	}
	return b.String()
}

// Quote is text in quotation marks, as Go writes it, cut to what a message has room for.
func Quote(text string) string {
	cut, more := firstRunes(text, quoteLength)
	if more {
		return strconv.Quote(cut) + "…"
	}
	return strconv.Quote(cut)
}

// Message is a text of several lines, such as an error that holds text of others: line
// ends and tabs stay, long lines are cut, and so are lines beyond the first sixty.
func Message(text string) string {
	lines := strings.SplitN(text, "\n", messageLines+1)
	if len(lines) > messageLines {
		lines[messageLines] = "…"
	}
	for i, line := range lines {
		parts := strings.Split(line[:min(len(line), utf8.UTFMax*(messageLength+1))], "\t")
		for k := range parts {
			parts[k] = Line(parts[k], messageLength)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// Printable says whether text is one line of at most length characters that a terminal
// shows as they are.
func Printable(text string, length int) bool {
	return utf8.ValidString(text) && Line(text, length) == text
}

// firstRunes is text up to its length-th character, and whether there is more.
func firstRunes(text string, length int) (cut string, more bool) {
	for i := range text {
		if length == 0 {
			return text[:i], true
		}
		length--
	}
	return text, false
}

// ShellWord is a text as one word of a command line, as a shell reads it: quoted where
// it has to be.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=+,@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) && (r != '\\' || runtime.GOOS != "windows") }) < 0 {
		return text
	}
	if runtime.GOOS == "windows" { // file names cannot hold the quote
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
