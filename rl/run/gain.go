package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/terminal"
)

// gain lets workers draw completions, but for those of the first training step of this
// process: the run draws them itself, and tells what part of the step they took. That
// bounds what any number of workers can bring.
type gain struct {
	own, workers rollout.Sampler
	recipe       *recipe.Recipe
	display      *display
	seconds      float64 // that the completions of the step took so far
	steps        int     // that they are of: with lag, the first step draws those after it too
	told         bool
}

// Begin implements rollout.Early.
func (g *gain) Begin(ctx context.Context, requests []rollout.Request) error {
	if early, can := g.workers.(rollout.Early); can && g.told {
		return early.Begin(ctx, requests)
	}
	return nil
}

// Sample implements rollout.Sampler.
func (g *gain) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	p := requests[0].Key.Purpose
	if g.told || p == random.HeldOut || p == random.Probe {
		return g.workers.Sample(ctx, requests)
	}
	if p == random.Sample {
		g.steps++
	}
	began := time.Now()
	out, err := g.own.Sample(ctx, requests)
	g.seconds += time.Since(began).Seconds()
	return out, err
}

// on implements observer.
func (g *gain) on(e event) error {
	if e.Kind == stepped && g.steps > 0 {
		if n := float64(g.steps); !g.told {
			g.display.show.Line("%s", gainOf(g.seconds/n, e.Timing["time/rollout_s"]/n+e.Timing["time/train_s"], g.recipe.Stages[e.At.Stage].RL))
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
		return text + "it gets faster with each worker"
	}
	takes := fmt.Sprintf("takes %s like this device", terminal.Count(int(math.Ceil(share*most*float64(st.UpdatesPerRollout))), "worker", ""))
	if most >= 10 {
		most = math.Round(most)
	}
	text += fmt.Sprintf("workers can make it at most %v times as fast", math.Round(10*most)/10)
	if st.Lag > 0 {
		return text + "; that " + takes + ", as they draw while it learns"
	}
	return text + "; with lag = 1 that " + takes
}
