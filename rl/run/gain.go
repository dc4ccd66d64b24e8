package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// gain lets workers draw completions, but for those of the first training step of this
// process: the run draws them itself, and tells what part of the step they took. That
// bounds what any number of workers can bring. With a lag, the steps that are drawn besides
// before the run learns are the workers'.
type gain struct {
	own, workers rollout.Sampler
	recipe       *recipe.Recipe
	display      *display
	seconds      float64 // that the completions of the first step took so far
	theirs       float64 // that those of the steps after it took, which workers drew
	steps        int     // of both
	first        int     // the first step
	told         bool
}

// Begin implements rollout.Early.
func (g *gain) Begin(ctx context.Context, requests []rollout.Request) error {
	if early, can := g.workers.(rollout.Early); can && g.told {
		return early.Begin(ctx, requests)
	}
	return nil
}

// Pick implements rollout.Early. The groups of the first step are the first in their order.
func (g *gain) Pick(ctx context.Context, requests []rollout.Request, first, count, since int) ([][]rollout.Segment, error) {
	if workers, can := g.workers.(rollout.Early); can && g.told {
		return workers.Pick(ctx, requests, first, count, since)
	}
	out := make([][]rollout.Segment, len(requests))
	if max(first, count) == 0 { // a resumed run has enough
		return out, nil
	}
	drawn, err := g.Sample(ctx, requests[:max(first, count)])
	copy(out, drawn)
	return out, err
}

// Over implements rollout.Foreseeing.
func (g *gain) Over(ctx context.Context) error {
	if workers, can := g.workers.(rollout.Foreseeing); can {
		return workers.Over(ctx)
	}
	return nil
}

// Sample implements rollout.Sampler.
func (g *gain) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	key := requests[0].Key
	if key.Purpose == random.Restart {
		key.Purpose, key.Step = random.Restarts(key.Step)
	}
	if g.told || slices.Contains([]random.Purpose{random.HeldOut, random.Probe, random.FreshPass}, key.Purpose) {
		return g.workers.Sample(ctx, requests)
	}
	if key.Purpose == random.Sample {
		if g.steps == 0 {
			g.first = key.Step
		}
		g.steps++
	}
	by, took := g.own, &g.seconds
	if g.steps > 0 && key.Step != g.first {
		by, took = g.workers, &g.theirs
	}
	began := time.Now()
	out, err := by.Sample(ctx, requests)
	*took += time.Since(began).Seconds()
	return out, err
}

// on implements observer.
func (g *gain) on(e event) error {
	if e.Kind == stepped && g.steps > 0 {
		if besides := e.Timing["time/rollout_s"] - g.seconds - g.theirs; !g.told { // such as rewards
			g.display.show.Line("%s", gainOf(g.seconds, g.seconds+besides/float64(g.steps)+e.Timing["time/train_s"], g.recipe.Stages[e.At.Stage].RL))
		}
		g.told = true
	}
	return nil
}

// gainOf tells what workers can bring to a step of so many seconds of which drawing takes
// a part. With a lag workers draw beside the gradient of the first update, and come to the bound
// when drawing takes them no longer than that.
func gainOf(drawing, step float64, st recipe.RL) string {
	share := min(drawing/step, 1)
	text := fmt.Sprintf("drawing completions takes %.0f %% of a step: ", 100*share)
	most := 1 / (1 - share)
	if most >= 100 {
		return text + "each worker makes it faster"
	}
	takes := fmt.Sprintf("takes %s as fast as this device", terminal.Count(int(math.Ceil(share*most*float64(st.UpdatesPerRollout))), "worker", ""))
	if most >= 10 {
		most = math.Round(most)
	}
	text += fmt.Sprintf("workers can make it at most %v times as fast", math.Round(10*most)/10)
	if st.Lag > 0 {
		return text + "; that " + takes + ", as they draw while it learns"
	}
	return text + "; with lag = 1 that " + takes
}
