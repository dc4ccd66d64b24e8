package recipe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/reward"
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
		d.told(task, facts, a.Bare, at.With("algorithm"))
		if a.Cuts() {
			for _, fact := range facts {
				p := at.With("algorithm").With("segments")
				d.Fail(p, "%s does not cut completions into turns, but formulas read %s, which is a fact of a turn; accepted: segments = \"turns\", the default for a task that is played in turns", d.Name(p), fact)
			}
		}
	}
	if p, err := s.Program(); err == nil {
		d.told(task, p.Reads(), p.Bare, at.With("reward"))
	}
	if p, err := s.Measure(); err == nil && p != nil {
		d.told(task, p.Reads(), p.Bare, at.With("truth"))
	}
	d.leaves(s, task, at)
	d.restarts(s, task, at)
}

// Restarts says whether the recipe has contexts that begin anew.
func (e Episode) Restarts() bool { return e.History == HistoryTemplate || e.Summary.At > 0 }

// Histories of episodes.
const (
	HistoryAppend   = "append"   // what was drawn stays as it is
	HistoryTemplate = "template" // the chat template writes the turns before each turn
)

// sumsUp checks when the context of an episode begins anew.
func (d decoder) sumsUp(e Episode, at settings.Path) {
	s, p := e.Summary, at.With("summary")
	switch {
	case s.At == 0 && s.Ask+s.Before != "":
		d.Fail(p.With("at"), "%w", hint.With(fmt.Errorf("%s is missing: from how many tokens of a context on a summary is asked for", d.Name(p.With("at"))), "--set %s=%d", d.Name(p.With("at")), max(1, e.Tokens/2)))
	case s.At > 0 && s.Ask == "":
		d.Fail(p.With("ask"), "%s is missing: what the policy reads where it is to write a summary", d.Name(p.With("ask")))
	case s.At >= e.Tokens && e.Tokens > 0 && s.At > 0:
		d.Fail(p.With("at"), "%s = %d leaves no room for a summary in a context of %s = %d; accepted: less", d.Name(p.With("at")), s.At, d.Name(at.With("tokens")), e.Tokens)
	case s.At > 0 && e.History == HistoryTemplate:
		d.Fail(p, "%s does not go with history = \"template\", which writes what a summary would replace; accepted: one of them", d.Name(p))
	}
}

// restarts refuses what a stage cannot do where contexts begin anew.
func (d decoder) restarts(s *Stage, task Task, at settings.Path) {
	if !task.Episode.Restarts() {
		return
	}
	const why = "does not go with contexts that begin anew (task.episode.summary, or task.episode.history = \"template\")"
	if s.Grows() {
		d.Fail(at.With("tree"), "%s %s", d.Name(at.With("tree")), why)
	}
	if s.Sits() {
		d.Fail(at.With("seats"), "%s %s", d.Name(at.With("seats")), why)
	}
	if show := s.SecondChance.Show; show != "" {
		p := at.With("second_chance").With("show")
		d.Fail(p, "%s = %q %s: what it shows would be forgotten there; accepted: again", d.Name(p), show, why)
	}
	if a, err := s.Compiled(); err == nil {
		for _, fact := range algo.OfOneContext(a.Reads()...) {
			d.Fail(at.With("algorithm"), "%s reads %s, which is of one sequence and %s", d.Name(at.With("algorithm")), fact, why)
		}
	}
	if slices.ContainsFunc(s.Texts(), func(a reward.Ask) bool { return !a.Head }) {
		d.Fail(at.With("reward"), "%s asks a model about texts, which %s", d.Name(at.With("reward")), why)
	}
}

// told refuses facts of turns that the task's world never tells, and those of each turn where a summary has none: every
// episode with one would be left out. bare is where formulas need a value.
func (d decoder) told(task Task, facts []string, bare func(fact, guard string) string, at settings.Path) {
	var known []string
	for _, name := range task.TurnFacts() {
		known = append(known, algo.TurnFact+name)
	}
	for _, fact := range facts {
		if !strings.HasPrefix(fact, algo.TurnFact) {
			continue
		}
		if !slices.Contains(known, fact) {
			d.Fail(at, "%s reads %s, which task %s does not tell of a turn; accepted: %s", d.Name(at), fact, task.label(), strings.Join(known, ", "))
		} else if task.Episode.Summary.At > 0 && bare(fact, algo.SummaryFact) != "" {
			d.Fail(at, "%s reads %s, which a summary of task.episode.summary does not have: %s; accepted: a statistic, which leaves summaries out, such as sum(%[2]s), or what a summary counts as, such as if(summary, 0, %[2]s)", d.Name(at), fact, bare(fact, algo.SummaryFact))
		}
	}
}

// Turns says whether segments of the stage are the turns of episodes.
func (s *Stage) Turns(a *algo.Algorithm) bool { return s.played && !a.Cuts() }
