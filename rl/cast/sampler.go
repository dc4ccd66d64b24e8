package cast

import (
	"context"
	"math"

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

var _ rollout.Concurrent = (*Sampler)(nil)

// Sample implements [rollout.Sampler].
func (s *Sampler) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	asked := make([]sample.Request, len(requests))
	for i, r := range requests {
		asked[i] = s.asks(r)
	}
	all, err := s.Engine.GenerateAll(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := make([][]rollout.Segment, len(all))
	for i, group := range all {
		out[i] = s.segments(requests[i], group)
	}
	return out, nil
}

// Draw implements [rollout.Concurrent].
func (s *Sampler) Draw(ctx context.Context, r rollout.Request) ([]rollout.Segment, error) {
	group, err := s.Engine.Generate(ctx, s.asks(r))
	if err != nil {
		return nil, err
	}
	return s.segments(r, group), nil
}

// asks is a request as the engine takes it.
func (s *Sampler) asks(r rollout.Request) sample.Request {
	q := sample.Request{Prompt: r.Prompt, N: r.N, MaxTokens: r.Params.MaxTokens, Stream: r.Key.Stream, Draft: r.Draft, StopText: r.Params.StopText, StopIDs: r.Params.StopIDs, Sampling: sample.Settings{
		Temperature: r.Params.Temperature, TopK: r.Params.TopK, TopP: r.Params.TopP, MinP: r.Params.MinP, Seed: s.Seed(r.Key)}}
	if len(r.Params.Without) > 0 {
		q.Guide = without(r.Params.Without)
	}
	return q
}

// without is a guide that leaves out some ids at the beginning.
type without []int

// Allow implements [sample.Guide].
func (w without) Allow(bits []uint32) error {
	for i := range bits {
		bits[i] = math.MaxUint32
	}
	for _, id := range w {
		if id >= 0 && id/32 < len(bits) {
			bits[id/32] &^= 1 << (id % 32)
		}
	}
	return nil
}

// Next implements [sample.Guide]: what comes next may be anything.
func (without) Next(int) sample.Guide { return nil }

// segments are the completions of a request.
func (s *Sampler) segments(r rollout.Request, group []sample.Completion) []rollout.Segment {
	version := 0
	if s.Version != nil {
		version = s.Version()
	}
	var out []rollout.Segment
	for j, c := range group {
		out = append(out, rollout.Segment{Author: rollout.Policy, IDs: c.IDs, Logprob: c.Logprob, Entropy: c.Entropy, Drawn: r.Drawn(s.Role, version, j), Stop: rollout.Stop(c.Stop)})
	}
	return out
}
