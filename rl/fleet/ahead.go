package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Whole episodes are items too, in a world that is the same wherever this program is. The item asks for first turns. Its
// answer has them, and ahead of time the turns after them, with what the worker read in between. The trainer plays
// the episodes itself, by its own world. Where it comes to what the worker read, the next turn is an answer to the item
// that asks for that turn, and is checked like any other; where it does not, the worker has lied or computes otherwise.
// So nothing of a world is taken from a worker: no reply, no reward and no verdict.

// ahead is an episode that a worker has played on.
type ahead struct {
	job                *job
	by                 Delivery
	prompt, completion int               // of the job
	turn               int               // the last that is known here, from 1
	ids                []int             // of the prompt up to the end of that turn
	later              []rollout.Segment // what is read and the next turn, again and again
}

// claimant is who played episodes on, as it was known when its answer came.
type claimant struct {
	worker         string
	tested, stayed bool
}

// known is a turn that a worker drew ahead. Without a worker there is none.
type known struct {
	by   claimant
	turn rollout.Segment
}

// playsOf is what an item says of the episodes that a request begins; nil: it begins none, or the text of its
// row is none that JSON keeps.
func playsOf(r rollout.Request) (*Plays, []byte) {
	if r.Plays == nil {
		return nil, nil
	}
	p := r.Plays.Problem
	row, err := json.Marshal(p)
	if err != nil || !utf8.ValidString(p.ID) || !utf8.ValidString(p.Question) || !utf8.ValidString(p.Answer) {
		return nil, nil
	}
	return &Plays{r.Key.Stage, r.Plays.Turns, r.Plays.Tokens}, row
}

// playedOn keeps the turns that a worker played ahead.
func (l *ledger) playedOn(j *job, d Delivery, r Result) {
	for k, group := range r.Later {
		for i, later := range group {
			key := j.requests[k].Key
			key.Stream += uint32(i)
			l.ahead[key] = &ahead{j, d, k, i, 1, slices.Concat(j.requests[k].Prompt, r.Completions[k][i].IDs), later}
		}
	}
}

// turn is the one that a request asks for, as a worker drew it ahead. why says how an episode goes on otherwise here, if
// it has the same turns so far. After a turn that is another here, what a worker drew says nothing.
func (l *ledger) turn(r rollout.Request, vocab int) (next rollout.Segment, a *ahead, why string) {
	if r.Plays != nil { // others begin
		for key := r.Key; key.Stream-r.Key.Stream < uint32(r.N); key.Stream++ {
			delete(l.ahead, key)
		}
	}
	if a = l.ahead[r.Key]; a == nil {
		return next, nil, ""
	}
	if len(r.Prompt) < len(a.ids) || !slices.Equal(r.Prompt[:len(a.ids)], a.ids) {
		delete(l.ahead, r.Key)
		return next, nil, ""
	}
	read := r.Prompt[len(a.ids):]
	switch {
	case len(a.later) == 0:
		why = fmt.Sprintf("the episode ends after turn %d, and goes on", a.turn)
	case !slices.Equal(a.later[0].IDs, read):
		why = fmt.Sprintf("token %d of what was read after turn %d is another", kept(a.later[0].IDs, read)+1, a.turn)
	case !plausible(a.later[1], r.Params.MaxTokens, vocab):
		why = fmt.Sprintf("turn %d has more tokens than it may have, or ends before its limit", a.turn+1)
	default:
		next = a.later[1]
		a.ids, a.later, a.turn = slices.Concat(r.Prompt, next.IDs), a.later[2:], a.turn+1
		return next, a, ""
	}
	delete(l.ahead, r.Key)
	return next, a, why
}

// over ends the episodes that workers have played on, and returns those of which turns are left, in the order of their
// completions.
func (l *ledger) over() []*ahead {
	var left []*ahead
	order := func(a, b random.Key) int {
		return cmp.Or(cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Stream, b.Stream))
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.ahead), order) {
		if a := l.ahead[key]; len(a.later) > 0 {
			left = append(left, a)
		}
	}
	l.ahead = map[random.Key]*ahead{}
	return left
}

// foreseen hands out requests, and answers those whose turns workers drew ahead. A worker with the bits of this
// device whose episode goes on otherwise here is refused.
func (f *Fleet) foreseen(ctx context.Context, requests []rollout.Request) (*table, error) {
	all := make([]known, len(requests))
	var lies []Dispute
	for at, r := range requests {
		turn, a, why := f.ledger.turn(r, f.trainer.Vocab)
		switch {
		case a == nil || f.trust.refuses(a.by.Worker):
		case why == "":
			all[at] = known{claimant{a.by.Worker, a.by.Tested, a.by.Stayed}, turn}
		case !f.trust.drafts(a.by):
			lies = append(lies, f.otherwise(a, why))
		}
	}
	t := f.ledger.cut(requests, f.dispatcher.size(requests), all...)
	for _, d := range lies {
		if err := f.refuse(ctx, t, d); err != nil {
			return nil, err
		}
	}
	for _, j := range t.jobs {
		if j.turns == nil {
			continue
		}
		who := j.ahead
		if _, err := f.receive(ctx, t, Delivery{who.worker, Result{Item: j.item.ID(), Completions: j.turns}.Encode(), who.tested, who.stayed}); err != nil {
			return nil, err
		}
		if j.done != nil {
			f.counts.Ahead += len(j.requests)
		}
	}
	return t, nil
}

// Over implements [rollout.Foreseeing]. A worker with the bits of this device is refused if turns are left that it drew in
// an episode.
func (f *Fleet) Over(ctx context.Context) error {
	for _, a := range f.ledger.over() {
		if f.trust.refuses(a.by.Worker) || f.trust.drafts(a.by) {
			continue
		}
		if err := f.refuse(ctx, &table{}, f.otherwise(a, fmt.Sprintf("the episode is over after turn %d, and goes on", a.turn))); err != nil {
			return err
		}
	}
	return nil
}
