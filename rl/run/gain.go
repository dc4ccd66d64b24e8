package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// gain lets workers draw completions, but for those of the first training step of this
// process: the run draws them itself, and tells what part of the step they took. That
// bounds what any number of workers can bring.
type gain struct {
	own, workers rollout.Sampler
	display      *display
	seconds      float64 // that the completions of the step took so far
	told         bool
}

// Sample implements rollout.Sampler.
func (g *gain) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	if p := requests[0].Key.Purpose; g.told || p == random.HeldOut || p == random.Probe {
		return g.workers.Sample(ctx, requests)
	}
	began := time.Now()
	out, err := g.own.Sample(ctx, requests)
	g.seconds += time.Since(began).Seconds()
	return out, err
}

// on implements observer.
func (g *gain) on(e event) error {
	if e.Kind == stepped && g.seconds > 0 {
		if !g.told {
			g.display.show.Line("%s", gainOf(g.seconds, e.Timing["time/rollout_s"]+e.Timing["time/train_s"]))
		}
		g.told = true
	}
	return nil
}

// gainOf tells what workers can bring to a step of so many seconds of which drawing takes
// a part.
func gainOf(drawing, step float64) string {
	share := min(drawing/step, 1)
	text := fmt.Sprintf("drawing completions takes %.0f %% of a step: ", 100*share)
	if most := 1 / (1 - share); most < 100 {
		if most >= 10 {
			most = math.Round(most)
		}
		return text + fmt.Sprintf("workers can make it at most %v times as fast", math.Round(10*most)/10)
	}
	return text + "it gets faster with each worker"
}
