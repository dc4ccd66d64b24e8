package run

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// asked notes what completions a sampler is asked for.
type asked struct {
	rollout.Sampler
	keys *[]random.Key
}

func (a asked) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	*a.keys = append(*a.keys, requests[0].Key)
	return a.Sampler.Sample(ctx, requests)
}

// TestGainAnew: where the context of a completion begins anew, its turns are drawn by whom the turns before were.
func TestGainAnew(t *testing.T) {
	for key, byWorkers := range map[random.Key]bool{{Purpose: random.HeldOut, Step: 1}: true, {Purpose: random.HeldOut, Step: math.MaxInt}: true, {Purpose: random.Sample, Step: 0}: false} {
		var own, workers []random.Key
		g := &gain{own: asked{nobody{}, &own}, workers: asked{nobody{}, &workers}, steps: 1}
		if _, err := g.Sample(t.Context(), []rollout.Request{{Key: key.Restarted(1)}}); err != nil {
			t.Fatal(err)
		}
		if (len(workers) == 1) != byWorkers || len(own)+len(workers) != 1 {
			t.Errorf("%+v: %d requests to workers, %d to the run", key, len(workers), len(own))
		}
	}
}

// nobody draws nothing.
type nobody struct{ rollout.Sampler }

func (nobody) Sample(context.Context, []rollout.Request) ([][]rollout.Segment, error) {
	return nil, nil
}

// TestGain: the first training step is drawn by the run itself, which then says what
// workers can bring; all else is drawn by them.
func TestGain(t *testing.T) {
	var show bytes.Buffer
	var keys []random.Key
	o := Options{Opened: opened(t, shortRecipe(t, append(slices.Clone(quiet), "stage.rl.eval_every=1")...)), Dir: t.TempDir(), Device: tester(t), Show: &show}
	o.Workers = func(_ *recipe.Recipe, c *cast.Cast, _ func(string)) (rollout.Sampler, error) {
		return asked{c.Own, &keys}, nil
	}
	if _, err := Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	count := map[random.Purpose]int{}
	for _, k := range keys {
		if k.Purpose == random.Sample && k.Step == 0 {
			t.Error("workers draw the first step")
		}
		count[k.Purpose]++
	}
	if count[random.Sample] != 3 || count[random.HeldOut] == 0 || count[random.Probe] == 0 {
		t.Errorf("workers draw %v", count)
	}
	if n := strings.Count(show.String(), "drawing completions takes "); n != 1 {
		t.Errorf("the gain is told %d times:\n%s", n, show.String())
	}
	for want, c := range map[string]struct {
		drawing, step float64
		lag, updates  int
	}{
		"24 % of a step: workers can make it at most 1.3 times as fast; with lag = 1 that takes 1 worker as fast as this device":                   {0.24, 1, 0, 1},
		"50 % of a step: workers can make it at most 2 times as fast; with lag = 1 that takes 2 workers as fast as this device":                    {2, 4, 0, 2},
		"75 % of a step: workers can make it at most 4 times as fast; that takes 3 workers as fast as this device, as they draw while it learns":   {3, 4, 1, 1},
		"99 % of a step: workers can make it at most 91 times as fast; that takes 90 workers as fast as this device, as they draw while it learns": {0.989, 1, 3, 1},
		"100 % of a step: each worker makes it faster": {1, 1, 0, 1},
	} {
		if got := gainOf(c.drawing, c.step, recipe.RL{Lag: c.lag, UpdatesPerRollout: c.updates}); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// nothing draws nothing.
type nothing struct{}

func (nothing) Sample(_ context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	return make([][]rollout.Segment, len(requests)), nil
}

// TestGainOfStep: what is drawn beside the first step, and before it, is the workers' and no part of it.
func TestGainOfStep(t *testing.T) {
	for _, c := range []struct {
		of  random.Purpose
		own bool
	}{{random.Sample, true}, {random.Refill, true}, {random.FreshPass, false}, {random.HeldOut, false}, {random.Probe, false}} {
		var own, theirs []random.Key
		g := &gain{own: asked{nothing{}, &own}, workers: asked{nothing{}, &theirs}}
		if _, err := g.Sample(t.Context(), []rollout.Request{{Key: random.Key{Purpose: c.of}}}); err != nil || len(own) == 1 != c.own || len(theirs) == 1 == c.own {
			t.Errorf("purpose %d: %d by the run, %d by workers", c.of, len(own), len(theirs))
		}
	}
}
