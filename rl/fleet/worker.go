package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Engine is what a worker computes with.
type Engine interface {
	// MaxWeights is the size of the largest weights that Load accepts, bytes.
	MaxWeights() int
	// Load takes over the policy's weights.
	Load(weights []byte) error
	// Sample draws completions. Of the requests' keys the streams alone count.
	Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error)
	// Play plays the episodes that requests begin, as [rollout.Episodes.Ahead] returns them.
	Play(ctx context.Context, requests []rollout.Request, seed uint64) ([][][]rollout.Segment, error)
}

// Work takes items and answers them until the context is cancelled, the run ends
// (ErrClosed) or the worker is refused (ErrRefused). Other errors are the worker's own: an
// engine that fails, an item of another version of the program. judges are the engines by
// which it judges, see [verdict.Engines]; without an Engine, nil, it does nothing else.
func Work(ctx context.Context, c WorkerSide, name string, e Engine, judges ...string) error {
	does := judges
	if e != nil {
		does = append([]string{drawing}, judges...)
	}
	var loaded Digest
	for {
		data, err := c.Take(ctx, name, does...)
		if err != nil {
			return err
		}
		if _, ok := verdict.Release(data); ok {
			if err := judge(ctx, c, name, data); err != nil {
				return err
			}
			continue
		}
		if e == nil {
			return errors.New("an item to be drawn came to a worker that only verifies")
		}
		item, err := DecodeItem(data)
		if err != nil {
			return fmt.Errorf("item: %w", err)
		}
		if item.Weights != loaded {
			err := load(ctx, c, item.Weights, e)
			if errors.Is(err, ErrGone) {
				continue // an item of an earlier policy, which nobody waits for
			}
			if err != nil {
				return err
			}
			loaded = item.Weights
		}
		result, err := Draw(ctx, item, e)
		if err != nil {
			return err
		}
		if err := c.Deliver(ctx, name, result.Encode()); err != nil {
			return err
		}
	}
}

// Draw answers an item by an engine that has its weights.
func Draw(ctx context.Context, item Item, e Engine) (Result, error) {
	if item.Plays == nil {
		drawn, err := e.Sample(ctx, item.Requests(), item.Seed)
		return Result{Item: item.ID(), Completions: drawn}, err
	}
	played, err := e.Play(ctx, item.Requests(), item.Seed)
	return resultOf(item.ID(), played), err
}

// judge answers an item about verdicts.
func judge(ctx context.Context, c WorkerSide, name string, data []byte) error {
	item, err := verdict.Decode(data)
	if err != nil {
		return fmt.Errorf("item: %w", err)
	}
	return c.Deliver(ctx, name, item.Answer(item.Judge(ctx)))
}

// load gives an engine the weights of a digest.
func load(ctx context.Context, c WorkerSide, weights Digest, e Engine) error {
	data, err := c.Fetch(ctx, weights, e.MaxWeights())
	if err != nil {
		return err
	}
	if got := digestOf(data); got != weights {
		return fmt.Errorf("the weights have the digest %v, but %v were asked for", got, weights)
	}
	return e.Load(data)
}
