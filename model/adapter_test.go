package model

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// writeAdapter writes the PEFT folder of a model's adapter.
func writeAdapter(t *testing.T, m *Model) string {
	t.Helper()
	dir := t.TempDir()
	config, err := m.AdapterConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var weights bytes.Buffer
	if err := WriteSafetensors(&weights, m.AdapterTensors()); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{adapterConfigFile: config, adapterFile: weights.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAdapterTrains: a fresh adapter changes nothing; an update changes it and leaves the
// model; with the adapter off the model scores as it did; and an adapter that was
// written and read again gives the same bits.
func TestAdapterTrains(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		if gputest.Slow(dev) {
			return
		}
		q := quirkModels()[2]
		cfg := *q.adapter
		q.adapter = nil
		m := q.open(t, dev)
		before, weights := completions(t, m), flat(t, m.Tensors())
		ps := prompts(16, 40)
		if err := m.AddAdapter(cfg, 5); err != nil {
			t.Fatal(err)
		}
		if hashTokens(completions(t, m)) != hashTokens(before) {
			t.Fatal("a fresh adapter changes completions")
		}
		tr, err := m.NewTrainer(400)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		seqs := gradientSequences(dev)
		for range 2 { // the first update moves B alone: A has no gradient while B is zero
			if _, err := tr.Forward(seqs); err != nil {
				t.Fatal(err)
			}
			if err := tr.Backward(tokenWeights(seqs, func(i, j int) (a, b, c float64) { return -1, 0, 0 })); err != nil {
				t.Fatal(err)
			}
			if _, err := tr.Step(Optimizer{LR: 1.0 / 64, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
				t.Fatal(err)
			}
		}
		after := completions(t, m)
		if hashTokens(after) == hashTokens(before) {
			t.Error("two updates changed no completion")
		}
		if !equalFloats(flat(t, m.Tensors()), weights) {
			t.Error("the model's own weights changed")
		}
		sc, err := m.NewBaseScorer(400)
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		stats, err := sc.Score(sequences(ps, before))
		if off := restated(t, before, stats, err); hashTokens(off) != hashTokens(before) {
			t.Errorf("with the adapter off the model scores differently%s", firstOther(off, before))
		}
		again := q.open(t, dev)
		if err := again.LoadAdapter(writeAdapter(t, m)); err != nil {
			t.Fatal(err)
		}
		if got := completions(t, again); hashTokens(got) != hashTokens(after) {
			t.Errorf("the adapter read again gives other bits%s", firstOther(got, after))
		}
	})
}

func flat(t *testing.T, tensors []NamedTensor) []float32 {
	t.Helper()
	var all []float32
	for _, v := range tensors {
		data, err := v.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// adapterJSON is an adapter_config.json with what has to be there, and more.
func adapterJSON(more string) []byte {
	return []byte(`{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"]` + more + `}`)
}

func TestAdapterConfigRefused(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{`, "use_dora": true`, "use_dora: found true, accepted: false or null"},
		{`, "bias": "all"`, `bias: found "all"`},
		{`, "modules_to_save": ["lm_head"]`, "modules_to_save: found"},
		{`, "layers_to_transform": [0]`, "layers_to_transform: found"},
		{`, "rank_pattern": {"q_proj": 2.5}`, "rank_pattern: found 2.5"},
		{`, "rank_pattern": {"q_proj(": 2}`, `rank_pattern: "q_proj(" is no regular expression`},
		{`, "rank_pattern": [2]`, "rank_pattern: found"},
		{`, "kasa_config": {}`, "kasa_config: found"},
	} {
		if _, err := ParseAdapterConfig(adapterJSON(c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.more, err, c.want)
		}
	}
	for _, text := range []string{`{"peft_type": "LORA"}`, `{"peft_type": "IA3", "target_modules": ["q_proj"]}`, `{"r": 0, "target_modules": ["q_proj"]}`, `{"target_modules": "q_("}`} {
		if _, err := ParseAdapterConfig([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestAdapterModules: which modules get an adapter of which rank and scale, counted by
// hand after PEFT's rules.
func TestAdapterModules(t *testing.T) {
	for _, c := range []struct {
		text, module string
		rank         int
		scale        float64
	}{
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}`, "model.layers.0.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}`, "model.layers.0.self_attn.xq_proj", 0, 0},
		{`{"r": 16, "lora_alpha": 8, "use_rslora": true, "target_modules": "all-linear"}`, "model.layers.0.mlp.up_proj", 16, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ".*\\.1\\..*_proj"}`, "model.layers.1.mlp.up_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ".*\\.1\\..*_proj"}`, "model.layers.0.mlp.up_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "rank_pattern": {"layers.1.self_attn.q_proj": 2, "q_proj": 8}, "alpha_pattern": {"1.self_attn.q_proj": 3}}`,
			"model.layers.1.self_attn.q_proj", 2, 1.5},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "rank_pattern": {"q_proj": 8, "layers.1.self_attn.q_proj": 2}}`, "model.layers.1.self_attn.q_proj", 8, 1},
	} {
		a, err := ParseAdapterConfig([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !a.targeted(c.module) {
			if c.rank != 0 {
				t.Errorf("%s: %s gets no adapter", c.text, c.module)
			}
			continue
		}
		if rank, scale := a.of(c.module); rank != c.rank || scale != c.scale {
			t.Errorf("%s: %s has rank %d and scale %v, want %d and %v", c.text, c.module, rank, scale, c.rank, c.scale)
		}
		data, err := jsonfile.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAdapterConfig(data)
		if again.Raw, a.Raw = nil, nil; err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s: written and read again: %v\n got %+v\nwant %+v", c.text, err, again, a)
		}
	}
}

// TestAdapterRefused: tensors and targets that do not fit the model are named.
func TestAdapterRefused(t *testing.T) {
	m := modelOn(t, gputest.Devices(t)[len(gputest.Devices(t))-1], quirks()["smollm3"])
	for _, c := range []struct {
		cfg  AdapterConfig
		want string
	}{
		{AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj", "query_key_value"}}, "no module query_key_value; it has down_proj, gate_proj, k_proj"},
		{AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"lm_head"}}, "no module lm_head"},
		{AdapterConfig{Rank: 2, Alpha: 1, Pattern: "nothing"}, `"nothing" matches no module`},
		{AdapterConfig{Alpha: 1}, "r: found 0"},
	} {
		if err := m.AddAdapter(c.cfg, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
	if err := m.AddAdapter(AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj"}}, 1); err != nil {
		t.Fatal(err)
	}
	good := m.AdapterTensors()
	surplus := append(slices.Clone(good), floats("base_model.model.model.layers.0.mlp.up_proj.lora_A.weight", []int{1}, 1))
	for want, list := range map[string][]NamedTensor{"lora_B.weight is missing": good[:1], "up_proj.lora_A.weight belongs to no module": surplus} {
		file := filepath.Join(t.TempDir(), adapterFile)
		var data bytes.Buffer
		if err := WriteSafetensors(&data, list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		ts, err := OpenTensorFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetAdapterTensors(ts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		ts.Close()
	}
}

// TestAdaptersTogether: several adapters over the same matrices compute what each does
// alone, also while the others are at work, and take no memory but their own.
func TestAdaptersTogether(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		if gputest.Slow(dev) {
			return
		}
		q := quirkModels()[2]
		var dirs []string
		for _, rank := range []int{4, 6} {
			cfg := *q.adapter
			cfg.Rank = rank
			one := q
			one.adapter = &cfg
			dirs = append(dirs, writeAdapter(t, one.open(t, dev)))
		}
		q.adapter = nil
		trained := q.open(t, dev)
		if _, err := trained.WithAdapter(dirs[0]); err == nil {
			t.Error("the matrices of a model that is trained are shared")
		}
		counted := &counting{Device: dev}
		base, err := NewFrozen(counted, trained.Config, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		if err := base.CopyFrom(trained); err != nil {
			t.Fatal(err)
		}
		want := []uint64{hashTokens(completions(t, base))}
		models := []*Model{base}
		for _, dir := range dirs {
			alone := q.open(t, dev)
			if err := alone.LoadAdapter(dir); err != nil {
				t.Fatal(err)
			}
			want = append(want, hashTokens(completions(t, alone)))
			before := counted.bytes
			m, err := base.WithAdapter(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if own := m.adapter.tensors.bytes(chunk.whole); counted.bytes-before != own {
				t.Errorf("another adapter takes %d bytes, its matrices have %d", counted.bytes-before, own)
			}
			models = append(models, m)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
			t.Fatal("an adapter changes nothing: this test can show nothing")
		}
		engines := make([]*Engine, len(models))
		for i, m := range models {
			if engines[i], err = m.NewEngine(EngineOptions{Sequences: 8, Context: 64}); err != nil {
				t.Fatal(err)
			}
			defer engines[i].Close()
		}
		got := make([]uint64, len(models))
		var all sync.WaitGroup
		for i, e := range engines {
			all.Go(func() {
				out, err := e.GenerateAll(t.Context(), invarianceRequests(prompts(16, 40), 1))
				if err != nil {
					t.Error(err)
				}
				got[i] = hashTokens(slices.Concat(out...))
			})
		}
		all.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("completions %v beside each other, %v alone", got, want)
		}
	})
}
