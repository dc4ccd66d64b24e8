package run

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestActsLater takes the whole run of recipes with keys that wait for what a run comes to, with and without each of
// these keys, up to the step after which the weights differ. It is a part of make nightly: a recipe takes minutes.
func TestActsLater(t *testing.T) {
	if !gputest.Long() {
		t.Skip("a part of make nightly")
	}
	dev, err := gpu.Open("auto")
	must(t, err)
	defer dev.Close()
	controlled := false
	for _, p := range presets.All() {
		waits := func(c change) bool { return actsLater[p.Name+" "+c.key] != "" }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(actsLater)), func(key string) bool { return strings.HasPrefix(key, p.Name+" ") }) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			full, err := recipe.Load(p.Name, nil)
			must(t, err)
			text, err := settings.Parse(p.Name, p.Text)
			must(t, err)
			base, err := recipe.Load(text.Tree()["base"].(string), nil)
			must(t, err)
			a := &acting{t: t, dev: dev, name: p.Name, field: p.Field, full: full, sets: []string{"expect=[]"}, first: map[string][]rollout.Segment{}, moved: map[string]bool{}, unneeded: map[string]string{}}
			all := a.changes(stageTrees(t, full), stageTrees(t, base))
			all = slices.DeleteFunc(all, func(c change) bool { return !waits(c) })
			if len(all) == 0 {
				t.Fatal("none of its changes is a key of actsLater")
			}
			own := a.firstOf(all)
			a.sets = []string{"expect=[]", "seed=1"} // the second one stands for the weights of the first draws, which are kept
			if own > 0 {
				a.sets[1] = a.start(own)
			}
			for i := range own {
				a.sets = append(a.sets, fmt.Sprintf("stage.%d.skip=true", i))
			}
			for i, st := range full.Stages {
				if st.Kind == recipe.KindRL {
					a.sets = append(a.sets, fmt.Sprintf("stage.%d.eval_every=0", i), fmt.Sprintf("stage.%d.sample_every=0", i))
				}
			}
			want := a.course(nil)
			t.Logf("%d steps, %d of them change the weights", len(want), len(slices.Compact(slices.Clone(want))))
			if !controlled && !slices.Equal(want, a.course(nil)) {
				t.Fatal("two equal courses differ: no difference shows that a key acts")
			}
			controlled = true
			for _, c := range all {
				if !a.acts(want, c) {
					t.Errorf("%s does nothing in %d steps: with %s the weights are the same", c.key, len(want), strings.Join(c.sets, " or "))
				}
			}
		})
	}
}

// firstOf is the first stage that one of some changes is in, or that makes rows which this one or a later one learns from.
func (a *acting) firstOf(all []change) int {
	first := len(a.full.Stages)
	for _, c := range all {
		if of, is := strings.CutPrefix(c.sets[0], "models."); is { // from the stage on that first asks it
			name, _, _ := strings.Cut(of, ".")
			first = min(first, a.full.FirstUse(name))
			continue
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(c.sets[0], "stage."), ".")
		n, err := strconv.Atoi(at)
		must(a.t, err)
		first = min(first, n)
	}
	for i, st := range a.full.Stages[:first] {
		if st.Kind == recipe.KindMake && slices.ContainsFunc(a.full.Stages[first:], func(later recipe.Stage) bool { return len(later.Sources) > 0 }) {
			return i
		}
	}
	return first
}

// start is the override with the model as it is before a stage.
func (a *acting) start(own int) string {
	a.t.Helper()
	sets := []string{"expect=[]"}
	for i := own; i < len(a.full.Stages); i++ {
		sets = append(sets, fmt.Sprintf("stage.%d.skip=true", i))
	}
	r, err := recipe.Load(a.name, sets)
	must(a.t, err)
	sum, err := Train(a.t.Context(), Options{Opened: opened(a.t, r), Dir: a.t.TempDir(), Device: a.dev, Show: &bytes.Buffer{}})
	must(a.t, err)
	return "model={path = " + strconv.Quote(sum.Checkpoint) + "}"
}
