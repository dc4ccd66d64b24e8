package algo

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
)

// Condition compiles a condition on groups that stands beside a method, under a name such as
// replay/store. It may name the method's parts and states and is evaluated after sampling; alone
// says that it has to judge each group by itself.
func (m Method) Condition(name, text string, alone bool, facts []formula.Fact) (*formula.Program, error) {
	program, err := m.Drawn(name, text, formula.Group, true, facts)
	if err != nil {
		return nil, err
	}
	if over := program.OverGroups(name); alone && over != "" {
		return nil, &formula.Error{Part: name, Text: "it has to judge each group by itself: " + over}
	}
	return program, nil
}

// Drawn compiles a formula of what was drawn that stands beside a method, as Condition does, with one value
// for each group or completion, as level says, or a coarser one.
func (m Method) Drawn(name, text string, level formula.Level, condition bool, facts []formula.Fact) (*formula.Program, error) {
	program, err := m.beside(map[string]string{name: text}, facts)
	if err != nil {
		return nil, err
	}
	statistic := map[formula.Level]string{formula.Group: "group_max(...)", formula.Completion: "mean(...)"}
	own, holds, _ := program.Level(name)
	wrong := ""
	switch {
	case program.OfUpdate(name):
		wrong = "it is evaluated after sampling, and cannot read values of an update: " + program.UpdateWord(name)
	case own > level:
		wrong = fmt.Sprintf("one value for each %s where one for each %s is wanted; write %s or another statistic around it", own, level, statistic[level])
	case condition && !holds:
		wrong = "a number where a condition is wanted; write a comparison, such as group_max(reward) == 0"
	}
	if wrong != "" {
		return nil, &formula.Error{Part: name, Text: wrong}
	}
	return program, nil
}

// beside compiles formulas that stand beside a method, by their names.
func (m Method) beside(formulas map[string]string, facts []formula.Fact) (*formula.Program, error) {
	facts = slices.Concat(facts, m.stateFacts(""))
	all := m.text(facts)
	maps.Copy(all.Parts, formulas)
	return formula.Compile(all, facts)
}

// Names of the formulas of a tree, which stand beside a method.
const (
	TreeAt     = "tree/at"     // where a node may begin
	TreeChoose = "tree/choose" // which of them are opened
)

// Tree compiles the formulas of a tree: where nodes may begin, and which of them are opened. at is "" or
// turns where it is no formula: turns then begin there. Both may name the method's parts and states,
// and are evaluated after each round on what was drawn so far.
func (m Method) Tree(at, choose string, facts []formula.Fact) (*formula.Program, error) {
	formulas := map[string]string{TreeChoose: choose}
	if at != "" && at != TurnsCut {
		formulas[TreeAt] = at
	}
	program, err := m.beside(formulas, facts)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(formulas)) {
		wrong := ""
		level, condition, _ := program.Level(name)
		switch {
		case program.OfUpdate(name):
			wrong = "it is evaluated while completions are drawn, and cannot read values of an update: " + program.UpdateWord(name)
		case name == TreeAt:
			wrong = cutFault(program, name)
		case condition:
			wrong = "a condition where a number is wanted: the nodes with the greatest are opened, such as segment_mean(old_entropy)"
		case level > formula.Segment:
			wrong = fmt.Sprintf("one value for each %s where one for each segment is wanted; write segment_mean(...), segment_first(...) or another segment_ function around it", level)
		}
		if wrong != "" {
			faults = append(faults, &formula.Error{Part: name, Text: wrong})
		}
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return program, nil
}

// cutFault is what is wrong with a part that tells where segments begin; "": nothing.
func cutFault(program *formula.Program, part string) string {
	level, condition, _ := program.Level(part)
	inside := program.OfSegments(part)
	switch {
	case level != formula.Token:
		return fmt.Sprintf("one value for each %s where a condition on tokens is wanted: a segment begins where it holds; write turns, lines, sentences, forks or a condition of your own", level)
	case !condition:
		return "a number where a condition is wanted; write a comparison, such as old_entropy > 1"
	case program.OfUpdate(part):
		return "completions are cut once, after sampling, so it cannot read values of an update; write old, old_entropy or old_value for the values at sampling"
	case inside != "":
		return "it makes the segments, and cannot read values of segments: " + inside
	}
	return ""
}
