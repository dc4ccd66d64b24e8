package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
)

// shape is a model of which a step takes little.
func shape() Shape {
	cfg := Shapes()[0].Config
	cfg.Layers, cfg.Width, cfg.MLP = 1, 32, 64
	return Shape{Name: "small", Config: cfg, Prompt: 5, New: 3, Decode: []int{2}}
}

// device is plain Go, which every machine has.
func device(t *testing.T) gpu.Device {
	t.Helper()
	all := gputest.Devices(t)
	return all[slices.IndexFunc(all, func(d gpu.Device) bool { return d.Caps().Kind == gpu.Reference })]
}

// limits are those of no device.
func limits() Limits { return Limits{FLOPS: 1e12, Bytes: 1e10, Launch: 1e-6} }

// TestDecoding: of two models each has its own prompts, which are taken from its own time.
func TestDecoding(t *testing.T) {
	if seconds, ratios := decoding([][]float64{{1, 1}, {3, 3}, {5, 5}, {9, 11}}, false); seconds != 2 || !slices.Equal(ratios, []float64{2, 3}) {
		t.Errorf("two models: %g s, ratios %g", seconds, ratios)
	}
	if seconds, ratios := decoding([][]float64{{1, 1}, {3, 3}, {2, 2}, {6, 4}}, true); seconds != 1 || !slices.Equal(ratios, []float64{4, 2}) {
		t.Errorf("one model: %g s, ratios %g", seconds, ratios)
	}
}

// TestSkips: what takes too long, or too much memory, is left out with the reason.
func TestSkips(t *testing.T) {
	qwen := Shapes()[3] // 494 million weights
	for _, c := range []struct {
		longest time.Duration
		limits  Limits
		memory  int
		want    string
	}{
		// 6*494e6*256 operations, 3 times, at half of 1e9 a second, and 30 s for weights.
		{time.Minute, Limits{FLOPS: 1e9, Bytes: 1e12}, 1 << 40, "about 4582 s by an estimate, more than 60 s"},
		{50 * time.Millisecond, Limits{FLOPS: 1e14, Bytes: 1e12}, 1 << 40, "about 30 s by an estimate, more than 0.05 s"},
		{0, Limits{FLOPS: 1e9, Bytes: 1e12}, 1 << 40, ""},
		{time.Minute, Limits{FLOPS: 1e14, Bytes: 1e12}, 1 << 40, ""},
		{time.Minute, Limits{FLOPS: 1e14, Bytes: 1e12}, 1 << 30, " of memory, the device has 1.0 GiB"},
	} {
		var got Result
		b := Bench{Device: sized{device(t), c.memory}, Limits: c.limits, Longest: c.longest, Emit: func(r Result) { got = r }}
		skipped, err := b.skips("train", "case", qwen, needs{times: 3, work: qwen.update(), use: memory.Use{Positions: 128, TrainRows: 256}})
		if err != nil || skipped != (c.want != "") || (got.Skipped == "") == skipped || !strings.HasSuffix(got.Skipped, c.want) {
			t.Errorf("%v, %v: %v, %q, %v, want %q", c.longest, c.limits, skipped, got.Skipped, err, c.want)
		}
	}
}

// sized is a device with so much memory.
type sized struct {
	gpu.Device
	memory int
}

func (d sized) Caps() gpu.Caps {
	c := d.Device.Caps()
	c.Memory = d.memory
	return c
}

