package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Mode says what of a worker's result is used.
type Mode string

// Modes.
const (
	Exact Mode = "exact" // all of it if the worker computes the same bits, and a share of the items is checked; else as Draft
	Draft Mode = "draft" // the ids, as drafts: every draw is checked
)

// Trainer is the run that a fleet works for.
type Trainer struct {
	Sampler rollout.Sampler         // draws on the trainer's own device, with drafts too
	Seed    func(random.Key) uint64 // of the generator
	Version func() int              // of the weights
	Weights func() ([]byte, error)  // as workers load them: equal bytes for equal weights
	Role    string                  // of the model
	Vocab   int                     // ids are below
	AtOnce  int                     // completions that a worker's device draws together; 0: any number is as good
}

// Options say how a fleet works. They change no byte of a run in mode Draft, and in mode
// Exact none unless a worker lies.
type Options struct {
	Mode     Mode
	Audit    float64                 // share of the items that are checked in mode Exact
	Slots    func() int              // workers that there are, refused ones too: it sizes items; if all are refused, nobody is waited for
	Judges   func(engine string) int // workers that are there, are not refused and judge by an engine; nil: none do
	Patience time.Duration           // silence, on top of what is usual, until items are offered again; 0: 10 s
	Note     func(string)            // told what people should know; called by Sample alone

	Disputed func(Dispute) error // keeps the results for which workers are refused; called by Sample alone

	// Remember keeps what a later part of the run has to know, which is given it as Trusted
	// and Refused. It is called by Sample alone.
	Remember func(trusted map[string]int, refused map[string]string) error
	Trusted  map[string]int    // version of the first weights by which a worker answered what nobody checked
	Refused  map[string]string // workers, and why
}

// itemTokens is how many tokens the prompts of an item have at most, unless there is one
// alone: carriers send an item as one message, NATS by default of at most 1 MiB. The bytes of
// the rows that it plays count as tokens, tokenBytes as one.
const (
	itemTokens = 128 << 10
	tokenBytes = 4
)

// Fleet draws completions by workers. It implements [rollout.Sampler], over a ledger of what is
// handed out, a dispatcher that hands it out and waits, and trust in who answers.
type Fleet struct {
	trainer    Trainer
	opt        Options
	stop       context.CancelFunc
	ledger     ledger
	dispatcher dispatcher
	trust      trust
	counts     Counts
}

var (
	_ rollout.Early      = (*Fleet)(nil)
	_ rollout.Foreseeing = (*Fleet)(nil)
)

// New makes a fleet. Close ends it; the carrier is the caller's.
func New(c TrainerSide, t Trainer, o Options) *Fleet {
	ctx, stop := context.WithCancel(context.Background())
	f := &Fleet{trainer: t, opt: o, stop: stop, ledger: newLedger(t.Seed, o.Mode), trust: newTrust(o.Mode, o.Audit, o.Refused, o.Trusted),
		dispatcher: dispatcher{carrier: c, slots: o.Slots, atOnce: t.AtOnce, patience: cmp.Or(o.Patience, patience), arrived: make(chan Delivery, arrivals)}}
	go f.dispatcher.listen(ctx)
	return f
}

// Close stops listening to workers.
func (f *Fleet) Close() { f.stop() }

// Counts are what happened so far.
func (f *Fleet) Counts() Counts { return f.counts }

// Begin implements [rollout.Early]: workers draw while the trainer does something else.
func (f *Fleet) Begin(ctx context.Context, requests []rollout.Request) error {
	if err := f.announce(ctx, requests); err != nil {
		return err
	}
	t, err := f.foreseen(ctx, requests)
	if err != nil {
		return err
	}
	f.ledger.begun = t
	return f.offer(ctx, t)
}

// offer gives open items by the weights of now to the workers.
func (f *Fleet) offer(ctx context.Context, t *table) error {
	n, err := f.dispatcher.offer(ctx, t, f.ledger.version)
	f.counts.Offered += n
	return err
}

// Sample implements [rollout.Sampler]: the workers draw the completions, and the trainer
// those that nobody else does.
func (f *Fleet) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	t, withdrawn := f.ledger.taken(requests, f.trainer.Version())
	if t == nil {
		if withdrawn != nil { // nobody asks for these any more
			f.dispatcher.carrier.Withdraw(withdrawn)
		}
		if err := f.Begin(ctx, requests); err != nil {
			return nil, err
		}
		t, f.ledger.begun = f.ledger.begun, nil
	}
	waits, answered, round := t.open > 0, false, 0
	for t.open > 0 {
		if f.dispatcher.nobody(len(f.trust.refused)) {
			round = hedges
		}
		d, ok, err := f.dispatcher.next(ctx, round)
		if err != nil {
			return nil, err
		}
		if ok {
			took, err := f.receive(ctx, t, d)
			if err != nil {
				return nil, err
			}
			if took {
				answered, round = true, 0
				f.dispatcher.heard()
			}
			continue
		}
		if round < hedges {
			round++
			f.counts.Hedged += t.open
			err = f.offer(ctx, t)
		} else {
			err = f.computeOne(ctx, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if waits {
		f.dispatcher.ended(answered)
	}
	f.dispatcher.carrier.Withdraw(t.ids())
	f.ledger.given = append(f.ledger.given, t.jobs...)
	return t.segments(), f.remember()
}

// announce publishes the policy's weights if they are new, with a canary.
func (f *Fleet) announce(ctx context.Context, requests []rollout.Request) error {
	version := f.trainer.Version()
	if version == f.ledger.version || len(requests) == 0 {
		return nil
	}
	data, err := f.trainer.Weights()
	if err != nil {
		return err
	}
	f.trust.announce(&f.ledger, version)
	f.ledger.announce(version, data)
	f.newCanary(requests)
	return f.publish(ctx)
}

// publish tells workers which weights there are now, and what is known of workers.
func (f *Fleet) publish(ctx context.Context) error {
	p := f.ledger.weights
	p.Refused, p.Known = maps.Clone(f.trust.refused), maps.Clone(f.trust.known) // its receivers may keep them
	return f.dispatcher.carrier.Announce(ctx, p)
}

// computeOne computes the last open item here: workers take the first ones.
func (f *Fleet) computeOne(ctx context.Context, t *table) error {
	for _, j := range slices.Backward(t.jobs) {
		if j.done == nil {
			right, err := f.compute(ctx, j, nil)
			if err != nil {
				return err
			}
			t.settle(j, right, "", true)
			f.counts.Here++
			return nil
		}
	}
	return nil
}

// compute draws the completions of an item here, drafted being what a worker drew.
func (f *Fleet) compute(ctx context.Context, j *job, drafted [][]rollout.Segment) ([][]rollout.Segment, error) {
	requests := make([]rollout.Request, len(j.requests))
	for k, r := range j.requests {
		if drafted != nil {
			for _, s := range drafted[k] {
				r.Draft = append(r.Draft, s.IDs)
			}
		}
		requests[k] = r
	}
	right, err := f.trainer.Sampler.Sample(ctx, requests)
	if err == nil && len(right) != len(requests) {
		err = fmt.Errorf("the sampler answered %d of %d requests", len(right), len(requests))
	}
	return right, err
}
