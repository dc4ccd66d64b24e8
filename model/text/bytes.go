package text

import (
	"strings"
	"unicode/utf8"
)

// TokenBytes are the bytes that each token adds within a text, by id. They are nil for control
// tokens, for ids without a token, and for all tokens if their text depends on their neighbours, as
// with words that are joined by spaces.
func (t *Tokenizer) TokenBytes() [][]byte {
	out := make([][]byte, len(t.tokens))
	before, ok := t.letter()
	if !ok || t.separator != "" {
		return out
	}
	for id, token := range t.tokens {
		if token == "" || t.special[id] {
			continue
		}
		text, ok := strings.CutPrefix(t.Decode([]int{before, id}), t.tokens[before])
		switch {
		case !ok:
		case !strings.ContainsRune(text, utf8.RuneError):
			out[id] = []byte(text)
		default: // a part of a character
			if b, ok := fallbackByte(token); ok {
				out[id] = []byte{b}
			} else if raw, ok := alphabetBytes(token); ok {
				out[id] = []byte(raw)
			}
		}
	}
	return out
}

// letter is a token that is one visible character. A token after it is not at the beginning
// of a text, where a decoder may drop a space.
func (t *Tokenizer) letter() (id int, ok bool) {
	for c := '!'; c <= '~'; c++ {
		if id, ok = t.ids[string(c)]; ok && t.Decode([]int{id}) == string(c) {
			return id, true
		}
	}
	return 0, false
}
