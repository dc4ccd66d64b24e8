package memory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
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
				var plan gpu.Plan
				for _, use.Shared = range []bool{true, false} {
					use.Summed = use.Shared
					var err error
					if plan, err = memory.Plan(cfg, buffersOnly(dev), use); err != nil {
						t.Fatal(err)
					}
					takenAsPlanned(t, dev, cfg, use, fmt.Sprintf("%s, %s, %d rows, shared: %t", dtype, kvDtype, train, use.Shared))
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

// buffersOnly is a device whose driver takes no memory of the plan's, and whose buffers are so small that a scratch needs
// several.
func buffersOnly(dev gpu.Device) gpu.Caps {
	c := dev.Caps()
	c.Kind, c.MaxAllocation = gpu.Discrete, 1<<19
	return c
}

// TestScratchIsOfOnePhase: the scratch is as large as what the largest phase has, and 2 % at most, and phases apart
// would take their sum. A judge beside a policy of 0.5B, with the sizes below, takes at most 2.4 GiB.
func TestScratchIsOfOnePhase(t *testing.T) {
	judge := shapeOf("qwen2", 896, 24, 14, 2, 4864, 151936, hf.Q8)
	judge.KVDtype = hf.BF16
	use := memory.Use{Positions: 1024, TrainRows: 2048, Recompute: true, Adapter: &hf.AdapterConfig{Rank: 16, Alpha: 32}, Engine: &sample.Options{Sequences: 32, Context: 1024}, Shared: true,
		Members: []memory.Member{{Kind: memory.Folder, Name: "model judge", Config: judge, Engine: &sample.Options{Sequences: 32, Context: 1024}}}}
	for _, most := range []int{256 << 20, 1 << 30, 4 << 30} {
		caps := gpu.Caps{Kind: gpu.Integrated, MaxBinding: 128 << 20, MaxAllocation: most, Memory: 8 << 30}
		plan, err := memory.Plan(judge, caps, use)
		if err != nil {
			t.Fatal(err)
		}
		largest, all, scratch := 0, 0, 0
		for _, p := range plan.Phases {
			largest, all = max(largest, p.Total()), all+p.Total()
		}
		for _, n := range plan.Blocks {
			scratch += n
			if n > most {
				t.Errorf("a buffer of %d bytes, where %d are allowed", n, most)
			}
		}
		if len(plan.Phases) != 4 || scratch < largest || scratch > largest+largest/50 || plan.Apart() != plan.Total()-scratch+all {
			t.Errorf("buffers of %d MiB: the scratch has %d MiB, the largest phase %d, all of them %d\n%s", most>>20, scratch>>20, largest>>20, all>>20, plan)
		}
		if most := 24 << 30 / 10; plan.Total() > most {
			t.Errorf("%d MiB; want at most %d\n%s", plan.Total()>>20, most>>20, plan)
		}
		t.Logf("%d MiB, apart %d\n%s", plan.Total()>>20, plan.Apart()>>20, plan)
	}
}

// TestPlanOfAdapters: likewise for adapters over blocks.
func TestPlanOfAdapters(t *testing.T) {
	dev := gputest.Devices(t)[0]
	for _, dtype := range []hf.Dtype{hf.BF16, hf.Q8, hf.Q4} {
		cfg := blockedConfig(dtype)
		rides := memory.Member{Kind: memory.Folder, Name: "rides", Config: cfg, Adapter: &hf.AdapterConfig{Rank: 12, Alpha: 2}, Rides: true, Engine: &sample.Options{Sequences: 3, Context: 48}}
		use := memory.Use{Positions: 64, TrainRows: 100, Adapter: &hf.AdapterConfig{Rank: 4, Alpha: 2}, ValueHead: true, Influence: true, Members: append(everyMember(cfg), rides), Engine: &sample.Options{Sequences: 8, Context: 64}, Summed: true}
		for _, use.Shared = range []bool{false, true} {
			if use.Shared {
				leaves := use.Members[3].Config
				use.Members = append(use.Members, memory.Member{Kind: memory.Folder, Name: "leaves", Config: leaves, Engine: &sample.Options{Sequences: 3, Context: 48}, Leaves: true},
					memory.Member{Kind: memory.Folder, Name: "leaves too", Config: leaves, Leaves: true})
			}
			takenAsPlanned(t, dev, cfg, use, fmt.Sprintf("%s, shared: %t", dtype, use.Shared))
		}
	}
}

// TestPhasesAsPlanned: each phase lays into the scratch what its lines of the plan say. Of a member's two phases, which take
// turns in one place, the larger is seen.
func TestPhasesAsPlanned(t *testing.T) {
	dev := gputest.Devices(t)[0]
	for _, dtype := range []hf.Dtype{hf.F32, hf.Q8} {
		cfg := blockedConfig(dtype)
		use := memory.Use{Positions: 64, TrainRows: 100, ValueHead: true, Influence: true, Members: everyMember(cfg), Engine: &sample.Options{Sequences: 8, Context: 64}, Summed: true, Shared: true}
		if dtype.Blocked() {
			use.Adapter = &hf.AdapterConfig{Rank: 4, Alpha: 2}
		}
		use.Members = append(use.Members, memory.Member{Kind: memory.Folder, Name: "leaves", Config: use.Members[3].Config, Engine: &sample.Options{Sequences: 3, Context: 48}, Leaves: true})
		plan, err := memory.Plan(cfg, dev.Caps(), use)
		if err != nil || len(plan.Blocks) != 1 {
			t.Fatalf("%s: blocks of %v, %v", dtype, plan.Blocks, err)
		}
		scratches := map[string]*model.Scratch{} // of each phase, so that nothing else lies there
		openAll(t, dev, cfg, use, func(name string) *model.Phase {
			if scratches[name] == nil {
				if scratches[name], err = model.NewScratch(dev, plan.Blocks); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(scratches[name].Close)
			}
			return scratches[name].Phase(name)
		})
		planned, taken := map[string]int{}, map[string]int{}
		for _, p := range plan.Phases {
			name := strings.TrimSuffix(strings.TrimSuffix(p.Name, memory.Reading("")), memory.Writing(""))
			planned[name] = max(planned[name], p.Total())
		}
		for name, s := range scratches {
			if n := s.Blocks()[0]; n > 0 {
				taken[name] = n
			}
		}
		if !maps.Equal(taken, planned) || len(taken) < 8 {
			t.Errorf("%s: phases take %v, want %v", dtype, taken, planned)
		}
	}
}

// blockedConfig is a small model whose matrices can be kept in blocks.
func blockedConfig(dtype hf.Dtype) hf.Config {
	return hf.Config{Family: "qwen2", Vocab: 61, Width: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 64,
		MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3, Dtype: dtype}
}

// takenAsPlanned says where a use takes other bytes than its plan has, and where a model with a trainer of its own takes
// others beside it. Plans have none of the few words that an optimizer sums up in: less than 1 KiB each.
func takenAsPlanned(t *testing.T, dev gpu.Device, cfg hf.Config, use memory.Use, what string) {
	t.Helper()
	more := func(use memory.Use) (int, gpu.Plan) {
		t.Helper()
		plan, err := memory.Plan(cfg, buffersOnly(dev), use)
		if err != nil {
			t.Fatal(err)
		}
		c := &modeltest.Counting{Device: dev}
		var scratch *model.Scratch // nil: nothing is shared
		if use.Shared {
			if scratch, err = model.NewScratch(c, plan.Blocks); err != nil {
				t.Fatal(err)
			}
			defer scratch.Close()
		}
		openAll(t, c, cfg, use, scratch.Phase)
		return c.Bytes - plan.Total(), plan
	}
	without := use
	without.Members = slices.DeleteFunc(slices.Clone(use.Members), func(m memory.Member) bool { return m.Kind == memory.Novice })
	d, plan := more(without)
	if d < 0 || d > 1024 {
		t.Errorf("%s: %d bytes more are taken than planned\n%s", what, d, plan)
	}
	if len(without.Members) < len(use.Members) {
		with, plan := more(use)
		if with -= d; with < 0 || with > 1024 {
			t.Errorf("%s: %d bytes more are taken than planned for a model with a trainer of its own\n%s", what, with, plan)
		}
	}
}

// everyMember is one of each kind, and one of a folder with an adapter. The models of the folders are
// wider than the one that is trained, but for the last one.
func everyMember(cfg hf.Config) []memory.Member {
	equal, novice := cfg, cfg
	novice.Layers, novice.Dtype = cfg.Layers+2, hf.F32
	cfg.Width, cfg.Layers = 2*cfg.Width, cfg.Layers+1
	writes := &sample.Options{Sequences: 3, Context: 48, Prefixes: sample.EveryPage}
	return []memory.Member{{Kind: memory.Reference, Name: "reference", Summed: true}, {Kind: memory.Average, Name: "average"}, {Kind: memory.Best, Name: "best", Engine: writes}, {Kind: memory.Folder, Name: "summand", Config: cfg, Summed: true, Keeps: true},
		{Kind: memory.Reference, Name: "writer", Engine: writes, Keeps: true}, {Kind: memory.Folder, Name: "wide", Config: cfg, Engine: writes}, {Kind: memory.Folder, Name: "player", Config: cfg, Engine: writes, Plays: true},
		{Kind: memory.Folder, Name: "adapted", Config: cfg, Adapter: &hf.AdapterConfig{Rank: 4, Alpha: 2}}, {Kind: memory.Folder, Name: "equal", Config: equal},
		{Kind: memory.Novice, Name: "novice", Config: novice, Learns: &memory.Learning{}, Engine: writes, Plays: true}}
}

// written is a folder of a model.
func written(t *testing.T, dev gpu.Device, cfg hf.Config, positions int) string {
	t.Helper()
	plain := cfg
	plain.Dtype = hf.F32
	m, err := model.New(dev, plain, 8, positions)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	files, err := hf.FolderFiles(plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.WriteFolder(t, files, "model.safetensors", m.Tensors())
}

// adapterOf is a PEFT folder of the adapter of a model.
func adapterOf(t *testing.T, dev gpu.Device, of memory.Member, positions int) string {
	t.Helper()
	m, err := model.NewFrozen(dev, of.Config, positions)
	if err == nil {
		defer m.Close()
		err = m.AddAdapter(*of.Adapter, 1)
	}
	var config []byte
	if err == nil {
		config, err = m.AdapterConfigFile()
	}
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.WriteFolder(t, map[string][]byte{"adapter_config.json": config}, "adapter_model.safetensors", m.AdapterTensors())
}

// openAll opens what a run opens, in its order, in phases by their names: those of a member have its name.
func openAll(t *testing.T, dev gpu.Device, cfg hf.Config, use memory.Use, phase func(name string) *model.Phase) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var m *model.Model
	var err error
	if use.TrainRows == 0 || use.Adapter != nil {
		m, err = model.NewFrozen(dev, cfg, use.Positions)
	} else {
		m, err = model.New(dev, cfg, 1, use.Positions)
	}
	ok(err)
	defer m.Close()
	if use.Adapter != nil {
		ok(m.AddAdapter(*use.Adapter, 1))
	}
	var tr *learn.Trainer
	if use.TrainRows > 0 {
		tr, err = learn.NewTrainer(m, use.TrainRows, learn.ValueHead, learn.Influence, learn.In(phase(memory.Training)))
		ok(err)
		defer tr.Close()
	}
	var summed, keeps []*model.Model
	var engines []func()
	for _, other := range use.Members {
		beside := m
		switch {
		case other.Kind == memory.Average || other.Kind == memory.Best:
			average, err := learn.NewAverage(m)
			ok(err)
			defer average.Close()
			beside = average.Model
		case other.Kind == memory.Novice:
			beside, err = model.New(dev, other.Config, 3, use.Positions)
			ok(err)
			defer beside.Close()
			own, err := learn.NewTrainer(beside, use.TrainRows, learn.In(phase(memory.LearningOf(other.Name))))
			ok(err)
			defer own.Close()
			defer own.NewScorer(beside, false).Close()
		case other.Rides:
			beside, err = m.WithAdapter(adapterOf(t, refdev.New(), other, use.Positions))
			ok(err)
			defer beside.Close()
		case other.Leaves: // see below
		case other.Kind == memory.Folder:
			beside, err = model.NewFrozen(dev, other.Config, use.Positions)
			ok(err)
			defer beside.Close()
			if other.Adapter != nil {
				ok(beside.AddAdapter(*other.Adapter, 1))
			}
		case use.Adapter == nil:
			beside, err = model.NewFrozen(dev, cfg, use.Positions)
			ok(err)
			defer beside.Close()
		}
		if other.Summed {
			summed = append(summed, beside)
		}
		if other.Keeps && !(other.Summed && use.Summed) {
			keeps = append(keeps, beside)
		}
		whole := phase(other.Name)
		if other.Leaves {
			beside, err = model.Load(dev, written(t, refdev.New(), other.Config, use.Positions), model.LoadOptions{Positions: use.Positions, Dtype: other.Config.Dtype, Frozen: true, Phase: whole})
			ok(err)
			defer beside.Close()
		}
		reads, writes := whole.Part(memory.Reading(other.Name)), whole.Part(memory.Writing(other.Name))
		if other.Plays {
			writes = phase(memory.Sampling)
		}
		if other.Kind != memory.Novice && (!tr.Lends(beside) || other.Leaves) {
			s, err := beside.NewScorerIn(reads, use.TrainRows)
			ok(err)
			defer s.Close()
		} else if other.Kind != memory.Novice {
			defer tr.NewScorer(beside, false).Close()
		}
		if other.Engine != nil {
			engines = append(engines, func() {
				o := *other.Engine
				o.Phase = writes
				e, err := sample.NewEngine(beside, o)
				ok(err)
				t.Cleanup(e.Close)
			})
		}
	}
	if len(summed) > 0 {
		ok(tr.Mix(summed))
	}
	own := *use.Engine
	if own.Phase = phase(memory.Sampling); use.Summed {
		own.Others = slices.Clone(summed)
	}
	own.Others = append(own.Others, keeps...)
	e, err := sample.NewEngine(m, own)
	ok(err)
	defer e.Close()
	for _, open := range engines {
		open()
	}
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
