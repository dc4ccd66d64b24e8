package doctor

import (
	_ "embed" // losses.toml
	"fmt"
	"math"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/rl/algo"
)

//go:embed losses.toml
var lossesText string

// golden is losses.toml.
type golden struct {
	Rel, Abs float64 // tolerance
	Batch    struct {
		Logprob    [][]float64 // [sequence][token] nats
		OldLogprob [][]float64 `toml:"old_logprob"`
		Mask       [][]bool
		Advantage  []float64 // [sequence]
	}
	Case []struct {
		Name      string
		Loss      float64
		Dlogprob  [][]float64    // [sequence][token] dLoss/dlogprob
		Algorithm toml.Primitive // keys of algo.Config that differ from its default
	}
}

// losses holds package algo against losses that another trainer computed.
func losses(*subject) (string, error) {
	var g golden
	meta, err := toml.Decode(lossesText, &g)
	if err != nil {
		return "", err
	}
	b := algo.Batch{Logprob: g.Batch.Logprob, OldLogprob: g.Batch.OldLogprob, Mask: g.Batch.Mask, Advantage: g.Batch.Advantage}
	for _, c := range g.Case {
		cfg := algo.Default()
		if err := meta.PrimitiveDecode(c.Algorithm, &cfg); err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		res, err := algo.Loss(cfg, b)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		if !g.near(res.Loss, c.Loss) {
			return "", fmt.Errorf("%s: loss %.17g, want %.17g", c.Name, res.Loss, c.Loss)
		}
		for i, row := range c.Dlogprob {
			for t, want := range row {
				if got := res.DLogprob[i][t]; !g.near(got, want) {
					return "", fmt.Errorf("%s: derivative of sequence %d, token %d: %.17g, want %.17g", c.Name, i, t, got, want)
				}
			}
		}
	}
	return fmt.Sprintf("%d losses and their derivatives as TRL has them", len(g.Case)), nil
}

func (g *golden) near(got, want float64) bool {
	return math.Abs(got-want) <= g.Abs+g.Rel*math.Abs(want)
}
