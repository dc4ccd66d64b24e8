package fleet

import (
	"context"
	"errors"
)

// Errors of a carrier.
var (
	// ErrClosed: the carrier was closed; there will be no more work.
	ErrClosed = errors.New("the run has ended")
	// ErrRefused: the trainer refuses this worker. The reason is in the error.
	ErrRefused = errors.New("refused by the trainer")
	// ErrGone: these weights are no longer those of the policy.
	ErrGone = errors.New("these weights are no longer available")
)

// TrainerSide is a carrier as a trainer sees it. A carrier moves items, results and weights
// between a trainer and its workers. It may lose, double and delay what it carries; it may
// not let a worker speak in another's name.
type TrainerSide interface {
	// Announce says which weights the policy has now, and which workers are refused. What
	// was offered before is withdrawn where that can be done.
	Announce(ctx context.Context, p Policy) error
	// Offer gives an item to whoever takes it first.
	Offer(ctx context.Context, item []byte) error
	// Withdraw takes items back that nobody has taken, by their ids: they are answered.
	Withdraw(items []Digest)
	// Next waits for a result.
	Next(ctx context.Context) (Delivery, error)
}

// WorkerSide is a carrier as a worker sees it.
type WorkerSide interface {
	// Take waits for an item, for a worker. does are the engines by which it judges, and ""
	// if it draws; nothing: it draws. The first item of one that draws is the policy's
	// canary, if the worker joins or joins again, is not Known, or had the last one 16
	// policies ago.
	Take(ctx context.Context, worker string, does ...string) ([]byte, error)
	// Fetch is the announced weights of a digest, or ErrGone. More than most bytes are an
	// error.
	Fetch(ctx context.Context, weights Digest, most int) ([]byte, error)
	// Deliver sends a worker's result.
	Deliver(ctx context.Context, worker string, result []byte) error
}

// Policy is what a trainer announces.
type Policy struct {
	Weights Digest
	Data    []byte            // of the weights, see [Trainer.Weights]
	Refused map[string]string // workers, and why
	Canary  []byte            // an item that tells how a worker computes; nil: none
	Known   map[string]string // workers of which that is known: same or near
	Version int               // of the weights
	Mode    Mode
}

// Delivery is a result on its arrival.
type Delivery struct {
	Worker string
	Result []byte
	Tested bool // since it joined, the worker has answered a canary that is not too old
	Stayed bool // it has not joined again since its last canary
}
