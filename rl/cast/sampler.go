package cast

import (
	"context"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Sampler draws completions from a model's engine.
type Sampler struct {
	Engine  *sample.Engine
	Seed    func(random.Key) uint64 // of the engine's generator
	Role    string                  // of the model
	Version func() int              // of its weights; nil: they never change
}

var _ rollout.Sampler = (*Sampler)(nil)

// Sample implements [rollout.Sampler].
func (s *Sampler) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	asked := make([]sample.Request, len(requests))
	for i, r := range requests {
		asked[i] = sample.Request{Prompt: r.Prompt, N: r.N, MaxTokens: r.Params.MaxTokens, Stream: r.Key.Stream, Draft: r.Draft, StopText: r.Params.StopText, StopIDs: r.Params.StopIDs, Sampling: sample.Settings{
			Temperature: r.Params.Temperature, TopK: r.Params.TopK, TopP: r.Params.TopP, MinP: r.Params.MinP, Seed: s.Seed(r.Key)}}
	}
	all, err := s.Engine.GenerateAll(ctx, asked)
	if err != nil {
		return nil, err
	}
	version := 0
	if s.Version != nil {
		version = s.Version()
	}
	out := make([][]rollout.Segment, len(all))
	for i, group := range all {
		for j, c := range group {
			drawn := requests[i].Drawn(s.Role, version, j)
			out[i] = append(out[i], rollout.Segment{Author: rollout.Policy, IDs: c.IDs, Logprob: c.Logprob, Entropy: c.Entropy, Drawn: drawn, Stop: rollout.Stop(c.Stop)})
		}
	}
	return out, nil
}
