package fleet

import (
	"context"
	"fmt"
)

// receive judges a result. took says that it closed an item, or told a worker's class: once by
// each canary, as who repeats that holds up what is open.
func (f *Fleet) receive(ctx context.Context, t *table, d Delivery) (took bool, err error) {
	if f.trust.refuses(d.Worker) {
		f.counts.Dropped++
		return false, nil
	}
	id, err := answered(d.Result)
	j := t.byID[id]
	c, canary := f.trust.canaries[id]
	if canary {
		j = c
	}
	if err == nil && j == nil { // of an earlier call
		switch {
		case canary:
			return false, f.missed(ctx, d)
		case f.ledger.loose.byID[id] == nil || !f.ledger.keep(id, d):
			f.counts.Dropped++
		}
		return false, nil
	}
	var r Result
	if err == nil {
		r, err = j.item.Decode(d.Result, f.trainer.Vocab)
	}
	if err != nil {
		f.counts.Dropped++
		if err := f.refuse(ctx, t, f.malformed(j, d, err)); err != nil {
			return false, err
		}
		return false, f.offer(ctx, t)
	}
	if canary {
		took = f.trust.answered(d.Worker, j.version)
		return took, f.classify(ctx, t, j, d, r)
	}
	if j.done == nil && j.version != f.ledger.version && f.trust.drafts(d) { // nobody can check it any more
		f.counts.Dropped++
		return false, nil
	}
	if j.done != nil {
		f.counts.Duplicates++
		return false, f.duplicate(ctx, t, j, d, r)
	}
	f.counts.Answered++
	f.ledger.playedOn(j, d, r)
	if f.trust.drafts(d) {
		return true, f.draft(ctx, t, j, d.Worker, r)
	}
	f.drawn(j, r)
	t.settle(j, r.Completions, d.Worker, false)
	late := j.version != f.ledger.version // and not one that is checked: those are drawn here in time
	if late || !f.trust.audited(r.Item) {
		f.trust.rely(d.Worker, j.version, late)
		return true, nil
	}
	return true, f.check(ctx, t, j)
}

// drawn adds to the completions of a result what is not sent.
func (f *Fleet) drawn(j *job, r Result) {
	for k, group := range r.Completions {
		for i := range group {
			group[i].Drawn = j.requests[k].Drawn(f.trainer.Role, j.version, i)
		}
	}
}

// draft takes a result's ids as drafts of what the trainer draws.
func (f *Fleet) draft(ctx context.Context, t *table, j *job, worker string, r Result) error {
	right, err := f.compute(ctx, j, r.Completions)
	if err != nil {
		return err
	}
	for k, group := range right {
		for i, s := range group {
			f.counts.DraftTokens += len(s.IDs)
			f.counts.KeptTokens += kept(r.Completions[k][i].IDs, s.IDs)
		}
	}
	t.settle(j, right, worker, true)
	return nil
}

// kept is the number of tokens up to the first that is another.
func kept(draft, right []int) int {
	n := 0
	for n < min(len(draft), len(right)) && draft[n] == right[n] {
		n++
	}
	return n
}

// check computes a closed item here. If a worker's result is another, the trainer's takes
// its place and the worker is refused.
func (f *Fleet) check(ctx context.Context, t *table, j *job) error {
	f.counts.Audited++
	right, err := f.compute(ctx, j, j.done)
	if err != nil {
		return err
	}
	worker, was := j.by, j.done
	if sameAll(was, right) {
		j.checked = true
		return nil
	}
	t.settle(j, right, "", true)
	return f.refuse(ctx, t, f.wrong(j, worker, was, right))
}

// duplicate compares a second result of an item with the first: equal inputs give equal
// bytes, so one that differs proves that one of the two workers is wrong.
func (f *Fleet) duplicate(ctx context.Context, t *table, j *job, d Delivery, r Result) error {
	if f.trust.drafts(d) || sameAll(j.done, r.Completions) || j.version != f.ledger.version && !j.checked {
		return nil
	}
	if !j.checked {
		if err := f.check(ctx, t, j); err != nil || sameAll(j.done, r.Completions) {
			return err
		}
	}
	return f.refuse(ctx, t, f.wrong(j, d.Worker, r.Completions, j.done))
}

func (f *Fleet) note(format string, args ...any) {
	if f.opt.Note != nil {
		f.opt.Note(fmt.Sprintf(format, args...))
	}
}
