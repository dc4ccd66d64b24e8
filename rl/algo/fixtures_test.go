package algo

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// goldenFile is one file of the fixture set "losses"; its README has the schema.
type goldenFile struct {
	Defaults  hyper
	Tolerance struct {
		Rel, Abs float64
		Rel32    float64 `json:"metrics_rel"`
	}
	Batches map[string]map[string]json.RawMessage
	Cases   []*golden
}

type golden struct {
	Name, Note string
	Hyper      hyper
	Batch      string
	In         map[string]json.RawMessage
	Out        map[string]json.RawMessage
}

// family is the first part of the name.
func (g *golden) family() string { return strings.Split(g.Name, "/")[0] }

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

// inputs are the batch's fields with those of the case over them.
func (f *goldenFile) inputs(g *golden) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for k, v := range f.Batches[g.Batch] {
		all[k] = v
	}
	for k, v := range g.In {
		all[k] = v
	}
	return all
}

// runBut leaves out the cases for which outside gives a reason.
func runBut(t *testing.T, file string, outside func(f *goldenFile, g *golden) string, check func(t *testing.T, f *goldenFile, g *golden)) {
	fixtures.Each(t, "losses", func(t *testing.T, dir string) {
		data, err := os.ReadFile(filepath.Join(dir, file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var f goldenFile
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		matched, failed, out := 0, 0, 0
		for _, g := range f.Cases {
			merged := hyper{}
			for _, from := range []hyper{f.Defaults, g.Hyper} {
				for k, v := range from {
					merged[k] = v
				}
			}
			g.Hyper = merged
			if outside(&f, g) != "" {
				out++
				continue
			}
			if t.Run(g.Name, func(t *testing.T) { check(t, &f, g) }) {
				matched++
			} else {
				failed++
			}
		}
		fixtures.Report(t, "losses/"+file, matched, failed, out)
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
