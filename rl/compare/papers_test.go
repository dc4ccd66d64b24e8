package compare

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	_ "github.com/rlzero/rlzero/verify/instruct"
	_ "github.com/rlzero/rlzero/verify/program" // with the options that recipes complete
)

var update = flag.Bool("update", false, "rewrite docs/papers.md")

// papers is docs/papers.md.
func papers(t *testing.T, all []Measured) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(`# Papers

Every published system of the lists that the recipes are taken from, and what the program does of it. This page is
written from ` + "`rl/recipe/presets`" + ` (` + "`go test ./rl/compare -run TestPapers -update`" + `). ` + "`rlzero recipes show ID`" + `
prints a recipe.

- **works**: the recipe computes the paper's mechanism in miniature. Its head has the paper's formula, the part of the
  recipe that computes it, and the metric in which it is seen.
- **thin**: there is a recipe, but a part of the method is left out, or something else stands in for it.
- **waits**: no recipe can express it until the program can do more.
- **excluded**: nothing is trained, or no text is written.

The column *expected* is what a run should show, according to the recipe: a metric against a control, or words. Nothing in it
has been measured unless the last column says so: the difference with its 95 % interval over seeds, and whether it agrees
with what is expected, disagrees, or cannot be told apart from none. ` + "`make papers`" + ` measures, and writes [papers.tsv](papers.tsv).

`)
	count := map[string]int{}
	for _, s := range presets.Systems() {
		count[s.State]++
	}
	fmt.Fprintf(&out, "Of %d rows %d work, %d are thin, %d wait and %d are excluded. Some papers stand in more than one row.\n\n",
		len(presets.Systems()), count[presets.Works], count[presets.Thin], count[presets.Waits], count[presets.Excluded])
	out.WriteString("| id | system | paper | recipe | state | expected | measured |\n|---|---|---|---|---|---|---|\n")
	for _, s := range presets.Systems() {
		state, paper := s.State, s.Paper
		if s.Why != "" {
			state += ": " + s.Why
		}
		var recipes, expected, measured []string
		for _, p := range presets.All() {
			if !slices.Contains(p.Systems, s.ID) {
				continue
			}
			recipes = append(recipes, "`"+p.Name+"`")
			if p.Head.Expect != "" {
				expected = append(expected, p.Head.Expect)
			}
			for _, e := range p.Expects {
				expected = append(expected, fmt.Sprintf("%s %s than that of %s: %s.", e.Metric, e.Direction, e.Than, e.Paper))
				measured = append(measured, told(t, all, p.Name, e)...)
			}
			if !strings.Contains(paper, p.Paper) {
				paper += ", " + p.Paper
			}
		}
		cells := []string{s.ID, s.Name, paper, strings.Join(recipes, ", "), state, strings.Join(expected, " "), strings.Join(measured, " ")}
		for i, c := range cells {
			cells[i] = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", `\<`, "\\boxed", `\\boxed`).Replace(c)
			if i == 3 {
				cells[i] = c // names in code
			}
		}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return out.String()
}

// told is what the file says of an expectation; nothing: it was not measured.
func told(t *testing.T, all []Measured, name string, e presets.Expect) []string {
	t.Helper()
	for _, m := range all {
		if !m.Of(Measured{Recipe: name, Metric: e.Metric, Than: e.Than, Direction: e.Direction}) {
			continue
		}
		control, sets, err := recipe.SplitSets(e.Than)
		if err != nil {
			t.Fatal(err)
		}
		own, err := recipe.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		other := own
		if control != recipe.ThanStart {
			if other, err = recipe.Load(control, sets); err != nil {
				t.Fatal(err)
			}
		}
		if here, err := os.Getwd(); err != nil || strings.Contains(own.Resolved(), filepath.ToSlash(here)) {
			t.Errorf("the hash of %s depends on the folder in which it is taken (%v)", name, err)
		}
		verdict := m.Verdict()
		if !m.Counts(own.Hash(), other.Hash()) {
			verdict = "measured before a change"
		}
		return []string{fmt.Sprintf("%+.4g (%.4g to %.4g), %d seeds, %s, %s: %s.", m.Difference.Mean, m.Difference.Low, m.Difference.High, m.Seeds, m.Device, m.Release, verdict)}
	}
	return nil
}

// TestPapers: docs/papers.md is what the table and the recipes say, and no line of the table is left
// of what no recipe expects any longer.
func TestPapers(t *testing.T) {
	const file = "../../docs/papers.md"
	text, err := os.ReadFile("../../docs/papers.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadMeasured("docs/papers.tsv", string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if !slices.ContainsFunc(presets.All(), func(p presets.Preset) bool {
			return slices.ContainsFunc(p.Expects, func(e presets.Expect) bool {
				return m.Of(Measured{Recipe: p.Name, Metric: e.Metric, Than: e.Than, Direction: e.Direction})
			})
		}) {
			t.Errorf("docs/papers.tsv has a line of %s, %s against %s, which that recipe no longer expects", m.Recipe, m.Metric, m.Than)
		}
	}
	want := papers(t, all)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(file)
	if err != nil || string(found) != want {
		t.Errorf("docs/papers.md is not that of the table (%v): go test ./rl/compare -run TestPapers -update writes it", err)
	}
}
