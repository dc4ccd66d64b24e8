package fleet

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
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

// patience is how long a fleet waits by default, besides four times what is usual: as
// long as a worker may take to load weights.
const patience = 10 * time.Second

// hedges is how often open items are offered again before the trainer computes them.
const hedges = 2

// itemsPerSlot cuts the work of a step finer than workers are many, so that none waits
// long for the last. But an item fills a worker's device, as far as there is enough for all
// of them: half a batch takes a GPU nearly as long as a whole one.
const itemsPerSlot = 4

// itemTokens is how many tokens the prompts of an item have at most, unless there is one
// alone: carriers send an item as one message, NATS by default of at most 1 MiB.
const itemTokens = 128 << 10

// arrivals is how many results may have come before they are looked at. More wait at the
// carrier.
const arrivals = 16

// Fleet draws completions by workers. It implements [rollout.Sampler].
type Fleet struct {
	carrier TrainerSide
	trainer Trainer
	opt     Options
	stop    context.CancelFunc
	arrived chan Delivery

	policy   Policy
	version  int             // of the announced weights; -1: none
	canary   *job            // of the announced weights
	canaries map[Digest]*job // by id, of all weights so far; nil: its answer cannot be judged any more
	tardy    map[string]int  // version by which a worker's last canary came too late
	tested   map[string]int  // version of the newest canary that a worker has answered
	key      []byte
	given    []*job                     // of earlier calls by the announced weights
	trusted  map[string]int             // version of the first weights by which a worker answered what nobody checked
	since    map[string]int             // the same since its last canary with equal bits
	judged   []*question                // by workers, and used, by the weights of now
	unlike   map[string]map[Digest]bool // items about which workers judged otherwise than this machine
	told     map[string]int             // what Remember was told last; nil: it is to be told
	begun    *table                     // handed out by Begin, for the Sample that follows; nil: nothing is
	loose    *table                     // handed out by Pick, by the weights of now and earlier ones
	backlog  []Delivery                 // for the next Pick, that came while the run waited for something else
	deaf     int                        // workers of the last call, if none of them answered
	quiet    time.Time                  // since when no worker is heard who is waited for; 0: none is waited for
	longest  time.Duration              // of the silences of a call
	silences []time.Duration            // the longest of each of the last calls that waited
	counts   Counts
}

var _ rollout.Early = (*Fleet)(nil)

// New makes a fleet. Close ends it; the carrier is the caller's.
func New(c TrainerSide, t Trainer, o Options) *Fleet {
	o.Patience = cmp.Or(o.Patience, patience)
	ctx, stop := context.WithCancel(context.Background())
	f := &Fleet{carrier: c, trainer: t, opt: o, stop: stop, arrived: make(chan Delivery, arrivals), version: -1, loose: &table{byID: map[Digest]*job{}},
		policy: Policy{Refused: map[string]string{}, Known: map[string]class{}, Mode: o.Mode}, trusted: map[string]int{}, since: map[string]int{}, canaries: map[Digest]*job{}, tardy: map[string]int{}, tested: map[string]int{}, unlike: map[string]map[Digest]bool{}, key: make([]byte, sha256.Size)}
	rand.Read(f.key) // it never fails
	maps.Copy(f.policy.Refused, o.Refused)
	maps.Copy(f.trusted, o.Trusted)
	f.told = maps.Clone(f.trusted)
	go func() {
		for {
			d, err := c.Next(ctx)
			if err != nil {
				return
			}
			select {
			case f.arrived <- d:
			case <-ctx.Done():
				return
			}
		}
	}()
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
	f.begun = f.cut(requests, f.size(requests))
	return f.offer(ctx, f.begun)
}

// size is how many of a step's requests make an item.
func (f *Fleet) size(requests []rollout.Request) int {
	slots, completions := max(1, f.opt.Slots()), 0
	for _, r := range requests {
		completions += r.N
	}
	items := slots * max(1, min(itemsPerSlot, completions/(slots*max(1, f.trainer.AtOnce))))
	return max(1, (len(requests)+items-1)/items)
}

