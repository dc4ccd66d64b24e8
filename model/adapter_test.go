package model

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
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
	if err := hf.WriteSafetensors(&weights, m.AdapterTensors()); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"adapter_config.json": config, "adapter_model.safetensors": weights.Bytes()} {
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

func flat(t *testing.T, tensors []hf.NamedTensor) []float32 {
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

// TestAdapterRefused: tensors and targets that do not fit the model are named.
func TestAdapterRefused(t *testing.T) {
	m := modelOn(t, gputest.Devices(t)[len(gputest.Devices(t))-1], quirks()["smollm3"])
	for _, c := range []struct {
		cfg  hf.AdapterConfig
		want string
	}{
		{hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj", "query_key_value"}}, "no module query_key_value; it has down_proj, gate_proj, k_proj"},
		{hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"lm_head"}}, "no module lm_head"},
		{hf.AdapterConfig{Rank: 2, Alpha: 1, Pattern: "nothing"}, `"nothing" matches no module`},
		{hf.AdapterConfig{Alpha: 1}, "r: found 0"},
	} {
		if err := m.AddAdapter(c.cfg, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
	if err := m.AddAdapter(hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj"}}, 1); err != nil {
		t.Fatal(err)
	}
	good := m.AdapterTensors()
	surplus := append(slices.Clone(good), hf.NamedTensor{Name: "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight", Shape: []int{1},
		Data: func() ([]float32, error) { return []float32{1}, nil }})
	for want, list := range map[string][]hf.NamedTensor{"lora_B.weight is missing": good[:1], "up_proj.lora_A.weight belongs to no module": surplus} {
		file := filepath.Join(t.TempDir(), "adapter_model.safetensors")
		var data bytes.Buffer
		if err := hf.WriteSafetensors(&data, list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		ts, err := hf.OpenTensorFile(file)
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
