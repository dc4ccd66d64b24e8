package bench

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// Rate says what a kernel does with its time.
type Rate struct {
	Calls   int     `json:"calls,omitempty"`
	Rows    float64 `json:"rows,omitempty"`   // of a product, tokens: the mean of its calls
	Share   float64 `json:"share"`            // of the device's time for all kernels
	GFLOPS  float64 `json:"gflops,omitempty"` // a multiply-add counts as two
	GBs     float64 `json:"gb_s,omitempty"`   // each operand counted once
	Bound   string  `json:"bound"`            // what bounds it: arithmetic, memory or launch
	OfBound float64 `json:"of_bound"`         // the time that the bound needs / the time taken
}

// profiler is a device that times each op by the device's own clock. Ops then run one
// after another.
type profiler struct {
	gpu.Device
	on     bool
	totals map[string]*total // by kernel, and by shape where it is a product
}

type total struct {
	work
	seconds     float64
	calls, rows int
}

// profiled is a program whose ops are known.
type profiled struct {
	gpu.Program
	ops []gpu.Op
}

// Record implements gpu.Device.
func (p *profiler) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	program, err := p.Device.Record(label, ops)
	if err != nil {
		return nil, err
	}
	return profiled{program, slices.Clone(ops)}, nil
}

// Submit implements gpu.Device. It waits for the program's end while the profiler is on.
func (p *profiler) Submit(program gpu.Program) error {
	known := program.(profiled)
	if !p.on {
		return p.Device.Submit(known.Program)
	}
	works := make([]work, len(known.ops))
	for i, op := range known.ops { // before, as the program may change what it was given
		var err error
		if works[i], err = workOf(op); err != nil {
			return err
		}
	}
	times, err := p.Device.Timestamps(known.Program)
	if err != nil {
		return err
	}
	for i, op := range known.ops {
		name, rows := product(op)
		t := p.totals[name]
		if t == nil {
			t = &total{}
			p.totals[name] = t
		}
		t.work = t.work.add(works[i])
		t.seconds += times[i].Seconds()
		t.calls++
		t.rows += rows
	}
	return nil
}

// product names an op: a product with the sizes of its matrix, and how many rows of
// tokens it has.
func product(op gpu.Op) (name string, rows int) {
	if !strings.HasPrefix(op.Kernel, "matmul_") {
		return op.Kernel, 0
	}
	m, n, k := op.Params[0], op.Params[1], op.Params[2]
	if strings.HasPrefix(op.Kernel, "matmul_tn") { // of a gradient: the sum is over tokens
		m, k = k, m
	}
	return fmt.Sprintf("%s %dx%d", op.Kernel, n, k), int(m)
}

// measure is the totals of a run.
func (p *profiler) measure(run func() error) (map[string]*total, error) {
	p.on, p.totals = true, map[string]*total{}
	err := run()
	p.on = false
	return p.totals, err
}

