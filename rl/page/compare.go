package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/lines"
)

// seedLine is where a resolved recipe has its seed: it is the one key in which runs of a
// group differ.
var seedLine = regexp.MustCompile(`(?m)^seed = (\d+)\n`)

// recipeOf reads a recipe: the group of its runs, which is a name for the recipe without
// the seed, and the seed.
func recipeOf(dir string) (group string, seed uint64) {
	text, err := os.ReadFile(filepath.Join(dir, "recipe.toml"))
	if err != nil {
		return dir, 0 // it is gone: a group of its own
	}
	head, tables, _ := strings.Cut(string(text), "\n[")
	head += "\n"
	if at := seedLine.FindStringSubmatchIndex(head); at != nil {
		seed, _ = strconv.ParseUint(head[at[2]:at[3]], 10, 64) // digits; too many are no seed of a run
		head = head[:at[0]] + head[at[1]:]
	}
	sum := sha256.Sum256([]byte(head + tables))
	return hex.EncodeToString(sum[:8]), seed
}

// against is the comparison of the groups of two runs for the page: what A gained over B;
// {"error": why}, if they cannot be compared, or not yet.
func (r *Runs) against(a, b *run) json.RawMessage {
	told, err := r.compare(a, b)
	if err != nil {
		why := strings.ReplaceAll(err.Error(), lines.ErrInput.Error()+": ", "") // a mark for programs
		told, _ = json.Marshal(map[string]string{"error": why})                 // a string
	}
	return told
}

// compare compares the groups of two runs on the seeds that both have finished.
func (r *Runs) compare(a, b *run) (json.RawMessage, error) {
	trials := map[*run]map[uint64]*compare.Trial{a: {}, b: {}}
	for _, of := range []*run{a, b} {
		bySeed := trials[of]
		for _, o := range r.known() {
			if o.group != of.group || bySeed[o.seed] != nil || o.describe().State != "finished" {
				continue
			}
			t, err := compare.Read(o.dir, o.seed)
			if err != nil {
				return nil, err
			}
			bySeed[o.seed] = t
		}
		if len(bySeed) == 0 {
			return nil, fmt.Errorf("%s has not finished, and only finished runs are compared", of.id)
		}
	}
	arms := []compare.Arm{{Name: b.id}, {Name: a.id}}
	for seed, t := range trials[b] {
		if own := trials[a][seed]; own != nil {
			arms[0].Trials, arms[1].Trials = append(arms[0].Trials, t), append(arms[1].Trials, own)
		}
	}
	if len(arms[0].Trials) == 0 {
		return nil, fmt.Errorf("%s and %s have finished no seed in common, and what a recipe gains is measured on equal seeds", a.id, b.id)
	}
	for _, arm := range arms {
		slices.SortFunc(arm.Trials, func(s, t *compare.Trial) int { return cmp.Compare(s.Seed, t.Seed) })
	}
	c, err := compare.New(arms, math.NaN())
	if err != nil {
		return nil, err
	}
	return c.MarshalJSON()
}