// Sample implements [rollout.Sampler]: the workers draw the completions, and the trainer
// those that nobody else does.
func (f *Fleet) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	t := f.begun
	if f.begun = nil; t == nil || f.version != f.trainer.Version() || !t.answers(requests) {
		if t != nil { // nobody asks for it any more
			f.carrier.Withdraw(slices.Collect(maps.Keys(t.byID)))
		}
		if err := f.Begin(ctx, requests); err != nil {
			return nil, err
		}
		t, f.begun = f.begun, nil
	}
	answered := false
	round := 0
	for t.open > 0 {
		if f.opt.Slots() <= max(f.deaf, len(f.policy.Refused)) {
			round = hedges // whoever comes back is heard, and nobody is waited for
		}
		d, ok, err := f.next(ctx, round)
		if err != nil {
			return nil, err
		}
		if ok {
			took, err := f.receive(ctx, t, d)
			if err != nil {
				return nil, err
			}
			if took {
				answered, round, f.deaf = true, 0, 0
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
	f.remind()
	f.deaf = 0
	if !answered {
		f.deaf = f.opt.Slots()
	}
	f.carrier.Withdraw(slices.Collect(maps.Keys(t.byID)))
	f.given = append(f.given, t.jobs...)
	return t.segments(), f.remember()
}

// announce publishes the policy's weights if they are new, with a canary.
func (f *Fleet) announce(ctx context.Context, requests []rollout.Request) error {
	version := f.trainer.Version()
	if version == f.version || len(requests) == 0 {
		return nil
	}
	data, err := f.trainer.Weights()
	if err != nil {
		return err
	}
	f.trusted, f.given, f.judged = f.unchecked(), nil, nil
	// A run that went back to earlier weights draws again what was trusted from these on.
	for _, versions := range []map[string]int{f.trusted, f.since} {
		maps.DeleteFunc(versions, func(_ string, since int) bool { return since >= version })
	}
	f.version = version
	f.policy.Weights, f.policy.Data, f.policy.Version = digestOf(data), data, version
	f.newCanary(requests)
	return f.carrier.Announce(ctx, f.policy.clone())
}

// offer gives all open items by the weights of now to the workers.
func (f *Fleet) offer(ctx context.Context, t *table) error {
	for _, j := range t.jobs {
		if j.done != nil || j.version != f.version {
			continue
		}
		if err := f.carrier.Offer(ctx, j.data); err != nil {
			return err
		}
		j.offered = true
		f.counts.Offered++
	}
	return nil
}

// next waits for a result; ok is false if there is none for longer than is usual, or in
// the last round at once.
func (f *Fleet) next(ctx context.Context, round int) (d Delivery, ok bool, err error) {
	select {
	case d := <-f.arrived:
		f.heard()
		return d, true, nil
	default:
	}
	if round >= hedges {
		return d, false, ctx.Err()
	}
	if f.quiet.IsZero() {
		f.quiet = time.Now()
	}
	timer := time.NewTimer(f.opt.Patience + 4*f.usual())
	defer timer.Stop()
	select {
	case d := <-f.arrived:
		f.heard()
		return d, true, nil
	case <-timer.C:
		return d, false, nil
	case <-ctx.Done():
		return d, false, ctx.Err()
	}
}

// heard ends a silence, if there was one.
func (f *Fleet) heard() {
	if !f.quiet.IsZero() {
		f.longest = max(f.longest, time.Since(f.quiet))
	}
	f.quiet = time.Time{}
}

// maxSilences is how many calls tell what is usual.
const maxSilences = 63

// remind keeps the longest silence of a call that has waited for workers.
func (f *Fleet) remind() {
	if f.longest > 0 {
		f.silences = append(f.silences, f.longest)
	}
	if len(f.silences) > maxSilences {
		f.silences = f.silences[1:]
	}
	f.quiet, f.longest = time.Time{}, 0
}

// usual is how long a call is silent at the longest, in the middle of the last calls. The waits
// themselves tell less: workers that are equally quick answer all at once, so that most of them
// are short, however long an item takes.
func (f *Fleet) usual() time.Duration {
	if len(f.silences) == 0 {
		return 0
	}
	return median(f.silences)
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

// audited says whether the result of an item is checked. It is a function of the item, a
// key that never leaves the trainer, and nothing that a worker can choose.
func (f *Fleet) audited(item Digest) bool {
	h := hmac.New(sha256.New, f.key)
	h.Write(item[:])
	return float64(binary.LittleEndian.Uint64(h.Sum(nil)))/math.MaxUint64 < f.opt.Audit
}
