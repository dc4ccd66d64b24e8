package learn

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/internal/device"
)

// The tolerance of fixtures/losses/README.md for optimizers in float32, which is what the kernels
// are; the float64 trajectories are held to it as well.
const (
	optimizerRel = 3e-6
	optimizerAbs = 2e-6
)

type optimizerCase struct {
	Name  string
	Hyper struct {
		Optimizer, Op     string
		Dtype             string // of torch: what the bounds allow for is float32 here
		Steps             int
		LR, Clip          float64
		LRs               []float64 // by step, in place of LR
		Betas             []float64
		Eps, Momentum     *float64
		Dampening         float64
		WeightDecay       *float64 `json:"weight_decay"`
		AMSGrad, Maximize bool
		Nesterov          bool
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
		Most      json.RawMessage `json:"final_max_exp_avg_sq"`
		Momentum  json.RawMessage `json:"final_momentum_buffer"`
		TotalNorm float64         `json:"total_norm"`
		GradNorms []float64       `json:"grad_norms"`
	}
}

// numbers decodes numbers in lists of any depth, in order.
func numbers(t *testing.T, raw json.RawMessage) (out []float64) {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
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

// TestOptimizerFixtures: torch's optimizers and clipping, by what a trainer records for a step.
func TestOptimizerFixtures(t *testing.T) {
	dir := fixtures.Dir(t, "losses")
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		fixtures.Losses(t, dir, "optimizers", func(t *testing.T, _ *fixtures.LossFile, raw *fixtures.Case) {
			var c optimizerCase
			raw.Decode(t, &c)
			if c.Hyper.Op == "clip_grad_norm" {
				c.checkClip(t, dev)
			} else {
				c.checkSteps(t, dev)
			}
		})
	})
}

// optimized is one flat tensor that an optimizer steps.
type optimized struct {
	*optimizerCase
	o    Optimizer
	dev  gpu.Device
	n    int
	p, g gpu.Buffer
	kept []gpu.View // moments
	sums gpu.View
	ctl  gpu.View
	prog *device.Programs
}

func (c *optimizerCase) open(t *testing.T, dev gpu.Device, o Optimizer, n int) *optimized {
	t.Helper()
	s := &optimized{optimizerCase: c, o: o, dev: dev, n: n, prog: device.NewPrograms(dev, 2)}
	buffer := func(words int) gpu.Buffer {
		b, err := dev.NewBuffer(c.Name, 4*words)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Free)
		return b
	}
	view := func(b gpu.Buffer) gpu.View { return gpu.View{Buffer: b, Size: b.Size()} }
	wide := (n + 7) / 8 * 8
	s.p, s.g, s.sums, s.ctl = buffer(wide), buffer(wide), view(buffer(1)), view(buffer(8))
	for range o.Rule.moments() {
		s.kept = append(s.kept, view(buffer(wide)))
	}
	t.Cleanup(s.prog.Free)
	return s
}

