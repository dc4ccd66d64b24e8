package learn

import (
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Rule is how an optimizer makes a step of a gradient; all are in PyTorch's form.
type Rule string

const (
	AdamW   Rule = "adamw"   // Loshchilov and Hutter 2019, arXiv 1711.05101; also the empty rule
	Adam    Rule = "adam"    // Kingma and Ba 2015, arXiv 1412.6980: the decay is a part of the gradient
	AMSGrad Rule = "amsgrad" // Reddi et al. 2018, arXiv 1904.09237: AdamW by the largest second moment so far
	SGD     Rule = "sgd"     // gradient descent with momentum; the decay is a part of the gradient
)

// moments is the number of arrays as large as the parameters that a rule keeps.
func (r Rule) moments() int {
	switch r {
	case SGD:
		return 1
	case AMSGrad:
		return 3
	}
	return 2
}

// Moments is the number of arrays, each as large as the trained parameters, that a trainer keeps
// for its rules; no rules: AdamW.
func Moments(rules ...Rule) int {
	if len(rules) == 0 {
		return AdamW.moments()
	}
	most := 0
	for _, r := range rules {
		most = max(most, r.moments())
	}
	return most
}

// Optimizes gives a trainer room for the state of the rules that it will use; without this option,
// for that of AdamW.
func Optimizes(rules ...Rule) Option {
	return func(t *Trainer) { t.moments = Moments(rules...) }
}

// Norm is what the clipping of a gradient measures, over all elements that are trained.
type Norm string

const (
	L2      Norm = "l2"      // the root of the sum of squares; also the empty norm
	L1      Norm = "l1"      // the sum without signs
	Largest Norm = "largest" // the largest element without its sign
)

// Optimizer are the settings of one update. Norm factors and biases are not decayed.
type Optimizer struct {
	Rule        Rule
	LR          float64 // of this update
	ValueLR     float64 // of this update of the value head, if there is one
	Beta1       float64 // of all but SGD, as Beta2 and Eps
	Beta2       float64
	Eps         float64
	Momentum    float64 // of SGD, as Dampening and Nesterov
	Dampening   float64 // what the gradient's share in the momentum is below 1, after the first update
	Nesterov    bool
	WeightDecay float64
	ClipNorm    float64 // 0: no clipping
	ClipBy      Norm
}

// controls are ctl[2] and those after it, see kernel adamw, of update number n from 1 with a
// learning rate.
func (o Optimizer) controls(n int, lr float64) []float32 {
	if o.Rule == SGD {
		share := 1.0
		if n > 1 && o.Momentum > 0 {
			share = 1 - o.Dampening
		}
		return []float32{float32(lr), float32(o.WeightDecay), 0, 0, float32(share), 0}
	}
	bias1, bias2 := 1-math.Pow(o.Beta1, float64(n)), 1-math.Pow(o.Beta2, float64(n))
	return []float32{float32(lr), float32(o.WeightDecay), float32(1 / bias1), float32(1 / math.Sqrt(bias2)), float32(1 - o.Beta1), float32(1 - o.Beta2)}
}

// record records a step of n parameters; kept are the moments.
func (o Optimizer) record(r *device.Recorder, n int, p, g gpu.View, kept []gpu.View, ctl gpu.View, decay bool) {
	decayed := uint32(0)
	if decay {
		decayed = 1
	}
	kernel, params := string(o.Rule), []uint32{uint32(n), device.Float(o.Beta1), device.Float(o.Beta2), device.Float(o.Eps), decayed}
	switch o.Rule {
	case "":
		kernel = string(AdamW)
	case SGD:
		nesterov := uint32(0)
		if o.Nesterov {
			nesterov = 1
		}
		params = []uint32{uint32(n), device.Float(o.Momentum), nesterov, decayed}
	}
	bind := append([]gpu.View{p, g}, kept[:o.Rule.moments()]...)
	r.Op(kernel, n, 1, append(bind, ctl), params...)
}

// recordNorm records the partial sums of a slab's gradient from index part on.
func (o Optimizer) recordNorm(r *device.Recorder, n, segments int, g, sums gpu.View, part int) {
	if o.ClipBy == L1 || o.ClipBy == Largest {
		r.Op("grad_abs", segments, 1, []gpu.View{g, sums}, uint32(n), uint32(part), o.largest())
		return
	}
	r.Op("grad_sumsq", segments, 1, []gpu.View{g, sums}, uint32(n), uint32(part))
}

// recordClip records norm and clip factor of count partial sums.
func (o Optimizer) recordClip(r *device.Recorder, count int, sums, ctl gpu.View) {
	if o.ClipBy == L1 || o.ClipBy == Largest {
		r.Op("grad_abs_clip", 1, 1, []gpu.View{sums, ctl}, uint32(count), device.Float(o.ClipNorm), o.largest())
		return
	}
	r.Op("grad_clip", 1, 1, []gpu.View{sums, ctl}, uint32(count), device.Float(o.ClipNorm))
}

func (o Optimizer) largest() uint32 {
	if o.ClipBy == Largest {
		return 1
	}
	return 0
}
