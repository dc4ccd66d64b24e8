package fleet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestEqual: any number of honest workers gives what one machine does, in both modes.
func TestEqual(t *testing.T) {
	for _, mode := range []Mode{Exact, Draft} {
		for _, n := range []int{0, 1, 2, 5} {
			c, notes := runOf(t, Options{Mode: mode, Audit: 0.2}, 5, slices.Repeat([]worker{honest}, n)...)
			if len(notes) > 0 || c.Refused > 0 || (n == 0) != (c.Answered == 0) || (n == 0) != (c.Here > 0) {
				t.Errorf("%s, %d workers: %v %q", mode, n, c, notes)
			}
			if c.KeptTokens != c.DraftTokens {
				t.Errorf("%s, %d workers: %d of %d tokens of drafts are kept", mode, n, c.KeptTokens, c.DraftTokens)
			}
		}
	}
}

// TestFailures: whatever workers do, a run has the bytes of one machine: in mode Draft,
// and in mode Exact if all items are checked.
func TestFailures(t *testing.T) {
	old := func(ctx context.Context, c carrier, name string) error { return Work(ctx, c, name, &oldWeights{}) }
	for _, c := range []struct {
		name    string
		worker  worker
		refused string // what is said of it in mode Exact
		draft   string // and in mode Draft
	}{
		{"killed", killed, "", ""},
		{"hanging", hanging, "", ""},
		{"wrong token", lying(3, wrongToken), "differs from what is drawn here", ""},
		{"wrong log-prob", lying(3, wrongLogprob), "a log-prob, an entropy or the end differs", ""},
		{"wrong entropy", lying(3, wrongEntropy), "a log-prob, an entropy or the end differs", ""},
		{"chosen completions", choosing, "differs from what is drawn here", ""},
		{"old weights", old, "differs from what is drawn here: the worker has different weights or a different arithmetic", ""},
		{"cut short", garbling(func(r []byte) []byte { return r[:len(r)-9] }), "malformed", "malformed"},
		{"huge", garbling(func(r []byte) []byte { return append(r, make([]byte, 1<<20)...) }), "accepted for this item: at most", "accepted for this item: at most"},
		{"empty", garbling(func([]byte) []byte { return nil }), "not a result of this version", "not a result of this version"},
		{"of another item", garbling(func(r []byte) []byte { r[9]++; return r }), "", ""},
		{"three times", stuttering, "", ""},
	} {
		for _, mode := range []Mode{Exact, Draft} {
			for _, others := range []int{0, 2} {
				counts, notes := runOf(t, Options{Mode: mode, Audit: 1}, 3, append(slices.Repeat([]worker{honest}, others), c.worker, c.worker)...)
				want := map[Mode]string{Exact: c.refused, Draft: c.draft}[mode]
				if c.name == "old weights" && mode == Draft { // a canary finds it, if one comes late
					notes, counts.Refused = slices.DeleteFunc(notes, func(note string) bool { return strings.Contains(note, c.refused) }), 0
				}
				for _, note := range notes {
					// The third item may be a canary, in which a right device may draw one other token (nearFlips).
					near := c.name == "wrong token" && strings.Contains(note, "computes almost what this device computes (prompt 8, completion 1: token ")
					if want == "" || !near && !strings.Contains(note, want) {
						t.Errorf("%s, %s, %d honest: note %q", c.name, mode, others, note)
					}
				}
				if want == "" && counts.Refused > 0 || others == 0 && want != "" && len(notes) == 0 {
					t.Errorf("%s, %s, %d honest: %v, notes %q", c.name, mode, others, counts, notes)
				}
			}
		}
	}
}

// TestComeAndGo: workers that join and leave at random, some with an item in their hands,
// over 50 steps.
func TestComeAndGo(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var comers []worker
		for range 60 {
			wait, items := time.Duration(rng.IntN(300))*time.Second, rng.IntN(30)
			comers = append(comers, func(ctx context.Context, c carrier, name string) error {
				time.Sleep(wait)
				n := 0
				return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
					time.Sleep(time.Second)
					if n++; n > items {
						return nil, errors.New("gone")
					}
					return p.Sample(ctx, r, seed)
				}))
			})
		}
		c, notes := runOf(t, Options{Mode: Exact, Audit: 0.1}, 50, comers...)
		if len(notes) > 0 || c.Answered == 0 || c.Hedged == 0 {
			t.Errorf("seed %d: %v %q", seed, c, notes)
		}
	}
}

