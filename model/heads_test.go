package model_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/seq"
)

const headsDir = "hf/testdata/heads" // made by peers/golden/heads.py

// TestHeads: what heads of all four kinds say of every token is what transformers says in float64, within
// 16 times the error of its own float32 run (the rule of the bounds of the model fixtures), in every
// family that has the kind, and so is what transformers reads of padded sequences; and the same to the bit
// in a batch with others, of the last token alone, and in any order. Those of another seed, where
// $RLZERO_FIXTURES has them, are read too.
func TestHeads(t *testing.T) {
	committed := glob(t, headsDir, "*/expected.json")
	if len(committed) != 18 {
		t.Fatalf("%d folders", len(committed))
	}
	var more []string
	if aside := os.Getenv(fixtures.Env); aside != "" {
		more = glob(t, aside, "heads/*/expected.json")
	}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, file := range slices.Concat(committed, more) {
			dir := filepath.Dir(file)
			if gputest.Slow(dev) && filepath.Base(dir) != "qwen2_process" {
				continue
			}
			t.Run(filepath.Base(dir), func(t *testing.T) { heads(t, dev, dir) })
		}
	})
}

func heads(t *testing.T, dev gpu.Device, dir string) {
	var want struct {
		Sequences []struct {
			IDs   []int
			Says  [][]float64 // [label][token]
			F32   [][]float64
			Left  []float64 // [label]: what is read in a batch that is padded on the left
			Right []float64
		}
	}
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	m, err := model.Load(dev, dir, model.LoadOptions{Head: true, Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewScorer(64)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all, last []seq.Sequence
	worst, largest := 0.0, 0.0
	for _, q := range want.Sequences {
		n := len(q.IDs)
		all = append(all, seq.Sequence{IDs: q.IDs, Spans: []seq.Span{{From: 1, To: n}}, Temperature: 1})
		last = append(last, seq.Sequence{IDs: q.IDs, Spans: []seq.Span{{From: n - 1, To: n}}, Temperature: 1})
		for label := range q.Says {
			for i, x := range q.Says[label] {
				worst, largest = max(worst, math.Abs(q.F32[label][i]-x)), max(largest, math.Abs(x))
			}
		}
	}
	bound := 16 * max(worst, 4*largest/(1<<24))
	for label := range m.Head.Labels {
		got, err := s.Read(all, m.Head, label)
		if err != nil {
			t.Fatal(err)
		}
		ends, err := s.Read(last, m.Head, label)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range want.Sequences {
			for j, x := range got[i].Score {
				if diff := math.Abs(float64(x) - q.Says[label][j+1]); !(diff <= bound) {
					t.Errorf("sequence %d, token %d, label %d: %v, want %v: difference %.3g, bound %.3g", i, j+1, label, x, q.Says[label][j+1], diff, bound)
				}
			}
			for _, padded := range [][]float64{q.Left, q.Right} {
				if diff := math.Abs(float64(ends[i].Score[0]) - padded[label]); !(diff <= bound) {
					t.Errorf("sequence %d, label %d: %v is read, %v of the padded one: difference %.3g, bound %.3g", i, label, ends[i].Score[0], padded[label], diff, bound)
				}
			}
			alone, err := s.Read(all[i:i+1], m.Head, label)
			if err != nil || !slices.Equal(alone[0].Score, got[i].Score) || ends[i].Score[0] != got[i].Score[len(got[i].Score)-1] {
				t.Errorf("sequence %d: %v in a batch, %v alone, %v of the last token (%v)", i, got[i].Score, alone, ends[i].Score, err)
			}
		}
	}
	if _, err := model.Load(dev, dir, model.LoadOptions{}); err == nil {
		t.Error("it was opened as a model that predicts tokens")
	}
	if _, err := hf.ReadFolder(dir); err == nil {
		t.Error("its head was passed over")
	}
}
