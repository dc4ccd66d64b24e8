package doctor

import (
	_ "embed" // losses.toml
	"fmt"
	"math"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
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
		Dlogprob  [][]float64 // [sequence][token] dLoss/dlogprob
		Algorithm algo.Method
	}
}

// losses holds formulas against losses that another trainer computed.
func losses(*subject) (string, error) {
	var g golden
	if _, err := toml.Decode(lossesText, &g); err != nil {
		return "", err
	}
	for _, c := range g.Case {
		loss, slopes, err := g.evaluate(c.Algorithm)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		if !g.near(loss, c.Loss) {
			return "", fmt.Errorf("%s: loss %.17g, want %.17g", c.Name, loss, c.Loss)
		}
		for i, row := range c.Dlogprob {
			for t, want := range row {
				if got := slopes[i*len(row)+t]; !g.near(got, want) {
					return "", fmt.Errorf("%s: derivative of sequence %d, token %d: %.17g, want %.17g", c.Name, i, t, got, want)
				}
			}
		}
	}
	return fmt.Sprintf("%d losses and their derivatives equal those of TRL", len(g.Case)), nil
}

// evaluate is the loss of the batch and its derivatives, token after token.
func (g *golden) evaluate(m algo.Method) (loss float64, slopes []float64, err error) {
	var groups []int
	var tokens [][]int
	for i, row := range g.Batch.Logprob {
		groups, tokens = append(groups, i), append(tokens, []int{len(row)})
	}
	frame, err := formula.NewFrame(groups, tokens, slices.Concat(g.Batch.Mask...))
	if err != nil {
		return 0, nil, err
	}
	table, facts := formula.NewTable(frame), append(algo.RunFacts(), formula.Fact{Name: "A", Level: formula.Completion})
	old := slices.Concat(g.Batch.OldLogprob...)
	for name, c := range map[string]formula.Column{
		"A":    {Level: formula.Completion, V: g.Batch.Advantage},
		"logp": {Level: formula.Token, V: slices.Concat(g.Batch.Logprob...)}, "old": {Level: formula.Token, V: old}, "start": {Level: formula.Token, V: old},
	} {
		if err := table.Add(name, c); err != nil {
			return 0, nil, err
		}
	}
	a, err := m.Compile(facts)
	if err != nil {
		return 0, nil, err
	}
	step, err := a.Step(table)
	if err != nil {
		return 0, nil, err
	}
	u, err := step.Update(nil)
	if err != nil {
		return 0, nil, err
	}
	loss, by, err := u.Loss()
	if err != nil {
		return 0, nil, err
	}
	return loss, u.Table.Restore(by["logp"], len(old)).V, nil
}

func (g *golden) near(got, want float64) bool {
	return math.Abs(got-want) <= g.Abs+g.Rel*math.Abs(want)
}
