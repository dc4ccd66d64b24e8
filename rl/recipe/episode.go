package recipe

import (
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
)

// Clock is how long a world may take for one turn; 0: as long as it takes.
func (e Episode) Clock() time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

// inTurns refuses what a stage cannot do whose task is played in turns.
func (d decoder) inTurns(s *Stage, task Task, at settings.Path) {
	if !task.Played() {
		return
	}
	const why = "does not go with a task that is played in turns"
	for _, key := range []string{"prefix", "rows"} {
		if given := map[string]string{"prefix": s.SecondChance.Prefix, "rows": s.SecondChance.Rows}[key]; given != "" {
			p := at.With("second_chance").With(key)
			d.Fail(p, "%s %s: what would stand before the first turn is part of an answer; accepted: show, or again", d.Name(p), why)
		}
	}
	if s.Arrives() {
		p := at.With("order")
		d.Fail(p, "%s = \"arrival\" %s; accepted: \"drawn\"", d.Name(p), why)
	}
	if a, err := s.Compiled(); err == nil {
		facts := algo.OfTurns(a.Reads())
		d.told(task, facts, at.With("algorithm"))
		if a.Cuts() {
			for _, fact := range facts {
				p := at.With("algorithm").With("segments")
				d.Fail(p, "%s does not cut completions into turns, but formulas read %s, which is a fact of a turn; accepted: segments = \"turns\", the default for a task that is played in turns", d.Name(p), fact)
			}
		}
	}
	if p, err := s.Program(); err == nil {
		d.told(task, p.Reads(), at.With("reward"))
	}
	if p, err := s.Measure(); err == nil && p != nil {
		d.told(task, p.Reads(), at.With("truth"))
	}
	d.leaves(s, task, at)
}

// told refuses facts of turns that the task's world never tells: they would have no value.
func (d decoder) told(task Task, facts []string, at settings.Path) {
	var known []string
	for _, name := range task.TurnFacts() {
		known = append(known, algo.TurnFact+name)
	}
	for _, fact := range facts {
		if strings.HasPrefix(fact, algo.TurnFact) && !slices.Contains(known, fact) {
			d.Fail(at, "%s reads %s, which task %s does not tell of a turn; accepted: %s", d.Name(at), fact, task.label(), strings.Join(known, ", "))
		}
	}
}

// Turns says whether segments of the stage are the turns of episodes.
func (s *Stage) Turns(a *algo.Algorithm) bool { return s.played && !a.Cuts() }
