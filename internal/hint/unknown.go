package hint

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unknown is the error for a name that is not one of the known: of a task, a
// command, a flag. Its hint is that of Names.
func Unknown(kind, name string, known []string, list string) error {
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	return With(fmt.Errorf("unknown %s %q", kind, name), "%s", Names(name, known, list))
}

// Names is a hint for a name that is not one of the known: the nearest of them,
// or all where they are few, and the command that lists them, if there is one.
func Names(name string, known []string, list string) string {
	var advice []string
	if list != "" {
		advice = append(advice, list+" lists them all")
	}
	if near := Nearest(name, known); near != "" {
		advice = slices.Insert(advice, 0, "did you mean "+near+"?")
	} else if len(known) > 0 && len(known) <= few {
		advice = []string{"accepted: " + strings.Join(known, ", ")}
	}
	return strings.Join(advice, " ")
}

// few names are listed where none is near; of a name, longest bytes are shown.
const few, longest = 12, 80

// Nearest is the known name that is most likely meant, "" if none is near. Two
// names are near if at most every third letter differs, and not every letter, or if one
// contains the other and is no small part of it.
func Nearest(name string, known []string) string {
	best, distance := "", math.MaxInt
	for _, k := range known {
		if n := editDistance(strings.ToLower(name), strings.ToLower(k)); n < distance {
			best, distance = k, n
		}
	}
	if best != "" && distance <= max(1, (len(best)+1)/3) && distance < max(len(name), len(best)) {
		return best
	}
	for _, k := range known {
		short, long := name, k
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) > 2 && 4*len(short) >= len(long) && strings.Contains(long, short) {
			return k
		}
	}
	return ""
}

// editDistance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours (Damerau 1964).
func editDistance(a, b string) int {
	const most = 200 // bytes; beyond them names are as different as can be
	if len(a) > most || len(b) > most {
		return math.MaxInt
	}
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
