package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// modelPart is the model of a tokenizer.json.
type modelPart struct {
	Type         string          `json:"type"`
	Vocab        map[string]int  `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	UnkToken     string          `json:"unk_token"`
	Dropout      float64         `json:"dropout"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
}

// parseModel reads the model and its vocabulary. bytewise: the vocabulary is
// written in the byte alphabet.
func parseModel(raw json.RawMessage, bytewise bool) (wordModel, map[string]int, error) {
	if len(raw) == 0 {
		return nil, nil, errors.New("missing")
	}
	var p modelPart
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, nil, err
	}
	for token, id := range p.Vocab {
		if id < 0 || id >= maxTokens {
			return nil, nil, fmt.Errorf("vocab: %q: found id %d, accepted: 0 to %d", token, id, maxTokens-1)
		}
	}
	unknown := -1
	if id, ok := p.Vocab[p.UnkToken]; ok && p.UnkToken != "" {
		unknown = id
	}
	switch {
	case p.Type == "WordLevel" && !bytewise:
		return wordLevel{p.Vocab, unknown}, p.Vocab, nil
	case p.Type == "BPE" || p.Type == "" && p.Merges != nil: // old files leave the type out
		m, err := newBPE(p, int32(unknown), bytewise)
		return m, p.Vocab, err
	}
	return nil, nil, fmt.Errorf("found type %q, accepted: BPE, WordLevel (without ByteLevel)", p.Type)
}

// bpe is byte-pair encoding: it begins with characters or bytes and joins, again
// and again, the neighbours whose merge has the lowest rank, the leftmost first.
type bpe struct {
	bytewise bool
	merges   map[pair]merge
	bytes    [256]int32     // id of a byte: of the alphabet, or <0xNN>; -1 for none
	vocab    map[string]int // not bytewise: ids of characters
	whole    map[string]int // ignore_merges: ids of words that need no merging
	unknown  int32          // -1 for none
	fuse     bool           // a run of unknown characters becomes one token
}

type pair struct{ left, right int32 }

type merge struct{ rank, id int32 }

func newBPE(p modelPart, unknown int32, bytewise bool) (*bpe, error) {
	switch {
	case p.Dropout != 0:
		return nil, fmt.Errorf("dropout: found %v, accepted: null or 0", p.Dropout)
	case p.Prefix != "":
		return nil, fmt.Errorf("continuing_subword_prefix: found %q, accepted: none", p.Prefix)
	case p.Suffix != "":
		return nil, fmt.Errorf("end_of_word_suffix: found %q, accepted: none", p.Suffix)
	}
	m := &bpe{bytewise: bytewise, unknown: unknown, fuse: p.FuseUnk}
	for b := range m.bytes {
		m.bytes[b] = -1
		token := string(byteAlphabet[b])
		if !bytewise {
			token = fmt.Sprintf("<0x%02X>", b)
		}
		if id, ok := p.Vocab[token]; ok && (bytewise || p.ByteFallback) {
			m.bytes[b] = int32(id)
		}
	}
	if !bytewise {
		m.vocab = p.Vocab
	}
	if p.IgnoreMerges {
		m.whole = p.Vocab
		if bytewise {
			m.whole = make(map[string]int, len(p.Vocab))
			for token, id := range p.Vocab {
				if raw, ok := alphabetBytes(token); ok {
					m.whole[raw] = id
				}
			}
		}
	}
	return m, m.readMerges(p)
}

// readMerges reads "a b" strings or ["a", "b"] pairs; the place in the list is the rank.
func (m *bpe) readMerges(p modelPart) error {
	var pairs [][2]string
	var joined []string
	if err := json.Unmarshal(p.Merges, &pairs); err != nil {
		if err := json.Unmarshal(p.Merges, &joined); err != nil {
			return fmt.Errorf("merges: accepted: a list of \"a b\" strings or of [\"a\", \"b\"] pairs: %w", err)
		}
		pairs = make([][2]string, len(joined))
		for i, s := range joined {
			left, right, ok := strings.Cut(s, " ")
			if !ok || strings.Contains(right, " ") {
				return fmt.Errorf("merges: entry %d: found %q, accepted: two tokens and a space between them", i, s)
			}
			pairs[i] = [2]string{left, right}
		}
	}
	m.merges = make(map[pair]merge, len(pairs))
	for rank, s := range pairs {
		left, ok1 := p.Vocab[s[0]]
		right, ok2 := p.Vocab[s[1]]
		id, ok3 := p.Vocab[s[0]+s[1]]
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("merges: entry %d: %q and %q, or what they make, is not in vocab", rank, s[0], s[1])
		}
		m.merges[pair{int32(left), int32(right)}] = merge{int32(rank), int32(id)}
	}
	return nil
}