// TestEfficiency: workers whose items take 2 s, more or less, wait for little but the
// last item of a step. Time is a bubble's, so what is measured is the order of work.
func TestEfficiency(t *testing.T) {
	for n, least := range map[int]float64{8: 0.99, 32: 0.98, 128: 0.95} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(n)})
			for i := range n {
				go Work(t.Context(), m, fmt.Sprint(i), engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
					time.Sleep(2 * time.Second)
					return p.Sample(t.Context(), r, seed)
				}))
			}
			if _, err := f.Sample(t.Context(), requestsOf(0, itemsPerSlot*n)); err != nil { // with canaries
				t.Fatal(err)
			}
			began := time.Now()
			const rounds = 3
			for range rounds {
				if _, err := f.Sample(t.Context(), requestsOf(0, itemsPerSlot*n)); err != nil {
					t.Fatal(err)
				}
			}
			ideal := rounds * itemsPerSlot * 2.0
			if got := ideal / time.Since(began).Seconds(); got < least {
				t.Errorf("%d workers: efficiency %.3f, at least %v is wanted", n, got, least)
			}
			f.Close()
			m.Close()
		})
	}
}

// TestDisputed: two results of one item that differ prove that one worker is wrong, with
// no audit at all; what else it answered in the step is then checked.
func TestDisputed(t *testing.T) { synctest.Test(t, disputed) }

func disputed(t *testing.T) {
	m, tr := NewMemory(), &trainer{}
	defer m.Close()
	var notes []string
	f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Patience: time.Hour, Note: func(text string) { notes = append(notes, text) }})
	defer f.Close()
	var items [][]byte
	done := make(chan error)
	go func() {
		done <- func() error {
			answer := func(name string, item []byte, lie func(*rollout.Segment)) error {
				i, _ := DecodeItem(item)
				w, _ := tr.weights()
				out, _ := (&paper{string(w)}).Sample(t.Context(), i.Requests(), i.Seed)
				lie(&out[0][0])
				synctest.Wait() // the answers before this one are dealt with
				return m.Deliver(t.Context(), name, Result{Item: i.ID(), Completions: out}.Encode())
			}
			honest := func(*rollout.Segment) {}
			for _, name := range []string{"liar", "honest"} {
				canary, err := m.Take(t.Context(), name)
				if err == nil {
					err = answer(name, canary, honest)
				}
				if err != nil {
					return err
				}
			}
			for range 4 { // a step of four prompts is four items
				item, err := m.Take(t.Context(), "liar")
				if err != nil {
					return err
				}
				items = append(items, item)
			}
			return errors.Join(answer("liar", items[0], wrongToken), answer("liar", items[1], wrongLogprob),
				answer("honest", items[0], honest), answer("honest", items[2], honest), answer("liar", items[3], honest), answer("honest", items[3], honest))
		}()
	}()
	requests := requestsOf(0, 4)
	got, err := f.Sample(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want, _ := tr.Sample(t.Context(), requests); !reflect.DeepEqual(got, want) {
		t.Error("the step is not what one machine draws")
	}
	c := f.Counts()
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "worker liar is refused: item ") || c.Refused != 1 || c.Audited != 2 {
		t.Errorf("%+v %q", c, notes)
	}
	if _, err := m.Take(t.Context(), "liar"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "differs from what is drawn here") {
		t.Errorf("the liar gets %v", err)
	}
}

// TestAuditShare: a share of the items is checked; which, a worker cannot tell from
// another fleet's choice.
func TestAuditShare(t *testing.T) {
	const n, share = 4000, 0.05
	a, b := New(NewMemory(), Trainer{}, Options{Audit: share}), New(NewMemory(), Trainer{}, Options{Audit: share})
	defer a.Close()
	defer b.Close()
	both, of := 0, 0
	for i := range n {
		var d Digest
		binary.LittleEndian.PutUint32(d[:], uint32(i))
		if a.trust.audited(d) {
			of++
			if b.trust.audited(d) {
				both++
			}
		}
	}
	// Six standard deviations of a binomial count: a fair choice is out of them in two of
	// 10^9 trials.
	if sd := math.Sqrt(n * share * (1 - share)); math.Abs(float64(of)-n*share) > 6*sd {
		t.Errorf("%d of %d items are checked", of, n)
	}
	if both == of {
		t.Error("two fleets check the same items")
	}
}

