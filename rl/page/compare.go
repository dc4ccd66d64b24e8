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

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// seedLine is where a resolved recipe has its seed: it is the one key in which runs of a
// group differ.
var seedLine = regexp.MustCompile(`(?m)^seed = (\d+)\n`)

// recipeOf reads a recipe: the group of its runs, which is a name for the recipe without
// the seed, and the seed.
func recipeOf(dir string) (group string, seed uint64) {
	text, err := files.Read(filepath.Join(dir, recipe.File), settings.MaxBytes)
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

// stageMethod is what a stage learns by: numbers and formulas, in the order in which they are computed.
type stageMethod struct {
	Stage string `json:"stage"`
	Text  string `json:"text"`
}

// methods are those of a run's stages. A recipe that this version cannot read has none.
func (o *run) methods() []stageMethod {
	list := []stageMethod{}
	text, err := files.Read(filepath.Join(o.dir, recipe.File), settings.MaxBytes)
	if err != nil {
		return list
	}
	rec, err := recipe.Parse(recipe.File, string(text), nil)
	if err != nil {
		return list
	}
	for i := range rec.Stages {
		st := &rec.Stages[i]
		if st.Kind == recipe.KindEval || st.Skip {
			continue
		}
		if method, err := st.Compiled(); err == nil {
			list = append(list, stageMethod{st.Name, strings.Join(append([]string{method.Text()}, st.Beside()...), "\n")})
		}
	}
	return list
}

// reader reads the trial of a run.
type reader func(dir string, seed uint64) (*compare.Trial, error)

// once reads each folder once.
func once(read reader) reader {
	type result struct {
		trial *compare.Trial
		err   error
	}
	had := map[string]result{}
	return func(dir string, seed uint64) (*compare.Trial, error) {
		if _, ok := had[dir]; !ok {
			t, err := read(dir, seed)
			had[dir] = result{t, err}
		}
		return had[dir].trial, had[dir].err
	}
}

// told is a comparison that was made, and of what.
type told struct {
	of   string // the files that were read, with their sizes and times
	text json.RawMessage
}

// maxTold is how many comparisons are kept, of some 20 kB each.
const maxTold = 200

// cached is [Runs.against], made anew where a file has changed.
func (r *Runs) cached(a, b *run) json.RawMessage {
	key := a.group + " " + b.group
	of := r.filesOf(a) + r.filesOf(b)
	r.mu.Lock()
	had := r.told[key]
	r.mu.Unlock()
	if had.of == of {
		return had.text
	}
	text := r.against(a, b, compare.Read)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil || len(r.told) >= maxTold {
		r.told = map[string]told{}
	}
	r.told[key] = told{of, text}
	return text
}

// filesOf tells the files of a group of runs, as far as comparisons read them, from what
// they were before.
func (r *Runs) filesOf(a *run) string {
	var b strings.Builder
	for _, o := range r.known() {
		if o.group != a.group {
			continue
		}
		for _, name := range []string{record.MetricsFile, record.HeldOutFile, record.EvaluationsFile, "receipt.json"} {
			if info, err := os.Stat(filepath.Join(o.dir, name)); err == nil {
				fmt.Fprintf(&b, "%s %s %d %d\n", o.dir, name, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// against is the comparison of the groups of two runs for the page: what A gained over B;
// {"error": why}, if they cannot be compared, or not yet.
func (r *Runs) against(a, b *run, read reader) json.RawMessage {
	told, err := r.compare(a, b, read)
	if err != nil {
		why := strings.ReplaceAll(err.Error(), lines.ErrInput.Error()+": ", "") // a mark for programs
		told, _ = json.Marshal(map[string]string{"error": why})                 // a string
	}
	return told
}

// compare compares the groups of two runs on the seeds that both have finished.
func (r *Runs) compare(a, b *run, read reader) (json.RawMessage, error) {
	trials := map[*run]map[uint64]*compare.Trial{a: {}, b: {}}
	for _, of := range []*run{a, b} {
		bySeed := trials[of]
		for _, o := range r.known() {
			if o.group != of.group || bySeed[o.seed] != nil || o.describe().State != "finished" {
				continue
			}
			t, err := read(o.dir, o.seed)
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
		return nil, fmt.Errorf("%s and %s have finished no seed in common, and recipes are compared on equal seeds", a.id, b.id)
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
