package gpu_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/internal/fixtures"
)

// lossCases runs check on the cases of losses/FILE.json that are in scope, on every device.
func lossCases[C any](t *testing.T, file string, check func(c C, t *testing.T, dev gpu.Device) error) {
	t.Helper()
	dir := fixtures.Dir(t, "losses")
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		fixtures.Losses(t, dir, file, func(t *testing.T, _ *fixtures.LossFile, raw *fixtures.Case) {
			var c C
			raw.Decode(t, &c)
			must(t, check(c, t, dev))
		})
	})
}

// floatOr reads "inf" and "-inf" too.
type floatOr float64

func (f *floatOr) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case `"inf"`:
		*f = floatOr(math.Inf(1))
	case `"-inf"`:
		*f = floatOr(math.Inf(-1))
	default:
		return json.Unmarshal(raw, (*float64)(f))
	}
	return nil
}

type filterCase struct {
	Name, Note string
	Hyper      map[string]float64
	In         struct{ Logits []floatOr }
	Out        struct {
		Probs []float64
		Kept  []int
	}
}

// sampling is the case's row of rowp.
func (c filterCase) sampling() oracle.Sampling {
	get := func(name string, off float64) float64 {
		if v, ok := c.Hyper[name]; ok {
			return v
		}
		return off
	}
	return oracle.Sampling{
		InvTemp: float32(1 / get("temperature", 1)),
		TopK:    uint32(get("top_k", 0)),
		TopP:    float32(get("top_p", 1)),
		MinP:    float32(get("min_p", 0)),
	}
}

func TestSamplingFilterFixtures(t *testing.T) { lossCases(t, "sampling_filters", filterCase.check) }

// check filters the logits on the device and compares the softmax of what
// stays.
func (c filterCase) check(t *testing.T, dev gpu.Device) error {
	t.Helper()
	v := len(c.In.Logits)
	ld := (v + 7) / 8 * 8
	logits := make([]float32, ld)
	for i, l := range c.In.Logits {
		logits[i] = float32(l)
	}
	p := c.sampling()
	row := oracle.Case{Kernel: "sample_filter", Name: c.Name, Params: []uint32{1, uint32(v), uint32(ld)}, Bind: []any{logits, p.Words(), make([]float32, ld)}}
	kept := gputest.Run(t, dev, row)[2].([]float32)[:v]
	got, slack := softmax(kept, p.InvTemp)
	want := slices.Clone(c.Out.Probs)
	if strings.Contains(c.Note, "equal logits at the border") {
		slices.Sort(got)
		slices.Sort(want)
	}
	for i := range want {
		if (got[i] == 0) != (want[i] == 0) || math.Abs(got[i]-want[i]) > slack*want[i] {
			return fmt.Errorf("token %d has probability %v, want %v within a fraction of %.2g; kept are %v", i, got[i], want[i], slack, c.Out.Kept)
		}
	}
	return nil
}

// softmax is in float64, of float32 logits. The fraction bounds what the
// rounding of logits and inverse temperature to float32 changes: each exponent
// moves by two roundings of itself, in the numerator and in the sum.
func softmax(logits []float32, invTemp float32) (p []float64, fraction float64) {
	top, largest := math.Inf(-1), 0.0
	for _, l := range logits {
		x := float64(l) * float64(invTemp)
		top = max(top, x)
		if !math.IsInf(x, 0) {
			largest = max(largest, math.Abs(x))
		}
	}
	sum := 0.0
	for _, l := range logits {
		p = append(p, math.Exp(float64(l)*float64(invTemp)-top))
		sum += p[len(p)-1]
	}
	for i := range p {
		p[i] /= sum
	}
	// Two exponents, two roundings each.
	return p, math.Expm1(oracle.Tolerance(4, largest))
}

type logitsCase struct {
	Name  string
	Hyper struct{ Temperature float64 }
	In    struct {
		Logits   [][]float64
		Tokens   []int
		DLogp    []float64
		DEntropy []float64
	}
	Out struct {
		Logp      []float64
		Entropy   []float64
		LogSumExp []float64
		DLogits   [][]float64
	}
}

// TestLogitsFixtures: log-prob, entropy and their gradient as the trainers' own code has them.
func TestLogitsFixtures(t *testing.T) { lossCases(t, "logits", logitsCase.check) }

// check holds the oracle against the figures, which both have in float64, and then the device
// against the figures within the oracle's bounds.
func (c logitsCase) check(_ *testing.T, dev gpu.Device) error {
	forward, backward := oracle.Vocab(c.In.Logits, c.In.Tokens, c.Hyper.Temperature, c.In.DLogp, c.In.DEntropy)
	said, grads := forward.Want[3].([]oracle.Value), backward.Want[0].([]oracle.Value)
	const rel, abs = 1e-9, 1e-12 // of the fixture file
	var faults []error
	replace := func(what string, v *oracle.Value, want float64) {
		if math.Abs(v.X-want) > abs+rel*math.Abs(want) {
			faults = append(faults, fmt.Errorf("%s: the oracle has %v, want %v", what, v.X, want))
		}
		v.X = want
	}
	for r := range c.In.Logits {
		for k, want := range []float64{c.Out.Logp[r], c.Out.Entropy[r], said[4*r+2].X, c.Out.LogSumExp[r]} {
			replace(fmt.Sprintf("row %d, statistic %d", r, k), &said[4*r+k], want)
		}
		for j, want := range c.Out.DLogits[r] {
			replace(fmt.Sprintf("row %d, gradient %d", r, j), &grads[r*len(grads)/len(c.In.Logits)+j], want)
		}
	}
	return errors.Join(append(faults, forward.Check(dev), backward.Check(dev))...)
}