// TestCatch: a worker that lies in a tenth of its items is refused within 600 items in at
// least 930 of 1,000 trials: 95 % by (1-0.05*0.1)^600 = 0.0494.
func TestCatch(t *testing.T) {
	caught := 0
	for trial := range uint64(1000) {
		tr, rng := &trainer{}, rand.New(rand.NewPCG(trial, 0))
		f := New(NewMemory(), tr.asTrainer(), Options{Mode: Exact, Audit: 0.05, Slots: fixed(1)})
		f.Close() // nothing is heard but what is received here
		f.trust.key = binary.LittleEndian.AppendUint64(nil, trial)
		f.trust.know("w", classSame)
		if err := f.announce(t.Context(), requestsOf(0, 1)); err != nil {
			t.Fatal(err)
		}
		for i := uint32(0); i < 600 && f.counts.Refused == 0; i++ {
			table := f.ledger.cut([]rollout.Request{{Prompt: []int{1}, N: 1, Params: rollout.Params{MaxTokens: 1}, Key: random.Key{Step: int(trial), Stream: i}}}, 1)
			j := table.jobs[0]
			right, _ := tr.Sample(t.Context(), j.requests)
			if rng.IntN(10) == 0 {
				wrongToken(&right[0][0])
			}
			if _, err := f.receive(t.Context(), table, Delivery{"w", Result{Item: j.item.ID(), Completions: right}.Encode(), true, true}); err != nil {
				t.Fatal(err)
			}
		}
		caught += f.counts.Refused
	}
	if caught < 930 {
		t.Errorf("caught in %d of 1000 trials", caught)
	}
}

// TestBegin: workers draw what was begun while the trainer does something else; what was begun
// and is not asked for changes nothing.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(2)})
		defer f.Close()
		for i := range 2 {
			go Work(t.Context(), m, fmt.Sprint(i), engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				time.Sleep(time.Second)
				return p.Sample(t.Context(), r, seed)
			}))
		}
		sample := func(requests []rollout.Request, seconds float64) {
			t.Helper()
			began := time.Now()
			got, err := f.Sample(t.Context(), requests)
			if err != nil {
				t.Fatal(err)
			}
			if want, _ := tr.Sample(t.Context(), requests); !reflect.DeepEqual(got, want) {
				t.Error("the step is not what one machine draws")
			}
			if took := time.Since(began).Seconds(); took != seconds {
				t.Errorf("it takes %v s, want %v", took, seconds)
			}
		}
		begin := func(requests []rollout.Request) {
			t.Helper()
			if err := f.Begin(t.Context(), requests); err != nil {
				t.Fatal(err)
			}
		}
		sample(requestsOf(0, 8), 5) // four items a worker, and a canary
		for _, learning := range []float64{3, 4, 9} {
			tr.version++
			before := f.Counts().Offered
			begin(requestsOf(tr.version, 8))
			time.Sleep(time.Duration(learning * float64(time.Second)))
			sample(requestsOf(tr.version, 8), max(0, 4-learning))
			if n := f.Counts().Offered - before; n != 8 {
				t.Errorf("%d items were offered, want 8", n)
			}
		}
		begin(requestsOf(100, 8))
		synctest.Wait() // each worker has an item
		tr.version++
		sample(requestsOf(100, 8), 5) // by other weights
		tr.version++
		begin(requestsOf(100, 8))
		time.Sleep(9 * time.Second)
		sample(requestsOf(101, 8), 4)
		tr.version++
		begin(requestsOf(102, 8))
		synctest.Wait()
		sample(requestsOf(102, 9), 4) // other items than were begun: each worker ends what it has
		if c := f.Counts(); c.Dropped == 0 || c.Here > 0 || c.Hedged > 0 {
			t.Errorf("%+v", c)
		}
	})
}

// TestDeaf: after a step in which no worker answered, none is waited for; one that comes
// back is heard.
func TestDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1)})
		defer f.Close()
		step := func(seconds float64) {
			t.Helper()
			began := time.Now()
			tr.version++
			if _, err := f.Sample(t.Context(), requestsOf(0, 8)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began).Seconds(); took != seconds {
				t.Errorf("step %d takes %v s, want %v", tr.version, took, seconds)
			}
		}
		step(2 * patience.Seconds())
		step(0)
		if c := f.Counts(); c.Answered != 0 || c.Here != 8 || c.Hedged != 8 {
			t.Errorf("%+v", c)
		}
		go Work(t.Context(), m, "late", &paper{})
		tr.slow = time.Second // as long as an item takes here: the worker is faster
		for range 3 {
			tr.version++
			if _, err := f.Sample(t.Context(), requestsOf(0, 8)); err != nil {
				t.Fatal(err)
			}
		}
		if c := f.Counts(); c.Answered < 8 {
			t.Errorf("a worker that came late answered %d items: %+v", c.Answered, c)
		}
	})
}

