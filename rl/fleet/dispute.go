package fleet

import (
	"context"
	"fmt"
	"maps"

	"github.com/rlzero/rlzero/rl/rollout"
)

// Dispute is a result for which a worker is refused, and all that is needed to draw its
// item again.
type Dispute struct {
	Worker  string
	Why     string
	Item    Item
	Asked   []byte // of verdicts: their item, in place of Item and Weights
	Weights []byte // of the policy, as workers load them
	Answer  []byte // the worker's result, as it came
	Right   []byte // what the trainer drew, as a result; nil: the answer is malformed
}

// malformed disputes a result that does not answer a job. j is nil if it names none.
func (f *Fleet) malformed(j *job, d Delivery, err error) Dispute {
	out := Dispute{Worker: d.Worker, Why: fmt.Sprintf("its result is malformed: %v", err), Weights: f.ledger.weights.Data, Answer: d.Result}
	if j != nil {
		out.Item, out.Weights = j.item, j.weights
	}
	return out
}

// wrong disputes a result that is not what the trainer drew.
func (f *Fleet) wrong(j *job, worker string, was, right [][]rollout.Segment) Dispute {
	item := j.item.turns()
	id := item.ID()
	a, b := Result{Item: id, Completions: was}, Result{Item: id, Completions: right}
	return Dispute{Worker: worker, Item: item, Weights: j.weights, Answer: a.Encode(), Right: b.Encode(),
		Why: fmt.Sprintf("item %v, %s from what is drawn here: the worker has different weights or a different arithmetic", id, a.Differs(b))}
}

// otherwise disputes an episode that goes on in another way when it is played here.
func (f *Fleet) otherwise(a *ahead, why string) Dispute {
	return Dispute{Worker: a.by.Worker, Item: a.job.item, Weights: a.job.weights, Answer: a.by.Result, Why: fmt.Sprintf("item %v, completion %d of prompt %d: %s, where it is played from the same turns", a.job.item.ID(), a.completion+1, a.prompt+1, why)}
}

// remember tells what a later part of the run has to know, if that is new. It comes before
// the run uses what is unchecked.
func (f *Fleet) remember() error {
	now := f.trust.unchecked(&f.ledger)
	if f.opt.Remember == nil || f.trust.told != nil && maps.Equal(now, f.trust.told) {
		return nil
	}
	f.trust.told = now
	return f.opt.Remember(now, f.trust.refused)
}

// refuse takes no more from a worker. What it answered in this call is checked and
// replaced; what the run has already is checked or, where that can no longer be done,
// not relied on.
func (f *Fleet) refuse(ctx context.Context, t *table, d Dispute) error {
	if f.trust.refuses(d.Worker) {
		return nil
	}
	f.trust.refuse(d.Worker, d.Why)
	f.counts.Refused++
	f.note("worker %s is refused: %s", d.Worker, d.Why)
	if f.opt.Disputed != nil && (d.Item.Prompts != nil && d.Weights != nil || d.Asked != nil) { // of a canary that came late they are gone
		if err := f.opt.Disputed(d); err != nil {
			f.note("the disputed item could not be saved: %v", err)
		}
	}
	err := f.remember()
	if err == nil {
		err = f.publish(ctx)
	}
	if err != nil {
		return err
	}
	for _, j := range t.jobs {
		if j.done != nil && j.by == d.Worker && !j.checked && j.version == f.ledger.version {
			if err := f.check(ctx, t, j); err != nil {
				return err
			}
		}
	}
	return f.lookBack(ctx, d.Worker)
}

// lookBack finds out whether the run relies on what a refused worker answered in earlier
// calls. The error is a [rollout.LateError].
func (f *Fleet) lookBack(ctx context.Context, worker string) error {
	why := "is refused: " + f.trust.refused[worker]
	if since, there := f.trust.trusted[worker]; there {
		return f.late(worker, why, since)
	}
	if err := f.again(ctx, worker, why); err != nil {
		return err
	}
	return f.judgeAgain(ctx, worker, why)
}

// late tells from which weights on the run has used what nobody can check.
func (f *Fleet) late(worker, why string, since int) error {
	return &rollout.LateError{Since: since, Err: fmt.Errorf("worker %s %s; what it drew with earlier weights can no longer be checked, and the run has used it", worker, why)}
}

// again checks what a worker drew in earlier calls by the weights of now.
func (f *Fleet) again(ctx context.Context, worker, why string) error {
	for _, j := range f.ledger.given {
		if j.by != worker || j.checked {
			continue
		}
		f.counts.Audited++
		right, err := f.compute(ctx, j, j.done)
		if err != nil {
			return err
		}
		if !sameAll(j.done, right) {
			return &rollout.LateError{Since: f.ledger.version, Err: fmt.Errorf("worker %s %s; another item that it answered, %v, is wrong too, and the run has used it", worker, why, j.item.ID())}
		}
		j.checked = true
	}
	return nil
}
