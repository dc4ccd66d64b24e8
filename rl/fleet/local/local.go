package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Workers are a fleet of this process. It is a [rollout.Early].
type Workers struct {
	carrier *fleet.Memory
	fleet   *fleet.Fleet
	stop    context.CancelFunc
	running sync.WaitGroup
	failed  chan string // notes of workers that ended, until Sample or Pick passes them on
	note    func(string)
}

// Start makes a worker on each device for the policy of a recipe. An empty mode is
// fleet.Exact.
func Start(r *recipe.Recipe, c *cast.Cast, devices []gpu.Device, o fleet.Options) (*Workers, error) {
	trainer := c.Policy.Model.Device().Caps()
	if err := fits(r, c.Folder, trainer, devices); err != nil {
		return nil, err
	}
	o.Mode, o.Slots = cmp.Or(o.Mode, fleet.Exact), func() int { return len(devices) }
	ctx, stop := context.WithCancel(context.Background())
	w := &Workers{carrier: fleet.NewMemory(), stop: stop, failed: make(chan string, len(devices)), note: o.Note}
	w.fleet = fleet.New(w.carrier, TrainerOf(c), o)
	spec, err := cast.SpecOf(r, c.Folder)
	if err != nil {
		w.Close()
		return nil, err
	}
	for i, dev := range devices {
		e, err := spec.Open(c.Folder, dev)
		if err != nil {
			w.Close()
			return nil, err
		}
		name := fmt.Sprintf("%d (%s)", i+1, dev.Caps().ID)
		w.running.Go(func() {
			defer e.Close()
			err := fleet.Work(ctx, w.carrier, name, e)
			if !errors.Is(err, context.Canceled) && !errors.Is(err, fleet.ErrClosed) && !errors.Is(err, fleet.ErrRefused) {
				w.failed <- fmt.Sprintf("worker %s failed, and the others do its work: %v", name, err)
			}
		})
	}
	return w, nil
}

// TrainerOf is a run's own side of its fleet.
func TrainerOf(c *cast.Cast) fleet.Trainer {
	return fleet.Trainer{Sampler: c.Own, Seed: c.Own.Seed, Version: c.Policy.Version, Weights: c.Policy.Weights, Role: c.Own.Role, Vocab: c.Policy.Model.Config.Vocab,
		AtOnce: c.Own.Engine.Sequences()}
}

// Begin implements [rollout.Early].
func (w *Workers) Begin(ctx context.Context, requests []rollout.Request) error {
	return w.fleet.Begin(ctx, requests)
}

// Sample implements [rollout.Sampler].
func (w *Workers) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	out, err := w.fleet.Sample(ctx, requests)
	w.tell()
	return out, err
}

// Pick implements [rollout.Early].
func (w *Workers) Pick(ctx context.Context, requests []rollout.Request, first, count, since int) ([][]rollout.Segment, error) {
	out, err := w.fleet.Pick(ctx, requests, first, count, since)
	w.tell()
	return out, err
}

// tell passes on what workers that ended have left.
func (w *Workers) tell() {
	for {
		select {
		case text := <-w.failed:
			w.note(text)
		default:
			return
		}
	}
}

// Counts are what happened so far.
func (w *Workers) Counts() fleet.Counts { return w.fleet.Counts() }

// Close ends the workers and frees their memory.
func (w *Workers) Close() {
	w.stop()
	w.fleet.Close()
	w.carrier.Close()
	w.running.Wait()
}

// fits refuses workers for which a device has no memory.
func fits(r *recipe.Recipe, folder string, trainer gpu.Caps, devices []gpu.Device) error {
	plans, caps := map[string]*gpu.Plan{}, map[string]gpu.Caps{}
	own, err := cast.Plan(r, folder, trainer)
	if err != nil {
		return err
	}
	plans[trainer.ID] = &own
	spec, err := cast.SpecOf(r, folder)
	if err != nil {
		return err
	}
	for i, dev := range devices {
		c := dev.Caps()
		one, err := spec.Plan(c)
		if err != nil {
			return err
		}
		if plans[c.ID] == nil {
			plans[c.ID] = &gpu.Plan{}
		}
		caps[c.ID] = c
		plans[c.ID].Add(fmt.Sprintf("worker %d", i+1), one.Total(), "parameters, sampler and its cache")
		plans[c.ID].Note(one.Buffer, false)
		plans[c.ID].Note(one.Bound, true)
	}
	for _, dev := range devices {
		id := dev.Caps().ID
		if err := plans[id].Fits(caps[id]); err != nil {
			return hint.With(fmt.Errorf("device %s: %w", id, err), "name this device less often in --workers")
		}
	}
	return nil
}
