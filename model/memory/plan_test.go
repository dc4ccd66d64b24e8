package memory_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
)

// TestPlanIsWhatIsTaken: the plan of a run counts what its parts allocate, in
// every storage.
func TestPlanIsWhatIsTaken(t *testing.T) {
	dev := gputest.Devices(t)[0]
	engine := sample.Options{Sequences: 8, Context: 64}
	total := map[hf.Dtype]int{}
	for _, dtype := range []hf.Dtype{hf.F32, hf.BF16} {
		for _, kvDtype := range []hf.Dtype{hf.F32, hf.BF16} {
			for _, train := range []int{0, 100} {
				cfg := modeltest.SmallConfig(dtype, kvDtype)
				use := memory.Use{Positions: 64, TrainRows: train, ValueHead: train > 0, Engine: &engine}
				if train > 0 {
					use.Members = everyMember(cfg)
				}
				plan, err := memory.Plan(cfg, buffersOnly(dev), use)
				if err != nil {
					t.Fatal(err)
				}
				taken := takenBy(t, dev, cfg, use)
				// Neither has the few words that the optimizer sums up in.
				if d := taken - plan.Total(); d < 0 || d > 1024 {
					t.Errorf("%s, %s, %d rows: %d bytes are taken, the plan has %d\n%s", dtype, kvDtype, train, taken, plan.Total(), plan)
				}
				if train == 0 && kvDtype == hf.F32 {
					total[dtype] = plan.Items[0].Bytes
				}
			}
		}
	}
	// The small model's vectors, and what rounds chunks up, stay as they are.
	if total[hf.BF16] > total[hf.F32]*6/10 {
		t.Errorf("frozen parameters take %d bytes in f32 and %d in bf16", total[hf.F32], total[hf.BF16])
	}
}

// buffersOnly is a device whose driver takes no memory of the plan's.
func buffersOnly(dev gpu.Device) gpu.Caps {
	c := dev.Caps()
	c.Kind = gpu.Discrete
	return c
}

// TestPlanOfAdapters: likewise for adapters over blocks.
func TestPlanOfAdapters(t *testing.T) {
	dev := gputest.Devices(t)[0]
	for _, dtype := range []hf.Dtype{hf.BF16, hf.Q8, hf.Q4} {
		cfg := hf.Config{Family: "qwen2", Vocab: 61, Width: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 64,
			MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3, Dtype: dtype}
		use := memory.Use{Positions: 64, TrainRows: 100, Adapter: &hf.AdapterConfig{Rank: 4, Alpha: 2}, ValueHead: true, Influence: true, Members: everyMember(cfg), Engine: &sample.Options{Sequences: 8, Context: 64}}
		plan, err := memory.Plan(cfg, buffersOnly(dev), use)
		if err != nil {
			t.Fatal(err)
		}
		if d := takenBy(t, dev, cfg, use) - plan.Total(); d < 0 || d > 1024 {
			t.Errorf("%s: %d bytes more are taken than planned\n%s", dtype, d, plan)
		}
	}
}

// everyMember is one of each kind, and one of a folder with an adapter. The models of the folders are
// wider than the one that is trained, but for the last one.
func everyMember(cfg hf.Config) []memory.Member {
	equal := cfg
	cfg.Width, cfg.Layers = 2*cfg.Width, cfg.Layers+1
	writes := &sample.Options{Sequences: 3, Context: 48, Prefixes: sample.EveryPage}
	return []memory.Member{{Kind: memory.Reference, Summed: true}, {Kind: memory.Average}, {Kind: memory.Best}, {Kind: memory.Folder, Config: cfg, Summed: true},
		{Kind: memory.Reference, Engine: writes}, {Kind: memory.Folder, Config: cfg, Engine: writes},
		{Kind: memory.Folder, Config: cfg, Adapter: &hf.AdapterConfig{Rank: 4, Alpha: 2}}, {Kind: memory.Folder, Config: equal}}
}

