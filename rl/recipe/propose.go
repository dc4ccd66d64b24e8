package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/braces"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
)

// Seats of a stage in which the policy writes the problems that it solves.
const (
	ProposerSeat = "proposer"
	SolverSeat   = "solver"
)

// Propose are the keys of a stage whose problems the policy writes itself (Absolute Zero, arXiv 2505.03335), and of an
// imitation of such problems.
type Propose struct {
	// problems that the policy writes for each prompt, as completions of a group; those that the task accepts are
	// solved by group_size completions each, in groups of their own
	Count int `toml:"count" in:"rl" range:"[1,65536]" unit:"problems" default:"4"`

	// what the policy is asked for a problem: a text with members of a prompt's row in braces, such as
	// "{answer}:" or ">{question}"; the member row.seat of a group's row is proposer or solver; "": nobody
	// writes problems
	Say string `toml:"say"`

	// formula of what a written problem is paid, in which task is the mean score of the completions that solve it, or 0
	// if the task does not accept it, and task.valid is 1 if the task accepts it, else 0
	Reward string `toml:"reward" in:"rl" default:"task.valid*4*task*(1 - task)"`

	// share of the demonstrations that show how a problem is written
	Share float64 `toml:"share" in:"sft" range:"(0,1]" default:"0.5"`
}

// Proposes says whether the policy writes the problems that the stage solves, or imitates such problems.
func (s *Stage) Proposes() bool { return s.Propose.Say != "" }

// Poser is the task if its problems can be written; nil if not.
func (t Task) Poser() tasks.Poser {
	poser, _ := t.Settings.(tasks.Poser)
	return poser
}

// Paid is the reward of the problems that the policy writes; nil: it writes none.
func (s *Stage) Paid() (*reward.Program, error) {
	if !s.Proposes() || s.Kind != KindRL {
		return nil, nil
	}
	return reward.Compile(s.Propose.Reward, s.Verifiers, s.models...)
}

// proposing checks what a stage says of the problems that it has the policy write.
func (d decoder) proposing(s *Stage, task Task, at settings.Path) {
	p := at.With("propose")
	if !s.Proposes() {
		if s.Propose != stageDefaults(s.Kind).Propose {
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s does nothing without say, what the policy is asked for a problem", d.Name(p)), `say = ">{question}"`))
		}
		return
	}
	if task.Poser() == nil {
		d.Fail(p, "%s needs a task that accepts or refuses problems, and %s does not; accepted: the tasks %s", d.Name(p), task.label(), strings.Join(tasks.Posers(), ", "))
		return
	}
	if _, err := braces.Parse(s.Propose.Say, "member"); err != nil {
		d.Fail(p.With("say"), "%s: %w", d.Name(p.With("say")), err)
	}
	if s.Kind != KindRL {
		return
	}
	reads, err := s.Reads()
	for _, other := range []struct {
		given     bool
		key, says string
	}{
		{s.Sits(), "seats", "which has other seats"},
		{s.SecondChance.When != "", "second_chance.when", "which asks prompts again"},
		{s.Refill.Tries > 0, "refill.tries", "which draws other prompts in place of groups"},
		{s.Replay.Store != "", "replay.store", "which takes groups in place of prompts"},
		{s.Grows(), "tree.rounds", "whose completions begin as others do"},
		{s.Arrives(), "order = \"arrival\"", "which takes groups as they come, while a problem is paid by those who solve it"},
		{s.Curriculum.Completions != "", "curriculum.completions", "which gives prompts groups of other sizes"},
		{err == nil && slices.Contains(reads, "greedy_reward"), "greedy_reward", "which is that of a prompt of the task"},
		{s.Best.Every > 0, "best.every", "which compares answers to prompts"},
	} {
		if other.given {
			d.Fail(p, "%s does not go with %s, %s", d.Name(p), other.key, other.says)
		}
	}
}
