package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
)

// queue says which drawn step is learned from next.
type queue interface {
	cast.Keeper
	// Next is the step that is learned from at a position. It also lets workers begin with the next
	// draws of the current weights.
	Next(ctx context.Context, at Position, t *waits) (Drawn, error)
	// Collect draws what Next let workers begin with. It is called when the gradient of the first
	// update is computed, before the weights change. After it the step of Next counts as learned
	// from; an error that the context caused has changed nothing.
	Collect(ctx context.Context, t *waits) error
}

// waits are times of a step.
type waits struct {
	since  time.Time     // the newest drawing began
	waited time.Duration // for completions
	spans  time.Duration // from the beginning of each drawing to its end
	tokens float64       // that were drawn
}

// row are the times of a step of so many seconds.
func (t *waits) row(step time.Duration) metrics.Row {
	row := metrics.Row{"time/rollout_s": t.waited.Seconds(), "time/train_s": (step - t.waited).Seconds()}
	if t.spans > 0 {
		row["rollout/tokens_per_s"] = t.tokens / t.spans.Seconds()
	}
	return row
}

// timesOf are the times of a step that draws nothing. The clocks of some machines stand for longer
// than a small step takes: then no throughput is known.
func timesOf(tokens int, step time.Duration) metrics.Row {
	row := metrics.Row{"time/train_s": step.Seconds()}
	if step > 0 {
		row["train/tokens_per_s"] = float64(tokens) / step.Seconds()
	}
	return row
}

// inTurn learns from the steps in their order. A step is drawn lag steps before it is learned from.
type inTurn struct {
	plan   func(context.Context, Position) (Plan, error) // by the weights of now
	drawer *drawer
	open   []Drawn // the next to learn from first
	begun  *Plan   // what workers have begun with, from Next to Collect
}

// Next draws the steps that the current policy has to draw: the step that is lag steps ahead of at,
// and at the beginning of the stage also those before it. With a lag the last one is only begun,
// since workers can draw it while the run learns from another one.
func (q *inTurn) Next(ctx context.Context, at Position, t *waits) (Drawn, error) {
	whole := q.drawer.whole
	q.begun = nil
	for n := len(q.open); n <= whole.Lag && at.Step+n < whole.RL.Steps; n++ {
		p, err := q.begin(ctx, Position{at.Stage, at.Step + n, at.Total + n}, whole.Lag > 0 && n == whole.Lag, t)
		if err != nil {
			return Drawn{}, err
		}
		q.begun = &p
		if whole.Lag > 0 && n == whole.Lag {
			break
		}
		if err := q.draw(ctx, t); err != nil {
			return Drawn{}, err
		}
	}
	return q.open[0], nil
}

// Collect implements queue.
func (q *inTurn) Collect(ctx context.Context, t *waits) error {
	if err := q.draw(ctx, t); err != nil {
		return err
	}
	q.open = q.open[1:]
	return nil
}

// begin plans a step; early lets workers begin with it.
func (q *inTurn) begin(ctx context.Context, at Position, early bool, t *waits) (Plan, error) {
	t.since = time.Now()
	defer func() { t.waited += time.Since(t.since) }()
	p, err := q.plan(ctx, at)
	if err == nil && early {
		err = q.drawer.begin(ctx, p)
	}
	return p, err
}

// draw draws the step that was begun, if one was. It is then open.
func (q *inTurn) draw(ctx context.Context, t *waits) error {
	if q.begun == nil {
		return nil
	}
	began := time.Now()
	d, err := q.drawer.draw(ctx, *q.begun)
	q.begun = nil
	if err != nil {
		return err
	}
	q.open = append(q.open, d)
	t.waited, t.spans = t.waited+time.Since(began), t.spans+time.Since(t.since)
	t.tokens += tokensOf(d.Completions) + tokensOf(d.Refused)
	return nil
}

// stepsFile keeps the open steps in a checkpoint.
const stepsFile = "trainer/steps.json"

// Save implements cast.Keeper.
func (q *inTurn) Save() (map[string]func(io.Writer) error, error) {
	if q.drawer.whole.Lag == 0 {
		return nil, nil
	}
	open := append([]Drawn{}, q.open...)
	return map[string]func(io.Writer) error{stepsFile: writeSteps(open)}, nil
}

// Load implements cast.Keeper.
func (q *inTurn) Load(dir string) error {
	if q.drawer.whole.Lag == 0 {
		return nil
	}
	q.open = nil
	if err := readSteps(dir, &q.open); err != nil {
		return err
	}
	for i := range q.open {
		if err := q.open[i].under(q.drawer.whole); err != nil {
			return fmt.Errorf("%s: %w", stepsFile, err)
		}
	}
	return nil
}

// writeSteps writes open steps to a checkpoint.
func writeSteps(steps any) func(io.Writer) error {
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // logs have rows as they were read
		return enc.Encode(steps)
	}
}

// oldStepsFile kept the open steps in checkpoints of releases that had no stepsFile.
const oldStepsFile = "trainer/ahead.json"

// readSteps reads open steps of a checkpoint. Those of older releases are refused.
func readSteps(dir string, into any) error {
	err := readJSON(dir, stepsFile, into)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, old := os.Stat(filepath.Join(dir, filepath.FromSlash(oldStepsFile))); old != nil {
		return err
	}
	err = fmt.Errorf("%w: checkpoint %s keeps the steps that are drawn but not yet learned from in %s, as earlier releases of rlzero did", lines.ErrInput, dir, oldStepsFile)
	return hint.With(err, "continue the run with the release that wrote the checkpoint, the last one before %s took the place of %s; or start a new run with --set model.path=%s", stepsFile, oldStepsFile, terminal.ShellWord(dir))
}
