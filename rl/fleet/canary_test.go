package fleet

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/rl/rollout"
)

// TestClasses: a worker's answer to the canary tells whether its results are used as they
// are, as drafts, or not at all; in each case the bytes are those of one machine.
func TestClasses(t *testing.T) {
	rounding := func(s *rollout.Segment) { s.Logprob[0] += nearLogprob / 4 }
	flips := func(n int) func(i int, s *rollout.Segment) {
		return func(i int, s *rollout.Segment) {
			if i < n {
				wrongToken(s)
			}
		}
	}
	each := func(do func(*rollout.Segment)) func(int, *rollout.Segment) {
		return func(_ int, s *rollout.Segment) { do(s) }
	}
	for name, c := range map[string]struct {
		how    func(i int, s *rollout.Segment)
		drafts bool
		note   string
	}{
		"same":            {each(func(*rollout.Segment) {}), false, ""},
		"other bits":      {each(wrongLogprob), true, "its completions are drafts"},
		"other rounding":  {each(rounding), true, "its completions are drafts"},
		"another token":   {flips(1), true, "its completions are drafts"},
		"other tokens":    {flips(2), true, "is refused: item "},
		"other log-probs": {each(func(s *rollout.Segment) { s.Logprob[1%len(s.Logprob)] += 2 * nearLogprob }), true, "is refused: item "},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			defer m.Close()
			var notes []string
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Note: func(text string) { notes = append(notes, text) }})
			defer f.Close()
			go Work(t.Context(), m, "w", engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				out, err := p.Sample(t.Context(), r, seed)
				for i := range out {
					c.how(i, &out[i][0])
				}
				return out, err
			}))
			for step := range 3 {
				tr.version = step
				got, err := f.Sample(t.Context(), requestsOf(step, 8))
				if err != nil {
					t.Fatal(err)
				}
				if want, _ := tr.Sample(t.Context(), requestsOf(step, 8)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: step %d is not what one machine draws", name, step)
				}
			}
			n := f.Counts()
			refused := strings.Contains(c.note, "refused")
			if (n.Refused > 0) != refused || (n.DraftTokens > 0) != (c.drafts && !refused) || (n.Answered > 0) != !refused {
				t.Errorf("%s: %+v", name, n)
			}
			if len(notes) > 1 || (len(notes) == 1) != (c.note != "") || len(notes) == 1 && !strings.Contains(notes[0], c.note) {
				t.Errorf("%s: notes %q", name, notes)
			}
		})
	}
}

// TestTardy: where answers by earlier weights are of use, a worker that needs longer for its
// canary than its weights last gets to work all the same, or is refused.
func TestTardy(t *testing.T) {
	for _, lies := range []bool{false, true} {
		var drawn atomic.Int32
		disputed := func(d Dispute) error {
			if d.Weights == nil {
				t.Error("a dispute is kept that nobody can draw again")
			}
			return nil
		}
		p := pickOf(t, Options{Mode: Exact, Audit: 0.1, Disputed: disputed}, 3, 60, paced(time.Second), paced(time.Second), func(ctx context.Context, c carrier, name string) error {
			return Work(ctx, c, name, engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				out, err := p.Sample(ctx, r, seed)
				if time.Sleep(25 * time.Second); r[0].Key.Stream < canaryStream {
					drawn.Add(1)
				}
				for i := range out {
					if lies {
						wrongToken(&out[i][0])
					}
				}
				return out, err
			}))
		})
		if n := drawn.Load(); p.err != nil || p.lies != nil || (n >= 10) == lies || (p.counts.Refused == 1) != lies {
			t.Errorf("lies %t: it drew %d items: %+v", lies, n, p)
		}
	}
}

// TestCanaryTimes: a worker gets a canary when it joins, when it joins again, every 16
// policies, and again if its answer is lost, but not for ever.
func TestCanaryTimes(t *testing.T) {
	m := NewMemory()
	defer m.Close()
	policy := Policy{}
	announce := func(version int) {
		policy.Weights = Digest{byte(version)}
		policy.Canary = Item{Weights: policy.Weights}.Encode()
		policy.Known = map[string]class{"w": classSame}
		if version == 1 {
			policy.Known = nil
		}
		_ = m.Announce(t.Context(), policy)
	}
	asked := func(answers bool) bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is there is taken
		item, _ := m.Take(ctx, "w")
		if item != nil && answers {
			_ = m.Deliver(t.Context(), "w", Result{Item: digestOf(item)}.Encode())
		}
		return item != nil
	}
	var got []int
	for version := 1; version <= 40; version++ {
		announce(version)
		if asked(true) {
			got = append(got, version)
		}
		if asked(true) {
			t.Errorf("policy %d has two canaries", version)
		}
	}
	if fmt.Sprint(got) != "[1 17 33]" {
		t.Errorf("canaries in policies %v", got)
	}
	m.Forget("w")
	for i := range canaryTries + 1 {
		if asked(false) != (i < canaryTries) {
			t.Errorf("try %d after joining again", i)
		}
	}
}
