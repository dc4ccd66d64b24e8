package recipe

import (
	"testing"

	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// TestHintsAreTaught: where a model from random weights is shown a hint in a second chance, its
// warm-up has shown it hints of that form; where it is shown entries of lists, made rows have. One that
// has never seen one fails after it, and the second chance does nothing.
func TestHintsAreTaught(t *testing.T) {
	shown := 0
	for _, p := range presets.All() {
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Model.Path != "" {
			continue // the model is the user's
		}
		taught := map[string]bool{}
		for _, st := range r.Stages {
			if st.Kind == KindSFT && st.ShowShare > 0 {
				taught[st.Show] = true
			}
			if st.Kind == KindSFT && st.Learner() == PolicyModel && len(st.Sources) > 0 {
				taught["entries"] = true
			}
			hint := st.SecondChance.Show
			if st.Kind != KindRL || hint == "" {
				continue
			}
			if st.SecondChance.Entries != "" {
				hint = "entries"
			}
			if shown++; !taught[hint] {
				t.Errorf("%s: stage %s shows %q, and no stage before it has: write show = %q in its warm-up", p.Name, st.Name, hint, hint)
			}
		}
	}
	if shown < 7 {
		t.Errorf("%d stages show a hint", shown)
	}
}
