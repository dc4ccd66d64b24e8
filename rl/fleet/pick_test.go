package fleet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// paced takes so long for an item.
func paced(each time.Duration) worker {
	return func(ctx context.Context, c carrier, name string) error {
		return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
			time.Sleep(each)
			return p.Sample(ctx, r, seed)
		}))
	}
}

// picked is what a run by Pick has come to.
type picked struct {
	counts Counts
	lies   []int // versions by which groups were drawn otherwise than by one machine
	late   int   // groups drawn by weights of before the step that took them
	first  int   // groups that came before one that was asked for earlier
	notes  []string
	err    error
}

// asked is a group that a run has asked for.
type asked struct {
	step    int
	request rollout.Request
	drawn   []rollout.Segment // nil: it is not there
}

// learner is a run that learns from 8 groups a step as they come, has asked for those of lag
// steps more and takes each at most lag steps late.
type learner struct {
	picked
	t           *testing.T
	tr          *trainer
	f           *Fleet
	lag         int
	open        []*asked
	next, since int // step to ask for; first version that counts
}

const size = 8 // groups of a step

// step takes the groups of a step, and compares each with what one machine draws by its weights.
func (l *learner) step(step, steps int) {
	for ; l.next < steps && l.next <= step+l.lag; l.next++ {
		for _, r := range requestsOf(l.next, size) {
			l.open = append(l.open, &asked{step: l.next, request: r})
		}
	}
	var requests []rollout.Request
	var lacking, took []*asked
	first, count := 0, size
	for _, g := range l.open {
		if g.drawn != nil {
			count--
			continue
		}
		requests, lacking = append(requests, g.request), append(lacking, g)
		if g.step+l.lag <= step {
			first++
		}
	}
	drawn, err := l.f.Pick(l.t.Context(), requests, first, max(first, count), l.since)
	if l.err = err; err != nil {
		return
	}
	for i, d := range drawn {
		if d != nil {
			l.came(lacking[i], d, step)
		}
	}
	for _, g := range l.open {
		if g.drawn != nil && len(took) < size {
			took = append(took, g)
		}
	}
	l.open = slices.DeleteFunc(l.open, func(g *asked) bool { return slices.Contains(took, g) })
	if len(took) < size || len(l.open) > 0 && l.open[0].step+l.lag <= step {
		l.t.Fatalf("step %d has %d groups, and one of step %d is left", step, len(took), l.open[0].step)
	}
	if len(l.open) > 0 && l.open[0].step < took[size-1].step {
		l.first++
	}
}

func (l *learner) came(g *asked, d []rollout.Segment, step int) {
	version := d[0].Drawn.Version
	want, _ := (&trainer{version: version}).Sample(l.t.Context(), []rollout.Request{g.request})
	if g.drawn = d; version < l.since || version > step || version < g.step-l.lag {
		l.t.Fatalf("step %d: a group of step %d is drawn by the weights of version %d", step, g.step, version)
	}
	if !reflect.DeepEqual(d, want[0]) {
		l.lies = append(l.lies, version)
	}
	if version < step {
		l.late++
	}
}

// pickOf goes through steps of a run with workers. Every fifth step has a checkpoint.
func pickOf(t *testing.T, o Options, lag, steps int, workers ...worker) picked {
	t.Helper()
	l := &learner{t: t, lag: lag, tr: &trainer{slow: time.Second}}
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		o.Slots, o.Note = fixed(len(workers)), func(text string) { l.notes = append(l.notes, text) }
		l.t, l.f = t, New(m, l.tr.asTrainer(), o)
		defer func() {
			l.f.Close()
			m.Close()
			time.Sleep(time.Minute) // what workers have in their hands
		}()
		for i, w := range workers {
			go w(t.Context(), m, fmt.Sprint("worker ", i)) // its error is of no interest
		}
		for step := range steps {
			if l.step(step, steps); l.err != nil {
				return
			}
			if time.Sleep(3 * time.Second); step%5 == 4 { // it learns
				l.since = step + 1
			}
			if step%3 == 1 { // and is measured
				if _, l.err = l.f.Sample(t.Context(), requestsOf(1000+step, 2)); l.err != nil {
					return
				}
			}
			l.tr.version++
		}
		l.counts = l.f.Counts()
	})
	return l.picked
}

// TestPick: groups come in another order than they were asked for, and by weights of before
// where these can be relied on; each is what its weights draw, and none is later than is allowed.
func TestPick(t *testing.T) {
	for _, mode := range []Mode{Exact, Draft} {
		for _, lag := range []int{1, 3} {
			// At lag 3 all come in their order in one of 40 runs of 40 steps: in 160 steps in one of millions.
			p := pickOf(t, Options{Mode: mode, Audit: 0.1}, lag, 160, paced(time.Second), paced(time.Second), paced(7*time.Second))
			if p.err != nil || len(p.notes) > 0 || mode == Exact && p.first == 0 || (p.late > 0) != (mode == Exact) || p.lies != nil || p.counts.Answered == 0 || p.counts.Hedged > 0 {
				t.Errorf("%s, lag %d: %+v", mode, lag, p)
			}
		}
		if p := pickOf(t, Options{Mode: mode}, 2, 10); p.err != nil || p.first > 0 || p.late > 0 || p.lies != nil {
			t.Errorf("%s, no worker: %+v", mode, p)
		}
	}
}