// TestHeldUp: a worker that sends what nobody asked for, again and again, holds up no step.
func TestHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1)})
		defer f.Close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			tick := time.NewTicker(patience / 4)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_ = m.Deliver(ctx, "talker", Result{Item: Digest{1}}.Encode())
				case <-ctx.Done():
					return
				}
			}
		}()
		began := time.Now()
		if _, err := f.Sample(t.Context(), requestsOf(0, 8)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*patience || f.Counts().Here != 4 || f.Counts().Dropped == 0 {
			t.Errorf("the step takes %v: %+v", took, f.Counts())
		}
	})
}

// TestMemoryWithdraws: an item that was offered twice and is answered is given to nobody
// else, and none is after new weights.
func TestMemoryWithdraws(t *testing.T) {
	m := NewMemory()
	defer m.Close()
	first, second := Item{Seed: 1}, Item{Seed: 2}
	for _, i := range []Item{first, first, second} {
		_ = m.Offer(t.Context(), i.Encode())
	}
	take := func() []byte {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is there is taken, and nothing is waited for
		item, _ := m.Take(ctx, "w")
		return item
	}
	took := take()
	_ = m.Deliver(t.Context(), "w", Result{Item: digestOf(took)}.Encode())
	if !bytes.Equal(took, first.Encode()) || !bytes.Equal(take(), second.Encode()) || take() != nil {
		t.Error("a copy of an answered item is given out")
	}
	_ = m.Offer(t.Context(), first.Encode())
	_ = m.Announce(t.Context(), Policy{Weights: Digest{1}})
	if take() != nil {
		t.Error("an item of earlier weights is given out")
	}
}

// TestAllRefused: where all workers are refused none is waited for.
func TestAllRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Audit: 1, Slots: fixed(1)})
		defer f.Close()
		go Work(t.Context(), m, "liar", engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
			out, err := p.Sample(t.Context(), r, seed)
			for i := range out {
				wrongToken(&out[i][0])
			}
			return out, err
		}))
		began := time.Now()
		if _, err := f.Sample(t.Context(), requestsOf(0, 8)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 || f.Counts().Refused != 1 {
			t.Errorf("the step takes %v: %v", took, f.Counts())
		}
	})
}

// TestLongItems: workers that are equally quick answer all at once. However long that takes they
// are waited for, once a step has shown it.
func TestLongItems(t *testing.T) {
	const each = 30 * time.Second // more than the patience with a fleet that has not drawn yet
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{slow: each}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(4)})
		defer f.Close()
		for i := range 4 {
			go Work(t.Context(), m, fmt.Sprint(i), engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				if r[0].Key.Stream < canaryStream {
					time.Sleep(each)
				}
				return p.Sample(t.Context(), r, seed)
			}))
		}
		for tr.version = range 6 {
			began, before := time.Now(), f.Counts()
			if _, err := f.Sample(t.Context(), requestsOf(tr.version, 4)); err != nil {
				t.Fatal(err)
			}
			if took, c := time.Since(began), f.Counts(); tr.version > 2 && (took != each || c.Hedged > before.Hedged || c.Here > before.Here) {
				t.Errorf("step %d takes %v, want %v: %+v", tr.version, took, each, c)
			}
		}
		time.Sleep(10 * each) // what workers have in their hands
	})
}

// TestSwallows: a worker that answers each item with what it said of its canary holds nothing up
// for ever: that counts once.
func TestSwallows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1)})
		defer f.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		go func() {
			var said []byte
			for {
				data, err := m.Take(ctx, "w")
				if err != nil {
					return
				}
				if item, err := DecodeItem(data); err == nil && item.Prompts[0].Stream >= canaryStream {
					drawn, _ := tr.Sample(ctx, f.trust.canary.requests)
					said = Result{Item: item.ID(), Completions: drawn}.Encode()
				}
				_ = m.Deliver(ctx, "w", said)
			}
		}()
		for tr.version = range 3 {
			if _, err := f.Sample(ctx, requestsOf(tr.version, 8)); err != nil {
				t.Fatalf("step %d: %v", tr.version, err)
			}
		}
	})
}

