package cast

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// bestFile holds the best policy's weights in a checkpoint.
const bestFile = "trainer/best.safetensors"

// best is a copy of the policy, or of its adapter, that draws completions and stays as it is until it
// is replaced.
type best struct {
	weights *learn.Average // which follows nothing
	sampler *Sampler
}

func openBest(o opening) (member, error) {
	weights, err := learn.NewAverage(o.policy.Model)
	if err != nil {
		return nil, err
	}
	o.engine.Phase = o.cast.writing(o.want)
	engine, err := sample.NewEngine(weights.Model, o.engine)
	if err != nil {
		weights.Close()
		return nil, err
	}
	return &best{weights, &Sampler{Engine: engine, Role: bestName, Seed: func(k random.Key) uint64 { return k.Seed(o.recipe.Seed) }}}, nil
}

// Best draws completions by the best policy so far; nil: the run has none.
func (c *Cast) Best() rollout.Sampler {
	if m, err := c.member(bestName); err == nil {
		return m.(*best).sampler
	}
	return nil
}

// Crown makes the policy the best one so far.
func (c *Cast) Crown() error {
	m, err := c.member(bestName)
	if err != nil {
		return err
	}
	return m.(*best).weights.Reset()
}

// score implements member.
func (b *best) score([]rollout.View) ([]seq.Stats, error) {
	return nil, errors.New("the best policy draws completions, and scores none")
}

// states implements member.
func (b *best) states([]rollout.View, int, func(int, [][]float32) error) error {
	return errors.New("the best policy draws completions, and shows no states")
}

func (b *best) begin() error { return b.weights.Reset() }

// Save implements [Keeper].
func (b *best) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{bestFile: tensorFile(b.weights.Tensors())}, nil
}

// Load implements [Keeper].
func (b *best) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(bestFile)), b.weights.SetTensors)
}

func (b *best) close() {
	b.sampler.Engine.Close()
	b.weights.Close()
}
