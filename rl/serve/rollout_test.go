package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestRollout: an answer is what a rollout of training draws with the same seed, which
// needs all of its 64 bits, and stream.
func TestRollout(t *testing.T) {
	s := plain(t, nil)
	engine, err := sample.NewEngine(s.m, s.o.Engine)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	key := random.Key{Purpose: random.Sample, Stage: 1, Step: 40, Stream: 24}
	seed := func(k random.Key) uint64 { return k.Seed(1) }
	if seed(key) < 1<<53 {
		t.Fatal("the seed would fit into a float64: another step")
	}
	prompt := []int{65, 66, 67}
	drawn, err := (&cast.Sampler{Engine: engine, Seed: seed}).Sample(t.Context(), []rollout.Request{{Prompt: prompt, N: 4, Key: key,
		Params: rollout.Params{Temperature: 0.9, TopP: 0.95, MaxTokens: 40, StopText: []string{"a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := json.Marshal(prompt)
	if err != nil {
		t.Fatal(err)
	}
	answer := got[spoken](t, s, "/v1/completions", fmt.Sprintf(`{"prompt":%s,"n":4,"seed":%d,"draw_stream":%d,"temperature":0.9,"top_p":0.95,"max_tokens":40,"stop":"a","logprobs":0,"return_token_ids":true,"return_entropy":true}`, ids, seed(key), key.Stream))
	for i, want := range drawn[0] {
		a := answer.Choices[i]
		same := slices.Equal(a.IDs, want.IDs) && a.Finish == finish(string(want.Stop))
		for j := range want.IDs {
			same = same && math.Float32bits(*a.Logprobs.Logprob[j]) == math.Float32bits(want.Logprob[j]) && math.Float32bits(a.Entropy[j]) == math.Float32bits(want.Entropy[j])
		}
		if !same {
			t.Errorf("choice %d: %+v, want %+v", i, a, want)
		}
	}
}
