package recipe

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// TestSystemsDiffer: no recipe of a published system is that of another by a new name: two that resolve alike name each
// other.
func TestSystemsDiffer(t *testing.T) {
	first := map[string]presets.Preset{}
	names := func(p, other presets.Preset) bool {
		head, _, _ := strings.Cut(p.Text, "\nabout = ")
		return strings.Contains(head, other.Name)
	}
	for _, p := range presets.All() {
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
			t.Errorf("%s and %s are the same recipe, and do not name each other", of.Name, p.Name)
		}
	}
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
			learns = learns || st.Kind == KindRL && strings.Contains(strings.Join(st.Facts(), " "), "value")
		}
		if !learns && !strings.Contains(p.Head.ScaledDown, "PPO") && !strings.Contains(p.Head.FromPaper, "GRPO") {
			t.Errorf("%s: the paper says PPO; the recipe has no value head and does not say what stands for it", p.Name)
		}
	}
	if told < 10 {
		t.Errorf("%d recipes are told by PPO", told)
	}
}