// symbol is a piece of the word being merged, in a doubly linked list by index.
type symbol struct{ id, prev, next int32 }

const gone = -1 // id of a symbol that was merged into its left neighbour; no index

func (m *bpe) appendIDs(out []int, word string) ([]int, error) {
	if id, ok := m.whole[word]; ok {
		return append(out, id), nil
	}
	var buf [64]symbol // most words fit: no allocation
	symbols, err := m.symbols(buf[:0], word)
	if err != nil || len(symbols) == 0 {
		return out, err
	}
	for i := range symbols {
		symbols[i].prev, symbols[i].next = int32(i)-1, int32(i)+1
	}
	symbols[len(symbols)-1].next = gone
	m.mergeAll(symbols)
	for i := int32(0); i != gone; i = symbols[i].next {
		out = append(out, int(symbols[i].id))
	}
	return out, nil
}

// symbols cuts a word into the bytes or characters that merging begins with.
func (m *bpe) symbols(out []symbol, word string) ([]symbol, error) {
	if m.bytewise {
		for i := range len(word) {
			id := m.bytes[word[i]]
			if id < 0 {
				return nil, fmt.Errorf("the tokenizer has no token for byte 0x%02X of %q", word[i], word)
			}
			out = append(out, symbol{id: id})
		}
		return out, nil
	}
	inUnknown := false
	for i, r := range word {
		char := word[i : i+utf8.RuneLen(r)]
		if id, ok := m.vocab[char]; ok {
			out, inUnknown = append(out, symbol{id: int32(id)}), false
			continue
		}
		if m.hasBytes(char) {
			for j := range len(char) {
				out = append(out, symbol{id: m.bytes[char[j]]})
			}
			inUnknown = false
			continue
		}
		if m.unknown < 0 {
			return nil, fmt.Errorf("the tokenizer has no token for %q", char)
		}
		if !inUnknown || !m.fuse {
			out = append(out, symbol{id: m.unknown})
		}
		inUnknown = true
	}
	return out, nil
}

func (m *bpe) hasBytes(char string) bool {
	for i := range len(char) {
		if m.bytes[char[i]] < 0 {
			return false
		}
	}
	return true
}

// mergeAll merges with a heap of candidates: n log n for a word of n symbols, which
// may be a whole text. A candidate is stale once one of its symbols changed.
func (m *bpe) mergeAll(symbols []symbol) {
	var buf [64]candidate
	queue := candidates(buf[:0])
	for i := range symbols {
		queue = m.offer(queue, symbols, int32(i))
	}
	for len(queue) > 0 {
		var c candidate
		c, queue = queue.pop()
		left := &symbols[c.at]
		if left.id != c.left || left.next == gone || symbols[left.next].id != c.right {
			continue
		}
		right := &symbols[left.next]
		left.id, left.next, right.id = c.id, right.next, gone
		if left.next != gone {
			symbols[left.next].prev = c.at
		}
		if left.prev != gone {
			queue = m.offer(queue, symbols, left.prev)
		}
		queue = m.offer(queue, symbols, c.at)
	}
}

// offer adds the merge of symbol i and its right neighbour, if there is one.
func (m *bpe) offer(queue candidates, symbols []symbol, i int32) candidates {
	j := symbols[i].next
	if j == gone {
		return queue
	}
	p := pair{symbols[i].id, symbols[j].id}
	if found, ok := m.merges[p]; ok {
		queue = queue.push(candidate{found, i, p})
	}
	return queue
}

// candidate is a merge that was possible at symbol index at when it was offered.
type candidate struct {
	merge
	at int32
	pair
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// candidates is a binary min-heap; container/heap would allocate for each entry.
type candidates []candidate

func (q candidates) push(c candidate) candidates {
	q = append(q, c)
	i := len(q) - 1
	for i > 0 && q[i].before(q[(i-1)/2]) {
		q[i], q[(i-1)/2] = q[(i-1)/2], q[i]
		i = (i - 1) / 2
	}
	return q
}

// pop takes out the first candidate.
func (q candidates) pop() (candidate, candidates) {
	top, last := q[0], len(q)-1
	q[0] = q[last]
	q = q[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && q[child+1].before(q[child]) {
			child++
		}
		if child >= last || !q[child].before(q[i]) {
			return top, q
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
