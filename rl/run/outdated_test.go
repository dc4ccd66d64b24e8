package run

import (
	"errors"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/train"
)

// TestOutdated: which lines of the journal a resumed run leaves out, by what was drawn before what. The
// steps of refills, greedy answers, second chances, contests and evaluations count otherwise.
func TestOutdated(t *testing.T) {
	const refills = 65 // keys of the tries of a step, one after the other
	call := func(p random.Purpose, step int) record.Call {
		return record.Call{Purpose: int(p), Step: step, Answer: "1"}
	}
	broken := func(p random.Purpose, step int) record.Call {
		return record.Call{Purpose: int(p), Step: step, Fault: "it is gone"}
	}
	for name, c := range map[string]struct {
		done, lag int           // steps of the checkpoint
		others    []record.Call // beside the fault
		fault     record.Call
		forgotten bool
	}{
		"of the step that stopped":           {3, 0, []record.Call{call(random.Sample, 4), call(random.HeldOut, 4)}, broken(random.Sample, 4), true},
		"beside a refill":                    {3, 0, []record.Call{call(random.Refill, 4*refills+1)}, broken(random.Sample, 4), true},
		"beside a greedy answer":             {3, 0, []record.Call{call(random.Greedy, 4*refills), call(random.Greedy, 3*refills)}, broken(random.Sample, 4), true},
		"beside the contest before":          {3, 0, []record.Call{call(random.Contest, 2*3+1)}, broken(random.Sample, 4), true},
		"before a later step":                {3, 0, []record.Call{call(random.Sample, 5)}, broken(random.Sample, 4), false},
		"before its own evaluation":          {3, 0, []record.Call{call(random.HeldOut, 5)}, broken(random.Sample, 4), false},
		"before its own contest":             {3, 0, []record.Call{call(random.Contest, 2*4)}, broken(random.Sample, 4), false},
		"of a refill":                        {3, 0, []record.Call{call(random.Sample, 4)}, broken(random.Refill, 4*refills+2), true},
		"of a refill before a later step":    {3, 0, []record.Call{call(random.Sample, 5)}, broken(random.Refill, 4*refills+2), false},
		"of the newest evaluation":           {3, 0, []record.Call{call(random.Sample, 4)}, broken(random.HeldOut, 5), true},
		"of the evaluation at the end":       {3, 0, []record.Call{call(random.Sample, 4)}, broken(random.HeldOut, train.AfterStage), true},
		"of a second chance":                 {3, 0, []record.Call{call(random.Sample, 4)}, broken(random.SecondChance, 4*refills+1), true},
		"of a chance before a later step":    {3, 0, []record.Call{call(random.Sample, 5)}, broken(random.SecondChance, 4*refills), false},
		"in the checkpoint":                  {5, 0, nil, broken(random.Sample, 4), false},
		"of an evaluation of the checkpoint": {5, 0, nil, broken(random.HeldOut, 5), false},
		"with a step drawn ahead":            {3, 1, []record.Call{call(random.Sample, 5)}, broken(random.Sample, 4), true},
		"drawn ahead in the checkpoint":      {3, 1, nil, broken(random.Sample, 3), false},
		"learned from, with a lag":           {2, 1, []record.Call{call(random.Sample, 5), call(random.HeldOut, 5)}, broken(random.Sample, 4), false},
	} {
		o := &opening{}
		o.run = &run{}
		o.run.state.At = train.Position{Step: c.done}
		o.parts.Recipe = &recipe.Recipe{Stages: []recipe.Stage{{Name: "rl", RL: recipe.RL{Lag: c.lag}}}}
		leave, err := o.outdated(append(c.others, c.fault))
		must(t, err)
		if got := leave(c.fault); got != c.forgotten {
			t.Errorf("a fault %s: forgotten %v", name, got)
		}
		refused := c.fault
		refused.Fault, refused.Tool, refused.Answer = "", record.JudgeTool+"far", `{"refused":"it answers with status 400"}`
		if got := leave(refused); got != c.forgotten {
			t.Errorf("a refusal %s: forgotten %v", name, got)
		}
		for _, line := range c.others {
			if leave(line) {
				t.Errorf("a fault %s: the answer %+v is forgotten", name, line)
			}
		}
	}

	for name, c := range map[string]struct {
		lag  int
		line record.Call
		made bool // after the checkpoint of three steps
	}{
		"its next step":                        {0, call(random.Sample, 3), true},
		"a refill of the step before":          {0, call(random.Refill, 2*refills+3), false},
		"a refill of its next step":            {0, call(random.Refill, 3*refills+3), true},
		"the evaluation before it":             {0, call(random.HeldOut, 3), false},
		"the contest before it":                {0, call(random.Contest, 2*2+1), false},
		"the evaluation at the end":            {0, call(random.HeldOut, train.AfterStage), true},
		"the evaluation before the first step": {0, call(random.HeldOut, 0), false},
		"a step that the checkpoint has":       {2, call(random.Sample, 4), false},
		"a step that was drawn after it":       {2, call(random.Sample, 5), true},
	} {
		o := &opening{}
		o.run = &run{longer: &longer{changes: []recipe.Change{{Key: "stage.rl.steps"}}}}
		o.run.state.At = train.Position{Step: 3}
		o.parts.Recipe = &recipe.Recipe{Stages: []recipe.Stage{{Name: "rl", RL: recipe.RL{Lag: c.lag}}}}
		leave, err := o.outdated([]record.Call{c.line})
		must(t, err)
		if got := leave(c.line); got != c.made {
			t.Errorf("with another length, %s: left out %v", name, got)
		}
		c.line.Intent = true
		_, err = o.outdated([]record.Call{c.line})
		if refused := errors.Is(err, lines.ErrInput); refused != (c.made && c.line.Step != train.AfterStage) {
			t.Errorf("with another length, %s with effects: %v", name, err)
		}
	}
}
