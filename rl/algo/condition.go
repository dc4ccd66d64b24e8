package algo

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
)

// Condition compiles a condition on groups that stands beside a method, under a name such as
// replay/store. It may name the method's parts and states and is evaluated after sampling; alone
// says that it has to judge each group by itself.
func (m Method) Condition(name, text string, alone bool, facts []formula.Fact) (*formula.Program, error) {
	facts = slices.Concat(facts, m.stateFacts(""))
	all := m.text(facts)
	all.Parts[name] = text
	program, err := formula.Compile(all, facts)
	if err != nil {
		return nil, err
	}
	level, condition, _ := program.Level(name)
	over := program.OverGroups(name)
	wrong := ""
	switch {
	case program.OfUpdate(name):
		wrong = "it is evaluated after sampling, and cannot read values of an update: " + program.UpdateWord(name)
	case level > formula.Group:
		wrong = fmt.Sprintf("one value for each %s where one for each group is wanted; write group_max(...) or another statistic around it", level)
	case !condition:
		wrong = "a number where a condition is wanted; write a comparison, such as group_max(reward) == 0"
	case alone && over != "":
		wrong = "it has to judge each group by itself: " + over
	}
	if wrong != "" {
		return nil, &formula.Error{Part: name, Text: wrong}
	}
	return program, nil
}
