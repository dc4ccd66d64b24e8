package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

const paperEngine = "paper 1.0"

func init() {
	verify.Register(verify.Entry{Name: "test:paper", New: func(raw json.RawMessage) (verify.Verifier, error) { return judgeOnPaper{raw}, nil }})
}

// judgeOnPaper gives verdicts that are hashes. Completions with "slow" meet a limit.
type judgeOnPaper struct{ raw json.RawMessage }

func (v judgeOnPaper) Engine() (verify.Engine, error) {
	return verify.Engine{Verifier: "test:paper", Options: v.raw, Release: paperEngine}, nil
}

// Verify is what the trainer does, which is slow.
func (v judgeOnPaper) Verify(row verify.Problem, completion string) verify.Verdict {
	time.Sleep(time.Second)
	out, _ := v.Judge(row, completion)
	return out
}

// Renew changes what is found of completions with "address".
func (v judgeOnPaper) Renew() { booted.Add(1) }

var booted atomic.Int64

func (v judgeOnPaper) Judge(row verify.Problem, completion string) (verify.Verdict, bool) {
	h := fnv.New64a()
	if strings.Contains(completion, "address") {
		fmt.Fprint(h, booted.Load())
	}
	fmt.Fprint(h, row.ID, row.Question, row.Answer, len(row.Metadata), completion)
	x := h.Sum64()
	out := verify.Accept(fmt.Sprint(x), "paper", "it is %x", x)
	if x%3 == 0 {
		out = verify.Reject(fmt.Sprint(x), "paper", "it is %x", x)
	}
	out.Values = map[string]float64{"x": float64(x)}
	return out, !strings.Contains(completion, "slow")
}

// questionsOf are those of a step: some rows with several completions, of any bytes.
func questionsOf(step, n int) []verify.Question {
	out := make([]verify.Question, n)
	for i := range out {
		row := verify.Problem{ID: fmt.Sprint(i / 4), Question: "<&>", Metadata: map[string]json.RawMessage{"a": json.RawMessage(`[1, "<"]`)}}
		text := fmt.Sprintf("completion %d of step %d \xff", i, step)
		if i%7 == 0 {
			text += "slow"
		}
		out[i] = verify.Question{Verifier: judgeOnPaper{json.RawMessage(`{"k":1}`)}, Row: row, Completion: text}
	}
	return out
}

// settled is what a caller has after a panel was asked: what is left, it judges itself.
func settled(questions []verify.Question, by []*verify.Verdict) []verify.Verdict {
	out := make([]verify.Verdict, len(questions))
	for i, q := range questions {
		if by != nil && by[i] != nil {
			out[i] = *by[i]
		} else {
			out[i] = q.Verifier.Verify(q.Row, q.Completion)
		}
	}
	return out
}

func sameVerdicts(a, b []verify.Verdict) bool {
	return slices.EqualFunc(a, b, func(v, w verify.Verdict) bool { return v.Agrees(w) && v.Reason == w.Reason })
}

// onItsWay changes what a worker delivers.
type onItsWay struct {
	WorkerSide
	item   []byte
	change func(i verdict.Item, answer []byte) ([]byte, error)
}

func (c *onItsWay) Take(ctx context.Context, worker string, does ...string) (item []byte, err error) {
	c.item, err = c.WorkerSide.Take(ctx, worker, does...)
	return c.item, err
}

func (c *onItsWay) Deliver(ctx context.Context, worker string, answer []byte) error {
	i, err := verdict.Decode(c.item)
	if err == nil {
		answer, err = c.change(i, answer)
	}
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // each worker gets items
	return c.WorkerSide.Deliver(ctx, worker, answer)
}

// verifies is a worker whose answers are changed.
func verifies(change func(i verdict.Item, answer []byte) ([]byte, error)) worker {
	return func(ctx context.Context, c carrier, name string) error {
		return Work(ctx, &onItsWay{WorkerSide: c, change: change}, name, nil, paperEngine)
	}
}

func turned(i verdict.Item, answer []byte) ([]byte, error) {
	all, err := i.Read(answer)
	for _, v := range all {
		if v != nil {
			v.Verdict, v.Score = map[string]string{verify.Right: verify.Wrong, verify.Wrong: verify.Right}[v.Verdict], 1-v.Score
		}
	}
	return i.Answer(all), err
}

// sure has a verdict where an honest worker has none.
func sure(i verdict.Item, answer []byte) ([]byte, error) {
	all, err := i.Read(answer)
	for k, v := range all {
		if v == nil {
			lie := verify.Accept("", "", "it ends in time")
			all[k] = &lie
		}
	}
	return i.Answer(all), err
}

// once turns the verdicts of the first item.
func once() worker {
	turn := true
	return verifies(func(i verdict.Item, answer []byte) ([]byte, error) {
		if turn {
			turn = false
			return turned(i, answer)
		}
		return answer, nil
	})
}

