package gpu_test

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
)

// chiSquareTail is the probability that a chi-square variable of an even
// number of degrees of freedom exceeds x: a Poisson sum.
func chiSquareTail(x float64, degrees int) float64 {
	if degrees%2 != 0 {
		panic("chiSquareTail: the closed form is for even degrees of freedom")
	}
	term, sum := math.Exp(-x/2), 0.0
	for i := range degrees / 2 {
		sum += term
		term *= x / 2 / float64(i+1)
	}
	return sum
}

// TestDrawFrequencies draws 20000 tokens and asks how unlikely their counts
// are. The streams are fixed, so the test passes always or never; one right
// device in a million would fail.
func TestDrawFrequencies(t *testing.T) {
	const draws, v, ld = 20000, 11, 16
	const unlikely = 1e-6
	logits := []float32{0, 1, -1, 2, 0.5, 0, -0.5, 1.5, 0.25, -2, 3}
	for name, place := range map[string]func(*oracle.Sampling, int){
		"positions": func(p *oracle.Sampling, i int) { p.Position = uint32(i) },
		"streams":   func(p *oracle.Sampling, i int) { p.Stream = uint32(i) },
		"seeds":     func(p *oracle.Sampling, i int) { p.Seed = uint64(i) },
		"high seed": func(p *oracle.Sampling, i int) { p.Seed = uint64(i) << 32 },
	} {
		t.Run(name, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				const invTemp = 0.7
				x, rowp := make([]float32, 0, draws*ld), make([]uint32, 0, draws*8)
				for i := range draws {
					p := oracle.Sampling{InvTemp: invTemp, Seed: 1, Stream: 2, Position: 3, TopP: 1}
					place(&p, i)
					x = append(append(x, logits...), make([]float32, ld-v)...)
					rowp = append(rowp, p.Words()...)
				}
				c := oracle.Case{Kernel: "sample_draw", Name: name, Params: []uint32{draws, v, ld}, Bind: []any{x, rowp, make([]uint32, draws)}}
				counts := make([]float64, v)
				for _, id := range gputest.Run(t, dev, c)[2].([]uint32) {
					if id >= v {
						t.Fatalf("token %d was drawn, the vocabulary has %d", id, v)
					}
					counts[id]++
				}
				total, chi := 0.0, 0.0
				for _, l := range logits {
					total += math.Exp(invTemp * float64(l))
				}
				for id, l := range logits {
					expected := draws * math.Exp(invTemp*float64(l)) / total
					chi += (counts[id] - expected) * (counts[id] - expected) / expected
				}
				if p := chiSquareTail(chi, v-1); p < unlikely {
					t.Errorf("chi-square %.1f of %d degrees of freedom has probability %.2g; counts %v", chi, v-1, p, counts)
				}
			})
		})
	}
}

// TestDrawAfterFilter: what the filter drops is never drawn.
func TestDrawAfterFilter(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("sample_filter") {
			filtered := gputest.Run(t, dev, c)[2].([]float32)
			rows, ld := int(c.Params[0]), int(c.Params[2])
			draw := oracle.Case{Kernel: "sample_draw", Name: c.Name, Params: c.Params, Bind: []any{filtered, c.Bind[1], make([]uint32, rows)}}
			for r, id := range gputest.Run(t, dev, draw)[2].([]uint32) {
				if int(id) >= ld || math.IsInf(float64(filtered[r*ld+int(id)]), -1) {
					t.Errorf("%s: row %d drew token %d, which was dropped", c.Name, r, id)
				}
			}
		}
	})
}
