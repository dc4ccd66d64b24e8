package grammar

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// Vocabulary is what the tokens of a model are in bytes, as a trie.
type Vocabulary struct {
	tokens [][]byte
	trie   []trieNode // in preorder; 0 is the root
	order  []int32    // token ids by their bytes
	deep   int        // the longest path
	bytes  [256]bool  // bytes that are a token
}

// trieNode is a byte of tokens.
type trieNode struct {
	end   int32 // where the nodes below it end
	first int32 // of order, of the tokens that end here
	count int32
	depth uint16 // bytes up to here
	b     byte
}

// longest is how many bytes a token has at most; a longer one is never allowed.
const longest = 1 << 12

// NewVocabulary makes a vocabulary of what tokens are in bytes; nil for one that is no
// text. Token ids are the places in the list.
func NewVocabulary(tokens [][]byte) *Vocabulary {
	v := &Vocabulary{tokens: tokens}
	for id, t := range tokens {
		if len(t) > 0 && len(t) <= longest {
			v.order = append(v.order, int32(id))
		}
	}
	slices.SortFunc(v.order, func(a, b int32) int {
		if c := bytes.Compare(tokens[a], tokens[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	v.trie = []trieNode{{}}
	path := []int32{0} // the nodes of the last token
	for at, id := range v.order {
		t := tokens[id]
		same := 0
		for same < len(t) && same < len(path)-1 && v.trie[path[same+1]].b == t[same] {
			same++
		}
		v.close(path[same+1:])
		path = path[:same+1]
		for _, b := range t[same:] {
			path = append(path, int32(len(v.trie)))
			v.trie = append(v.trie, trieNode{b: b, depth: uint16(len(path) - 1)})
		}
		n := &v.trie[path[len(path)-1]]
		if n.count == 0 {
			n.first = int32(at)
		}
		n.count++
		v.deep = max(v.deep, len(t))
		if len(t) == 1 {
			v.bytes[t[0]] = true
		}
	}
	v.close(path)
	for b := 0xF5; b < 256; b++ { // no bytes of UTF-8, see TokenBytes
		v.bytes[b] = true
	}
	return v
}

// close ends nodes of a path: nothing more comes below them.
func (v *Vocabulary) close(path []int32) {
	for _, n := range path {
		v.trie[n].end = int32(len(v.trie))
	}
}

// words is the number of words of 32 bits that have a bit for each token.
func (v *Vocabulary) words() int { return (len(v.tokens) + 31) / 32 }

// TokenBytes stand for a token that is no text, such as one that begins the call of a tool:
// bytes that no text has.
func TokenBytes(id int) []byte {
	out := []byte{0xFF}
	for _, d := range strconv.Itoa(id) {
		out = append(out, 0xF5+byte(d-'0'))
	}
	return append(out, 0xFF) // so that none is the beginning of another
}

// check refuses ids beyond the vocabulary.
func (v *Vocabulary) check(ids []int) error {
	for _, id := range ids {
		if id < 0 || id >= len(v.tokens) {
			return fmt.Errorf("token %d is beyond the vocabulary of %d", id, len(v.tokens))
		}
	}
	return nil
}
