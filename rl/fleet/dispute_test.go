package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rlzero/rlzero/rl/rollout"
)

// TestLookBack: a lie that is found makes the run go back to before all that its worker
// answered before and that is wrong, or that nobody can check any more.
func TestLookBack(t *testing.T) {
	type step struct {
		version int
		lies    bool
		audit   float64
	}
	for name, c := range map[string]struct {
		steps []step
		since int    // -1: the run goes on
		why   string // of the last step's error
	}{
		"a first lie":                           {[]step{{0, true, 1}}, -1, ""},
		"honest before, by earlier weights":     {[]step{{3, false, 0}, {4, false, 0}, {5, true, 1}}, 3, "with earlier weights can no longer be checked"},
		"honest before, by these weights":       {[]step{{3, false, 0}, {3, true, 1}}, -1, ""},
		"a lie before, by these weights":        {[]step{{3, true, 0}, {3, true, 1}}, 3, "is wrong too, and the run has used it"},
		"trusted in an earlier part of the run": {[]step{{7, true, 1}}, 2, "with earlier weights can no longer be checked"},
		"all was checked":                       {[]step{{3, false, 1}, {4, true, 1}}, -1, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			defer m.Close()
			var kept []Dispute
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Disputed: func(d Dispute) error { kept = append(kept, d); return nil }})
			defer f.Close()
			if strings.Contains(name, "earlier part") {
				f.trust.trusted["w"] = 2
			}
			lies := false
			go Work(t.Context(), m, "w", engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				out, err := p.Sample(t.Context(), r, seed)
				if lies && r[0].Key.Stream < canaryStream {
					wrongToken(&out[0][0])
				}
				return out, err
			}))
			var got [][]rollout.Segment
			var err error
			for i, s := range c.steps {
				if err != nil {
					t.Fatalf("%s: step %d: %v", name, i-1, err)
				}
				tr.version, lies, f.trust.share = s.version, s.lies, s.audit
				got, err = f.Sample(t.Context(), requestsOf(i, 8))
			}
			var late *rollout.LateError
			if (c.since >= 0) != errors.As(err, &late) || late != nil && (late.Since != c.since || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%s: error %v, since %+v", name, err, late)
			}
			if c.since < 0 {
				if want, _ := tr.Sample(t.Context(), requestsOf(len(c.steps)-1, 8)); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the last step is not what one machine draws: %v", name, err)
				}
			}
			if len(kept) != 1 {
				t.Fatalf("%s: %d disputes", name, len(kept))
			}
			repeats(t, kept[0])
		})
	}
}

// repeats draws a disputed item again from what a dispute has, and nothing else.
func repeats(t *testing.T, d Dispute) {
	t.Helper()
	p := &paper{}
	p.Load(d.Weights)
	drawn, err := p.Sample(context.Background(), d.Item.Requests(), d.Item.Seed)
	if err != nil {
		t.Fatal(err)
	}
	here := Result{Item: d.Item.ID(), Completions: drawn}
	for who, data := range map[string][]byte{"worker": d.Answer, "trainer": d.Right} {
		r, err := d.Item.Decode(data, vocab)
		if err != nil {
			t.Fatalf("the answer of the %s: %v", who, err)
		}
		if differs := r.Differs(here); (differs != "") != (who == "worker") {
			t.Errorf("the %s differs: %q", who, differs)
		}
	}
	if digestOf(d.Weights) != d.Item.Weights || d.Worker != "w" || !strings.Contains(d.Why, fmt.Sprint("item ", d.Item.ID())) {
		t.Errorf("%q says %q of weights %v", d.Worker, d.Why, digestOf(d.Weights))
	}
}

// TestRemember: what a part of a run has found out of its workers is known in the next.
func TestRemember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted, refused, calls := map[string]int{}, map[string]string{}, 0
		run := func(version int, lie func(*rollout.Segment)) error {
			m, tr := NewMemory(), &trainer{version: version}
			defer m.Close()
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Trusted: trusted, Refused: refused, Remember: func(t map[string]int, r map[string]string) error {
				trusted, refused = maps.Clone(t), maps.Clone(r)
				calls++
				return nil
			}})
			defer f.Close()
			go Work(t.Context(), m, "w", engineFunc(func(r []rollout.Request, seed uint64, p *paper) ([][]rollout.Segment, error) {
				out, err := p.Sample(t.Context(), r, seed)
				if r[0].Key.Stream < canaryStream {
					lie(&out[0][0])
				}
				return out, err
			}))
			for i := range 3 {
				tr.version, f.trust.share = version+i, float64(i/2) // all of the third step is checked
				if _, err := f.Sample(t.Context(), requestsOf(i, 8)); err != nil {
					return err
				}
			}
			return nil
		}
		honest := func(*rollout.Segment) {}
		if err := run(3, honest); err != nil || !maps.Equal(trusted, map[string]int{"w": 3}) || len(refused) > 0 || calls != 1 {
			t.Errorf("%v, %v, %v", err, trusted, refused)
		}
		var late *rollout.LateError
		if err := run(6, wrongToken); !errors.As(err, &late) || late.Since != 3 || refused["w"] == "" {
			t.Errorf("%v, %v, %v", err, trusted, refused)
		}
		if err := run(3, wrongToken); err != nil { // it is given nothing
			t.Errorf("a refused worker is back: %v", err)
		}
		// A run that went back to before what was trusted draws all of it again.
		trusted, refused = map[string]int{"w": 5}, map[string]string{}
		if err := run(3, wrongToken); !errors.As(err, &late) || late.Since != 3 {
			t.Errorf("went back: %v, %v", err, trusted)
		}
		trusted, refused = map[string]int{"other": 5}, map[string]string{}
		if err := run(3, honest); err != nil || !maps.Equal(trusted, map[string]int{"w": 3}) {
			t.Errorf("went back: %v, %v", err, trusted)
		}
	})
}
