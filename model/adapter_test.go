package model_test

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
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/sample"
)

// TestAdapterRefused: tensors and targets that do not fit the model are named.
func TestAdapterRefused(t *testing.T) {
	m := modeltest.ModelOn(t, gputest.Devices(t)[len(gputest.Devices(t))-1], modeltest.Quirks()["smollm3"])
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
		q := modeltest.QuirkModels()[2]
		var dirs []string
		for _, rank := range []int{4, 6} {
			cfg := *q.Adapter
			cfg.Rank = rank
			one := q
			one.Adapter = &cfg
			dirs = append(dirs, modeltest.WriteAdapter(t, one.Open(t, dev)))
		}
		q.Adapter = nil
		trained := q.Open(t, dev)
		if _, err := trained.WithAdapter(dirs[0]); err == nil {
			t.Error("the matrices of a model that is trained are shared")
		}
		counted := &modeltest.Counting{Device: dev}
		base, err := model.NewFrozen(counted, trained.Config, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		if err := base.CopyFrom(trained); err != nil {
			t.Fatal(err)
		}
		want := []uint64{modeltest.HashTokens(modeltest.Completions(t, base))}
		models := []*model.Model{base}
		for _, dir := range dirs {
			alone := q.Open(t, dev)
			if err := alone.LoadAdapter(dir); err != nil {
				t.Fatal(err)
			}
			want = append(want, modeltest.HashTokens(modeltest.Completions(t, alone)))
			before := counted.Bytes
			m, err := base.WithAdapter(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if own := m.Decoder().Adapter.Set.Bytes(tensors.Chunk.Whole); counted.Bytes-before != own {
				t.Errorf("another adapter takes %d bytes, its matrices have %d", counted.Bytes-before, own)
			}
			models = append(models, m)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
			t.Fatal("an adapter changes nothing: this test can show nothing")
		}
		engines := make([]*sample.Engine, len(models))
		for i, m := range models {
			if engines[i], err = sample.NewEngine(m, sample.Options{Sequences: 8, Context: 64}); err != nil {
				t.Fatal(err)
			}
			defer engines[i].Close()
		}
		got := make([]uint64, len(models))
		var all sync.WaitGroup
		for i, e := range engines {
			all.Go(func() {
				out, err := e.GenerateAll(t.Context(), modeltest.Requests(modeltest.Prompts(16, 40), 1))
				if err != nil {
					t.Error(err)
				}
				got[i] = modeltest.HashTokens(slices.Concat(out...))
			})
		}
		all.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("completions %v beside each other, %v alone", got, want)
		}
	})
}
