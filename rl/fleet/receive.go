package fleet

import (
	"context"
	"fmt"
	"maps"

	"github.com/rlzero/rlzero/rl/rollout"
)

// receive judges a result. took says that it closed an item.
func (f *Fleet) receive(ctx context.Context, t *table, d Delivery) (took bool, err error) {
	if _, refused := f.policy.Refused[d.Worker]; refused {
		f.counts.Dropped++
		return false, nil
	}
	id, err := resultItem(d.Result)
	j := t.byID[id]
	if err == nil && j == nil { // of an earlier call
		f.counts.Dropped++
		return false, nil
	}
	var r Result
	if err == nil {
		r, err = f.decode(j, d.Result)
	}
	if err != nil {
		f.counts.Dropped++
		if err := f.refuse(ctx, t, d.Worker, fmt.Sprintf("its result is malformed: %v", err)); err != nil {
			return false, err
		}
		return false, f.offer(ctx, t)
	}
	if j.done != nil {
		f.counts.Duplicates++
		return false, f.duplicate(ctx, t, j, d.Worker, r)
	}
	f.counts.Answered++
	if f.opt.Mode == Draft {
		return true, f.draft(ctx, t, j, d.Worker, r)
	}
	f.drawn(j, r)
	t.settle(j, r.Completions, d.Worker, false)
	if !f.audited(r.Item) {
		return true, nil
	}
	return true, f.check(ctx, t, j)
}

// decode reads a result of an item. Its size is bounded before it is decoded.
func (f *Fleet) decode(j *job, data []byte) (Result, error) {
	if most := j.item.MaxResultBytes(); len(data) > most {
		return Result{}, fmt.Errorf("it has %d bytes; accepted for this item: at most %d", len(data), most)
	}
	r, err := decodeResult(data)
	if err == nil && !r.answers(j.item, f.trainer.Vocab) {
		err = fmt.Errorf("it does not answer item %v", r.Item)
	}
	return r, err
}

// drawn adds to the completions of a result what is not sent.
func (f *Fleet) drawn(j *job, r Result) {
	for k, group := range r.Completions {
		for i := range group {
			group[i].Drawn = j.requests[k].Drawn(f.trainer.Role, f.version, i)
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
	return f.refuse(ctx, t, worker, wrong(j, was, right))
}

// wrong tells where the result of an item is wrong.
func wrong(j *job, was, right [][]rollout.Segment) string {
	for k := range right {
		for i := range right[k] {
			if a, b := was[k][i], right[k][i]; !same(a, b) {
				n := kept(a.IDs, b.IDs)
				what := fmt.Sprintf("token %d differs", n+1)
				if n == len(b.IDs) && n == len(a.IDs) {
					what = "a log-prob, an entropy or the end differs"
				}
				return fmt.Sprintf("item %v, prompt %d, completion %d: %s from what is drawn here: the worker has other weights or another arithmetic", j.item.ID(), k, i, what)
			}
		}
	}
	return ""
}

// duplicate compares a second result of an item with the first: equal inputs give equal
// bytes, so one that differs proves that one of the two workers is wrong.
func (f *Fleet) duplicate(ctx context.Context, t *table, j *job, worker string, r Result) error {
	if f.opt.Mode == Draft || sameAll(j.done, r.Completions) {
		return nil
	}
	if !j.checked {
		if err := f.check(ctx, t, j); err != nil || sameAll(j.done, r.Completions) {
			return err
		}
	}
	return f.refuse(ctx, t, worker, wrong(j, r.Completions, j.done))
}

// refuse takes no more from a worker, and checks what it answered in this call.
func (f *Fleet) refuse(ctx context.Context, t *table, worker, why string) error {
	if _, refused := f.policy.Refused[worker]; refused {
		return nil
	}
	f.policy.Refused[worker] = why
	f.counts.Refused++
	f.note("worker %s is refused: %s", worker, why)
	if n := f.trusted[worker]; n > 0 {
		f.note("%d items of earlier steps that worker %s answered were not checked: start the run again with --workers-mode draft to be sure of its bytes", n, worker)
	}
	if err := f.carrier.Announce(ctx, f.policy.clone()); err != nil {
		return err
	}
	for _, j := range t.jobs {
		if j.done != nil && j.by == worker && !j.checked {
			if err := f.check(ctx, t, j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fleet) note(format string, args ...any) {
	if f.opt.Note != nil {
		f.opt.Note(fmt.Sprintf(format, args...))
	}
}

// clone is a policy that its receivers may keep.
func (p Policy) clone() Policy {
	p.Refused = maps.Clone(p.Refused)
	return p
}
