package verify

import (
	"encoding/json"
	"math/bits"
	"slices"
)

func init() {
	Register(Entry{
		Name:    "edit_similarity",
		Summary: "1 minus the edit distance over the length",
		Doc: `edit_similarity: how few edits turn the completion into the reference.

Lengths and edits are counted in code points. Two empty texts have similarity 1. Scores by
levenshtein and indel equal those of rapidfuzz 3.14 (normalized_similarity), those by blocks
those of Python's difflib (SequenceMatcher(None, completion, reference, autojunk=False).ratio()).

` + metricRowDoc + `
Options
distance  "levenshtein": insertions, deletions and substitutions, divided by the longer length.
          "indel": insertions and deletions, divided by the sum of the lengths.
          "blocks": all that is not in blocks that match, divided by the sum of the lengths: the
          longest block first, then the longest ones before and after it, and so on. A completion is
          worth 0 if this looks at more than 16,777,216 pairs of equal characters, as two texts of
          4,097 times the same one have.
          Default "levenshtein".
` + metricExtractDoc + `
Not scored when the row has neither answer nor references.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := struct {
				metricOptions
				Distance string `toml:"distance"`
			}{metricOptions{ExtractNone}, "levenshtein"}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			if err := oneOf("distance", o.Distance, "levenshtein", "indel", "blocks"); err != nil {
				return nil, err
			}
			score := func(text string, references []string) float64 {
				a, b := []rune(text), []rune(references[0])
				switch o.Distance {
				case "indel":
					return similarity(len(a)+len(b)-2*lcs(a, b), len(a)+len(b))
				case "blocks":
					found, ok := inBlocks(a, b, maxBlockPairs)
					if !ok {
						return 0
					}
					return similarity(len(a)+len(b)-2*found, len(a)+len(b))
				}
				return similarity(levenshtein(a, b), max(len(a), len(b)))
			}
			return metric{o.Extract, "edit_similarity", score, true}, o.validate()
		},
	})
}

func similarity(distance, length int) float64 {
	if length == 0 {
		return 1
	}
	return 1 - float64(distance)/float64(length)
}

// positions maps each element of a to the bits of its places, 64 to a word.
func positions[T comparable](a []T) map[T][]uint64 {
	at := map[T][]uint64{}
	words := (len(a) + 63) / 64
	for i, x := range a {
		if at[x] == nil {
			at[x] = make([]uint64, words)
		}
		at[x][i/64] |= 1 << (i % 64)
	}
	return at
}

// lcs is the length of the longest common subsequence, 64 elements at a time
// (Hyyrö, "Bit-parallel LCS-length computation revisited", AWOCA 2004).
func lcs[T comparable](a, b []T) int {
	at := positions(a)
	open := make([]uint64, (len(a)+63)/64)
	for i := range open {
		open[i] = ^uint64(0)
	}
	for _, x := range b {
		matches := at[x]
		if matches == nil {
			continue
		}
		carry := uint64(0)
		for i, v := range open {
			var sum uint64
			hit := v & matches[i]
			sum, carry = bits.Add64(v, hit, carry)
			open[i] = sum | v&^matches[i]
		}
	}
	n := 0
	for _, v := range open {
		n += bits.OnesCount64(^v)
	}
	return n
}

// levenshtein is the edit distance, 64 rows of the table at a time (Myers, "A
// fast bit-vector algorithm for approximate string matching", JACM 1999, with
// the blocks of Hyyrö 2003).
func levenshtein(a, b []rune) int {
	if len(a) == 0 {
		return len(b)
	}
	at := positions(a)
	words := (len(a) + 63) / 64
	up, down := make([]uint64, words), make([]uint64, words) // vertical differences +1 and -1
	for i := range up {
		up[i] = ^uint64(0)
	}
	none := make([]uint64, words)
	last := uint64(1) << ((len(a) - 1) % 64)
	distance := len(a)
	for _, x := range b {
		matches := at[x]
		if matches == nil {
			matches = none
		}
		carryUp, carryDown := uint64(1), uint64(0) // the row above grows by 1 each column
		for i := range words {
			eq := matches[i]
			vertical := eq | down[i]
			eq |= carryDown
			horizontal := (((eq & up[i]) + up[i]) ^ up[i]) | eq
			plus := down[i] | ^(horizontal | up[i])
			minus := up[i] & horizontal
			if i == words-1 {
				if plus&last != 0 {
					distance++
				}
				if minus&last != 0 {
					distance--
				}
			}
			nextUp, nextDown := plus>>63, minus>>63
			plus, minus = plus<<1|carryUp, minus<<1|carryDown
			up[i] = minus | ^(vertical | plus)
			down[i] = plus & vertical
			carryUp, carryDown = nextUp, nextDown
		}
	}
	return distance
}

// inBlocks is how many elements of a stand in blocks that match b: the longest block, of equal ones the first in a, then
// the first in b; and the same to its left and to its right (Ratcliff and Metzener, "Pattern matching: the gestalt
// approach", Dr. Dobb's Journal, July 1988). It looks at most at so many pairs of equal elements: texts that repeat
// themselves have blocks of one element, and for each of these it looks at all that is left.
func inBlocks[T comparable](a, b []T, pairs int) (found int, ok bool) {
	places := map[T][]int{} // in b, ascending
	for j, x := range b {
		places[x] = append(places[x], j)
	}
	// ending[j+1] is the length of the block that ends at the element of a before, and at b[j]. Numbers are taken back where
	// they were written and nowhere else: blocks of one element would make it a pass over all of b for each otherwise.
	ending, next := make([]int, len(b)+1), make([]int, len(b)+1)
	type span struct{ fromA, toA, fromB, toB int }
	within := func(x T, in span) []int {
		all := places[x]
		first, _ := slices.BinarySearch(all, in.fromB)
		past, _ := slices.BinarySearch(all, in.toB)
		return all[first:past]
	}
	for open := []span{{0, len(a), 0, len(b)}}; len(open) > 0; {
		in := open[len(open)-1]
		open = open[:len(open)-1]
		longest, atA, atB := 0, in.fromA, in.fromB
		var before []int
		for i := in.fromA; i < in.toA; i++ {
			now := within(a[i], in)
			if pairs -= 1 + len(now); pairs < 0 { // one for the look
				return 0, false
			}
			for _, j := range now {
				n := ending[j] + 1
				next[j+1] = n
				if n > longest {
					longest, atA, atB = n, i-n+1, j-n+1
				}
			}
			for _, j := range before {
				ending[j+1] = 0
			}
			ending, next, before = next, ending, now
		}
		for _, j := range before {
			ending[j+1] = 0
		}
		if longest == 0 {
			continue
		}
		found += longest
		open = append(open, span{in.fromA, atA, in.fromB, atB}, span{atA + longest, in.toA, atB + longest, in.toB})
	}
	return found, true
}
