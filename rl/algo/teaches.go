package algo

import (
	"maps"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
)

// Teaches tells whether groups of a size can have an advantage other than 0: it tries
// the method on four groups with rewards of 0 and 1. What cannot be tried may.
func (a *Algorithm) Teaches(size int) bool {
	const groups, length = 4, 2
	var group []int
	var tokens [][]int
	for i := range groups * size {
		group, tokens = append(group, i/size), append(tokens, []int{length})
	}
	frame, err := formula.NewFrame(group, tokens, nil)
	if err != nil {
		return true
	}
	t := formula.NewTable(frame)
	for _, f := range a.facts {
		c := formula.Column{Level: f.Level, V: make([]float64, t.Size(f.Level))}
		for i := range c.V {
			switch {
			case f.Name == "reward":
				c.V[i] = float64(i % 2)
			case !f.Condition:
				c.V[i] = -1 / float64(i+2) // unequal numbers, as log-probs are
			}
		}
		if !f.Now && !f.Text && t.Add(f.Name, c) != nil {
			return true
		}
	}
	step, err := a.Step(t)
	if err != nil || step.Advantage.V == nil {
		return true
	}
	for _, x := range step.Advantage.V {
		if x != 0 && x == x {
			return true
		}
	}
	return false
}

// ReadsAdvantage tells whether the loss, keep, a state or a metric of the method's own is made of
// the advantage.
func (a *Algorithm) ReadsAdvantage() bool {
	parts := slices.AppendSeq([]string{lossPart, keepPart}, maps.Keys(a.Method.Metrics))
	used := a.inForce(parts...)
	return slices.Contains(used, advantagePart) || slices.Contains(used, "A")
}

// Corrects says whether the loss reads old, the advantage apart: whether it takes into account
// by which weights a token was drawn. A clip of the ratio does not, as ratios are to start.
func (a *Algorithm) Corrects() bool { return a.lossReads("old") }

// TellsReplayed says whether the loss reads which completions are replayed, the advantage apart, so that it can leave
// them out.
func (a *Algorithm) TellsReplayed() bool { return a.lossReads("fresh", "replayed", "age") }

// lossReads says whether the loss reads one of some facts, the advantage apart.
func (a *Algorithm) lossReads(facts ...string) bool {
	text := a.Method.text(a.facts)
	for _, name := range []string{"A", advantagePart, keepPart} {
		delete(text.Parts, name)
	}
	for _, p := range presetTexts().library {
		if p.Kind == advantagePart { // such as returns, which a loss of values reads
			delete(text.Library, p.Name)
		}
	}
	return slices.ContainsFunc(text.Names(lossPart), func(name string) bool { return slices.Contains(facts, name) })
}

// WeighsLag says whether the part weight is the same for every token that is learned from by the
// weights that drew it: all that it reads is start and old, which are then the same bits.
func (a *Algorithm) WeighsLag() bool {
	var read []string
	for _, name := range a.Method.text(a.facts).Names("weight") {
		if slices.ContainsFunc(a.facts, func(f formula.Fact) bool { return f.Name == name }) {
			read = append(read, name)
		}
	}
	return slices.Equal(read, []string{"old", "start"})
}
