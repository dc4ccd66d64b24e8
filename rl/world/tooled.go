package world

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Tooled is the world of problems with one answer, before which a policy may call tools. A turn with
// calls is told what they answer, one line or more for each, and what else it says is not read. A turn
// without calls is the answer: it is judged, and the episode is over. So is one that a limit of tokens
// cut off, none of whose calls are made.
//
// Facts of a turn are [FactCalls], the number of its calls, and [FactFailed], how many of them were mistakes.
// The reward of the answer is its score, and that of every other turn is 0. The situation of a turn is
// what was called before it and what came of it.
type Tooled struct {
	Tools []Tool // of different names, all pure
	Judge func(row verify.Problem, answer string, ended bool) verify.Verdict

	// Mistake, unless it is "", is said in place of the reason why a call is a mistake, to a policy whose
	// vocabulary has no words for reasons.
	Mistake string
}

// Facts of a turn in a world with tools.
const (
	FactCalls  = "calls"
	FactFailed = "calls_failed"
)

// CallFacts are all of them.
func CallFacts() []string { return []string{FactCalls, FactFailed} }

// Begin implements [World]. It says nothing more than the question. A tool that is not pure is an error.
func (w Tooled) Begin(_ context.Context, row verify.Problem, _ *random.Rand) (Episode, Reply, error) {
	e := &tooledEpisode{Tooled: w, row: row, state: "asked"}
	for _, t := range w.Tools {
		spec := t.Spec()
		if !spec.Pure {
			return nil, Reply{}, fmt.Errorf("tool %s is not pure: a run that is resumed would call it a second time", spec.Name)
		}
		e.specs = append(e.specs, spec)
	}
	return e, Reply{State: e.state}, nil
}

type tooledEpisode struct {
	Tooled
	row   verify.Problem
	specs []Spec
	state string
}

// Step implements [Episode].
func (e *tooledEpisode) Step(ctx context.Context, t Turn) (Reply, error) {
	var calls []Call
	if !t.Cut {
		calls = Calls(t.Text, e.specs)
	}
	if len(calls) == 0 {
		v := e.Judge(e.row, t.Text, !t.Cut)
		return Reply{Reward: v.Score, State: "answered", Facts: map[string]float64{FactCalls: 0, FactFailed: 0}, Verdict: &v}, nil
	}
	var said []string
	failed := 0
	for _, c := range calls {
		a, err := c.answer(ctx, e.Tools)
		if err != nil {
			return Reply{}, err
		}
		if a.Failed {
			failed++
			if e.Mistake != "" {
				a.Text = e.Mistake
			}
		}
		said = append(said, a.Text)
		e.state += "\n" + c.Tool + string(c.Args) + " = " + a.Text
	}
	return Reply{
		Messages: []Message{{User, strings.Join(said, "\n")}},
		State:    e.state,
		Facts:    map[string]float64{FactCalls: float64(len(calls)), FactFailed: float64(failed)},
	}, nil
}

// Close implements [Episode].
func (*tooledEpisode) Close() error { return nil }
