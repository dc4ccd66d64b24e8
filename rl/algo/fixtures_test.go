package algo

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// goldenFile is one file of the fixture set "losses"; its README has the schema.
type goldenFile fixtures.LossFile

type golden struct {
	*fixtures.Case
	Hyper hyper
}

// hyper are the hyper-parameters of a case, which remember what was read of them. A case fails if
// nothing reads one that it gives itself: it says something that the test does not map. The
// defaults of a file are read by the cases that they concern.
type hyper struct {
	all, own map[string]any
	read     map[string]bool
}

func newHyper(all, own map[string]any) hyper { return hyper{all, own, map[string]bool{}} }

// get is a value as it stands there; nil if absent.
func (h hyper) get(key string) any {
	h.read[key] = true
	return h.all[key]
}

func (h hyper) num(key string) float64 {
	if x, ok := h.get(key).(float64); ok {
		return x
	}
	return math.NaN() // absent or null: off
}

func (h hyper) or(key string, fallback float64) float64 {
	if x := h.num(key); !math.IsNaN(x) {
		return x
	}
	return fallback
}

func (h hyper) str(key string) string {
	s, _ := h.get(key).(string)
	return s
}

func (h hyper) list(key string) []any {
	l, _ := h.get(key).([]any)
	return l
}

func (h hyper) has(key string) bool { return h.get(key) != nil && h.get(key) != false }

// in are the options that stand in a value; mapped has to be called of them too.
func (h hyper) in(key string) hyper {
	inner, _ := h.get(key).(map[string]any)
	return newHyper(inner, inner)
}

// only is for what the test maps with one value alone.
func (h hyper) only(t *testing.T, key string, values ...any) {
	t.Helper()
	if x := h.get(key); x != nil && !slices.Contains(values, x) {
		t.Errorf("the test maps %s = %v alone; the case has %v", key, values, x)
	}
}

// mapped is an error for each key that was not read, unless the implementation does not read it
// either; null is a key that is not there.
func (h hyper) mapped(t *testing.T, unread []string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(h.own)) {
		if !h.read[key] && h.own[key] != nil && !slices.Contains(unread, key) {
			t.Errorf("the test does not map %s = %v", key, h.own[key])
		}
	}
}

// row is a list of numbers in which null is NaN.
type row []float64

func (r *row) UnmarshalJSON(data []byte) error {
	var list []*float64
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*r = make(row, len(list))
	for i, x := range list {
		(*r)[i] = math.NaN()
		if x != nil {
			(*r)[i] = *x
		}
	}
	return nil
}

// value decodes one field, which must be there.
func value[T any](t *testing.T, from map[string]json.RawMessage, key string) T {
	t.Helper()
	var out T
	raw, ok := from[key]
	if !ok {
		t.Fatalf("the case has no %q", key)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return out
}

// matrix decodes rows of numbers; nil if absent.
func matrix(t *testing.T, from map[string]json.RawMessage, key string) [][]float64 {
	t.Helper()
	if from[key] == nil {
		return nil
	}
	var out [][]float64
	for _, r := range value[[]row](t, from, key) {
		out = append(out, r)
	}
	return out
}

// formulasOf runs the cases of a file that are in scope on the committed selection and on all.
func formulasOf(t *testing.T, file string, check func(t *testing.T, f *goldenFile, g *golden)) {
	t.Helper()
	fixtures.Each(t, "losses", func(t *testing.T, dir string) {
		fixtures.Losses(t, dir, file, func(t *testing.T, f *fixtures.LossFile, c *fixtures.Case) {
			g := &golden{c, newHyper(c.Hyper, c.Own)}
			check(t, (*goldenFile)(f), g)
			g.Hyper.mapped(t, fixtures.Unread(file, c))
		})
	})
}

// near reports whether got is want within the tolerance of the file.
func (f *goldenFile) near(got, want float64) bool {
	return math.Abs(got-want) <= f.Tolerance.Abs+f.Tolerance.Rel*math.Abs(want)
}

func (f *goldenFile) same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !f.near(got, want) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

func (f *goldenFile) sameRow(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		f.same(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
	}
}

func (f *goldenFile) sameMatrix(t *testing.T, what string, got, want [][]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d rows, want %d", what, len(got), len(want))
	}
	for i := range want {
		f.sameRow(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
	}
}