// TestPickHolds: of what is open when the weights change, as much as workers may have in their hands
// is offered again later, but nothing that is waited for, and no draft: each has an offer by the
// weights of now at the second call with them.
func TestPickHolds(t *testing.T) {
	for _, c := range []struct {
		mode         Mode
		first, count int
		held         []int // items that are not offered: after new weights, and after none
	}{
		{Exact, 0, 2, []int{3, 0}}, {Exact, 4, 4, []int{2, 0}}, {Exact, 0, 5, []int{1, 0}}, {Exact, 0, 6, []int{0, 0}}, {Draft, 0, 2, []int{0, 0}},
	} {
		tr := &trainer{}
		f := New(NewMemory(), tr.asTrainer(), Options{Mode: c.mode, Slots: fixed(3)})
		defer f.Close()
		requests := requestsOf(0, 6)
		p := &pick{table: f.ledger.loose, at: map[random.Key]int{}, first: c.first, count: c.count}
		for i, r := range requests {
			p.at[r.Key] = i
		}
		ask := func() (held int) {
			if err := errors.Join(f.announce(t.Context(), requests), f.ask(t.Context(), p, requests)); err != nil {
				t.Fatal(err)
			}
			for _, j := range p.jobs {
				if j.version == f.ledger.version && !j.offered {
					held++
				}
			}
			return held
		}
		if n := ask(); n > 0 || len(p.jobs) != 6 {
			t.Errorf("%+v: %d of %d new items are held", c, n, len(p.jobs))
		}
		tr.version++
		if held := []int{ask(), ask()}; !slices.Equal(held, c.held) || len(p.jobs) != 12 || len(p.byID) != 12 {
			t.Errorf("%+v: %v are held, of %d items", c, held, len(p.jobs))
		}
	}
}

// TestPickFailures: whatever workers do, the groups are what their weights draw, or the run goes
// back to before them.
func TestPickFailures(t *testing.T) {
	for name, c := range map[string]struct {
		worker  worker
		refused bool
	}{
		"killed": {killed, false}, "hanging": {hanging, false}, "three times": {stuttering, false},
		"wrong token":    {lying(3, wrongToken), true},
		"wrong log-prob": {lying(3, wrongLogprob), true},
		"cut short":      {garbling(func(r []byte) []byte { return r[:len(r)-9] }), true},
	} {
		for _, mode := range []Mode{Exact, Draft} {
			p := pickOf(t, Options{Mode: mode, Audit: 1}, 2, 20, paced(time.Second), c.worker, paced(5*time.Second))
			var late *rollout.LateError
			if p.err != nil && !errors.As(p.err, &late) || p.err == nil && p.lies != nil {
				t.Errorf("%s, %s: %+v", name, mode, p)
			}
			if want := c.refused && (mode == Exact || name == "cut short"); p.err == nil && (p.counts.Refused > 0) != want {
				t.Errorf("%s, %s: %+v", name, mode, p)
			}
		}
	}
}

// slowLiar answers an item 20 s after it took it, and lies in each.
func slowLiar(ctx context.Context, c carrier, name string) error {
	return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
		out, err := p.Sample(ctx, r, seed)
		if r[0].Key.Stream < canaryStream {
			time.Sleep(20 * time.Second)
			wrongToken(&out[0][0])
		}
		return out, err
	}))
}

// TestPickLate: a worker that answers so late that its weights are gone is checked all the same,
// and the run goes back to before all that it has used of it.
func TestPickLate(t *testing.T) {
	p := pickOf(t, Options{Mode: Exact, Audit: 1}, 6, 40, paced(time.Second), slowLiar)
	if p.err != nil || p.counts.Refused != 1 || p.lies != nil {
		t.Errorf("all are checked: %+v", p)
	}
	back := 0
	for range 20 { // the key is random
		p := pickOf(t, Options{Mode: Exact, Audit: 0.3}, 6, 60, paced(time.Second), slowLiar)
		var late *rollout.LateError
		if errors.As(p.err, &late) {
			if back++; len(p.lies) > 0 && slices.Min(p.lies) < late.Since {
				t.Errorf("the run goes back to version %d, but what version %d drew is wrong", late.Since, slices.Min(p.lies))
			}
		}
	}
	if back == 0 {
		t.Error("no run went back")
	}
}

// TestBacklog: what comes for the next Pick is kept, but of each worker one result of an item:
// one that repeats itself takes no room from others.
func TestBacklog(t *testing.T) {
	tr := &trainer{}
	f := New(NewMemory(), tr.asTrainer(), Options{Mode: Exact, Slots: fixed(2)})
	defer f.Close()
	f.ledger.loose = f.ledger.cut(requestsOf(0, 2), 1)
	now := f.ledger.cut(requestsOf(1, 1), 1)
	for range 100 {
		for _, worker := range []string{"a", "b"} {
			for _, j := range f.ledger.loose.jobs {
				drawn, _ := tr.Sample(t.Context(), j.requests)
				if took, err := f.receive(t.Context(), now, Delivery{Worker: worker, Result: Result{Item: j.item.ID(), Completions: drawn}.Encode()}); took || err != nil {
					t.Fatal(took, err)
				}
			}
		}
	}
	if len(f.ledger.backlog) != 4 || f.counts.Dropped != 4*99 {
		t.Errorf("%d results are kept, %d dropped", len(f.ledger.backlog), f.counts.Dropped)
	}
}