// TestDecode: a line has what programs read, with the two ways beside each other.
func TestDecode(t *testing.T) {
	var got []Result
	if err := Decode(Bench{Device: device(t), Limits: limits(), Emit: func(r Result) { got = append(got, r) }}, shape()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d results, want one for each batch size", len(got))
	}
	r := got[0]
	// The product and the quotient are rounded, and so is the baseline.
	if r.Bench != "decode" || r.Case != "small, batch 2" || r.Unit != "tok/s" || r.Value <= 0 || r.BaselineValue <= 0 || math.Abs(r.Ratio*r.BaselineValue/r.Value-1) > 4*0x1p-52 {
		t.Errorf("result %+v", r)
	}
	if r.Turns < shape().Repetitions || r.RatioLow > r.Ratio || r.Ratio > r.RatioHigh {
		t.Errorf("the ratio %v has the quartiles %v to %v over %d turns", r.Ratio, r.RatioLow, r.RatioHigh, r.Turns)
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(line, &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"bench", "case", "device", "tier", "value", "unit", "baseline", "baseline_value", "ratio", "ratio_low", "ratio_high", "turns", "rate"} {
		if keys[key] == nil {
			t.Errorf("%s has no %q", line, key)
		}
	}
}

// TestFreed: the products of a decode step become those of another order, others
// stay, and log-probs then have other bits: that is what is measured.
func TestFreed(t *testing.T) {
	s := shape()
	m, err := model.New(device(t), s.Config, 1, s.Prompt+s.New)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	edited := 0
	all := func(ops []gpu.Op) []gpu.Op {
		for _, op := range slices.Clone(ops) {
			if freeKernels[op.Kernel] == "" {
				continue
			}
			other, n := freed(ops, shapeOf(op))
			if n == 0 { // another of the same shape came before
				continue
			}
			ops = other
			edited += n
		}
		return ops
	}
	logprobs := func(edit func([]gpu.Op) []gpu.Op) []float32 {
		e, err := sample.NewEngine(m, sample.Options{Sequences: 1, Context: s.Prompt + s.New, Edit: edit})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		cs, err := e.Generate(context.Background(), sample.Request{Prompt: prompt(s, 0), MaxTokens: s.New})
		if err != nil {
			t.Fatal(err)
		}
		return cs[0].Logprob
	}
	exact, free := logprobs(nil), logprobs(all)
	// Two programs, that of the prompt and that of a token: four products a layer
	// and the head.
	if want := 2 * (4*s.Config.Layers + 1); edited != want {
		t.Errorf("%d products replaced, want %d", edited, want)
	}
	if slices.EqualFunc(exact, free, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Errorf("log-probs %v have the same bits in another order", exact)
	}
}

// TestEdit: steps longer than a decode step are left alone, and of the others each
// shape is tried once.
func TestEdit(t *testing.T) {
	f := freeOrder{rows: 2, faster: map[string]bool{}, all: 1} // all is known: nothing is to be timed
	op := func(kernel string, rows, columns uint32) gpu.Op {
		return gpu.Op{Kernel: kernel, Params: []uint32{rows, columns, 8, 8, 8, columns}}
	}
	long := []gpu.Op{op("matmul_nt", 3, 8), op("matmul_nt_residual", 3, 8)}
	if got := f.edit(long); got[0].Kernel != "matmul_nt" || f.products != 0 || len(f.faster) != 0 {
		t.Errorf("a step of 3 rows: %v, %d products", got, f.products)
	}
	step := []gpu.Op{op("rmsnorm", 2, 8), op("matmul_nt", 2, 8), op("matmul_nt", 2, 8), op("matmul_nt_residual", 2, 8), op("matmul_nt", 1, 16)}
	f.faster = map[string]bool{shapeOf(step[1]): true, shapeOf(step[3]): true, shapeOf(step[4]): false}
	var names []string
	for _, op := range f.edit(step) {
		names = append(names, op.Kernel)
	}
	want := []string{"rmsnorm", "matmul_free", "matmul_free", "matmul_free_residual", "matmul_nt"}
	if !slices.Equal(names, want) || f.products != 4 || f.replaced != 3 || f.err != nil {
		t.Errorf("kernels %v, %d of %d replaced, error %v; want %v, 3 of 4", names, f.replaced, f.products, f.err, want)
	}
}

// TestInTurns: what is compared runs alternately, and first in every other turn: a
// slow moment of the machine falls on both.
func TestInTurns(t *testing.T) {
	order := ""
	run := func(name string) func() error { return func() error { order += name; return nil } }
	times, err := inTurns(4, 0, run("a"), run("b"))
	if err != nil || order != "abbaabba" {
		t.Errorf("order %q, error %v; want abbaabba", order, err)
	}
	if len(times) != 2 || len(times[0]) != 4 || len(times[1]) != 4 {
		t.Errorf("times %v, want 4 of each", times)
	}
	failed := errors.New("lost")
	if _, err := inTurns(4, 0, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.25: 2, 0.5: 3, 0.75: 4, 1: 5} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v of %v is %v, want %v", q, values, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
}

// TestDetail: where nothing is replaced, both sides do the same work, and the text
// says so.
func TestDetail(t *testing.T) {
	f := freeOrder{products: 121, all: 1.4}
	if got, want := f.detail(), "a free order is faster for none of 121 products, so both sides do the same work; a step with all of them in a free order takes 1.40 times as long"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.replaced = 30
	if got, want := f.detail(), "a free order is faster for 30 of 121 products; a step with all of them in a free order takes 1.40 times as long"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAlone: what a benchmark is compared with may be left out.
func TestAlone(t *testing.T) {
	for name, run := range map[string]func(Bench) error{
		"decode": func(b Bench) error { return Decode(b, shape()) },
		"groups": func(b Bench) error { return grouped{"small", shape().Config, 8, 4, 2}.measure(b, shape()) },
	} {
		var told []Result
		if err := run(Bench{Device: device(t), Limits: limits(), Alone: true, Emit: func(r Result) { told = append(told, r) }}); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || told[0].Value <= 0 || told[0].Baseline != "" || told[0].Ratio != 0 {
			t.Errorf("%s: %+v", name, told)
		}
	}
}
