package plain

import (
	"runtime"
	"strings"
)

// Quote is a text as one word of a command line, as a shell reads it: quoted where
// it has to be. Messages show commands with it that can be copied.
func Quote(text string) string {
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