var (
	boasting = verifies(sure)
	truthful = verifies(func(_ verdict.Item, answer []byte) ([]byte, error) { return answer, nil })
	turning  = verifies(turned)
	dying    = verifies(func(verdict.Item, []byte) ([]byte, error) { return nil, errors.New("killed") })
	slow     = verifies(func(_ verdict.Item, answer []byte) ([]byte, error) { time.Sleep(time.Hour); return answer, nil })
	cutting  = verifies(func(_ verdict.Item, answer []byte) ([]byte, error) { return answer[:len(answer)-1], nil })
	shy      = verifies(func(i verdict.Item, _ []byte) ([]byte, error) { return i.Answer(make([]*verify.Verdict, i.Len())), nil })
)

// TestVerdicts: what a run comes to is equal with 0, 1 and 3 workers that judge, with one
// that lies, also where this machine does not settle, dies, is slow, sends what is malformed
// or never has a verdict. A single other verdict refuses nobody.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		workers []worker
		refused string
		mode    Mode
		theirs  bool
	}{
		"none":      {nil, "", Exact, false},
		"one":       {[]worker{truthful}, "", Exact, true},
		"three":     {[]worker{truthful, truthful, truthful}, "", Exact, true},
		"a liar":    {[]worker{turning, truthful}, "its verdict is", Exact, true},
		"liars":     {[]worker{turning, turning}, "its verdict is", Exact, false},
		"a killed":  {[]worker{dying, truthful}, "", Exact, true},
		"a slow":    {[]worker{slow, truthful}, "", Exact, true},
		"all slow":  {[]worker{slow, slow}, "", Exact, false},
		"malformed": {[]worker{cutting, truthful}, "malformed", Exact, true},
		"shy":       {[]worker{shy}, "", Exact, true},
		"a boaster": {[]worker{boasting, truthful}, "its verdict is", Exact, true},
		"boasters":  {[]worker{boasting, boasting}, "its verdict is", Exact, false},
		"once":      {[]worker{once()}, "", Exact, true},
		"draft":     {[]worker{truthful}, "", Draft, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			var notes []string
			var disputes []Dispute
			var f *Fleet
			f = New(m, tr.asTrainer(), Options{Mode: c.mode, Audit: 1, Slots: fixed(0), Judges: func(string) int { return len(c.workers) - f.Counts().Refused },
				Note: func(text string) {
					if strings.Contains(text, "is refused") {
						notes = append(notes, text)
					} else if !strings.Contains(text, "whose verdict is used") {
						t.Errorf("%s: note %q", name, text)
					}
				}, Disputed: func(d Dispute) error { disputes = append(disputes, d); return nil }})
			defer f.Close()
			var running sync.WaitGroup
			defer func() { m.Close(); running.Wait() }()
			for i, w := range c.workers {
				running.Go(func() { _ = w(t.Context(), m, fmt.Sprint("w", i)) })
			}
			for step := range 4 {
				tr.version = step
				requests, questions := requestsOf(step, 4), questionsOf(step, 60)
				if _, err := f.Sample(t.Context(), requests); err != nil {
					t.Fatal(err)
				}
				by, err := f.Judge(t.Context(), questions)
				if err != nil || !sameVerdicts(settled(questions, by), settled(questions, nil)) {
					t.Errorf("%s: step %d has other verdicts: %v", name, step, err)
				}
			}
			n := f.Counts()
			if len(m.items) > 0 {
				t.Errorf("%s: %d items are left that nobody waits for", name, len(m.items))
			}
			if (n.Answered > 0) != (c.theirs || c.refused != "") || (n.Refused > 0) != (c.refused != "") || len(notes) != n.Refused {
				t.Errorf("%s: %+v, notes %q", name, n, notes)
			}
			for _, note := range notes {
				if !strings.Contains(note, c.refused) {
					t.Errorf("%s: note %q", name, note)
				}
			}
			for _, d := range disputes {
				i, err := verdict.Decode(d.Asked)
				if err != nil {
					t.Fatal(err)
				}
				if right, err := i.Read(d.Right); d.Right != nil && (err != nil || disagree(right, i.Judge(t.Context())) >= 0) {
					t.Errorf("%s: the dispute is not repeated: %v", name, err)
				}
			}
			if len(disputes) != n.Refused {
				t.Errorf("%s: %d disputes", name, len(disputes))
			}
		})
	}
}

