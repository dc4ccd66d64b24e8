package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
)

// Result is one measurement, a line of "rlzero bench --json".
type Result struct {
	Bench         string             `json:"bench"` // matmul, decode, prefill, train, groups, step, models, episodes, growth or profile
	Case          string             `json:"case"`
	Device        string             `json:"device"`
	Tier          string             `json:"tier"`
	Value         float64            `json:"value"`
	Unit          string             `json:"unit"`
	Baseline      string             `json:"baseline,omitempty"`
	BaselineValue float64            `json:"baseline_value,omitempty"`
	Ratio         float64            `json:"ratio,omitempty"`      // value / baseline_value; of turns, the median
	RatioLow      float64            `json:"ratio_low,omitempty"`  // quartiles of the turns' ratios
	RatioHigh     float64            `json:"ratio_high,omitempty"` //
	Turns         int                `json:"turns,omitempty"`
	Detail        string             `json:"detail,omitempty"` // about the baseline
	Phases        map[string]float64 `json:"phases,omitempty"` // seconds
	Rate          *Rate              `json:"rate,omitempty"`
	Skipped       string             `json:"skipped,omitempty"` // why there is no value
	Logprob       float64            `json:"logprob,omitempty"` // by which other programs see that they compute the same, mean in nats: of decode and prefill of the likeliest token after a prompt, of train and groups of the tokens of the first update
	Tokens        float64            `json:"tokens,omitempty"`  // of step, mean of a completion of the first
}

func result(dev gpu.Device, bench, what string, value float64, unit string) Result {
	c := dev.Caps()
	return Result{Bench: bench, Case: what, Device: c.Name, Tier: string(c.Tier), Value: value, Unit: unit}
}

// best runs do n times and returns the shortest time in seconds.
func best(n int, do func() error) (float64, error) {
	shortest := math.Inf(1)
	for range n {
		t := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(t).Seconds())
	}
	return shortest, nil
}

// inTurns runs each of some functions once a turn, in at least so many turns and for
// at least so long, and returns their times in seconds, [function][turn]. Every other
// turn is in the opposite order, so that none always follows the same one.
func inTurns(n int, long time.Duration, runs ...func() error) ([][]float64, error) {
	times := make([][]float64, len(runs))
	began := time.Now()
	for turn := 0; turn < n || time.Since(began) < long; turn++ {
		for i := range runs {
			if turn%2 == 1 {
				i = len(runs) - 1 - i
			}
			t, err := best(1, runs[i])
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	return times, nil
}

// quantile is the value below which a share q of the values lie, one of them.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// Matmul measures square f32 products c = a b^T, and, but with b.Alone, the naive kernel
// beside them.
func Matmul(b Bench) error {
	for _, n := range []int{512, 1024} {
		what := fmt.Sprintf("%dx%dx%d f32 NT", n, n, n)
		if b.leaves(what) {
			continue
		}
		if err := matmul(b, n, what); err != nil {
			return err
		}
	}
	return nil
}

func matmul(b Bench, n int, what string) error {
	dev, bufs := b.Device, []gpu.Buffer{}
	defer func() {
		for _, buf := range bufs {
			buf.Free()
		}
	}()
	var bind []gpu.View
	for _, name := range []string{"a", "b", "c"} {
		buf, err := dev.NewBuffer("bench "+name, n*n*4)
		if err != nil {
			return err
		}
		bufs = append(bufs, buf)
		bind = append(bind, gpu.View{Buffer: buf})
	}
	w := uint32(n)
	times := map[string]float64{}
	var runs []func() error
	names := []string{"matmul_nt", "matmul_naive"}
	if b.Alone {
		names = names[:1]
	}
	for _, name := range names {
		p, err := dev.Record(name, []gpu.Op{{Kernel: name, Bind: bind, Params: []uint32{w, w, w, w, w, w}, Size: [3]int{n, n, 1}}})
		if err != nil {
			return err
		}
		defer p.Free()
		runs = append(runs, func() error {
			if err := dev.Submit(p); err != nil {
				return err
			}
			return dev.Wait()
		})
		times[name] = math.Inf(1)
	}
	for round := range 8 {
		for i, name := range names {
			if name == "matmul_naive" && round >= 3 {
				continue // the baseline takes seconds
			}
			t, err := best(1, runs[i])
			if err != nil {
				return err
			}
			times[name] = min(times[name], t)
		}
	}
	flops := 2 * math.Pow(float64(n), 3) / 1e9
	r := result(dev, "matmul", what, flops/times["matmul_nt"], "GFLOP/s")
	if !b.Alone {
		r.Baseline, r.BaselineValue = "naive kernel", flops/times["matmul_naive"]
		r.Ratio = r.Value / r.BaselineValue
	}
	b.Emit(r)
	return nil
}

// prefillTokens is the length of the prompt that Prefill reads.
const prefillTokens = 512

// Prefill measures in tokens per second how fast one prompt is read, its first draw included:
// the best of several.
func Prefill(b Bench, s Shape) error {
	s = b.kept(s)
	s.Prompt, s.New = prefillTokens, 1
	s.Config.MaxPositions = max(s.Config.MaxPositions, s.Prompt+s.New)
	what := fmt.Sprintf("%s, a prompt of %d tokens", s.Name, s.Prompt)
	use := memory.Use{Positions: s.Prompt + s.New, Engine: s.engine(1)}
	if skipped, err := b.skips("prefill", what, s, needs{times: float64(s.Repetitions + 1), work: s.prefill(), use: use}); skipped || err != nil {
		return err
	}
	m, err := s.model(b.Device, s.Prompt+s.New, true)
	if err != nil {
		return err
	}
	defer m.Close()
	e, err := sample.NewEngine(m, *s.engine(1))
	if err != nil {
		return err
	}
	defer e.Close()
	sec, err := best(s.Repetitions+1, func() error { return generate(e, s, 1, s.New) })
	if err != nil {
		return err
	}
	r := result(b.Device, "prefill", what, float64(s.Prompt)/sec, "tok/s")
	if r.Logprob, err = likeliest(e, s, 1); err != nil {
		return err
	}
	r.Rate = b.rate(s.prefill(), sec)
	b.Emit(r)
	return nil
}

// Train measures forward, backward, clipping and AdamW in tokens per second.
func Train(b Bench, s Shape) error {
	s = b.kept(s)
	what := fmt.Sprintf("%s, %d x %d tokens", s.Name, s.TrainSeqs, s.TrainTokens)
	use := memory.Use{Positions: s.TrainTokens, TrainRows: s.TrainSeqs * s.TrainTokens}
	if skipped, err := b.skips("train", what, s, needs{times: float64(s.TrainRepeats + 1), work: s.update(), use: use}); skipped || err != nil {
		return err
	}
	t, update, err := updater(b.Device, s)
	if err != nil {
		return err
	}
	defer t.Close()
	logprob, err := update() // compiles
	if err != nil {
		return err
	}
	sec, err := best(s.TrainRepeats, func() error { _, err := update(); return err })
	if err != nil {
		return err
	}
	r := result(b.Device, "train", what, float64(s.TrainSeqs*s.TrainTokens)/sec, "tok/s")
	r.Rate, r.Logprob = b.rate(s.update(), sec), logprob
	b.Emit(r)
	return nil
}
