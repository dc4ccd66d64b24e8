package weights

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
)

// TestMergekit: formulas have the values of mergekit 0.1.5, of a tied and of an untied model
// (peers/golden/weights.py). It computes in float32: each of at most 8 operations rounds by 2^-24 of the
// absolute values that it adds up. The cosine of slerp has sums of n products in float32 beside that.
func TestMergekit(t *testing.T) {
	for _, kind := range []string{"tied", "untied"} {
		of := func(name string) Model {
			f, err := hf.ReadFolder(filepath.Join("testdata", kind, name))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Tensors.Close() })
			return Model{name, f}
		}
		base, a, b := of("base"), of("a"), of("b")
		for _, c := range []struct {
			name, text string
			models     []Model
			arc        bool
		}{
			{"linear", "0.25*a + 0.75*b", []Model{a, b}, false},
			{"slerp", "slerp(a, b, 0.25)", []Model{a, b}, true},
			{"task_arithmetic", "base + 0.5*(a - base) + 0.25*(b - base)", []Model{base, a, b}, false},
			{"ties", "ties(base, 0.5, a, b)", []Model{base, a, b}, false},
		} {
			golden := of(c.name)
			for name, got := range blend(t, c.text, c.models...) {
				want, x0, xa, xb := read(t, golden, name), read(t, base, name), read(t, a, name), read(t, b, name)
				roundings := 8.0
				if c.arc {
					var aa, bb, ab float64
					for e := range xa {
						aa, bb, ab = aa+float64(xa[e])*float64(xa[e]), bb+float64(xb[e])*float64(xb[e]), ab+float64(xa[e])*float64(xb[e])
					}
					// The cosine is off by 2n roundings, the angle by that over its sine, each factor by
					// twice that over the sine again.
					roundings += 4 * float64(len(xa)) / (1 - ab*ab/(aa*bb))
				}
				for e := range got {
					scale := math.Abs(float64(x0[e])) + math.Abs(float64(xa[e])) + math.Abs(float64(xb[e]))
					if d := math.Abs(float64(got[e]) - float64(want[e])); !(d <= 2*roundings*0x1p-24*scale) { // a change is a difference: up to twice that
						t.Fatalf("%s: %s: %s[%d] is %v, mergekit has %v", kind, c.name, name, e, got[e], want[e])
					}
				}
			}
		}
	}
}
