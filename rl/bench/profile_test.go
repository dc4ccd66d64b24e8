package bench

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// upload makes a buffer of words.
func upload(t *testing.T, dev gpu.Device, words ...uint32) gpu.View {
	t.Helper()
	b, err := dev.NewBuffer("words", 4*len(words))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	var data []byte
	for _, w := range words {
		data = append(data, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	if err := b.Write(0, data); err != nil {
		t.Fatal(err)
	}
	return gpu.View{Buffer: b}
}

// TestWork counts ops by hand.
func TestWork(t *testing.T) {
	dev := device(t)
	none := gpu.View{}
	meta := upload(t, dev, 0, 2, 1, 3) // rows read slots 7 8 and 8 9 5
	kvidx := upload(t, dev, 7, 8, 9, 5)
	for _, c := range []struct {
		op   gpu.Op
		want work
	}{
		{gpu.Op{Kernel: "matmul_nt", Params: []uint32{3, 16, 8, 8, 8, 16}}, work{2 * 3 * 16 * 8, 4 * (3*8 + 16*8 + 3*16)}},
		{gpu.Op{Kernel: "matmul_nt_bf16", Params: []uint32{3, 16, 8, 8, 8, 16}}, work{2 * 3 * 16 * 8, 4*(3*8+3*16) + 2*16*8}},
		{gpu.Op{Kernel: "matmul_tn_acc", Params: []uint32{8, 16, 3, 8, 16, 16}}, work{2 * 3 * 16 * 8, 4 * (3*8 + 3*16 + 2*8*16)}},
		{gpu.Op{Kernel: "add", Params: []uint32{10}}, work{0, 4 * 30}},
		{gpu.Op{Kernel: "swiglu", Params: []uint32{2, 8}}, work{0, 4 * (32 + 16)}},
		{gpu.Op{Kernel: "embed", Params: []uint32{2, 8, 0, 100, 0}}, work{0, 4 * (2 + 16 + 16)}},
		// 2 rows, 4 heads, 2 key heads of width 8: 5 pairs, 4 slots.
		{gpu.Op{Kernel: "attention", Params: []uint32{2, 4, 2, 8, 0}, Bind: []gpu.View{none, none, none, kvidx, meta, none, none}},
			work{2 * 2 * 5 * 4 * 8, 4*(2*32+4+2*32+2*16) + 4*2*8*8}},
		{gpu.Op{Kernel: "attention_backward_dkv", Params: []uint32{2, 4, 2, 8, 0}, Bind: []gpu.View{none, none, none, none, none, upload(t, dev, 2, 2), none, none}},
			work{2 * 4 * 3 * 4 * 8, 4 * (2*32 + 2*16 + 2*16 + 2*32 + 2*8 + 2 + 2*16 + 2*16)}},
	} {
		got, err := workOf(c.op)
		if err != nil || got != c.want {
			t.Errorf("%s %v: %v, %v, want %v", c.op.Kernel, c.op.Params, got, err, c.want)
		}
	}
}

func TestBound(t *testing.T) {
	l := Limits{FLOPS: 100, Bytes: 10, Launch: 1}
	for want, w := range map[string]total{
		"launch":     {work: work{100, 10}, calls: 3},
		"memory":     {work: work{100, 50}, calls: 3},
		"arithmetic": {work: work{600, 50}, calls: 3},
	} {
		if got, sec := l.bound(w); got != want || sec != map[string]float64{"launch": 3, "memory": 5, "arithmetic": 6}[want] {
			t.Errorf("%v: %s, %g s, want %s", w, got, sec, want)
		}
	}
}

// TestProfile: what is emitted adds up, and a model that is profiled computes what one
// that is not does.
func TestProfile(t *testing.T) {
	dev := device(t)
	s := shape()
	s.TrainSeqs, s.TrainTokens, s.TrainRepeats = 2, 4, 1
	sums, parts, ms := map[string]Result{}, map[string]int{}, map[string]float64{}
	err := Profile(Bench{Device: dev, Limits: limits(), Emit: func(r Result) {
		what, kernel, _ := strings.Cut(r.Case, ": ")
		if kernel == "all" {
			sums[what] = r
			return
		}
		parts[what] += r.Rate.Calls
		ms[what] += r.Value
		if r.Rate.Bound == "" || r.Rate.OfBound < 0 {
			t.Errorf("%+v has %+v", r, r.Rate)
		}
	}}, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"small, update 2 x 4", "small, prompts 2 x 5", "small, decode 2 x 2"} {
		sum := sums[what]
		if sum.Rate == nil || sum.Rate.Calls == 0 || sum.Rate.Calls != parts[what] || math.Abs(sum.Value-ms[what]) > float64(sum.Rate.Calls)*0x1p-52*sum.Value {
			t.Errorf("%s: %d calls, %g ms, but the sum is %+v", what, parts[what], ms[what], sum)
		}
	}
	p := &profiler{Device: dev}
	trainer, update, err := updater(p, s)
	if err != nil {
		t.Fatal(err)
	}
	defer trainer.Close()
	if _, err := p.measure(func() error { _, err := update(); return err }); err != nil {
		t.Fatal(err)
	}
	plain, update, err := updater(dev, s)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := update(); err != nil {
		t.Fatal(err)
	}
	got, err := trainer.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		a, errA := got[i].Data()
		b, errB := want[i].Data()
		if errA != nil || errB != nil || !slices.Equal(a, b) {
			t.Fatalf("%s differs with the profiler on (%v, %v)", want[i].Name, errA, errB)
		}
	}
}
