package fleet

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

func aLedger() ledger {
	l := newLedger(func(k random.Key) uint64 { return uint64(k.Step) }, Exact)
	l.announce(3, []byte("weights"))
	return l
}

// TestLedger: the items of Begin go to the Sample that asks for the same by the same weights,
// and to no other, which is told what to take back.
func TestLedger(t *testing.T) {
	asked := requestsOf(0, 4)
	for name, c := range map[string]struct {
		requests []rollout.Request
		version  int
		same     bool
	}{
		"the same":      {asked, 3, true},
		"other weights": {asked, 4, false},
		"fewer":         {asked[:3], 3, false},
		"of a new step": {requestsOf(1, 4), 3, false},
	} {
		l := aLedger()
		l.begun = l.cut(asked, 2)
		table, withdrawn := l.taken(c.requests, c.version)
		if (table != nil) != c.same || (len(withdrawn) == 2) == c.same || l.begun != nil {
			t.Errorf("%s: items %v, withdrawn %d, left %v", name, table, len(withdrawn), l.begun)
		}
	}
	l := aLedger()
	if table, withdrawn := l.taken(asked, 3); table != nil || withdrawn != nil {
		t.Errorf("nothing was handed out: %v, %v", table, withdrawn)
	}
	for _, j := range l.cut(asked, 3).jobs {
		if j.version != 3 || j.item.Weights != digestOf([]byte("weights")) || string(j.weights) != "weights" || j.done != nil {
			t.Errorf("item %+v is not by the announced weights", j)
		}
	}
}

// TestLedgerCloses: what was answered by other weights is told if nobody checked it, and gone.
func TestLedgerCloses(t *testing.T) {
	l := aLedger()
	l.given = []*job{{by: "a"}, {by: "b", checked: true}, {by: ""}}
	l.judged = []*question{{by: "c", version: 3}, {by: "d", version: 2}}
	told := map[string]int{}
	tell := func(worker string, version int) { told[worker] = version }
	if l.close(3, tell); len(l.given) != 3 || len(l.judged) != 1 || !maps.Equal(told, map[string]int{"d": 2}) {
		t.Errorf("by the same weights: %d given, %d judged, told %v", len(l.given), len(l.judged), told)
	}
	if l.close(4, tell); len(l.given) != 0 || len(l.judged) != 0 || !maps.Equal(told, map[string]int{"a": 3, "c": 3, "d": 2}) {
		t.Errorf("by the next weights: %d given, %d judged, told %v", len(l.given), len(l.judged), told)
	}
}

// TestTrust: what a worker answered unchecked is remembered from its first weights on, until a
// run goes back before these.
func TestTrust(t *testing.T) {
	trust, l := newTrust(Exact, 0.5, map[string]string{"liar": "lies"}, map[string]int{"old": 1}), aLedger()
	trust.rely("w", 2, true)
	trust.rely("w", 1, true)
	trust.rely("v", 3, false)
	l.given = []*job{{by: "x"}, {by: "y", checked: true}}
	if got := trust.unchecked(&l); !maps.Equal(got, map[string]int{"old": 1, "w": 1, "x": 3}) {
		t.Errorf("unchecked: %v", got)
	}
	trust.announce(&l, 4)
	if !maps.Equal(trust.trusted, map[string]int{"old": 1, "w": 1, "x": 3}) || !maps.Equal(trust.since, map[string]int{"w": 1, "v": 3}) {
		t.Errorf("kept as new weights come: %v, since canaries %v", trust.trusted, trust.since)
	}
	trust.announce(&ledger{}, 3) // it goes back: what was trusted from there on is drawn again
	if !maps.Equal(trust.trusted, map[string]int{"old": 1, "w": 1}) || !maps.Equal(trust.since, map[string]int{"w": 1}) {
		t.Errorf("kept as a run goes back: %v, since canaries %v", trust.trusted, trust.since)
	}
	if !trust.refuses("liar") || trust.refuses("w") {
		t.Error("who was refused before is, and nobody else")
	}
	if trust.refuse("w", "wrong"); !trust.refuses("w") || trust.told != nil {
		t.Error("a refusal is to be told")
	}
}

