package page

import (
	"maps"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestShares: a log that is short leaves its room to the others, and all together never have more
// than there is.
func TestShares(t *testing.T) {
	const c, k, j, m = record.CompletionsFile, record.TokensFile, record.JudgementsFile, record.MadeFile
	for _, x := range []struct{ sizes, want map[string]int }{
		{map[string]int{c: 900, k: 900, j: 900}, map[string]int{c: 100, k: 100, j: 100, m: 75}},
		{map[string]int{c: 900, k: 900}, map[string]int{c: 150, k: 150, j: 75, m: 100}},
		{map[string]int{c: 900, k: 900, j: 900, m: 900}, map[string]int{c: 75, k: 75, j: 75, m: 75}},
		{map[string]int{c: 900, k: 20, j: 30}, map[string]int{c: 250, k: 100, j: 140, m: 75}},
	} {
		files := map[string]int64{}
		for name, n := range x.sizes {
			files[name] = int64(n)
		}
		if got := sharesOf(Run{Files: files}, 300); !maps.Equal(got, x.want) {
			t.Errorf("%v: %v, want %v", x.sizes, got, x.want)
		}
	}
}
