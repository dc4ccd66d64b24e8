package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
)

// secondChance are the keys of what becomes of a group that meets a condition. One of Show,
// Prefix, Rows and Again says what replaces its completions.
type secondChance struct {
	// condition on a group after sampling, such as "group_max(reward) == 0"; if it holds, completions of
	// the group are replaced; "": never
	When string `toml:"when"`

	// number of completions to replace, those with the lowest rewards first; 0: all
	Replace int `toml:"replace" range:"[0,65536]" unit:"completions" default:"1"`

	// replace the last completions of the group, whatever they earned, in place of those with the lowest rewards: what
	// replaces them joins a group that was not selected by its rewards
	Last bool `toml:"last" hashed:"given"`

	// sample again with a hint: the question of the second try, with members of the row in braces, such as
	// "{question} Hint: {hint}"; the new completions are trained as answers to the row's own prompt
	Show string `toml:"show"`

	// with show: formula of a completion, such as "1 - sample/(group_size - 1)": the share, from 0 to 1, of the
	// entries of each list in braces that it is shown, drawn at random and in their order; a completion whose
	// share is no entry stays as it is, and so does one without a share; "": each is shown all of them
	Entries string `toml:"entries" of:"entries"`

	// with entries: what stands between two of them; "": the end of a line
	Between string `toml:"between" of:"entries"`

	// with show: train the new completions as answers to the prompt with the hint
	TrainHint bool `toml:"train_hint"`

	// sample again after the beginning of a solution: the member of the row with the solution, such as
	// "completion"; the given beginning is not trained
	Prefix string `toml:"prefix"`

	// with prefix: share of the solution's tokens that is given
	PrefixShare float64 `toml:"prefix_share" range:"(0,1]" default:"0.5"`

	// learn from a completion in the row: the member that has it, such as "completion"; it counts as one
	// of the group. Several members with commas between them, such as "first, second", are solutions of
	// several teachers, each of which is taken once; a row may lack some of them
	Rows string `toml:"rows"`

	// with several rows: formula of a completion, such as "mean(old)", evaluated over the solutions of a
	// group before they replace any: those with the greatest values are taken, of equal ones the first,
	// and none without a value. old is the policy's log-prob, and reward what a solution is paid; "":
	// the first are taken
	Choose string `toml:"choose" of:"choose"`

	// sample again at this temperature; 0: no
	Again float64 `toml:"again" range:"[0,100]"`
}

// Variant implements [settings.Variant]: a second chance that does not choose, or shows whole lists, does not name the
// keys.
func (c secondChance) Variant() string {
	var has []string
	if c.Choose != "" {
		has = append(has, "choose")
	}
	if c.Entries != "" {
		has = append(has, "entries")
	}
	return strings.Join(has, " ")
}

// replay are the keys of a store of groups that take part again in later steps.
type replay struct {
	// condition on a group at the end of its step, such as "group_std(reward) > 0"; if it holds, the group
	// is stored with its advantages, which are not computed again; "": no replay
	Store string `toml:"store"`

	// share of a step's groups that come from the store, as far as it has them; so many fewer are sampled
	Share float64 `toml:"share" range:"[0,1)" default:"0.25"`

	// number of updates of the weights after which a group leaves the store
	MaxAge int `toml:"max_age" range:"[1,inf)" unit:"updates" default:"8"`

	// largest number of groups in the store; the oldest leave first
	Size int `toml:"size" range:"[1,1000000]" unit:"groups" default:"1000"`
}

// Conditions of a stage on groups, as [Stage.Condition] knows them.
const (
	whenPart   = "second_chance/when"
	choosePart = "second_chance/choose"
	entryPart  = "second_chance/entries"
	storePart  = "replay/store"
)

