package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// pick is a call of Pick. Its table has an item for each group and each weights by which it
// was offered.
type pick struct {
	*table
	at    map[random.Key]int // place of the requests
	first int
	count int
}

// Pick implements [rollout.Early]. What is open when the weights change is offered by the new
// ones, and what workers draw by the old ones is used if it comes first. That can only be
// checked while the weights are there, so what the key chooses for a check is drawn here before
// the call ends, and what a worker answers later is compared with that. As drafts are checked by the
// weights, those by old ones are of no use.
func (f *Fleet) Pick(ctx context.Context, requests []rollout.Request, first, count, since int) ([][]rollout.Segment, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if err := f.announce(ctx, requests); err != nil {
		return nil, err
	}
	p := &pick{table: f.ledger.loose, at: map[random.Key]int{}, first: first, count: count}
	for i, r := range requests {
		p.at[r.Key] = i
	}
	p.drop(func(j *job) bool {
		_, wanted := p.at[j.requests[0].Key]
		return j.done == nil && (!wanted || j.version < since)
	})
	for { // what has come since is not offered again
		d, ok, err := f.nextOf(ctx, hedges)
		if err == nil && ok {
			_, err = f.receive(ctx, p.table, d)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	if err := f.ask(ctx, p, requests); err != nil {
		return nil, err
	}
	if err := f.await(ctx, p); err != nil {
		return nil, err
	}
	for _, j := range slices.Clone(p.jobs) {
		if f.opt.Mode == Exact && j.done == nil && j.offered && j.version == f.ledger.version && f.trust.audited(digestOf(j.data)) {
			f.counts.Audited++
			if err := f.computeHere(ctx, p.table, j); err != nil {
				return nil, err
			}
		}
	}
	if f.opt.Mode == Exact {
		if err := f.foresee(ctx); err != nil {
			return nil, err
		}
	}
	return f.hand(p)
}

// answers are the completions of the requests that there are; rest is how many more of the
// first ones are waited for, or of all, whichever is more.
func (p *pick) answers() (out [][]rollout.Segment, rest int) {
	out = make([][]rollout.Segment, len(p.at))
	have := 0
	for _, j := range p.jobs {
		if at, wanted := p.at[j.requests[0].Key]; wanted && j.done != nil && out[at] == nil {
			out[at] = j.done[0]
			have++
		}
	}
	for _, group := range out[:p.first] {
		if group == nil {
			rest++
		}
	}
	return out, max(rest, p.count-have)
}

// drop forgets items.
func (t *table) drop(which func(*job) bool) {
	t.jobs = slices.DeleteFunc(t.jobs, func(j *job) bool {
		gone := which(j)
		if gone {
			delete(t.byID, digestOf(j.data))
		}
		return gone
	})
}

// ask makes items by the weights of now and offers them. Workers take first what was offered
// first, so as many of the oldest as there are workers are likely in their hands: those are
// offered again with the next weights only, if there is enough without them. A draft by old
// weights is of no use.
func (f *Fleet) ask(ctx context.Context, p *pick, requests []rollout.Request) error {
	newest := map[random.Key]*job{}
	for _, j := range p.jobs {
		if j.done == nil {
			newest[j.requests[0].Key] = j
		}
	}
	out, rest := p.answers()
	spare := -rest
	for _, group := range out {
		if group == nil {
			spare++
		}
	}
	held, next := 0, &table{}
	for at, r := range requests {
		j := newest[r.Key]
		if out[at] != nil || j != nil && j.version == f.ledger.version && j.offered {
			continue
		}
		hold := f.opt.Mode == Exact && j != nil && j.offered && at >= p.first && held < min(spare, f.dispatcher.slots())
		if j == nil || j.version != f.ledger.version {
			one := f.ledger.cut([]rollout.Request{r}, 1)
			j = one.jobs[0]
			p.jobs = append(p.jobs, j)
			maps.Copy(p.byID, one.byID)
		}
		if hold {
			held++
		} else {
			next.jobs = append(next.jobs, j)
		}
	}
	return f.offer(ctx, next)
}

// await hears workers until there is enough, and then what else has come.
func (f *Fleet) await(ctx context.Context, p *pick) error {
	heard, alone := false, false
	defer f.dispatcher.remind()
	for round := 0; ; {
		_, rest := p.answers()
		if rest <= 0 || f.dispatcher.nobody(len(f.trust.refused)) {
			round = hedges // nobody is waited for
		}
		d, ok, err := f.nextOf(ctx, round)
		if err != nil {
			return err
		}
		if ok {
			took, err := f.receive(ctx, p.table, d)
			if err != nil {
				return err
			}
			if took {
				heard, round = true, 0
				f.dispatcher.heard()
			}
			continue
		}
		switch {
		case rest <= 0:
			if alone && !heard {
				f.dispatcher.deaf = f.dispatcher.slots()
			}
			return nil
		case round < hedges:
			round++
			f.counts.Hedged += rest
			err = f.offer(ctx, p.table)
		default:
			alone = true
			err = f.computeHere(ctx, p.table, p.last())
			f.counts.Here++
		}
		if err != nil {
			return err
		}
	}
}

// nextOf is next, after what came while the run waited for something else.
func (f *Fleet) nextOf(ctx context.Context, round int) (d Delivery, ok bool, err error) {
	if d, ok := f.ledger.putAside(); ok {
		return d, true, nil
	}
	return f.dispatcher.next(ctx, round)
}

// last is the item that the trainer draws: of the oldest groups that are enough the last one,
// as workers take the first.
func (p *pick) last() *job {
	out, rest := p.answers()
	if lacking := slices.IndexFunc(out[:p.first], func(group []rollout.Segment) bool { return group == nil }); lacking >= 0 {
		out, rest = out[:p.first], p.first
	}
	last := -1
	for at, group := range out {
		if group == nil && rest > 0 {
			last = at
			rest--
		}
	}
	for _, j := range slices.Backward(p.jobs) { // by the weights of now
		if at, wanted := p.at[j.requests[0].Key]; wanted && at == last {
			return j
		}
	}
	return nil
}

// computeHere draws an item here.
func (f *Fleet) computeHere(ctx context.Context, t *table, j *job) error {
	right, err := f.compute(ctx, j, nil)
	if err == nil {
		t.settle(j, right, "", true)
	}
	return err
}

// hand gives out what has come. What was drawn here is kept as long as items of its weights are
// open, for answers of workers that come later.
func (f *Fleet) hand(p *pick) ([][]rollout.Segment, error) {
	out, _ := p.answers()
	oldest := f.ledger.version + 1
	var closed []Digest
	p.drop(func(j *job) bool {
		at, wanted := p.at[j.requests[0].Key]
		switch {
		case j.done == nil && wanted && out[at] != nil: // by other weights
			closed = append(closed, digestOf(j.data))
			return true
		case j.done == nil:
			oldest = min(oldest, j.version)
			return false
		case j.by == "":
			return false
		}
		if j.version == f.ledger.version {
			f.ledger.given = append(f.ledger.given, j)
		}
		closed = append(closed, digestOf(j.data))
		return true
	})
	p.drop(func(j *job) bool { return j.done != nil && j.version < oldest })
	f.dispatcher.carrier.Withdraw(closed)
	return out, f.remember()
}
