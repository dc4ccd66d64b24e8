package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// doubtful is a sampler that gives out wrong completions from one call on, and says so in
// a later one.
type doubtful struct {
	rollout.Sampler
	version   func() int
	calls     int
	lie, late int // calls, counted from 1
	since     int
}

func (d *doubtful) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	out, err := d.Sampler.Sample(ctx, requests)
	d.calls++
	if d.calls == d.late {
		return nil, &rollout.LateError{Since: d.since, Err: errors.New("a lie")}
	}
	if d.calls >= d.lie {
		if d.calls == d.lie {
			d.since = d.version()
		}
		for _, group := range out {
			for i := range group {
				group[i].IDs[0]++
			}
		}
	}
	return out, err
}

// TestLate: a run whose sampler finds out too late that completions were wrong stops, and
// continues from before them to the bytes of a run with right ones.
func TestLate(t *testing.T) {
	sets := append(slices.Clone(smallRun), "stage.warm-up.skip=true")
	right := t.TempDir()
	trainIn(t, right, false, sets...)
	want := runFiles(t, right)
	for name, c := range map[string]struct {
		lie, late int
		from      string
	}{"after the first step": {1, 3, "from step 0"}, "later": {4, 5, "from step 1"}} {
		dir := t.TempDir()
		o := Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: dir, Device: tester(t), Show: &trigger{}}
		o.Workers = func(_ *recipe.Recipe, c2 *cast.Cast, _ func(string)) (rollout.Sampler, error) {
			return &doubtful{Sampler: c2.Own, version: c2.Policy.Version, lie: c.lie, late: c.late}, nil
		}
		_, err := Train(t.Context(), o)
		var late *rollout.LateError
		if !errors.As(err, &late) || !strings.Contains(err.Error(), ".aside") || len(hint.All(err)) != 1 || !strings.Contains(hint.All(err)[0], c.from) {
			t.Fatalf("%s: %v %q", name, err, hint.All(err))
		}
		o.Workers, o.Resume = nil, true
		if _, err := Train(t.Context(), o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		aside, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*.aside"))
		if len(aside) == 0 {
			t.Errorf("%s: nothing was set aside", name)
		}
		for _, a := range aside {
			must(t, os.RemoveAll(a))
		}
		sameRun(t, runFiles(t, dir), want)
	}
}
