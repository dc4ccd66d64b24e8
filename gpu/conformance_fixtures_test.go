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

// The tolerance of fixtures/losses/README.md for optimizers in float32, which
// is what the kernels are; the float64 trajectories are held to it as well.
const (
	optimizerRel = 3e-6
	optimizerAbs = 2e-6
)

func nearOptimizer(got, want float64) bool {
	return math.Abs(got-want) <= optimizerAbs+optimizerRel*math.Abs(want)
}

type optimizerCase struct {
	Name  string
	Hyper struct {
		LR, Clip          float64
		LRs               []float64 // by step, in place of LR
		Betas             []float64
		Eps               *float64
		WeightDecay       *float64 `json:"weight_decay"`
		AMSGrad, Maximize bool
		MaxNorm           float64 `json:"max_norm"`
		NormType          any     `json:"norm_type"`
	}
	In struct {
		Params0 json.RawMessage
		Grads   json.RawMessage // by step; of clip, by tensor
	}
	Out struct {
		Params    json.RawMessage // by step
		Grads     json.RawMessage
		Mean      json.RawMessage `json:"final_exp_avg"`
		Square    json.RawMessage `json:"final_exp_avg_sq"`
		TotalNorm float64         `json:"total_norm"`
		GradNorms []float64       `json:"grad_norms"`
	}
}

// flat decodes numbers in lists of any depth, in order.
func flat(t *testing.T, raw json.RawMessage) []float64 {
	t.Helper()
	var value any
	must(t, json.Unmarshal(raw, &value))
	var out []float64
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		default:
			t.Fatalf("%v is neither a number nor a list", v)
		}
	}
	walk(value)
	return out
}

func TestOptimizerFixtures(t *testing.T) { lossCases(t, "optimizers", optimizerCase.check) }

func (c optimizerCase) check(t *testing.T, dev gpu.Device) error {
	t.Helper()
	if strings.HasPrefix(c.Name, "clip/") {
		return c.checkClip(t, dev)
	}
	return c.checkAdamW(t, dev)
}

// optimizer is one flat tensor under AdamW with clipping, as the trainer
// records it: one program that runs once for each step.
type optimizer struct {
	n                 int
	p, g, m, v        gpu.Buffer
	part, ctl         gpu.Buffer
	program           gpu.Program
	beta1, beta2, eps float64
}

func newOptimizer(t *testing.T, dev gpu.Device, n int, beta1, beta2, eps, maxNorm float64) *optimizer {
	t.Helper()
	o := &optimizer{n: n, beta1: beta1, beta2: beta2, eps: eps}
	wide := (n + 7) / 8 * 8
	for _, b := range []*gpu.Buffer{&o.p, &o.g, &o.m, &o.v} {
		*b = floats(t, dev, repeat(0, wide)...)
	}
	o.part, o.ctl = floats(t, dev, 0), floats(t, dev, repeat(0, 8)...)
	words := func(n uint32, x ...float64) []uint32 {
		out := []uint32{n}
		for _, v := range x {
			out = append(out, oracle.Word(float32(v)))
		}
		return out
	}
	views := func(b ...gpu.Buffer) (list []gpu.View) {
		for _, buffer := range b {
			list = append(list, whole(buffer))
		}
		return list
	}
	o.program = record(t, dev,
		gpu.Op{Kernel: "grad_sumsq", Bind: views(o.g, o.part), Params: []uint32{uint32(wide), 0}, Size: [3]int{1}},
		gpu.Op{Kernel: "grad_clip", Bind: views(o.part, o.ctl), Params: words(1, maxNorm), Size: [3]int{1}},
		gpu.Op{Kernel: "adamw", Bind: views(o.p, o.g, o.m, o.v, o.ctl), Params: append(words(uint32(wide), beta1, beta2, eps), 1), Size: [3]int{wide}},
	)
	return o
}

// step runs step t, counted from 1, and returns the norm of the gradient.
func (o *optimizer) step(t *testing.T, dev gpu.Device, step int, lr, weightDecay float64, grad []float64) float64 {
	t.Helper()
	bias := func(beta float64) float64 { return 1 / (1 - math.Pow(beta, float64(step))) }
	write(t, o.g, 0, grad)
	write(t, o.ctl, 8, []float64{lr, weightDecay, bias(o.beta1), math.Sqrt(bias(o.beta2)), 1 - o.beta1, 1 - o.beta2})
	must(t, dev.Submit(o.program))
	return float64(contents(t, o.ctl)[1])
}

// write rounds x and writes it.
func write(t *testing.T, b gpu.Buffer, offset int, x []float64) {
	t.Helper()
	var rounded []float32
	for _, v := range x {
		rounded = append(rounded, float32(v))
	}
	must(t, b.Write(offset, oracle.Bytes(rounded)))
}

// near compares a buffer's first elements.
func near(what string, got []float32, want []float64) error {
	for i, w := range want {
		if !nearOptimizer(float64(got[i]), w) {
			return fmt.Errorf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
	return nil
}

func (c optimizerCase) checkAdamW(t *testing.T, dev gpu.Device) error {
	t.Helper()
	h := c.Hyper
	// The defaults of torch.optim.AdamW.
	beta1, beta2, eps, decay := 0.9, 0.999, 1e-8, 1e-2
	if len(h.Betas) == 2 {
		beta1, beta2 = h.Betas[0], h.Betas[1]
	}
	if h.Eps != nil {
		eps = *h.Eps
	}
	if h.WeightDecay != nil {
		decay = *h.WeightDecay
	}
	start, grads, params := flat(t, c.In.Params0), flat(t, c.In.Grads), flat(t, c.Out.Params)
	n := len(start)
	o := newOptimizer(t, dev, n, beta1, beta2, eps, h.Clip)
	write(t, o.p, 0, start)
	for i := range len(grads) / n {
		lr := h.LR
		if len(h.LRs) > 0 {
			lr = h.LRs[i]
		}
		norm := o.step(t, dev, i+1, lr, decay, grads[i*n:][:n])
		if len(c.Out.GradNorms) > 0 && !nearOptimizer(norm, c.Out.GradNorms[i]) {
			return fmt.Errorf("step %d: norm is %v, want %v", i+1, norm, c.Out.GradNorms[i])
		}
		if err := near(fmt.Sprintf("params after step %d", i+1), contents(t, o.p), params[i*n:][:n]); err != nil {
			return err
		}
	}
	if err := near("exp_avg", contents(t, o.m), flat(t, c.Out.Mean)); err != nil {
		return err
	}
	return near("exp_avg_sq", contents(t, o.v), flat(t, c.Out.Square))
}

func (c optimizerCase) checkClip(t *testing.T, dev gpu.Device) error {
	t.Helper()
	grad, want := flat(t, c.In.Grads), flat(t, c.Out.Grads)
	o := newOptimizer(t, dev, len(grad), 0, 0, 1, c.Hyper.MaxNorm)
	norm := o.step(t, dev, 1, 0, 0, grad)
	if !nearOptimizer(norm, c.Out.TotalNorm) {
		return fmt.Errorf("norm is %v, want %v", norm, c.Out.TotalNorm)
	}
	// With beta1 = 0 the first moment is the clipped gradient itself.
	return near("clipped gradient", contents(t, o.m), want)
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
