package bench

import (
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
)

// TestStep: a step samples completions of full length, learns from all of them, and tells
// its phases.
func TestStep(t *testing.T) {
	s := rlStep{grouped{"small", shape().Config, 5, 3, 2}, 2, 0}
	r, err := s.measure(Bench{Device: device(t), Limits: limits()}, "step")
	if err != nil {
		t.Fatal(err)
	}
	if r.Case != "small, 2 prompts of 5 tokens x 2 samples x 3 tokens" || r.Unit != "s" || r.Value <= 0 || r.Rate == nil {
		t.Fatalf("result %+v", r)
	}
	p := r.Phases
	if p["rollout"] <= 0 || p["train"] <= 0 || math.Abs(p["rollout"]+p["train"]-r.Value) > 0x1p-50*r.Value {
		t.Errorf("phases %v of %g s", p, r.Value)
	}
}

// TestWorkOfSteps counts by hand. The model has one layer of width 32, 3 heads of 32, an MLP
// of 64 and 53 tokens: 32*96*3 + 96*32 + 3*32*64 = 18432 weights in the block, 1696 in the
// vocabulary's table.
func TestWorkOfSteps(t *testing.T) {
	s := rlStep{grouped{"small", shape().Config, 4, 3, 2}, 5, 0}
	blocks, vocabulary := s.shape().weights()
	if blocks != 18432 || vocabulary != 1696 {
		t.Fatalf("%g and %g weights", blocks, vocabulary)
	}
	// 4 rows of the prompt, 2 of each completion, whose last token is not read; 6 predicted
	// tokens. 4*4/2 pairs in the prompt, 3*4 + 3*3/2 for each completion.
	const rows, predicted, pairs = 8, 6, 8 + 2*16.5
	want := work{
		flops: 5 * (8*blocks*rows + 10*vocabulary*predicted + 11*2*pairs*96),
		bytes: 4 * (blocks + vocabulary) * (3 + 2 + 10),
	}
	if got := s.work(); got != want {
		t.Errorf("work %v, want %v", got, want)
	}
	p := s.shape()
	p.Prompt = 4
	if got := p.prefill().flops; got != 2*blocks*4+2*vocabulary+4*8*96 {
		t.Errorf("reading a prompt: %g operations", got)
	}
	if g := s.apart(); g.rows() != 6 || g.pairs() != 8+16.5 {
		t.Errorf("apart %v rows, %v pairs", g.rows(), g.pairs())
	}
}

// TestWeightBytes: bf16 halves what a round reads; in blocks of 32 numbers are a byte, or half
// of one, and an eighth of a byte for their factor, and the vocabulary's table is bf16.
func TestWeightBytes(t *testing.T) {
	for dtype, want := range map[hf.Dtype]float64{
		"": 4 * (18432 + 1696), hf.F32: 4 * (18432 + 1696), hf.BF16: 2 * (18432 + 1696),
		hf.Q8: 18432*1.125 + 2*1696, hf.Q4: 18432*0.625 + 2*1696,
	} {
		if s := (Bench{Dtype: dtype}).kept(shape()); s.weightBytes() != want || s.round(7).bytes != want {
			t.Errorf("%q: %g bytes, want %g", dtype, s.weightBytes(), want)
		}
	}
}

// TestKept: each benchmark of models runs in each storage, says which, and skips what cannot
// be trained.
func TestKept(t *testing.T) {
	s := shape()
	s.TrainSeqs, s.TrainTokens, s.TrainRepeats = 2, 4, 1
	g := grouped{"small", s.Config, 5, 3, 2}
	for _, dtype := range []hf.Dtype{hf.BF16, hf.Q4} {
		b := Bench{Device: device(t), Limits: limits(), Dtype: dtype}
		for name, run := range map[string]func(Bench) error{
			"decode":  func(b Bench) error { return Decode(b, s) },
			"train":   func(b Bench) error { return Train(b, s) },
			"prefill": func(b Bench) error { return Prefill(b, s) },
			"groups":  func(b Bench) error { return g.measure(b, s) },
			"step": func(b Bench) error {
				r, err := rlStep{g, 2, 0}.measure(b, "step")
				if r != nil {
					b.Emit(*r)
				}
				return err
			},
		} {
			if name == "decode" && dtype != hf.Q4 {
				continue // it takes seconds, and decodes in blocks as in bf16
			}
			var got []Result
			b.Emit = func(r Result) { got = append(got, r) }
			if err := run(b); err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0].Case, "small, "+string(dtype)) {
				t.Fatalf("%s, %s: %+v", name, dtype, got)
			}
			if skipped := got[0].Skipped != ""; skipped != (dtype.Blocked() && name != "decode" && name != "prefill") || !skipped && got[0].Value <= 0 {
				t.Errorf("%s, %s: %+v", name, dtype, got[0])
			}
			if name == "decode" && got[0].Baseline != "float32" {
				t.Errorf("decoding in %s is compared with %q", dtype, got[0].Baseline)
			}
		}
	}
}

// TestOnly: of the cases those alone are measured that contain a text. The others are told
// apart, each once.
func TestOnly(t *testing.T) {
	s := shape()
	var got, left []string
	b := Bench{Device: device(t), Limits: limits(), Only: "2 x 4", Emit: func(r Result) { got = append(got, r.Case) },
		Left: func(what string) { left = append(left, what) }}
	for s.TrainSeqs, s.TrainTokens = 1, 4; s.TrainSeqs < 3; s.TrainSeqs++ {
		if err := Train(b, s); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []string{"small, 2 x 4 tokens"}) || !slices.Equal(left, []string{"small, 1 x 4 tokens"}) {
		t.Errorf("measured %q, left out %q", got, left)
	}
	b.Only = "small, 2" // a number at its end is whole
	if b.leaves("small, 2 x 4 tokens") || !b.leaves("small, 22 x 4 tokens") {
		t.Error("the number 2 is in 22, or not in 2")
	}
	b.Only, got, left = "2 x 4", nil, nil
	if err := Matmul(b); err != nil || got != nil || !slices.Equal(left, []string{"512x512x512 f32 NT", "1024x1024x1024 f32 NT"}) {
		t.Errorf("products: %q, left out %q, %v", got, left, err)
	}
}