// TestTrustDrafts: only in mode Exact, of a worker of equal bits that has answered a canary, are
// results used as they are.
func TestTrustDrafts(t *testing.T) {
	for _, c := range []struct {
		mode   Mode
		class  class
		tested bool
		drafts bool
	}{
		{Exact, classSame, true, false}, {Exact, classSame, false, true}, {Exact, classNear, true, true}, {Exact, classUnknown, true, true}, {Draft, classSame, true, true},
	} {
		trust := newTrust(c.mode, 0, nil, nil)
		trust.know("w", c.class)
		if got := trust.drafts(Delivery{Worker: "w", Tested: c.tested}); got != c.drafts {
			t.Errorf("%+v: drafts %v", c, got)
		}
	}
	trust := newTrust(Exact, 0, nil, nil)
	if !trust.know("w", classSame) || trust.know("w", classSame) || !trust.know("w", classNear) {
		t.Error("a class is news once")
	}
	if !trust.answered("w", 3) || trust.answered("w", 3) || trust.answered("w", 2) || !trust.answered("w", 4) {
		t.Error("a canary is answered once")
	}
	if a, b := trust.judgedOtherwise("w", Digest{1}), trust.judgedOtherwise("w", Digest{1}); a != 1 || b != 1 || trust.judgedOtherwise("w", Digest{2}) != 2 {
		t.Errorf("judged otherwise: %d, %d", a, b)
	}
}

// TestTrustCanaries: a canary whose weights go keeps what a late answer is judged by for 16
// policies, if its answer is known, and is drawn here in time if a worker was late before.
func TestTrustCanaries(t *testing.T) {
	l := aLedger()
	canary := func(version int) *job {
		l.announce(version, []byte{byte(version)})
		j := l.job(Item{})
		j.data = j.item.Encode()
		return j
	}
	trust := newTrust(Exact, 0, nil, nil)
	one := canary(1)
	trust.test(one)
	if trust.foreseen(1) != nil {
		t.Error("nobody is late")
	}
	trust.tardy["w"] = 1
	if trust.foreseen(1) != one {
		t.Error("a worker that was late may be so again")
	}
	one.done = [][]rollout.Segment{}
	two := canary(2)
	trust.test(two)
	id := digestOf(one.data)
	if trust.canaries[id] != one || one.weights != nil || trust.canary != two {
		t.Error("the answer to the first canary is kept, its weights are not")
	}
	trust.retire(1 + canaryEvery)
	if trust.canaries[id] != one {
		t.Error("it is kept for 16 policies")
	}
	trust.retire(2 + canaryEvery)
	if c, known := trust.canaries[id]; c != nil || !known {
		t.Error("then it is known as one that nobody can judge")
	}
	if trust.foreseen(2+canaryEvery) != nil || len(trust.tardy) != 0 {
		t.Error("lateness is forgotten after 16 policies")
	}
}

// TestDispatcher: a silence beyond what is usual ends a wait, what is usual is learned, and
// nobody is waited for where nobody answers.
func TestDispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dispatcher{slots: fixed(2), patience: time.Second, arrived: make(chan Delivery, 1)}
		wait := func(round int) (time.Duration, bool) {
			began := time.Now()
			_, ok, err := p.next(t.Context(), round)
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(began), ok
		}
		if waited, ok := wait(0); ok || waited != time.Second {
			t.Errorf("nothing came: %v, %v", ok, waited)
		}
		go func() {
			for range 2 {
				time.Sleep(time.Second / 4)
				p.arrived <- Delivery{}
			}
		}()
		for range 2 {
			if waited, ok := wait(1); !ok || waited != time.Second/4 {
				t.Errorf("something came: %v, %v", ok, waited)
			}
		}
		if waited, ok := wait(1); ok || waited != time.Second/2 {
			t.Errorf("what came was of no use, but the round is longer for it: %v, %v", ok, waited)
		}
		p.heard()
		p.ended(true)
		if usual := p.usual(); usual != 3*time.Second/2 { // from the first wait to what came last
			t.Errorf("usual is %v", usual)
		}
		if waited, ok := wait(0); ok || waited != 7*time.Second {
			t.Errorf("patience is %v, want 1 s and four times what is usual", waited)
		}
		if _, ok, err := p.next(t.Context(), hedges); ok || err != nil {
			t.Error("in the last round nobody is waited for")
		}
		if p.nobody(0) || p.nobody(1) || !p.nobody(2) {
			t.Error("where all are refused, nobody is worth waiting for")
		}
		if p.ended(false); !p.nobody(0) {
			t.Error("nor where nobody answered")
		}
	})
}

// TestDispatcherOffers: open items by the weights of now are offered, and no others.
func TestDispatcherOffers(t *testing.T) {
	l := aLedger()
	table := l.cut(requestsOf(0, 4), 1)
	table.settle(table.jobs[0], [][]rollout.Segment{}, "w", false)
	table.jobs[1].version = 2
	p := dispatcher{carrier: NewMemory()}
	if n, err := p.offer(t.Context(), table, 3); n != 2 || err != nil {
		t.Errorf("%d offered, %v", n, err)
	}
	offered := slices.Collect(func(yield func(bool) bool) {
		for _, j := range table.jobs {
			if !yield(j.offered) {
				return
			}
		}
	})
	if !slices.Equal(offered, []bool{false, false, true, true}) {
		t.Errorf("offered: %v", offered)
	}
}
