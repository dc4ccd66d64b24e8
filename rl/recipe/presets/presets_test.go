package presets

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// causes are what a system may wait for, and why one may be excluded.
var causes = map[string][]string{
	Waits: {"worlds: ", "trees: ", "several models in one run: ", "hidden states ", "groups from a file, ", "pictures", "sound",
		"a comparison of ", "a task ", "a metric: ", "an evaluation of ", "imitation ", "outputs that "},
	Excluded: {"a survey, and nothing is trained", "a theory of objectives, and nothing is trained", "a data set, and nothing is trained",
		"a prompt, and nothing is trained", "a search by prompts, and nothing is trained", "a position, and nothing is trained",
		"control without text", "pictures are classified, and no text is written", "no language model is trained"},
}

// TestSystems: every row of the lists of papers has one of the four states, which says what it
// has to: a recipe where it works or is thin, and none where it waits or is excluded; and
// recipes name no others.
func TestSystems(t *testing.T) {
	recipes := map[string][]Preset{} // by id
	for _, p := range All() {
		for _, id := range p.Systems {
			recipes[id] = append(recipes[id], p)
		}
	}
	shape, last, count := regexp.MustCompile(`^[0-9]{3}-[0-9]{3}$`), "", map[string]int{}
	for _, s := range Systems() {
		if !shape.MatchString(s.ID) || s.ID <= last || s.Paper == "" {
			t.Errorf("%q, %q after %s", s.ID, s.Paper, last)
		}
		if err := fault(s, recipes[s.ID]); err != nil {
			t.Errorf("%s %s: %v", s.ID, s.Title(), err)
		}
		last = s.ID
		count[s.State]++
		delete(recipes, s.ID)
	}
	for id, named := range recipes {
		t.Errorf("%s of %v is not in systems.tsv", id, names(named))
	}
	if len(Systems()) != 377 {
		t.Errorf("%d systems; the lists have 377", len(Systems()))
	}
	t.Logf("%d systems: %v", len(Systems()), count)
}

// fault is what is wrong with the state of a system.
func fault(s System, recipes []Preset) error {
	switch s.State {
	case Works:
		for _, p := range recipes {
			if h := p.Head; h.Formula == "" || h.Part == "" || h.ShownBy == "" {
				return fmt.Errorf("it works, and %s does not quote the paper: formula %q, part %q, shown by %q", p.Name, h.Formula, h.Part, h.ShownBy)
			}
		}
	case Thin:
		if s.Why == "" {
			return fmt.Errorf("it is thin without a word of what is left out")
		}
		if slices.ContainsFunc(recipes, func(p Preset) bool { return p.Head.Formula != "" && len(recipes) == 1 }) {
			return fmt.Errorf("it is thin, and its recipe quotes a formula as what it computes")
		}
	case Waits, Excluded:
		if !slices.ContainsFunc(causes[s.State], func(cause string) bool { return strings.HasPrefix(s.Why, cause) }) {
			return fmt.Errorf("it %s: %q; accepted: what begins with one of %q", s.State, s.Why, causes[s.State])
		}
	default:
		return fmt.Errorf("state %q; accepted: works, thin, waits, excluded", s.State)
	}
	if has := s.State == Works || s.State == Thin; has != (len(recipes) > 0) || (s.State == Works) != (s.Why == "") {
		return fmt.Errorf("state %s: %q, with the recipes %v", s.State, s.Why, names(recipes))
	}
	return nil
}

func names(all []Preset) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

// TestFault: each state is refused where it does not say what it has to.
func TestFault(t *testing.T) {
	plain, quoted := []Preset{{Name: "p"}}, []Preset{{Name: "q", Head: Head{Formula: "A = r", Part: "stage.rl.reward", ShownBy: "reward/mean"}}}
	for _, c := range []struct {
		state, why string
		recipes    []Preset
		fine       bool
	}{
		{Works, "", quoted, true}, {Works, "", plain, false}, {Works, "", nil, false}, {Works, "a part", quoted, false},
		{Thin, "a script judges", plain, true}, {Thin, "", plain, false}, {Thin, "a script judges", nil, false}, {Thin, "a script judges", quoted, false},
		{Waits, "pictures", nil, true}, {Waits, "pictures", plain, false}, {Waits, "time", nil, false},
		{Excluded, "control without text", nil, true}, {Excluded, "too much work", nil, false},
		{"done", "", plain, false}, {"", "", nil, false},
	} {
		if err := fault(System{State: c.state, Why: c.why}, c.recipes); (err == nil) != c.fine {
			t.Errorf("%s: %q with %v: %v", c.state, c.why, names(c.recipes), err)
		}
	}
}

// TestHeads: names are unique, and the recipe of a system says where it comes from, what is
// the paper's, what is scaled down and what to expect. One of a system that is on no list computes
// its mechanism.
func TestHeads(t *testing.T) {
	for i, p := range All() {
		if slices.ContainsFunc(All()[:i], func(q Preset) bool { return q.Name == p.Name }) {
			t.Errorf("two recipes are called %s", p.Name)
		}
		if p.Field == "" {
			continue
		}
		h, unlisted := p.Head, System{State: Works}
		if p.Paper == "" || len(p.Systems) == 0 && fault(unlisted, []Preset{p}) != nil {
			t.Errorf("%s has paper %q, systems %v, and no formula of the paper", p.Name, p.Paper, p.Systems)
		}
		for label, text := range map[string]string{"From the paper": h.FromPaper, "Scaled down": h.ScaledDown, "Expect": h.Expect} {
			if table := label == "Expect" && len(p.Expects) > 0; (text == "") != table {
				t.Errorf("%s has no comment that begins with %q, or a table [[expect]] beside it", p.Name, label+": ")
			}
		}
	}
}

// TestOneScript: the script that works out the steps of a sum is the same in every recipe that has it, up to what it
// returns: recipes are whole files, and share no part of one.
func TestOneScript(t *testing.T) {
	const begins = "name = \"sums\"\nsource = '''\n"
	first, has := "", []string{}
	for _, p := range All() {
		_, rest, there := strings.Cut(p.Text, begins)
		if !there {
			continue
		}
		script, _, _ := strings.Cut(rest, "\n    return ")
		if has = append(has, p.Name); len(has) == 1 {
			first = script
		}
		if script != first {
			t.Errorf("the script sums of %s is not that of %s", p.Name, has[0])
		}
	}
	if len(has) < 6 {
		t.Errorf("the script is found in %q alone", has)
	}
}
