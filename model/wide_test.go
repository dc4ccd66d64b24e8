package model_test

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

// TestWideTier: a model draws and learns the same bits in tier T1 as in T0, in rounds of
// one row, of several, and in a batch of sequences.
func TestWideTier(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles shaders for another tier")
	}
	gputest.EachWide(t, func(t *testing.T, base, wide gpu.Device) {
		seqs := slices.Concat(modeltest.Relatives(1, 3), modeltest.Relatives(2, 2))
		var draws [2]uint64
		var gradients [2][]float32
		for i, dev := range []gpu.Device{base, wide} {
			m := modeltest.Small(t, dev, 128)
			e, err := sample.NewEngine(m, sample.Options{Sequences: 8, Context: 64})
			if err != nil {
				t.Fatal(err)
			}
			draws[i] = modeltest.HashTokens(modeltest.GenerateFirst(t, e, modeltest.Requests(modeltest.Prompts(3, 40), 1)))
			e.Close()
			gradients[i] = modeltest.FlatGradient(t, m, seqs, 2000, modeltest.OnePass)
		}
		if draws[0] != draws[1] {
			t.Error("completions or their log-probs have other bits in T1")
		}
		for i, x := range gradients[0] {
			if y := gradients[1][i]; math.Float32bits(x) != math.Float32bits(y) {
				t.Fatalf("element %d of the gradient is %v in T0 and %v in T1", i, x, y)
			}
		}
	})
}