// TestJudgeLooksBack: a worker that is found to lie makes the run go back to before what it
// judged before and nobody checked.
func TestJudgeLooksBack(t *testing.T) {
	type step struct {
		version int
		lies    bool
		audit   float64
	}
	for name, c := range map[string]struct {
		steps []step
		since int // -1: the run goes on
	}{
		"a first lie":                       {[]step{{3, true, 1}}, -1},
		"honest before, by earlier weights": {[]step{{3, false, 0}, {4, true, 1}}, 3},
		"honest before, by these weights":   {[]step{{3, false, 0}, {3, true, 1}}, -1},
		"a lie before, by these weights":    {[]step{{3, true, 0}, {3, true, 1}}, 3},
		"all was checked":                   {[]step{{3, false, 1}, {4, true, 1}}, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			defer m.Close()
			trusted := map[string]int{}
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(0), Judges: func(string) int { return 1 },
				Remember: func(t map[string]int, _ map[string]string) error { trusted = maps.Clone(t); return nil }})
			defer f.Close()
			lies := false
			go verifies(func(i verdict.Item, answer []byte) ([]byte, error) {
				if lies {
					return turned(i, answer)
				}
				return answer, nil
			})(t.Context(), m, "w")
			var err error
			for i, s := range c.steps {
				if err != nil {
					t.Fatalf("%s: step %d: %v", name, i-1, err)
				}
				tr.version, lies, f.trust.share = s.version, s.lies, s.audit
				_, err = f.Judge(t.Context(), questionsOf(i, 20))
				if s.audit == 0 && (trusted["w"] != s.version || f.Counts().Verdicts == 0) {
					t.Errorf("%s: step %d: trusted %v, %+v", name, i, trusted, f.Counts())
				}
			}
			var late *rollout.LateError
			if (c.since >= 0) != errors.As(err, &late) || late != nil && late.Since != c.since || c.since < 0 && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestAddresses: nobody is refused for programs whose verdict hangs on where they lie in
// memory, which is the same for all of one interpreter.
func TestAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Audit: 1, Slots: fixed(0), Judges: func(string) int { return 1 }})
		defer f.Close()
		go turning(t.Context(), m, "w")
		questions := questionsOf(0, 60)
		for i := range questions {
			questions[i].Completion += " address"
		}
		if _, err := f.Judge(t.Context(), questions); err != nil || f.Counts().Refused > 0 || f.Counts().Audited < unlikeMost {
			t.Errorf("%v, %+v", err, f.Counts())
		}
	})
}

// TestHands: what the trainer is judging when workers close the last item is used where they
// have no verdict, and not judged twice.
func TestHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(0), Judges: func(string) int { return 1 }})
		defer f.Close()
		go shy(t.Context(), m, "w")
		questions := questionsOf(0, 60)
		by, err := f.Judge(t.Context(), questions)
		if err != nil || f.Counts().Here > 0 || by[56] == nil || !by[56].Agrees(questions[56].Verifier.Verify(questions[56].Row, questions[56].Completion)) || by[0] != nil {
			t.Errorf("%v, %v, %v, %+v", by[56], by[0], err, f.Counts())
		}
	})
}

// TestLateCanary: the answer to a canary of weights that are no longer those of now is not
// held against them.
func TestLateCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(0), Judges: func(string) int { return 1 }})
		defer f.Close()
		requests := requestsOf(0, 4)
		if _, err := f.Sample(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
		drawn, err := tr.Sample(t.Context(), f.trust.canary.requests)
		if err != nil {
			t.Fatal(err)
		}
		answer := Result{Item: f.trust.canary.item.ID(), Completions: drawn}.Encode()
		tr.version = 1
		go verifies(func(i verdict.Item, right []byte) ([]byte, error) {
			return right, m.Deliver(t.Context(), "late", answer)
		})(t.Context(), m, "w")
		if _, err := f.Judge(t.Context(), questionsOf(1, 60)); err != nil || f.Counts().Refused > 0 {
			t.Errorf("%v, %+v, %v", err, f.Counts(), f.trust.refused)
		}
	})
}

// TestDrift: where a worker has other bits than at its last canary, without having joined
// again, the run goes back to where it began to rely on it since.
func TestDrift(t *testing.T) {
	for name, c := range map[string]struct {
		steps, drifts int // versions 1 to steps; that from which on the bits are others
		audit         float64
		rejoins       bool
		since         int // -1: the run goes on
	}{
		"at the first canary after":  {17, 10, 0, false, 1},
		"a good canary in between":   {33, 20, 0, false, 17},
		"nothing since was used":     {17, 17, 1, false, -1},
		"another machine in its key": {17, 17, 0, true, -1},
		"that of the last weights":   {9, 9, 0, true, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			defer m.Close()
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Audit: c.audit})
			defer f.Close()
			go Work(t.Context(), m, "w", engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				out, err := p.Sample(t.Context(), r, seed)
				if tr.version >= c.drifts {
					for i := range out {
						wrongLogprob(&out[i][0])
					}
				}
				return out, err
			}))
			var err error
			for v := 1; v <= c.steps && err == nil; v++ {
				tr.version = v
				if c.rejoins && v == c.steps {
					m.Forget("w")
					synctest.Wait() // it answers the canary of the weights before
				}
				var got [][]rollout.Segment
				got, err = f.Sample(t.Context(), requestsOf(v, 8))
				if v < c.drifts || c.since < 0 {
					if want, _ := tr.Sample(t.Context(), requestsOf(v, 8)); err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s: version %d: %v", name, v, err)
					}
				}
			}
			var late *rollout.LateError
			if (c.since >= 0) != errors.As(err, &late) || late != nil && (late.Since != c.since || !strings.Contains(err.Error(), "different bits from those at its last canary")) {
				t.Errorf("%s: %v", name, err)
			}
			if f.trust.known["w"] != classNear {
				t.Errorf("%s: the class is %q", name, f.trust.known["w"])
			}
		})
	}
}
