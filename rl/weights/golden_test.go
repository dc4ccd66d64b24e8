package weights

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/hf"
)

// merge is a case of merges.json: what mergekit made of the models beside it. Its arithmetic
// multiplies each model by Terms at most and rounds each product Roundings times.
type merge struct {
	Name, Formula string
	Terms         map[string]float64
	Roundings     float64
	Arc           []string // both ends of an arc
	Drops         float64  // the share that DARE drops, by masks of its own
}

// TestMergekit: formulas have the values of mergekit 0.1.5, of a tied and of an untied model, and of the
// cases of peers/differ where $RLZERO_FIXTURES has them (peers/golden/weights.py). It computes in float32, so it
// rounds by 2^-24 of the absolute values that it adds up.
func TestMergekit(t *testing.T) {
	sets, err := filepath.Glob(filepath.Join("testdata", "*", "merges.json"))
	if err != nil || len(sets) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	more, err := filepath.Glob(filepath.Join(os.Getenv(fixtures.Env), "merges", "*", "merges.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(sets, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var merges []merge
		if err := json.Unmarshal(data, &merges); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, m := range merges {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+m.Name, func(t *testing.T) { m.compare(t, filepath.Dir(file)) })
		}
	}
}

func (m merge) compare(t *testing.T, dir string) {
	of := func(name string) Model {
		f, err := hf.ReadFolder(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Tensors.Close() })
		return Model{name, f}
	}
	golden, models := of(m.Name), []Model(nil)
	for _, name := range slices.Sorted(maps.Keys(m.Terms)) { // the first one has the config and the tokenizer
		models = append(models, of(name))
	}
	kept := 0 // by both
	for tensor, got := range blend(t, m.Formula, models...) {
		values := map[string][]float32{}
		for _, model := range models {
			values[model.Name] = read(t, model, tensor)
		}
		roundings := m.Roundings
		if m.Arc != nil {
			roundings += arcRoundings(values[m.Arc[0]], values[m.Arc[1]])
		}
		want := read(t, golden, tensor)
		for e := range got {
			if base := values["base"]; m.Drops > 0 {
				if got[e] == base[e] || want[e] == base[e] {
					continue
				}
				kept++
			}
			scale := 0.0
			for name, term := range m.Terms {
				scale += term * math.Abs(float64(values[name][e]))
			}
			if d := math.Abs(float64(got[e]) - float64(want[e])); !(d <= roundings*0x1p-24*scale) {
				t.Fatalf("%s: %s: %s[%d] is %v, mergekit has %v", m.Formula, dir, tensor, e, got[e], want[e])
			}
		}
	}
	if m.Drops > 0 && kept == 0 {
		t.Errorf("%s: %s: no number is kept by both", m.Formula, dir)
	}
}

// arcRoundings are those of the factors of an arc: its cosine has sums of n products, and is off by 2n
// roundings, the angle by that over its sine, each factor by twice that over the sine again.
func arcRoundings(a, b []float32) float64 {
	var aa, bb, ab float64
	for e := range a {
		aa, bb, ab = aa+float64(a[e])*float64(a[e]), bb+float64(b[e])*float64(b[e]), ab+float64(a[e])*float64(b[e])
	}
	return 4 * float64(len(a)) / (1 - ab*ab/(aa*bb))
}
