package presets

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// causes are why a system may have no recipe: what formulas and one policy without a world cannot
// say.
var causes = []string{"worlds: ", "trees: ", "several models in one run: ", "hidden states ", "groups of a file ", "nothing: "}

// TestSystems: a published system stands in a recipe or waits for something that recipes cannot
// say, not both; and recipes name no others.
func TestSystems(t *testing.T) {
	recipes := map[string][]string{} // by id
	for _, p := range All() {
		for _, id := range p.Systems {
			recipes[id] = append(recipes[id], p.Name)
		}
	}
	shape, last, waiting := regexp.MustCompile(`^[0-9]{3}-[0-9]{3}$`), "", 0
	for _, s := range Systems() {
		if !shape.MatchString(s.ID) || s.ID <= last || s.Name == "" {
			t.Errorf("%q, %q behind %s", s.ID, s.Name, last)
		}
		if last = s.ID; s.Waits != "" {
			if !slices.ContainsFunc(causes, func(cause string) bool { return strings.HasPrefix(s.Waits, cause) }) {
				t.Errorf("%s waits for %q; accepted: what begins with one of %q", s.ID, s.Waits, causes)
			}
			waiting++
		}
		if (s.Waits == "") == (recipes[s.ID] == nil) {
			t.Errorf("%s %s: recipes %v, waits for %q; one of them is accepted", s.ID, s.Name, recipes[s.ID], s.Waits)
		}
		delete(recipes, s.ID)
	}
	for id, names := range recipes {
		t.Errorf("%s of %v is not in systems.tsv", id, names)
	}
	t.Logf("%d systems: %d with a recipe, %d without", len(Systems()), len(Systems())-waiting, waiting)
}

// TestHeads: names are unique, and the recipe of a system says where it comes from, what is
// the paper's, what is scaled down and what to expect.
func TestHeads(t *testing.T) {
	for i, p := range All() {
		if slices.ContainsFunc(All()[:i], func(q Preset) bool { return q.Name == p.Name }) {
			t.Errorf("two recipes are called %s", p.Name)
		}
		if p.Field == "" {
			continue
		}
		if p.Paper == "" || len(p.Systems) == 0 {
			t.Errorf("%s has paper %q and systems %v", p.Name, p.Paper, p.Systems)
		}
		for _, begin := range []string{"# From the paper: ", "\n# Scaled down: ", "\n# Expect: "} {
			if !strings.Contains(p.Text, begin) {
				t.Errorf("%s has no comment that begins %q", p.Name, strings.TrimSpace(begin))
			}
		}
	}
}
