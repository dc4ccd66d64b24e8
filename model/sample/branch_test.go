package sample_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

// TestBranchBits: the completions of a group have the bits that each has alone, though
// they share rows as long as they are equal; some end on the way, some stay together
// to the end, and all pages and lists come back.
func TestBranchBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, kv := range []hf.Dtype{hf.F32, hf.BF16} {
			m := modeltest.SmallAs(t, dev, 96, hf.F32, kv)
			m.Config.EOS = []int{3, 17}
			n := 8
			if gputest.Slow(dev) {
				n = 4
			}
			const tokens = 40 // more than a page
			var grouped, single []sample.Request
			for i, p := range modeltest.Prompts(3, 40) {
				r := sample.Request{Prompt: p, N: n, MaxTokens: tokens, Stream: uint32(10 * i), Sampling: sample.Settings{Temperature: []float64{0.25, 0.1, 0}[i], Seed: 4}}
				grouped = append(grouped, r)
				for j := range n {
					one := r
					one.N, one.Stream = 1, r.Stream+uint32(j)
					single = append(single, one)
				}
			}
			e, err := sample.NewEngine(m, sample.Options{Sequences: 20, Context: 96})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			want := modeltest.GenerateFirst(t, e, single)
			got, rows, err := e.StepByStep(t.Context(), grouped)
			if err != nil {
				t.Fatal(err)
			}
			if modeltest.HashTokens(got) != modeltest.HashTokens(want) {
				t.Errorf("keys and values %s: other bits than alone%s", kv, modeltest.FirstOther(got, want))
			}
			drawn := 0
			for _, c := range got {
				drawn += len(c.IDs)
			}
			if 4*rows > 3*drawn {
				t.Errorf("%d rows for %d tokens: hardly any is shared", rows, drawn)
			}
			free(t, e)
		}
	})
}
