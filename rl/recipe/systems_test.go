package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// TestSystemsDiffer: two recipes of published systems do not resolve alike, or name each other.
func TestSystemsDiffer(t *testing.T) {
	all := presets.All()
	if same := alike(t, all); len(same) > 0 {
		t.Error(same)
	}
	copied := all[slices.IndexFunc(all, func(p presets.Preset) bool { return p.Name == "lite-ppo" })]
	if same := alike(t, []presets.Preset{all[0], copied, all[1], copied}); len(same) != 1 {
		t.Errorf("a copy is found as %q", same)
	}
}

// alike says which recipes of published systems resolve alike and do not name each other.
func alike(t *testing.T, all []presets.Preset) (same []string) {
	t.Helper()
	first := map[string]presets.Preset{}
	names := func(p, other presets.Preset) bool {
		head, _, _ := strings.Cut(p.Text, "\nabout = ")
		return strings.Contains(head, other.Name)
	}
	for _, p := range all {
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		of, known := first[r.Hash()]
		if !known {
			first[r.Hash()] = p
			continue
		}
		if (p.Field != "" || of.Field != "") && !(names(p, of) && names(of, p)) {
			same = append(same, of.Name+" and "+p.Name)
		}
	}
	return same
}

// TestPPO: where a paper trains by PPO, and not by GRPO as well, the recipe learns with a value head or says what stands
// for it. PPO's clip alone is no PPO.
func TestPPO(t *testing.T) {
	told := 0
	for _, p := range presets.All() {
		if !strings.Contains(strings.ReplaceAll(p.Head.FromPaper, "PPO's clip", ""), "PPO") {
			continue
		}
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		told++
		learns := false
		for i := range r.Stages {
			st := &r.Stages[i]
			learns = learns || st.Kind == KindRL && slices.Contains(st.Facts(), "value")
		}
		if !learns && !strings.Contains(p.Head.ScaledDown, "PPO") && !strings.Contains(p.Head.FromPaper, "GRPO") {
			t.Errorf("%s: the paper says PPO; the recipe has no value head and does not say what stands for it", p.Name)
		}
	}
	if told < 10 {
		t.Errorf("%d recipes are told by PPO", told)
	}
}

// TestExpected: a recipe that trains a model from random weights expects something of it, apart from two controls.
func TestExpected(t *testing.T) {
	controls := []string{"countdown-one", "countdown-random"}
	fresh := 0
	for _, p := range presets.All() {
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Model.Path != "" {
			continue
		}
		fresh++
		if expects, control := len(r.Expect) > 0, slices.Contains(controls, p.Name); expects == control {
			t.Errorf("%s expects something: %v", p.Name, expects)
		}
	}
	if fresh < 100 {
		t.Errorf("%d recipes train from random weights", fresh)
	}
}