// TestTRLStep: TRL's step is that of one preset with its own model.
func TestTRLStep(t *testing.T) {
	own, other := Shapes()[0].Config, Shapes()[1].Config
	own.Vocab++ // nothing beside the blocks
	if got := trlStep("countdown-tiny", own); got != 0.33 {
		t.Errorf("%g seconds", got)
	}
	if a, b := trlStep("countdown-tiny", other), trlStep("countdown-short", own); a != 0 || b != 0 {
		t.Errorf("another model: %g seconds, another preset: %g", a, b)
	}
}

// TestBlockedStep: the step of a preset that trains its matrices is skipped in blocks, with
// the storage in its name.
func TestBlockedStep(t *testing.T) {
	var got []Result
	b := Bench{Device: device(t), Dtype: hf.Q4, Emit: func(r Result) { got = append(got, r) }}
	if err := Step(t.Context(), b, "countdown-tiny", ""); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0].Case, "countdown-tiny, q4_0, ") || !strings.Contains(got[0].Skipped, "cannot be updated") {
		t.Errorf("%+v", got)
	}
}

// TestAgainstTRL: the ratio is to TRL's seconds, with the machine, and absent where none are
// known.
func TestAgainstTRL(t *testing.T) {
	r := Result{Value: 3}
	if r.againstTRL(0, ""); r.Baseline != "" || r.Ratio != 0 {
		t.Errorf("%+v", r)
	}
	if r.againstTRL(1.5, hf.BF16); r.Baseline != "" || r.Ratio != 0 {
		t.Errorf("in bf16: %+v", r)
	}
	if r.againstTRL(1.5, hf.F32); r.Ratio != 2 || r.BaselineValue != 1.5 || !strings.Contains(r.Detail, "another machine") {
		t.Errorf("%+v", r)
	}
}

// TestSecondEngine: decoding is planned with the memory of both sides.
func TestSecondEngine(t *testing.T) {
	s, caps := shape().plain(), device(t).Caps()
	use := memory.Use{Positions: s.Prompt + s.New, Engine: s.engine(2)}
	plan := func(s Shape, use memory.Use) int {
		p, err := memory.Plan(s.Config, caps, use)
		if err != nil {
			t.Fatal(err)
		}
		return p.Total()
	}
	model16 := Bench{Dtype: hf.BF16}.kept(s)
	for name, c := range map[string]struct {
		s    Shape
		want int
	}{
		"an engine":          {s, plan(s, use) - plan(s, memory.Use{Positions: use.Positions})},
		"a model in float32": {model16, plan(s, use)},
	} {
		if got, err := c.s.otherSide(caps, use); err != nil || got != c.want || got <= 0 {
			t.Errorf("%s: %d bytes, %v, want %d", name, got, err, c.want)
		}
	}
	tight := plan(s, use) + 1000 // room for one engine and no other
	var got []Result
	b := Bench{Device: sized{device(t), tight}, Limits: limits(), Emit: func(r Result) { got = append(got, r) }}
	if err := Decode(b, s); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.Contains(got[0].Skipped, "of memory") {
		t.Errorf("%+v", got)
	}
}

// TestGrowthSteps: each differs from the first in one size, and both ways of counting grow.
func TestGrowthSteps(t *testing.T) {
	all := growthSteps()
	first := all[0]
	for _, s := range all[1:] {
		changed := 0
		for _, differs := range []bool{s.prompt != first.prompt, s.completion != first.completion, s.group != first.group, s.prompts != first.prompts, s.name != first.name} {
			if differs {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%+v differs from the first in %d sizes", s, changed)
		}
		if w := s.work(); w.flops <= first.work().flops || w.bytes < first.work().bytes {
			t.Errorf("%+v: work %v, the first has %v", s, w, first.work())
		}
	}
}

// startFolder is the folder of a small model that plays countdown.
func startFolder(t *testing.T) string {
	t.Helper()
	sets := []string{"model.layers=1", "model.width=24", "model.heads=1", "model.head_dim=24", "model.mlp=48"}
	r, err := recipe.Load("countdown-tiny", sets)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cast.Open(r, "", device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	files, err := c.Policy.Save()
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(files, func(name string, _ func(io.Writer) error) bool { return strings.Contains(name, "/") }) // of the trainer
	folder := filepath.Join(t.TempDir(), "start")
	if err := store.WriteFolder(store.OS(), folder, files); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestStepOfPath: the recipe of a file starts from the model that its path means.
func TestStepOfPath(t *testing.T) {
	folder := startFolder(t)
	file := filepath.Join(t.TempDir(), "mine.toml")
	text := "[model]\npath = " + strconv.Quote(folder) + "\n[task]\nname = \"countdown\"\n[[stage]]\nkind = \"rl\"\nprompts_per_step = 2\ngroup_size = 2\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", folder} {
		var got []Result
		if err := Step(t.Context(), Bench{Device: device(t), Emit: func(r Result) { got = append(got, r) }}, file, from); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Value <= 0 || strings.Contains(got[0].Case, ", from ") != (from != "") {
			t.Errorf("from %q: %+v", from, got)
		}
	}
}
