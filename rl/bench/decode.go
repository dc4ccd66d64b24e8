package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
)

// decodeTime is how long each batch size is measured at least, in turns: one turn of
// a small batch takes milliseconds, and single ones say little on a busy machine.
const decodeTime = 3 * time.Second

// Decode measures sampling in tokens per second, prompts excluded, and beside it the same
// with products whose order of sums is free, or, if matrices are not kept in float32, with
// those that are. With b.Alone nothing is beside it.
func Decode(b Bench, s Shape) error {
	s = b.kept(s)
	var models sides // made for the first batch size that is measured
	for _, n := range s.Decode {
		what := fmt.Sprintf("%s, batch %d", s.Name, n)
		use := memory.Use{Positions: s.Prompt + s.New, Engine: s.engine(n)}
		ways, more := 1, 0
		if !b.Alone {
			var err error
			if more, err = s.otherSide(b.Device.Caps(), use); err != nil {
				return err
			}
			ways = 2
		}
		// Each way is tried, then measured: prompts are a round of as many times the work as they have tokens.
		rounds := float64(ways * (s.Repetitions + 1) * (s.Prompt + 2*s.New))
		if skipped, err := b.skips("decode", what, s, needs{rounds, s.round(n), use, more}); err != nil {
			return err
		} else if skipped {
			continue
		}
		if models[0] == nil {
			defer models.close()
			if err := models.open(b.Device, s, ways); err != nil {
				return err
			}
		}
		r, err := decode(models[:ways], s, n)
		if err != nil {
			return err
		}
		r.Rate = b.rate(s.round(n), float64(n)/r.Value)
		b.Emit(r)
	}
	return nil
}

// sides are the models that are compared: one twice, or one that is kept otherwise and one
// in float32.
type sides [2]*model.Model

func (m *sides) open(dev gpu.Device, s Shape, ways int) (err error) {
	if m[0], err = s.model(dev, s.Prompt+s.New, true); err != nil || ways == 1 {
		return err
	}
	if m[1] = m[0]; s.Config.Dtype != hf.F32 {
		m[1], err = s.plain().model(dev, s.Prompt+s.New, true)
	}
	return err
}

func (m *sides) close() {
	if m[1] != nil && m[1] != m[0] {
		m[1].Close()
	}
	if m[0] != nil {
		m[0].Close()
	}
}

// plain is the shape in float32.
func (s Shape) plain() Shape {
	s.Config.Dtype = hf.F32
	return s
}

// otherSide is the memory in bytes of the second engine, and of its model if it has its own.
func (s Shape) otherSide(caps gpu.Caps, use memory.Use) (int, error) {
	with, err := memory.Plan(s.plain().Config, caps, use)
	if err != nil || s.Config.Dtype != hf.F32 {
		return with.Total(), err
	}
	use.Engine = nil
	without, err := memory.Plan(s.Config, caps, use)
	return with.Total() - without.Total(), err
}

// engine is the capacity that a batch of a shape needs. A step has room for all prompts: if they
// were read a part at a time, completions would begin and end one after the other, and only some rounds
// in the middle would have the whole batch.
func (s Shape) engine(batch int) *sample.Options {
	return &sample.Options{Sequences: batch, Context: s.Prompt + s.New, StepRows: max(256, batch*s.Prompt)}
}