// Solutions are the members of a row with solutions that a second chance takes.
func (c *secondChance) Solutions() []string {
	if c.Rows == "" {
		return nil
	}
	names := strings.Split(c.Rows, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// stale says whether a stage may train what was not sampled afresh: of the prompt that it is
// trained after, by the weights that the step begins with.
func (s *Stage) stale() bool {
	return s.SecondChance.When != "" || s.Replay.Store != "" || s.replays || s.Lag > 0
}

// Reprompts says whether a stage may train what was sampled after another prompt.
func (s *Stage) Reprompts() bool {
	return s.SecondChance.Show != "" && !s.SecondChance.TrainHint
}

// conditions are the formulas beside the method of the stage that are evaluated after sampling, by name:
// conditions on groups, those of a tree, and of what the stage makes.
func (s *Stage) conditions() map[string]string {
	all := s.madeFormulas()
	all[whenPart], all[choosePart], all[storePart] = s.SecondChance.When, s.SecondChance.Choose, s.Replay.Store
	all[entryPart] = s.SecondChance.Entries
	if s.Grows() {
		all[algo.TreeAt], all[algo.TreeChoose] = s.Tree.At, s.Tree.Choose
	}
	if s.Tree.At == algo.TurnsCut {
		delete(all, algo.TreeAt)
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// Condition compiles second_chance/when, second_chance/choose, second_chance/entries or replay/store; nil: the stage
// has none.
func (s *Stage) Condition(name string) (*formula.Program, error) {
	text := s.conditions()[name]
	if text == "" {
		return nil, nil
	}
	if name == choosePart || name == entryPart {
		return s.drawn(name, text, formula.Completion, false)
	}
	return s.method().Condition(name, text, name == whenPart, s.facts())
}

// Reads are the facts that the formulas of a stage read after sampling: those of its method, of its
// conditions on groups, of its tree, and of what it makes. What the reward reads is known to its program.
func (s *Stage) Reads() ([]string, error) {
	method, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	reads := method.Needs()
	for _, name := range []string{whenPart, choosePart, entryPart, storePart} {
		program, err := s.Condition(name)
		if err != nil {
			return nil, err
		}
		if program != nil {
			reads = append(reads, program.Needs(name)...)
		}
	}
	more, err := s.growthReads()
	if err != nil {
		return nil, err
	}
	reads = append(reads, more...)
	makes, err := s.Makes()
	if err != nil {
		return nil, err
	}
	for i := range makes {
		reads = append(reads, makes[i].needs()...)
	}
	reads = slices.DeleteFunc(reads, func(name string) bool { _, state := method.Method.State[name]; return state })
	slices.Sort(reads)
	return slices.Compact(reads), nil
}

// unweighed refuses an influence that a formula beside the method reads and the method does not: what it weighs is
// computed with the method.
func (s *Stage) unweighed(program *formula.Program, part string) error {
	method, err := s.Compiled()
	if err != nil {
		return err
	}
	for _, fact := range program.Needs(part) {
		if algo.Influences(fact) && !slices.Contains(method.Calls(), fact) {
			return &formula.Error{Part: part, Text: fact + " is computed with the method, which does not read it: write it as a formula of the method and read that"}
		}
	}
	return nil
}

// again checks the second chance and the replay of a stage.
func (d decoder) again(s *Stage, at settings.Path) {
	for _, name := range []string{whenPart, choosePart, entryPart, storePart} {
		program, err := s.Condition(name)
		if err == nil && program != nil {
			err = s.unweighed(program, name)
		}
		if err != nil {
			d.beforeFaults(err, at)
		}
	}
	c, p := s.SecondChance, at.With("second_chance")
	fail := func(key, format string, args ...any) {
		d.Fail(p.With(key), "%s %s", d.Name(p.With(key)), fmt.Sprintf(format, args...))
	}
	var ways []string
	for i, given := range []bool{c.Show != "", c.Prefix != "", c.Rows != "", c.Again != 0} {
		if given {
			ways = append(ways, []string{"show", "prefix", "rows", "again"}[i])
		}
	}
	switch {
	case c.When == "" && len(ways) > 0:
		fail(ways[0], "goes with when, the condition of a second chance")
	case c.When != "" && len(ways) != 1:
		fail("when", "goes with one of show, prefix, rows and again; found %d of them", len(ways))
	case len(c.Solutions()) > 1 && slices.Contains(c.Solutions(), ""):
		fail("rows", "= %q has no name at a comma; accepted: one member, or several such as \"first, second\"", c.Rows)
	case c.Choose != "" && len(c.Solutions()) < 2:
		fail("choose", "goes with several members in rows, such as \"first, second\"")
	case c.Entries != "" && c.Show == "":
		fail("entries", "goes with show, whose lists have the entries")
	case c.Entries == "" && c.Between != "":
		fail("between", "goes with entries")
	case c.TrainHint && c.Show == "":
		fail("train_hint", "goes with show")
	case c.Replace > s.GroupSize:
		fail("replace", "= %d is out of range; accepted: at most group_size = %d, or 0 for all", c.Replace, s.GroupSize)
	case c.Show != "" && !strings.Contains(c.Show, "{"):
		fail("show", "names no member of the row; write it in braces, such as {question} and {hint}")
	}
}
