package algo

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// goldenFile is one file of the fixture set "losses"; its README has the schema.
type goldenFile fixtures.LossFile

type golden struct {
	*fixtures.Case
	Hyper hyper
}

type hyper map[string]any

func (h hyper) num(key string) float64 {
	if x, ok := h[key].(float64); ok {
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
	s, _ := h[key].(string)
	return s
}

func (h hyper) has(key string) bool { return h[key] != nil && h[key] != false }

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
			check(t, (*goldenFile)(f), &golden{c, c.Hyper})
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