// TestItemSizes: an item fills a worker's device as long as each of them has one, and there are
// as many for each.
func TestItemSizes(t *testing.T) {
	for _, c := range []struct{ requests, n, slots, atOnce, size int }{
		{64, 16, 1, 256, 16}, {64, 16, 2, 256, 16}, {64, 16, 3, 256, 22}, {64, 16, 8, 256, 8},
		{64, 16, 2, 0, 8}, {64, 16, 2, 16, 8}, {5, 4, 2, 20, 3}, {2, 1, 8, 0, 1}, {1, 1, 0, 256, 1}, {4096, 16, 2, 256, 512},
	} {
		p := dispatcher{atOnce: c.atOnce, slots: func() int { return c.slots }}
		requests := requestsOf(0, c.requests)
		for i := range requests {
			requests[i].N = c.n
		}
		if size := p.size(requests); size != c.size {
			t.Errorf("%+v: size %d", c, size)
		}
	}
}

// TestCancelled: a cancelled context ends a step that workers do not answer.
func TestCancelled(t *testing.T) {
	m, tr := NewMemory(), &trainer{}
	defer m.Close()
	f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Patience: time.Hour})
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Sample(ctx, requestsOf(0, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestWorkEnds: a worker says why it ends.
func TestWorkEnds(t *testing.T) {
	broken := engineFunc(func([]rollout.Request, uint64, *paper) ([][]rollout.Segment, error) {
		return nil, errors.New("no memory")
	})
	data := []byte("weights 0")
	for name, c := range map[string]struct {
		item    []byte
		policy  Policy
		engine  Engine
		wanted  string
		exactly error
	}{
		"an item of another version": {[]byte("RZI\x01"), Policy{}, broken, "item: this is not an item of this version of rlzero", nil},
		"an engine that fails":       {Item{Weights: digestOf(data)}.Encode(), Policy{Weights: digestOf(data), Data: data}, broken, "no memory", nil},
		"too large weights":          {Item{Weights: digestOf(make([]byte, 21))}.Encode(), Policy{Weights: digestOf(make([]byte, 21)), Data: make([]byte, 21)}, broken, "weights of 21 bytes; accepted: at most 20", nil},
		"other weights":              {Item{Weights: digestOf(data)}.Encode(), Policy{Weights: digestOf(data), Data: []byte("x")}, broken, "the weights have the digest", nil},
		"a refused worker":           {nil, Policy{Refused: map[string]string{"w": "because"}}, broken, "because", ErrRefused},
	} {
		m := NewMemory()
		_ = m.Announce(t.Context(), c.policy)
		if c.item != nil {
			_ = m.Offer(t.Context(), c.item)
		}
		err := Work(t.Context(), m, "w", c.engine)
		if err == nil || !strings.Contains(err.Error(), c.wanted) || c.exactly != nil && !errors.Is(err, c.exactly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mute := NewMemory()
	_ = mute.Offer(t.Context(), Item{}.Encode())
	if err := Work(t.Context(), mute, "w", nil, drawing); err == nil || !strings.Contains(err.Error(), "only verifies") {
		t.Errorf("an item to draw: %v", err)
	}
	m := NewMemory()
	_ = m.Offer(t.Context(), Item{Weights: Digest{1}}.Encode()) // nobody has these weights any more
	go m.Close()
	if err := Work(t.Context(), m, "w", broken); !errors.Is(err, ErrClosed) {
		t.Errorf("the end of a run: %v", err)
	}
}

// TestLate: the end of a silence is seen however much of no use has come, and in the last round no more of it is looked
// at than may have come at once.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dispatcher{slots: fixed(1), patience: patience, arrived: make(chan Delivery, arrivals)}
		taken := func(round int) (n int) {
			for {
				for len(p.arrived) < arrivals {
					p.arrived <- Delivery{}
				}
				_, ok, err := p.next(t.Context(), round)
				if err != nil {
					t.Fatal(err)
				}
				if !ok || n == 99 {
					return n
				}
				n++
				time.Sleep(time.Second)
			}
		}
		for round, want := range []int{10, 10, arrivals, arrivals} {
			if n := taken(round); n != want {
				t.Errorf("round %d ends after %d results of no use, want %d", round, n, want)
			}
		}
	})
}