func takenBy(t *testing.T, dev gpu.Device, cfg hf.Config, use memory.Use) int {
	t.Helper()
	c := &modeltest.Counting{Device: dev}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var m *model.Model
	var err error
	if use.TrainRows == 0 || use.Adapter != nil {
		m, err = model.NewFrozen(c, cfg, use.Positions)
	} else {
		m, err = model.New(c, cfg, 1, use.Positions)
	}
	ok(err)
	defer m.Close()
	if use.Adapter != nil {
		ok(m.AddAdapter(*use.Adapter, 1))
	}
	var tr *learn.Trainer
	if use.TrainRows > 0 {
		tr, err = learn.NewTrainer(m, use.TrainRows, learn.ValueHead, learn.Influence)
		ok(err)
		defer tr.Close()
	}
	var summed []*model.Model
	for _, other := range use.Members {
		beside := m
		switch {
		case other.Kind == memory.Average || other.Kind == memory.Best:
			average, err := learn.NewAverage(m)
			ok(err)
			defer average.Close()
			beside = average.Model
		case other.Kind == memory.Folder:
			beside, err = model.NewFrozen(c, other.Config, use.Positions)
			ok(err)
			defer beside.Close()
			if other.Adapter != nil {
				ok(beside.AddAdapter(*other.Adapter, 1))
			}
		case use.Adapter == nil:
			beside, err = model.NewFrozen(c, cfg, use.Positions)
			ok(err)
			defer beside.Close()
		}
		if other.Summed {
			summed = append(summed, beside)
		}
		if other.Kind == memory.Best {
			e, err := sample.NewEngine(beside, *use.Engine)
			ok(err)
			defer e.Close()
			continue
		}
		if !tr.Lends(beside) {
			s, err := beside.NewScorer(use.TrainRows)
			ok(err)
			defer s.Close()
		} else {
			defer tr.NewScorer(beside, false).Close()
		}
		if other.Engine != nil {
			e, err := sample.NewEngine(beside, *other.Engine)
			ok(err)
			defer e.Close()
		}
	}
	if len(summed) > 0 {
		ok(tr.Mix(summed))
	}
	own := *use.Engine
	own.Summands = summed
	e, err := sample.NewEngine(m, own)
	ok(err)
	defer e.Close()
	return c.Bytes
}

// TestPlanOfRealModels: what fits where, by the shapes of published models
// (https://huggingface.co: config.json of each), in lavapipe's bindings and with what its
// driver takes.
func TestPlanOfRealModels(t *testing.T) {
	qwen := func(width, layers, heads, kv, mlp, vocab int, tied bool, dtype hf.Dtype) hf.Config {
		return hf.Config{Family: "qwen2", Vocab: vocab, Width: width, Layers: layers, Heads: heads, KVHeads: kv, HeadDim: width / heads, MLP: mlp,
			MaxPositions: 32768, NormEps: 0x1p-20, RopeTheta: 1e6, TieEmbeddings: tied, InitStd: 0.02, Dtype: dtype}
	}
	adapter := &hf.AdapterConfig{Rank: 16, Alpha: 32}
	step := sample.Options{Sequences: 16, Context: 64}
	smol := hf.Config{Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536,
		MaxPositions: 8192, NormEps: 0x1p-20, RopeTheta: 1e5, TieEmbeddings: true, InitStd: 0.02, Dtype: hf.BF16}
	mistral := qwen(4096, 32, 32, 8, 14336, 32768, false, hf.Q4)
	mistral.Family = "mistral"
	// A step on 16 completions, with the reference that a penalty by KL needs.
	sampled := memory.Use{Positions: 64, TrainRows: 256, Recompute: true, Adapter: adapter, Members: []memory.Member{{Kind: memory.Reference}}, Engine: &step}
	caps := gpu.Caps{Kind: gpu.CPU, MaxBinding: 128 << 20, MaxAllocation: 1 << 30}
	for _, c := range []struct {
		name   string
		config hf.Config
		use    memory.Use
		gib    int
	}{
		{"Qwen2.5-0.5B in q8_0 with an adapter", qwen(896, 24, 14, 2, 4864, 151936, true, hf.Q8),
			memory.Use{Positions: 64, TrainRows: 256, Adapter: adapter, Members: []memory.Member{{Kind: memory.Reference}}, Engine: &step}, 3},
		{"Qwen2.5-3B in q8_0, whose gate and up are 172 MiB as float32", qwen(2048, 36, 16, 2, 11008, 151936, true, hf.Q8),
			memory.Use{Positions: 64, TrainRows: 256, Recompute: true, Adapter: adapter, Engine: &step}, 6},
		{"SmolLM2-135M whole in bf16", smol, memory.Use{Positions: 128, TrainRows: 256, Recompute: true}, 3},
		{"Qwen2.5-7B in q4_0 with an adapter", qwen(3584, 28, 28, 4, 18944, 152064, false, hf.Q4), sampled, 8},
		{"Mistral-7B-v0.3 in q4_0 with an adapter", mistral, sampled, 8},
	} {
		plan, err := memory.Plan(c.config, caps, c.use)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		caps.Memory = c.gib << 30
		if total := plan.Total(); plan.Fits(caps) != nil {
			t.Errorf("%s: %d MiB: %v\n%s", c.name, total>>20, plan.Fits(caps), plan)
		} else {
			t.Logf("%s: %d MiB", c.name, total>>20)
		}
	}
}
