package bm25

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// Bounds within which no product below leaves 64 bits.
const (
	maxLength = 1 << 20 // words of a document
	maxWords  = 1 << 30 // words of all documents
)

// fraction is how many bits of a factor stand after the point.
const fraction = 16

// Index knows where each word stands.
type Index struct {
	words     map[string]word
	documents int
}

type word struct {
	idf uint64  // [2^-16]
	in  []place // by document
}

// place is a document that has a word.
type place struct {
	document  int
	frequency uint64 // at first how often; then what that counts for [2^-16]
}

// New makes an index of documents. The error is for more or longer ones than it can hold.
func New(documents []string) (*Index, error) {
	x := &Index{words: map[string]word{}, documents: len(documents)}
	lengths, total := make([]int, len(documents)), 0
	for d, text := range documents {
		terms := Words(text)
		lengths[d] = len(terms)
		if total += len(terms); len(terms) > maxLength || total > maxWords {
			return nil, fmt.Errorf("document %d has %d words, and those up to it %d; accepted: at most %d and %d", d+1, len(terms), total, maxLength, maxWords)
		}
		for _, t := range terms {
			w := x.words[t]
			if last := len(w.in) - 1; last >= 0 && w.in[last].document == d {
				w.in[last].frequency++
			} else {
				w.in = append(w.in, place{d, 1})
			}
			x.words[t] = w
		}
	}
	n, all := uint64(len(documents)), uint64(total)
	for t, w := range x.words {
		w.idf = log2(2*n+2, 2*uint64(len(w.in))+1)
		for i, p := range w.in {
			// Above and below the line times 10·all, which makes whole numbers of k1 and b.
			above, below := 22*p.frequency*all, 10*p.frequency*all+3*all+9*uint64(lengths[p.document])*n
			high, low := bits.Mul64(above, 1<<fraction)
			w.in[i].frequency, _ = bits.Div64(high, low, below) // below is above/2.2 at least, so it fits
		}
		x.words[t] = w
	}
	return x, nil
}

// log2 is the logarithm to base 2 of a/b, which is at least 1 and below 2^31, in multiples of 2^-16: a number
// is squared, and whether that is 2 or more is the next bit.
func log2(a, b uint64) uint64 {
	const one = 1 << 32
	whole := bits.Len64(a/b) - 1
	high, low := bits.Mul64(a, one)
	x, _ := bits.Div64(high, low, b<<whole) // from 1 to 2
	out := uint64(whole)
	for range fraction {
		high, low = bits.Mul64(x, x)
		x = high<<32 | low>>32
		if out <<= 1; x >= 2*one {
			out++
			x >>= 1
		}
	}
	return out
}

// Hit is a document that was found.
type Hit struct {
	Document int    // from 0
	Score    uint64 // [2^-16]
}

// Search returns the n documents with the highest scores, and of equal scores those with the lowest
// numbers. Documents without a word of the query are not among them. A word counts as often as it stands
// in the query.
func (x *Index) Search(query string, n int) []Hit {
	scores := make([]uint64, x.documents)
	for _, t := range Words(query) {
		w := x.words[t]
		for _, p := range w.in {
			scores[p.document] += w.idf * p.frequency >> fraction
		}
	}
	var hits []Hit
	for d, score := range scores {
		if score > 0 {
			hits = append(hits, Hit{d, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(n, len(hits))]
}

// Words are the words of a text.
func Words(text string) []string {
	const ( // kinds of characters
		between = iota
		letter
		digit
	)
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return digit
		case unicode.IsLetter(r) || unicode.IsMark(r):
			return letter
		}
		return between
	}
	var words []string
	from, last := 0, between
	end := func(at int) {
		if last != between {
			words = append(words, strings.ToLower(text[from:at]))
		}
	}
	for at, r := range text {
		if k := kind(r); k != last {
			end(at)
			from, last = at, k
		}
	}
	end(len(text))
	return words
}