// decode measures one batch size with a model, or with two in turns; if these are one, with a
// free order of sums the second time.
func decode(models []*model.Model, s Shape, n int) (Result, error) {
	f := freeOrder{dev: models[0].Device(), rows: n, faster: map[string]bool{}}
	var runs []func() error
	logprob := 0.0
	for i, m := range models {
		options := s.engine(n)
		if i > 0 && m == models[0] {
			options.Edit = f.edit
		}
		e, err := sample.NewEngine(m, *options)
		if err != nil {
			return Result{}, err
		}
		defer e.Close()
		if i == 0 {
			if logprob, err = likeliest(e, s, n); err != nil {
				return Result{}, err
			}
		}
		for _, tokens := range []int{1, s.New} {
			generate := func() error { return errors.Join(generate(e, s, n, tokens), f.err) }
			if err := generate(); err != nil { // records the programs, and tries products
				return Result{}, err
			}
			runs = append(runs, generate)
		}
	}
	times, err := inTurns(s.Repetitions, decodeTime, runs...)
	if err != nil {
		return Result{}, err
	}
	rate := func(seconds float64) Result {
		r := result(f.dev, "decode", fmt.Sprintf("%s, batch %d", s.Name, n), float64(n*(s.New-1))/seconds, "tok/s")
		r.Logprob = logprob
		return r
	}
	if len(models) == 1 {
		return rate(median(times[1]) - median(times[0])), nil
	}
	seconds, ratios := decoding(times, models[0] == models[1])
	r := rate(seconds)
	// The two medians may come from different moments of a busy machine. The ratios are
	// each of one turn.
	r.Ratio, r.Turns = median(ratios), len(ratios)
	r.Baseline, r.BaselineValue = "float32", r.Value/r.Ratio
	r.RatioLow, r.RatioHigh = quantile(ratios, 0.25), quantile(ratios, 0.75)
	if models[0] == models[1] {
		r.Baseline, r.Detail = "free order of sums", f.detail()
	}
	return r, nil
}

// decoding is the time of decoding alone, the median of the first side's turns, and the ratios
// of the second side to the first, each of one turn. times are those of the first token and of
// all tokens of the one side, then of the other. The first token of each sequence comes out of
// its prompt, which is the same work on both sides only if they have one model.
func decoding(times [][]float64, oneModel bool) (seconds float64, ratios []float64) {
	first := [2]float64{median(times[0]), median(times[2])}
	if oneModel {
		both := median(append(slices.Clone(times[0]), times[2]...))
		first = [2]float64{both, both}
	}
	for i, t := range times[1] {
		ratios = append(ratios, (times[3][i]-first[1])/(t-first[0]))
	}
	return median(times[1]) - first[0], ratios
}

// detail says what the free order replaced.
func (f *freeOrder) detail() string {
	text := fmt.Sprintf("a free order is faster for %d of %d products", f.replaced, f.products)
	if f.replaced == 0 {
		text = fmt.Sprintf("a free order is faster for none of %d products, so both sides do the same work", f.products)
	}
	return text + fmt.Sprintf("; a step with all of them in a free order takes %.2f times as long", f.all)
}

// likeliest is the mean log-prob of the likeliest token after each prompt of a batch, nats.
func likeliest(e *sample.Engine, s Shape, batch int) (float64, error) {
	reqs := make([]sample.Request, batch)
	for i := range reqs {
		reqs[i] = sample.Request{Prompt: prompt(s, i), MaxTokens: 1, Stream: uint32(i), Unscaled: true}
	}
	all, err := e.GenerateAll(context.Background(), reqs)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, of := range all {
		sum += float64(of[0].Logprob[0])
	}
	return sum / float64(batch), nil
}

// generate samples so many tokens of each sequence of a batch.
func generate(e *sample.Engine, s Shape, batch, tokens int) error {
	reqs := make([]sample.Request, batch)
	for i := range reqs {
		reqs[i] = sample.Request{Prompt: prompt(s, i), MaxTokens: tokens, Stream: uint32(i), Sampling: sample.Settings{Temperature: 1, Seed: 1}}
	}
	_, err := e.GenerateAll(context.Background(), reqs)
	return err
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

// edit is sample.Options.Edit. A step can be run before it counts: it reads
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

// compare is the time of step a as a multiple of that of step b: the median over
// turns.
func (f *freeOrder) compare(a, b []gpu.Op) (float64, error) {
	var runs []func() error
	for _, ops := range [][]gpu.Op{a, b} {
		p, err := f.dev.Record("decode step", ops)
		if err != nil {
			return 0, err
		}
		defer p.Free()
		runs = append(runs, func() error { return errors.Join(f.dev.Submit(p), f.dev.Wait()) })
	}
	times, err := inTurns(tries, tryingFor, runs...)
	if err != nil {
		return 0, err
	}
	ratios := make([]float64, len(times[0]))
	for i := range ratios {
		ratios[i] = times[0][i] / times[1][i]
	}
	return median(ratios), nil
}
