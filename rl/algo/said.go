package algo

import (
	"maps"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
)

// unsaid refuses what would go by in silence: another meaning of A, and a KL term or a preference
// loss whose beta nobody gave, as that of the library is 0 and takes it away.
func (m Method) unsaid(text formula.Text, facts []formula.Fact) error {
	given := func(name string) bool {
		return slices.ContainsFunc(facts, func(f formula.Fact) bool { return f.Name == name })
	}
	if _, own := m.Formulas["A"]; own && !given("A") {
		return &formula.Error{Part: "A", Text: "other parts read the advantage by this name; write advantage = ..."}
	}
	_, said := m.Parameters["beta"]
	if _, formula := m.Formulas["beta"]; formula || said || given("beta") {
		return nil
	}
	names := text.Reader()
	for _, p := range presetTexts().library {
		_, reads := p.Parameters["beta"]
		if _, own := m.Formulas[p.Name]; own || given(p.Name) || !reads || p.Kind != "penalty" && p.Kind != "preference" {
			continue
		}
		if slices.Contains(names(lossPart), p.Name) {
			part := lossPart
			for _, own := range slices.Sorted(maps.Keys(m.Formulas)) {
				if own != lossPart && slices.Contains(names(own), p.Name) {
					part = own // such as penalty
				}
			}
			return &formula.Error{Part: part, Text: p.Name + " reads beta, which has no value; write beta = 0.1, or beta = 0 to leave it out"}
		}
	}
	return nil
}

// NeedsOf are the facts that a part reads, itself or through others.
func (a *Algorithm) NeedsOf(part string) []string { return a.program.Needs(part) }

// readsNow are the facts of now that a part reads.
func (a *Algorithm) readsNow(part string) []string {
	return slices.DeleteFunc(a.NeedsOf(part), func(name string) bool {
		return !slices.ContainsFunc(a.facts, func(f formula.Fact) bool { return f.Name == name && f.Now })
	})
}

// Learns tells whether the loss reads a value of now: another one has no gradient.
func (a *Algorithm) Learns() bool { return a.program.Now(lossPart) }