// step runs a step, counted from 1, and returns the norm of the gradient.
func (s *optimized) step(t *testing.T, step int, lr float64, grad []float64) float64 {
	t.Helper()
	narrow := make([]float32, len(grad))
	for i, x := range grad {
		narrow[i] = float32(x)
	}
	g, p, wide := gpu.View{Buffer: s.g, Size: s.g.Size()}, gpu.View{Buffer: s.p, Size: s.p.Size()}, s.g.Size()/4
	for _, err := range []error{
		device.Upload(device.Put(gpu.View{Buffer: s.g}, narrow)),
		device.Upload(device.Put(device.At(s.ctl, 2), s.o.controls(step, lr))),
		s.prog.Run("step", func(r *device.Recorder) {
			s.o.recordNorm(r, wide, 1, g, s.sums, 0)
			s.o.recordClip(r, 1, s.sums, s.ctl)
			s.o.record(r, wide, p, g, s.kept, s.ctl, true)
		}),
		s.dev.Wait(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return float64(s.read(t, s.ctl.Buffer, 2)[1])
}

func (s *optimized) read(t *testing.T, b gpu.Buffer, n int) []float32 {
	t.Helper()
	out := make([]float32, n)
	if err := device.Read(gpu.View{Buffer: b}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// same holds the first elements of a buffer against a case.
func (s *optimized) same(t *testing.T, what string, b gpu.Buffer, want []float64) {
	t.Helper()
	for i, got := range s.read(t, b, len(want)) {
		nearOptimizer(t, fmt.Sprintf("%s: element %d", what, i), float64(got), want[i])
	}
}

func nearOptimizer(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > optimizerAbs+optimizerRel*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// optimizer has the settings of the case, with the defaults of torch.optim.
func (c *optimizerCase) optimizer() Optimizer {
	h := c.Hyper
	o := Optimizer{Rule: map[string]Rule{"AdamW": AdamW, "Adam": Adam, "SGD": SGD}[h.Optimizer], Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, ClipNorm: h.Clip,
		Dampening: h.Dampening, Nesterov: h.Nesterov}
	if o.Rule == AdamW {
		o.WeightDecay = 1e-2
	}
	if h.AMSGrad {
		o.Rule = AMSGrad
	}
	for i, to := range []*float64{&o.Beta1, &o.Beta2} {
		if len(h.Betas) == 2 {
			*to = h.Betas[i]
		}
	}
	for _, set := range []struct{ to, from *float64 }{{&o.Eps, h.Eps}, {&o.WeightDecay, h.WeightDecay}, {&o.Momentum, h.Momentum}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	return o
}

func (c *optimizerCase) checkSteps(t *testing.T, dev gpu.Device) {
	start, grads, params := numbers(t, c.In.Params0), numbers(t, c.In.Grads), numbers(t, c.Out.Params)
	n := len(start)
	if len(grads) != c.Hyper.Steps*n {
		t.Fatalf("%d numbers of gradients for %d steps of %d", len(grads), c.Hyper.Steps, n)
	}
	s := c.open(t, dev, c.optimizer(), n)
	first := make([]float32, n)
	for i, x := range start {
		first[i] = float32(x)
	}
	if err := device.Upload(device.Put(gpu.View{Buffer: s.p}, first)); err != nil {
		t.Fatal(err)
	}
	for i := range len(grads) / n {
		lr, grad := c.Hyper.LR, grads[i*n:][:n]
		if len(c.Hyper.LRs) > 0 {
			lr = c.Hyper.LRs[i]
		}
		if c.Hyper.Maximize { // a run's loss is minimised: what is to grow stands in it with a minus
			for j := range grad {
				grad[j] = -grad[j]
			}
		}
		norm := s.step(t, i+1, lr, grad)
		if len(c.Out.GradNorms) > 0 {
			nearOptimizer(t, fmt.Sprintf("step %d: norm", i+1), norm, c.Out.GradNorms[i])
		}
		s.same(t, fmt.Sprintf("params after step %d", i+1), s.p, params[i*n:][:n])
	}
	for i, want := range []json.RawMessage{c.Out.Mean, c.Out.Square, c.Out.Most} {
		if want != nil {
			s.same(t, momentNames[i], s.kept[i].Buffer, numbers(t, want))
		}
	}
	if c.Out.Momentum != nil {
		s.same(t, "momentum", s.kept[0].Buffer, numbers(t, c.Out.Momentum))
	}
}

func (c *optimizerCase) checkClip(t *testing.T, dev gpu.Device) {
	grad := numbers(t, c.In.Grads)
	by, ok := map[string]Norm{"1": L1, "2": L2, "inf": Largest}[fmt.Sprint(c.Hyper.NormType)]
	if !ok {
		t.Fatalf("unknown norm %v", c.Hyper.NormType)
	}
	// With beta1 = 0 the first moment is the clipped gradient itself.
	s := c.open(t, dev, Optimizer{Beta2: 0, Eps: 1, ClipNorm: c.Hyper.MaxNorm, ClipBy: by}, len(grad))
	nearOptimizer(t, "norm", s.step(t, 1, 0, grad), c.Out.TotalNorm)
	s.same(t, "clipped gradient", s.kept[0].Buffer, numbers(t, c.Out.Grads))
}

// TestNormSeesNaN: a gradient with one NaN has no norm, whichever norm it is, so that the update
// is refused; the largest of several numbers would lose it.
func TestNormSeesNaN(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, by := range []Norm{L2, L1, Largest} {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				grad := make([]float64, 200)
				grad[70], grad[71], grad[150] = 3, -4, bad
				s := (&optimizerCase{Name: "NaN"}).open(t, dev, Optimizer{Eps: 1, ClipNorm: 1, ClipBy: by}, len(grad))
				if norm := s.step(t, 1, 0, grad); !math.IsNaN(norm) && !math.IsInf(norm, 0) {
					t.Errorf("%s of a gradient with %v is %v", by, bad, norm)
				}
			}
		}
	})
}
