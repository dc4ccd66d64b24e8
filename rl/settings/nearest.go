package settings

import (
	"fmt"
	"math"
	"strings"
)

// DidYouMean is a hint, to be put behind an error, at the nearest of the known
// names; if none is near, at all of them where they are few.
func DidYouMean(name string, known []string) string {
	best, distance := "", math.MaxInt
	for _, k := range known {
		if n := editDistance(strings.ToLower(name), k); n < distance {
			best, distance = k, n
		}
	}
	// More than every third letter wrong is another word.
	if best == "" || distance > max(1, (len(best)+1)/3) {
		for _, k := range known {
			if len(name) > 2 && (strings.Contains(k, name) || strings.Contains(name, k)) {
				return fmt.Sprintf("; did you mean %s?", k)
			}
		}
		if len(known) > 0 && len(known) <= 12 {
			return "; known here: " + strings.Join(known, ", ")
		}
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours (Damerau 1964).
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