// Profile measures where the time of a shape's update, of its prompts and of its decoding
// goes: a result for each kernel, the longest first, with what bounds it.
func Profile(b Bench, s Shape) error {
	s = b.kept(s)
	p := &profiler{Device: b.Device}
	show := func(what string, totals map[string]*total) { b.emitTotals(s.Name+", "+what, totals) }
	n := slices.Max(s.Decode)
	for _, part := range []struct {
		what  string
		times int
		work  work
		use   memory.Use
		run   func(*profiler, Shape, func(string, map[string]*total)) error
	}{
		{"update", 2, s.update(), memory.Use{Positions: s.TrainTokens, TrainRows: s.TrainSeqs * s.TrainTokens}, profileUpdate},
		{"sampling", 2 * (2*s.Prompt + s.New), s.round(n), memory.Use{Positions: s.Prompt + s.New, Engine: s.engine(n)}, profileSampling},
	} {
		skipped, err := b.skips("profile", s.Name+", "+part.what, s, needs{times: float64(part.times), work: part.work, use: part.use})
		if err == nil && !skipped {
			err = part.run(p, s, show)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func profileUpdate(p *profiler, s Shape, show func(string, map[string]*total)) error {
	t, update, err := updater(p, s)
	if err != nil {
		return err
	}
	defer t.Close()
	once := func() error { _, err := update(); return err }
	if err := once(); err != nil { // compiles
		return err
	}
	totals, err := p.measure(once)
	if err != nil {
		return err
	}
	show(fmt.Sprintf("update %d x %d", s.TrainSeqs, s.TrainTokens), totals)
	return nil
}

// profileSampling takes the largest batch. The first token of each sequence comes out of
// its prompt; what more tokens take longer is decoding.
func profileSampling(p *profiler, s Shape, show func(string, map[string]*total)) error {
	m, err := s.model(p, s.Prompt+s.New, true)
	if err != nil {
		return err
	}
	defer m.Close()
	n := slices.Max(s.Decode)
	e, err := sample.NewEngine(m, *s.engine(n))
	if err != nil {
		return err
	}
	defer e.Close()
	var all [2]map[string]*total
	for i, tokens := range []int{1, s.New} {
		run := func() error { return generate(e, s, n, tokens) }
		if err := run(); err != nil { // compiles
			return err
		}
		if all[i], err = p.measure(run); err != nil {
			return err
		}
	}
	prompts, decoding := all[0], all[1]
	for name, t := range decoding {
		if first := prompts[name]; first != nil {
			t.flops, t.bytes, t.calls, t.rows = t.flops-first.flops, t.bytes-first.bytes, t.calls-first.calls, t.rows-first.rows
			t.seconds = max(0, t.seconds-first.seconds)
		}
	}
	maps.DeleteFunc(decoding, func(_ string, t *total) bool { return t.calls == 0 })
	show(fmt.Sprintf("prompts %d x %d", n, s.Prompt), prompts)
	show(fmt.Sprintf("decode %d x %d", n, s.New-1), decoding)
	return nil
}

// emitTotals emits the sum and then each kernel.
func (b Bench) emitTotals(what string, totals map[string]*total) {
	names := slices.SortedFunc(maps.Keys(totals), func(x, y string) int {
		return cmp.Or(cmp.Compare(totals[y].seconds, totals[x].seconds), cmp.Compare(x, y))
	})
	sum, bounds := total{}, 0.0
	for _, name := range names {
		t := totals[name]
		sum.work = sum.work.add(t.work)
		sum.seconds += t.seconds
		sum.calls += t.calls
		_, sec := b.Limits.bound(*t)
		bounds += sec
	}
	show := func(name string, t total, bound string, sec float64) {
		r := result(b.Device, "profile", what+": "+name, 1e3*t.seconds, "ms")
		r.Rate = &Rate{Calls: t.calls, Rows: float64(t.rows) / float64(t.calls), Bound: bound}
		if t.seconds > 0 {
			r.Rate.Share, r.Rate.GFLOPS, r.Rate.GBs, r.Rate.OfBound = t.seconds/sum.seconds, t.flops/t.seconds/1e9, t.bytes/t.seconds/1e9, sec/t.seconds
		}
		b.Emit(r)
	}
	show("all", sum, "sum", bounds)
	for _, name := range names {
		bound, sec := b.Limits.bound(*totals[name])
		show(name, *totals[name], bound, sec)
	}
}

// bound is what keeps the work from being done in less time, and that time in seconds.
func (l Limits) bound(t total) (string, float64) {
	name, sec := "launch", l.Launch*float64(t.calls)
	if s := t.bytes / l.Bytes; s > sec {
		name, sec = "memory", s
	}
	if s := t.flops / l.FLOPS; s > sec {
		name, sec = "arithmetic", s
	}
	return name, sec
}

// updater is a trainer of a shape, and one update on its sequences, which returns the mean log-prob of their tokens before
// it.
func updater(dev gpu.Device, s Shape) (trainer, func() (float64, error), error) {
	m, err := s.model(dev, s.TrainTokens, false)
	if err != nil {
		return trainer{}, nil, err
	}
	t, err := learn.NewTrainer(m, s.TrainSeqs*s.TrainTokens)
	if err != nil {
		m.Close()
		return trainer{}, nil, err
	}
	seqs, weights := make([]seq.Sequence, s.TrainSeqs), make([]learn.Weights, s.TrainSeqs)
	for i := range seqs {
		ids := make([]int, s.TrainTokens+1)
		for j := range ids {
			ids[j] = (i*31 + j*17 + 5) % s.Config.Vocab
		}
		seqs[i] = seq.Predict(ids, 1, 1)
		weights[i].Logprob = make([]float64, s.TrainTokens)
		for j := range weights[i].Logprob {
			weights[i].Logprob[j] = -1 / float64(s.TrainSeqs*s.TrainTokens)
		}
	}
	return trainer{m, t}, func() (float64, error) {
		stats, err := t.Forward(seqs)
		if err == nil {
			err = t.Backward(weights)
		}
		if err == nil {
			_, err = t.Step(learn.Optimizer{LR: 1e-4, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1})
		}
		var all average
		all.add(stats)
		return all.value(), errors.Join(err, dev.Wait())
	}, nil
}

// average is the mean log-prob of the tokens of sequences, nats.
type average struct {
	sum float64
	n   int
}

func (a *average) add(stats []seq.Stats) {
	for _, s := range stats {
		for _, x := range s.Logprob {
			a.sum, a.n = a.sum+float64(x), a.n+1
		}
	}
}

func (a average) value() float64 { return a.sum / float64(a.n) }

// trainer is a trainer with its model.
type trainer struct {
	model *model.Model
	*learn.Trainer
}

// Close frees both.
func (t trainer) Close() {
	t.Trainer.Close()
	t.model.Close()
}
