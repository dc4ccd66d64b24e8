package verify

import (
	"encoding/json"
	"math/bits"
)

func init() {
	Register(Entry{
		Name:    "edit_similarity",
		Summary: "1 minus the edit distance over the length",
		Doc: `edit_similarity: how few edits turn the completion into the reference.

Lengths and edits are counted in code points. Two empty texts have similarity 1. Scores
equal those of rapidfuzz 3.14 (normalized_similarity).

` + metricRowDoc + `
Options
distance  "levenshtein": insertions, deletions and substitutions, divided by the longer length.
          "indel": insertions and deletions, divided by the sum of the lengths.
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
			if err := oneOf("distance", o.Distance, "levenshtein", "indel"); err != nil {
				return nil, err
			}
			score := func(text string, references []string) float64 {
				a, b := []rune(text), []rune(references[0])
				if o.Distance == "indel" {
					return similarity(len(a)+len(b)-2*lcs(a, b), len(a)+len(b))
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
