package instruct

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/verify"
)

// stored is one line of a file of verdicts. The files with real prompts have
// several instructions a line, and lists in place of single values.
type stored struct {
	ID           string
	Suite        string
	Instruction  string
	Instructions []string
	Kwargs       json.RawMessage
	Prompt       string
	Completion   string
	Strict       json.RawMessage
	Loose        json.RawMessage
	PromptStrict *bool `json:"prompt_strict"`
	PromptLoose  *bool `json:"prompt_loose"`
	Error        string
	Approximate  bool
	Stable       *bool
}

// judged is one verdict of the original.
type judged struct {
	id, name, mode string
	kwargs         json.RawMessage
	line           *stored
	want           *bool
}

func readStored(t *testing.T, path string) []*stored {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []*stored
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		line := &stored{}
		if err := json.Unmarshal(in.Bytes(), line); err != nil {
			t.Fatalf("%s line %d: %v", path, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return lines
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// judgements are the verdicts of one line, one for each instruction and mode.
func judgements(t *testing.T, line *stored) []judged {
	t.Helper()
	modes := []struct {
		name string
		raw  json.RawMessage
	}{{"strict", line.Strict}, {"loose", line.Loose}}
	var all []judged
	for _, mode := range modes {
		if line.Instruction != "" {
			all = append(all, judged{line.ID, suiteOf(line.Suite, line.Instruction), mode.name, line.Kwargs, line, decode[*bool](t, mode.raw)})
			continue
		}
		kwargs, wants := decode[[]json.RawMessage](t, line.Kwargs), decode[[]*bool](t, mode.raw)
		for i, name := range line.Instructions {
			all = append(all, judged{line.ID, suiteOf(line.Suite, name), mode.name, kwargs[i], line, wants[i]})
		}
	}
	return all
}

// suiteOf is the verifier's name: IFBench's prompts hold types of IFEval, too.
func suiteOf(suite, name string) string {
	for _, s := range []string{suite, "ifeval"} {
		if _, err := verify.Lookup(s + ":" + name); err == nil {
			return s + ":" + name
		}
	}
	return suite + ":" + name
}

// ours is the verdict of this package, by way of the line that a user would
// give to "rlzero verify --in".
func ours(t *testing.T, j judged) verify.Verdict {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"verifier": j.name, "kwargs": j.kwargs, "prompt": j.line.Prompt,
		"completion": j.line.Completion, "mode": j.mode,
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Grade(line, "")
	if err != nil {
		t.Fatalf("%s: %v", j.id, err)
	}
	return v
}

// tally counts the verdicts of one type.
type tally struct{ matched, failed, outOfScope, leaning, differ int }

// compareAll compares every verdict of a file; it must not differ unless the
// line is marked, and there only in a type that is listed as approximated.
func compareAll(t *testing.T, path string, byType map[string]*tally) {
	for _, line := range readStored(t, path) {
		for _, j := range judgements(t, line) {
			c := byType[j.name]
			if c == nil {
				c = &tally{}
				byType[j.name] = c
			}
			v := ours(t, j)
			if j.want == nil || line.Stable != nil && !*line.Stable {
				c.outOfScope++ // the original raised, or its verdict is drawn by chance
				continue
			}
			same := v.Verdict != verify.NotScored && (v.Verdict == verify.Right) == *j.want
			leans := line.Approximate && differences[j.name].verdicts > 0
			switch {
			case leans:
				c.leaning++
				c.outOfScope++
				if !same {
					c.differ++
					t.Logf("approximated: %s %s %s: ours %s (%s), theirs %v", j.id, j.name, j.mode, v.Verdict, v.Reason, *j.want)
				}
			case same:
				c.matched++
			default:
				c.failed++
				t.Logf("%s %s %s %s: ours %s (%s), theirs %v: %q", j.id, j.name, j.mode, j.kwargs, v.Verdict, v.Reason, *j.want, line.Completion)
			}
		}
	}
}

// TestVerdicts compares with the verdicts of the original checkers: those of
// testdata/selection.jsonl, on sentences of our own, and the whole set.
func TestVerdicts(t *testing.T) {
	t.Run("selection", func(t *testing.T) { compareFiles(t, "testdata") })
	t.Run("full", func(t *testing.T) { compareFiles(t, fixtures.Dir(t, "instructions")) })
}

func compareFiles(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl in %s", dir)
	}
	byType := map[string]*tally{}
	for _, path := range files {
		compareAll(t, path, byType)
	}
	var all tally
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		c := *byType[name]
		t.Logf("%s: %d matched, %d failed, %d leaning on a model of which %d differ", name, c.matched, c.failed, c.leaning, c.differ)
		all.matched += c.matched
		all.failed += c.failed
		all.outOfScope += c.outOfScope
		all.leaning += c.leaning
		all.differ += c.differ
	}
	t.Logf("leaning on a model: %d verdicts, %d differ", all.leaning, all.differ)
	fixtures.Report(t, "instructions", all.matched, all.failed, all.outOfScope)
}

// TestSeveral compares with the originals' verdicts on whole prompts.
func TestSeveral(t *testing.T) {
	matched, failed, outOfScope := 0, 0, 0
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "instructions"), "*_real.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no *_real.jsonl")
	}
	for _, path := range files {
		for _, line := range readStored(t, path) {
			for mode, want := range map[string]*bool{"strict": line.PromptStrict, "loose": line.PromptLoose} {
				if want == nil || line.Approximate {
					outOfScope++
					continue
				}
				raw, err := json.Marshal(map[string]any{
					"instruction_id_list": line.Instructions, "kwargs": line.Kwargs,
					"completion": line.Completion, "options": map[string]string{"mode": mode},
				})
				if err != nil {
					t.Fatal(err)
				}
				v, err := verify.Grade(raw, "instructions")
				if err != nil || v.Verdict == verify.NotScored || (v.Verdict == verify.Right) != *want {
					t.Logf("%s %s: ours %s (%s), theirs %v", line.ID, mode, v.Verdict, v.Reason, *want)
					failed++
					continue
				}
				matched++
			}
		}
	}
	fixtures.Report(t, "instructions, whole prompts", matched, failed, outOfScope)
}

// TestStopWords compares with the list of ratio:stop_words.
func TestStopWords(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "instructions"), "stopwords_english.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, w := range strings.Fields(string(data)) {
		if strings.Contains(w, "'") {
			continue // no word of the check has one
		}
		listed[w] = true
		if !stopWords[w] {
			t.Errorf("%q is missing", w)
		}
	}
	for w := range stopWords {
		if !listed[w] {
			t.Errorf("%q is none of the listed", w)
		}
	}
}
