package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Bounds on an item of verdicts: its completions, and its bytes, which go as one message.
const (
	askedMost  = 64
	askedBytes = 512 << 10
)

// question is an item of verdicts and what became of it.
type question struct {
	item    verdict.Item
	data    []byte            // the item, encoded
	places  []int             // of its completions among those of the call
	done    []*verify.Verdict // nil: open
	by      string            // worker; "": the trainer
	version int               // of the policy's weights
	checked bool
	here    bool // the trainer has begun it
}

// panel has the items of one call of Judge.
type panel struct {
	asks []verify.Question // of the call
	all  []*question
	byID map[Digest]*question
	open int
	also map[int]*verify.Verdict // by place: what the trainer found of an item that a worker closed
}

// A worker is refused when its verdicts about so many items are not those that this machine
// comes to again and again. One may be chance: a program that asks for its addresses, or the
// last bit of a function of the C library, which chooses by the processor.
const unlikeMost = 3

// bootsTried is in how many new interpreters this machine tries a program about which a
// worker says otherwise: all programs of one have the same layout of addresses.
const bootsTried = 3

var _ rollout.Panel = (*Fleet)(nil)

// Judge implements [rollout.Panel]: in mode Exact, workers judge what they have the
// engines for. A verdict that is nil is the caller's to find.
func (f *Fleet) Judge(ctx context.Context, questions []verify.Question) ([]*verify.Verdict, error) {
	out := make([]*verify.Verdict, len(questions))
	if f.opt.Mode != Exact || f.opt.Judges == nil {
		return out, nil
	}
	f.forget()
	p, err := f.convene(questions)
	if err == nil {
		err = f.hearings(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	for _, q := range p.all {
		if f.trust.refuses(q.by) && !q.checked {
			continue
		}
		for k, at := range q.places {
			if out[at] = q.done[k]; out[at] != nil && q.by != "" {
				f.counts.Verdicts++
			}
		}
		if !q.checked {
			f.ledger.judged = append(f.ledger.judged, q)
		}
	}
	for at, v := range p.also {
		if out[at] == nil {
			out[at] = v
		}
	}
	return out, f.remember()
}

// forget keeps no verdicts of earlier weights, nor what was drawn by them and the answer to
// their canary: nobody can check these now. The workers are trusted with them.
func (f *Fleet) forget() {
	version := f.trainer.Version()
	if f.ledger.version != version {
		f.trust.retire(f.ledger.version)
	}
	f.ledger.close(version, func(worker string, version int) { first(f.trust.trusted, worker, version) })
}

// convene makes items of consecutive questions of one engine that a worker has.
func (f *Fleet) convene(questions []verify.Question) (*panel, error) {
	p := &panel{asks: questions, byID: map[Digest]*question{}, also: map[int]*verify.Verdict{}}
	var last *question
	var row []byte // that of the question before
	bytesOf, size := 0, 0
	judges := map[string]int{} // by release
	for at, asks := range questions {
		e, err := asks.Verifier.Engine()
		n, counted := judges[e.Release]
		if err == nil && !counted {
			n = f.opt.Judges(e.Release)
			judges[e.Release] = n
		}
		r := asks.Row
		if n == 0 || !utf8.ValidString(r.ID) || !utf8.ValidString(r.Question) || !utf8.ValidString(r.Answer) { // JSON would change it
			last, row = nil, nil
			continue
		}
		if row == nil || !sameRow(r, questions[at-1].Row) {
			if row, err = json.Marshal(r); err != nil {
				return nil, fmt.Errorf("row %s: %w", r.ID, err)
			}
		}
		more := len(row) + len(asks.Completion)
		if more > askedBytes {
			last = nil
			continue
		}
		if last == nil || len(last.places) >= size || bytesOf+more > askedBytes || !sameEngine(last.item.Engine, e) {
			last = &question{item: verdict.Item{Engine: e}, version: f.trainer.Version()}
			p.all = append(p.all, last)
			bytesOf, size = 0, min(max(1, len(questions)/(itemsPerSlot*(n+1))), askedMost) // the trainer is one more
		}
		bytesOf += more
		last.places = append(last.places, at)
		rows := &last.item.Asked
		if n := len(*rows); n == 0 || !bytes.Equal((*rows)[n-1].Row, row) {
			*rows = append(*rows, verdict.Asked{Row: row})
		}
		a := &(*rows)[len(*rows)-1]
		a.Completions = append(a.Completions, asks.Completion)
	}
	p.all = slices.DeleteFunc(p.all, func(q *question) bool { // of two that are equal, the caller answers one
		q.data = q.item.Encode()
		id := digestOf(q.data)
		_, twice := p.byID[id]
		if !twice {
			p.byID[id] = q
		}
		return twice
	})
	p.open = len(p.all)
	return p, nil
}

func sameRow(a, b verify.Problem) bool {
	return a.ID == b.ID && a.Question == b.Question && a.Answer == b.Answer && maps.EqualFunc(a.Metadata, b.Metadata, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

func sameEngine(a, b verify.Engine) bool {
	return a.Verifier == b.Verifier && a.Release == b.Release && bytes.Equal(a.Options, b.Options)
}

// hearings offers the items of a panel and hears the answers until all are there. The
// trainer judges too, from the last item on, also what a worker has in its hands: so nobody
// is waited for.
func (f *Fleet) hearings(ctx context.Context, p *panel) error {
	defer func() { f.dispatcher.carrier.Withdraw(slices.Collect(maps.Keys(p.byID))) }()
	for _, q := range p.all {
		if err := f.dispatcher.carrier.Offer(ctx, q.data); err != nil {
			return err
		}
		f.counts.Offered++
	}
	ctx, stop := context.WithCancel(ctx)
	var hand sync.WaitGroup
	type found struct {
		by *question
		of []*verify.Verdict
	}
	own := make(chan found, 1) // more than one is never under way
	defer func() {
		stop()
		hand.Wait() // for programs that run: what they come to is used where a worker has no verdict
		select {
		case mine := <-own:
			for k, at := range mine.by.places {
				p.also[at] = mine.of[k]
			}
		default:
		}
	}()
	begin := func() {
		q := p.last()
		if q == nil {
			return
		}
		q.here = true
		hand.Go(func() {
			own <- found{q, p.judgeHere(ctx, q)}
		})
	}
	for begin(); p.open > 0; {
		select {
		case d := <-f.dispatcher.arrived:
			if err := f.hear(ctx, p, d); err != nil {
				return err
			}
		case mine := <-own:
			if mine.by.done == nil {
				mine.by.done, mine.by.checked = mine.of, true
				p.open--
				f.counts.Here++
			}
			begin()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// last is the last open item that the trainer has not begun; nil: there is none.
func (p *panel) last() *question {
	for _, q := range slices.Backward(p.all) {
		if q.done == nil && !q.here {
			return q
		}
	}
	return nil
}

// judgeHere judges an item by this machine's own limits, until the context ends.
func (p *panel) judgeHere(ctx context.Context, q *question) []*verify.Verdict {
	out := make([]*verify.Verdict, len(q.places))
	verdict.SideBySide(ctx, len(out), func(k int) { out[k] = p.judgeOne(q, k) })
	return out
}

// judgeOne judges a completion of an item.
func (p *panel) judgeOne(q *question, k int) *verify.Verdict {
	asks := p.asks[q.places[k]]
	v := verify.Guard(func() verify.Verdict { return asks.Verifier.Verify(asks.Row, asks.Completion) })
	return &v
}

// hear takes an answer. What is no answer to the panel's items is a late result, or a
// canary's.
func (f *Fleet) hear(ctx context.Context, p *panel, d Delivery) error {
	id, err := answered(d.Result)
	q := p.byID[id]
	if err != nil || q == nil || f.trust.refuses(d.Worker) {
		_, err := f.receive(ctx, f.ledger.outstanding(), d)
		return err
	}
	answer, err := q.item.Read(d.Result)
	if err != nil {
		f.counts.Dropped++
		return f.refuse(ctx, f.ledger.outstanding(), Dispute{Worker: d.Worker, Why: fmt.Sprintf("its answer about verdicts is malformed: %v", err), Asked: q.data, Answer: d.Result})
	}
	if q.done != nil {
		f.counts.Duplicates++
		if q.by == "" || disagree(answer, q.done) < 0 {
			return nil
		}
		return f.recheck(ctx, p, q, said{q.by, q.done, q.item.Answer(q.done)}, said{d.Worker, answer, d.Result})
	}
	f.counts.Answered++
	q.by, q.done = d.Worker, answer
	p.open--
	if f.trust.audited(id) {
		return f.recheck(ctx, p, q, said{d.Worker, answer, d.Result})
	}
	return nil
}

// said is what a worker answered to a question.
type said struct {
	worker   string
	verdicts []*verify.Verdict
	answer   []byte // as it came
}

// recheck judges a question here, by this machine's own limits: its verdicts are the
// trainer's now. So a worker is checked too about what it calls settled and the trainer
// cannot settle.
func (f *Fleet) recheck(ctx context.Context, p *panel, q *question, all ...said) error {
	f.counts.Audited++
	q.by, q.checked, q.done = "", true, p.judgeHere(ctx, q)
	for _, s := range all {
		k := disagree(s.verdicts, q.done)
		if k < 0 || !p.again(ctx, q, k) {
			continue
		}
		id := digestOf(q.data)
		why := fmt.Sprintf("item %v, completion %d: its verdict is %s with score %v, and here it is %s with %v", id, k+1, s.verdicts[k].Verdict, s.verdicts[k].Score, q.done[k].Verdict, q.done[k].Score)
		if n := f.trust.judgedOtherwise(s.worker, id); n < unlikeMost {
			f.note("worker %s judges differently from this machine, whose verdict is used (%d of the %d items after which it would be refused): %s", s.worker, n, unlikeMost, why)
			continue
		}
		if err := f.refuse(ctx, f.ledger.outstanding(), Dispute{Worker: s.worker, Asked: q.data, Answer: s.answer, Right: q.item.Answer(q.done), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// again says whether this machine comes to a verdict again, in new interpreters: what
// programs do may hang on the clock, or on where they lie in memory.
func (p *panel) again(ctx context.Context, q *question, k int) bool {
	for range bootsTried {
		if v, can := p.asks[q.places[k]].Verifier.(verify.Renewable); can {
			v.Renew()
		}
		if ctx.Err() != nil || !p.judgeOne(q, k).Agrees(*q.done[k]) {
			return false
		}
	}
	return true
}

// judgeAgain checks the verdicts of a worker in earlier calls by the weights of now. What
// this machine cannot settle is not relied on.
func (f *Fleet) judgeAgain(ctx context.Context, worker, why string) error {
	for _, q := range f.ledger.judged {
		if q.by != worker || q.checked {
			continue
		}
		f.counts.Audited++
		for k, right := range q.item.Judge(ctx) {
			if was := q.done[k]; was != nil && (right == nil || !was.Agrees(*right)) {
				return &rollout.LateError{Since: q.version, Err: fmt.Errorf("worker %s %s; another of its verdicts, on item %v, is wrong too or cannot be checked, and the run has used it", worker, why, digestOf(q.data))}
			}
		}
		q.checked = true
	}
	return nil
}

// disagree is the first completion about which two verdicts differ; -1: none. One that is
// not scored, as on a machine that is too busy, says nothing.
func disagree(a, b []*verify.Verdict) int {
	for k := range a {
		if says(a[k]) && says(b[k]) && !a[k].Agrees(*b[k]) {
			return k
		}
	}
	return -1
}

func says(v *verify.Verdict) bool { return v != nil && v.Verdict != verify.NotScored }
