package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
)

// decodeTime is how long each batch size is measured at least, in turns: where one
// turn takes milliseconds, few of them fall into quiet moments.
const decodeTime = 3 * time.Second

// Decode measures sampling in tokens per second, prompts excluded, and beside it
// the same with products whose order of sums is free.
func Decode(dev gpu.Device, s Shape, emit func(Result)) error {
	m, err := model.New(dev, s.Config, 1, s.Prompt+s.New)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, n := range s.Decode {
		r, err := decode(m, s, n)
		if err != nil {
			return err
		}
		emit(r)
	}
	return nil
}

// decode measures one batch size, both ways in turns.
func decode(m *model.Model, s Shape, n int) (Result, error) {
	f := freeOrder{dev: m.Device(), rows: n, faster: map[string]bool{}}
	var speeds [2]speed
	for i, edit := range []func([]gpu.Op) []gpu.Op{nil, f.edit} {
		e, err := m.NewEngine(model.EngineOptions{Sequences: n, Context: s.Prompt + s.New, Edit: edit})
		if err != nil {
			return Result{}, err
		}
		defer e.Close()
		speeds[i] = speed{engine: e, shape: s, batch: n, first: math.Inf(1), all: math.Inf(1)}
	}
	began := time.Now()
	for round := 0; round <= s.Repetitions || time.Since(began) < decodeTime; round++ {
		for i := range speeds {
			if err := errors.Join(speeds[i].measure(), f.err); err != nil {
				return Result{}, err
			}
		}
	}
	r := result(m.Device(), "decode", fmt.Sprintf("%s, batch %d", s.Name, n), speeds[0].tokens(), "tok/s")
	r.Baseline, r.BaselineValue = "free order of sums", speeds[1].tokens()
	r.Ratio = r.Value / r.BaselineValue
	r.Detail = fmt.Sprintf("%d of %d products are faster so; with all of them a step takes %.2f times as long", f.replaced, f.products, f.all)
	return r, nil
}

// speed is what one engine reaches: the shortest times for one token of each
// sequence and for all.
type speed struct {
	engine     *model.Engine
	shape      Shape
	batch      int
	first, all float64 // seconds
}

func (s *speed) measure() error {
	for _, run := range []struct {
		tokens   int
		shortest *float64
	}{{1, &s.first}, {s.shape.New, &s.all}} {
		t, err := best(1, func() error { return s.generate(run.tokens) })
		if err != nil {
			return err
		}
		*run.shortest = min(*run.shortest, t)
	}
	return nil
}

func (s *speed) generate(tokens int) error {
	reqs := make([]model.Request, s.batch)
	for i := range reqs {
		reqs[i] = model.Request{Prompt: prompt(s.shape, i), MaxTokens: tokens, Stream: uint32(i), Sampling: model.Sampling{Temperature: 1, Seed: 1}}
	}
	_, err := s.engine.GenerateAll(context.Background(), reqs)
	return err
}

// tokens is the rate of the tokens after the first, per second.
func (s *speed) tokens() float64 {
	return float64(s.batch*(s.shape.New-1)) / (s.all - s.first)
}

// freeKernels are the products that there is a kernel of another order for.
var freeKernels = map[string]string{"matmul_nt": "matmul_free", "matmul_nt_residual": "matmul_free_residual"}

// freeOrder replaces the products of a decode step by those whose order is free,
// where that makes the step faster on the device at hand: tried for each shape,
// with the whole step, since what is in the caches counts.
type freeOrder struct {
	dev                gpu.Device
	rows               int // of a decode step; longer ones, of prompts, are left alone
	faster             map[string]bool
	products, replaced int     // of the last step
	all                float64 // time of a step with all products replaced, as a multiple
	err                error   // the first
}

// edit is model.EngineOptions.Edit. A step can be run before it counts: it reads
// nothing that it writes.
func (f *freeOrder) edit(ops []gpu.Op) []gpu.Op {
	var shapes []string // of the products, in order
	for _, op := range ops {
		if freeKernels[op.Kernel] == "" {
			continue
		}
		if int(op.Params[0]) > f.rows {
			return ops
		}
		shapes = append(shapes, shapeOf(op))
	}
	f.products, f.replaced = len(shapes), 0
	slices.Sort(shapes)
	chosen, all := ops, ops
	for _, shape := range slices.Compact(shapes) {
		other, n := freed(chosen, shape)
		if _, known := f.faster[shape]; !known && f.err == nil {
			var t float64
			t, f.err = f.compare(other, chosen)
			f.faster[shape] = t < 1
		}
		if f.faster[shape] {
			chosen = other
			f.replaced += n
		}
		all, _ = freed(all, shape)
	}
	if f.all == 0 && f.err == nil {
		f.all, f.err = f.compare(all, ops)
	}
	return chosen
}

// shapeOf names a product and its sizes.
func shapeOf(op gpu.Op) string { return fmt.Sprint(op.Kernel, op.Params) }

// freed is a step with the products of one shape replaced, and their number.
func freed(ops []gpu.Op, shape string) ([]gpu.Op, int) {
	out, n := make([]gpu.Op, len(ops)), 0
	for i, op := range ops {
		if shapeOf(op) == shape {
			op.Kernel = freeKernels[op.Kernel]
			n++
		}
		out[i] = op
	}
	return out, n
}

// Two steps are compared in so many turns at least, and for so long.
const (
	tries     = 5
	tryingFor = 300 * time.Millisecond
)

// compare is the shortest time of step a as a multiple of that of step b.
func (f *freeOrder) compare(a, b []gpu.Op) (float64, error) {
	times := [2]float64{math.Inf(1), math.Inf(1)}
	var runs [2]func() error
	for i, ops := range [][]gpu.Op{a, b} {
		p, err := f.dev.Record("decode step", ops)
		if err != nil {
			return 0, err
		}
		defer p.Free()
		runs[i] = func() error { return errors.Join(f.dev.Submit(p), f.dev.Wait()) }
	}
	began := time.Now()
	for n := 0; n < tries || time.Since(began) < tryingFor; n++ {
		for i, run := range runs {
			t, err := best(1, run)
			if err != nil {
				return 0, err
			}
			times[i] = min(times[i], t)
		}
	}
	return times[0] / times[1], nil
}
