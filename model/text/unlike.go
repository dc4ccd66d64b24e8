package text

import "bytes"

// Unlike is the first id whose token adds other bytes to a text than that of another tokenizer,
// among the ids that both have a token for; -1: there is none. The tables may have other heights, and
// a token may be a control token in one of them.
func (t *Tokenizer) Unlike(other *Tokenizer) int {
	own, others := t.TokenBytes(), other.TokenBytes()
	for id := range min(len(own), len(others)) {
		a, b := t.tokens[id], other.tokens[id]
		switch {
		case a == "" || b == "":
		case t.separator != other.separator:
			return id
		case own[id] != nil && others[id] != nil:
			if !bytes.Equal(own[id], others[id]) {
				return id
			}
		case a != b:
			return id
		}
	}
	return -1
}
