package fleet

import (
	"context"
	"math"

	"github.com/rlzero/rlzero/rl/rollout"
)

// class says how a worker computes, compared with the trainer. It is found by behaviour: a
// canary, an item of which the trainer knows the answer.
type class = string

const (
	classUnknown class = ""     // no answer yet: as near
	classSame    class = "same" // to the bit
	classNear    class = "near" // the same tokens, log-probs with other bits: its tokens are drafts
)

const (
	canaryPrompts = 8
	canaryTokens  = 64
	canaryEvery   = 16 // announced policies, until a worker gets another one

	// canaryTries is how often a worker is given the same canary. One that has not answered
	// by then gets work all the same: its tokens are drafts.
	canaryTries = 3

	// nearLogprob is above the difference of two right devices in the log-prob of a token,
	// nats: 1.9e-5 was the largest that was measured between lavapipe and plain Go, and a
	// device that computes with half the digits is above it.
	nearLogprob = 1e-3

	// nearFlips is how many completions of a canary may have another token. Two right devices
	// draw another one where two candidates are nearer than they round, in some 1e-5 of all
	// tokens: 512 tokens have two such in one of 80,000 canaries.
	nearFlips = 1
)

// canaryStream is beyond the streams of completions, so that no item is a canary.
const canaryStream = 1 << 31

// newCanary makes the canary of the policy from the first prompts of a step.
func (f *Fleet) newCanary(requests []rollout.Request) {
	first := requests[0]
	requests = requests[:min(len(requests), canaryPrompts)]
	for _, r := range requests { // each has room for so many
		first.Params.MaxTokens = min(first.Params.MaxTokens, r.Params.MaxTokens, canaryTokens)
	}
	j := f.ledger.job(Item{Seed: f.trainer.Seed(first.Key), Params: first.Params})
	for i, r := range requests {
		key := first.Key
		key.Stream = canaryStream + uint32(i)
		j.requests = append(j.requests, rollout.Request{Prompt: r.Prompt, N: 1, Params: first.Params, Key: key})
		j.item.Prompts = append(j.item.Prompts, Prompt{IDs: r.Prompt, Stream: key.Stream, N: 1})
	}
	j.data = j.item.Encode()
	f.trust.test(j)
	f.ledger.weights.Canary = j.data
}

// classify learns from a worker's answer to a canary how it computes.
func (f *Fleet) classify(ctx context.Context, t *table, j *job, d Delivery, r Result) error {
	worker := d.Worker
	if !d.Stayed {
		delete(f.trust.since, worker)
	}
	if j == f.trust.canary {
		delete(f.trust.tardy, worker)
	} else {
		f.trust.tardy[worker] = f.ledger.version
	}
	if j.done == nil {
		right, err := f.compute(ctx, j, r.Completions)
		if err != nil {
			return err
		}
		j.done = right
	}
	switch {
	case sameAll(r.Completions, j.done):
		delete(f.trust.since, worker)
		return f.know(ctx, worker, classSame)
	case nearAll(r.Completions, j.done):
		was := f.trust.known[worker]
		if err := f.know(ctx, worker, classNear); err != nil {
			return err
		}
		if was != classNear && f.opt.Mode == Exact {
			f.note("worker %s computes almost what this device computes (%v): its completions are drafts, which are checked", worker, Result{Item: j.item.ID(), Completions: r.Completions}.Differs(Result{Completions: j.done}))
		}
	default:
		return f.refuse(ctx, t, f.wrong(j, worker, r.Completions, j.done))
	}
	if _, relied := f.trust.since[worker]; relied {
		return f.doubt(ctx, t, worker)
	}
	return nil
}

// missed hears the answer to a canary of earlier weights, which nobody can judge any more:
// the worker gets another one. Of that the right answer is kept, if late answers are of use.
func (f *Fleet) missed(ctx context.Context, d Delivery) error {
	if !d.Stayed {
		delete(f.trust.since, d.Worker)
	}
	f.trust.tardy[d.Worker] = f.ledger.version
	return f.know(ctx, d.Worker, classUnknown)
}

// foresee draws the canary of now here if a worker may answer it when its weights are gone.
func (f *Fleet) foresee(ctx context.Context) (err error) {
	if c := f.trust.foreseen(f.ledger.version); c != nil {
		c.done, err = f.compute(ctx, c, nil)
	}
	return err
}

// know notes the class of a worker and tells it, for people.
func (f *Fleet) know(ctx context.Context, worker string, c class) error {
	if !f.trust.know(worker, c) {
		return nil
	}
	return f.publish(ctx)
}

// doubt looks back at what a worker answered since its last canary, which had equal bits,
// where the next has not: somewhere in between its arithmetic has changed. What it drew by
// the weights of now is drawn again with its tokens as drafts. What the run has used by
// these has to be right, and by earlier ones it cannot be checked any more.
func (f *Fleet) doubt(ctx context.Context, t *table, worker string) error {
	for _, j := range t.jobs {
		if j.done == nil || j.by != worker || j.checked || j.version != f.ledger.version {
			continue
		}
		right, err := f.compute(ctx, j, j.done)
		if err != nil {
			return err
		}
		t.settle(j, right, worker, true)
	}
	why := "computes different bits from those at its last canary"
	since, there := f.trust.since[worker]
	delete(f.trust.since, worker)
	if there && since < f.ledger.version {
		return f.late(worker, why, since)
	}
	return f.again(ctx, worker, why)
}

// nearAll says whether the completions of two right devices can differ so: no log-prob by
// more than rounding, and hardly ever a token.
func nearAll(a, b [][]rollout.Segment) bool {
	flips := 0
	for k := range b {
		for i := range b[k] {
			x, y := a[k][i], b[k][i]
			n := kept(x.IDs, y.IDs)
			if n < len(x.IDs) || n < len(y.IDs) || x.Stop != y.Stop {
				flips++
			}
			for t := range n {
				if !(math.Abs(float64(x.Logprob[t])-float64(y.Logprob[t])) < nearLogprob) {
					return false
				}
			}
		}
	}
	return flips <= nearFlips
}
