package recipe

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/tasks"
)

// curriculum are the keys that say which problems a stage draws. Its formulas are
// evaluated before every step, over all problems that can be drawn.
type curriculum struct {
	// formula of a prompt, such as "if(solved < 1, 1, 0.1)": problems are drawn in proportion to it. A
	// weight without a value is 1; if all weights are 0, all problems are equally likely; "": equally
	// likely
	Weight string `toml:"weight" in:"rl"`

	// formula of a prompt, such as "row.level": the problems with the lowest values come first; goes with
	// share, candidates or block; "": no order
	Order string `toml:"order" in:"rl"`

	// formula of the run, such as "linear(0.2, 1, 1, steps)": share of the problems, in that order, that
	// may be drawn
	Share string `toml:"share" in:"rl"`

	// member of the problems' rows, such as "row.category": all problems with the same value form an arm,
	// and an arm is drawn by the mean weight of its problems, however many it has; "": none
	Arms string `toml:"arms" in:"rl"`

	// number of problems of a procedural task from which a stage with weight, order or arms draws; 0: for
	// data, whose rows are the problems
	Pool int `toml:"pool" in:"rl" range:"[0,1000000]" unit:"problems"`

	// problems that a step draws for each of its prompts, new ones every time: those that come first in the
	// order are its prompts, and the others are dropped before anything is sampled; 0: the order is that
	// of a list
	Candidates int `toml:"candidates" in:"rl" of:"candidates" range:"[0,1000]" unit:"problems per prompt"`

	// steps between two fresh passes: the list is sorted by order and used from its beginning to its end,
	// each problem once, and again. Before the first step of the list the policy draws completions of all
	// its problems, and every so many steps of those that come next, which are then sorted again. order
	// reads their mean score as probed, so that order = "-probed" begins with what the policy solves. They
	// are not learned from and count as rollout/extra_tokens. What fills no step is left out; 0: no passes
	Block int `toml:"block" in:"rl" of:"block" range:"[0,1000000]" unit:"steps"`

	// with block: completions that a fresh pass draws of each problem; default: group_size
	Probe int `toml:"probe" in:"rl" of:"block" range:"[0,65536]" unit:"completions"`

	// formula of a prompt, such as "sqrt(solved*(1 - solved))": the completions of a step, group_size for
	// each of its prompts, are shared among them in proportion to it, with at least 2 for each. A prompt
	// without a value counts as 1; if all are 0, all get as many; "": group_size for each
	Completions string `toml:"completions" in:"rl" of:"completions"`

	// with completions: the most for one prompt; default: 4 times group_size
	CompletionsMost int `toml:"completions_most" in:"rl" of:"completions" range:"[0,65536]" unit:"completions"`

	// settings of the procedural task by name, each a formula of the run or of a prompt that is evaluated
	// in every step, such as {numbers = "floor(piecewise(3, 100, 4))"}, or a condition, such as
	// {verifies = "progress > 0.5"}; they replace those of [task.settings]. Of kind sft they are those of the demonstrations, by formulas of step, steps,
	// progress, chance and prompt_chance; steps is hold_steps + decay_steps, before which the stage may end
	Settings map[string]any `toml:"settings"`

	// settings of the procedural task that are drawn where the rewards change most
	Teacher Teacher `toml:"teacher" in:"rl" of:"teacher"`
}

// Variant implements [settings.Variant]: a curriculum without candidates, fresh passes, shares of
// completions or a teacher does not name them.
func (c curriculum) Variant() string {
	var variants []string
	if c.Candidates > 0 {
		variants = append(variants, "candidates")
	}
	if c.Block > 0 {
		variants = append(variants, "block")
	}
	if c.Completions != "" {
		variants = append(variants, "completions")
	}
	if len(c.Teacher.Space) > 0 {
		variants = append(variants, "teacher")
	}
	return strings.Join(variants, " ")
}

// LeastCompletions is how many completions a prompt gets at least where a formula shares them out:
// two can be compared.
const LeastCompletions = 2

// LargestGroup is how many completions of one prompt a stage samples at most.
func (s *Stage) LargestGroup() int {
	if s.Curriculum.Completions == "" {
		return s.RL.GroupSize
	}
	return s.Curriculum.CompletionsMost
}

// Teacher are the keys of a curriculum over continuous settings (ALP-GMM, arXiv 1910.07224). A setting
// is a number between two ends, and those of a problem are a point. Its absolute learning progress is
// the distance between its reward, the mean of its group, and that of the nearest point before it. A
// mixture of Gaussians over points and progress is fitted again and again, and points are drawn from a
// Gaussian by its mean progress.
type Teacher struct {
	// settings of the procedural task by name, each with its ends, such as {terms = [2, 4], max_number =
	// [1, 20]}; whole numbers are equally likely where points are drawn at random
	Space map[string]any `toml:"space"`

	// problems between two fits, and problems that a fit looks at; before the first fit all points are
	// drawn at random
	Refit int `toml:"refit" range:"[2,100000]" unit:"problems" default:"250"`

	// share of the points that are drawn at random
	Random float64 `toml:"random" range:"[0,1]" default:"0.2"`

	// largest number of Gaussians; as many are taken as give the least AIC
	Gaussians int `toml:"gaussians" range:"[2,100]" default:"10"`
}

// Names are those of the settings of the space, in the order of a point's coordinates.
func (t Teacher) Names() []string { return slices.Sorted(maps.Keys(t.Space)) }

// ends are those of a setting of the space; ok is false if there are not two.
func (t Teacher) ends(name string) (low, high float64, ok bool) {
	list, _ := t.Space[name].([]any)
	var both []float64
	for _, x := range list {
		switch x := x.(type) {
		case int64:
			both = append(both, float64(x))
		case float64:
			both = append(both, x)
		}
	}
	if len(both) != 2 || len(list) != 2 {
		return 0, 0, false
	}
	return both[0], both[1], both[0] < both[1]
}

// At are the settings of a task at a point, which has a coordinate from 0 to 1 for each name.
func (t Teacher) At(task tasks.Task, point []float64) map[string]float64 {
	whole := map[string]bool{}
	for _, setting := range tasks.Settings(task) {
		_, whole[setting.Key] = setting.Value.(int)
	}
	found := map[string]float64{}
	for i, name := range t.Names() {
		low, high, _ := t.ends(name)
		if found[name] = low + point[i]*(high-low); whole[name] {
			found[name] = math.Min(high, math.Floor(low+point[i]*(high-low+1)))
		}
	}
	return found
}

// stageNumbers are numbers of a stage that are formulas of the run, evaluated before every
// step. The key itself is the largest of them where memory depends on it.
type stageNumbers struct {
	// formula in place of optimizer.lr, its warm-up and its schedule
	LR string `toml:"lr"`

	// formula in place of optimizer.clip_norm
	ClipNorm string `toml:"clip_norm"`

	// formula in place of optimizer.weight_decay
	WeightDecay string `toml:"weight_decay"`

	// formula in place of sampling.temperature, such as "linear(1, 0.6, 1, steps)"
	Temperature string `toml:"temperature"`

	// formula in place of sampling.top_k
	TopK string `toml:"top_k"`

	// formula in place of sampling.top_p
	TopP string `toml:"top_p"`

	// formula in place of sampling.min_p
	MinP string `toml:"min_p"`

	// formula of whole numbers in place of sampling.max_completion_tokens, which is their upper bound
	MaxCompletionTokens string `toml:"max_completion_tokens"`

	// formula of whole numbers in place of group_size, which is their upper bound
	GroupSize string `toml:"group_size"`

	// formula of whole numbers in place of prompts_per_step, which is their upper bound
	PromptsPerStep string `toml:"prompts_per_step"`

	// formula in place of second_chance.prefix_share
	PrefixShare string `toml:"prefix_share"`

	// formula of whole numbers in place of updates_per_rollout
	UpdatesPerRollout string `toml:"updates_per_rollout"`
}

// Parts of [Stage.Before]: a table of the recipe and a key of it.
const (
	numbersPart    = "numbers/"
	curriculumPart = "curriculum/"
	settingsPart   = "settings/" // of the curriculum
)

// beforeParts are the formulas of the time before sampling.
func (s *Stage) beforeParts() map[string]string {
	parts := map[string]string{}
	add := func(table string, of any) {
		for _, f := range settings.Fields(of) {
			if text, ok := f.Value().(string); ok && text != "" && f.Key != "arms" {
				parts[table+f.Key] = text
			}
		}
	}
	add(numbersPart, &s.Numbers)
	add(curriculumPart, &s.Curriculum)
	for key, value := range s.Curriculum.Settings {
		parts[settingsPart+key] = settings.Text(value)
	}
	return parts
}

// Beside are the formulas of a stage that stand beside its method, as lines for people:
// those of the time before sampling, and conditions on groups.
func (s *Stage) Beside() []string {
	var lines []string
	add := func(key, text string) {
		if text != "" {
			lines = append(lines, key+" = "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
		}
	}
	parts := s.beforeParts()
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		add(strings.Join(pathOf(part, nil), "."), parts[part])
	}
	if s.Grows() {
		add("tree.at", s.Tree.At)
		add("tree.choose", s.Tree.Choose)
	}
	add("second_chance.when", s.SecondChance.When)
	add("second_chance.choose", s.SecondChance.Choose)
	add("second_chance.entries", s.SecondChance.Entries)
	add("replay.store", s.Replay.Store)
	return lines
}

// Before are the formulas of a stage that are evaluated before a step is sampled or shown. The
// names of their parts are numbers/KEY, curriculum/KEY and settings/NAME.
func (s *Stage) Before() (*formula.Program, error) {
	facts := s.method().PromptFacts(s.modelNames(), s.headNames())
	return formula.Compile(formula.Text{Parts: s.beforeParts(), Earlier: true}, facts)
}

// Lists says whether a stage draws from a list of problems.
func (s *Stage) Lists() bool {
	c := &s.Curriculum
	return c.Candidates == 0 && c.Weight+c.Order+c.Arms != ""
}

// With is the stage with values of [Stage.Before]'s numbers in place of its own. The error
// names the key.
func (s *Stage) With(numbers map[string]float64) (*Stage, error) {
	out := *s
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		x := numbers[key]
		for _, table := range []any{&out.RL, &out.Sampling, &out.Optimizer, &out.SecondChance} {
			for _, f := range settings.Fields(table) {
				if f.Key != key {
					continue
				}
				_, fraction := f.Value().(float64)
				most, whole := f.Value().(int)
				largest := slices.Contains([]string{"group_size", "prompts_per_step", "max_completion_tokens"}, key)
				switch {
				case math.IsNaN(x) || !fraction && x != math.Trunc(x):
					return nil, fmt.Errorf("numbers.%s is %v; accepted: %s", key, x, f.Accepted())
				case whole && largest && x > float64(most):
					return nil, fmt.Errorf("numbers.%s is %v; accepted: at most %s = %d, which is its upper bound", key, x, key, most)
				}
				f.SetNumber(x)
				if err := settings.Check(table); err != nil {
					return nil, fmt.Errorf("numbers.%w", err)
				}
			}
		}
		if key == "lr" {
			out.Optimizer.Schedule, out.Optimizer.WarmupSteps = "constant", 0
		}
	}
	if out.GroupSize == 1 && s.GroupSize > 1 && s.Kind == KindRL {
		if method, err := s.Compiled(); err != nil || !method.Teaches(1) {
			return nil, errors.Join(err, errors.New("numbers.group_size is 1; accepted: "+pairAtLeast))
		}
	}
	return &out, nil
}

// before checks the curriculum and the numbers of a stage.
func (d decoder) before(s *Stage, r *Recipe, at settings.Path) {
	failed := d.Failed()
	d.curriculum(s, r.Task, at.With("curriculum"))
	d.teacher(s, r, at.With("curriculum").With("teacher"))
	for _, name := range slices.Sorted(maps.Keys(s.Curriculum.Settings)) {
		value := s.Curriculum.Settings[name]
		switch value.(type) {
		case string, float64, int64:
		default:
			d.WrongType(at.With("curriculum").With("settings").With(name), value, "a formula in quotes")
		}
	}
	if d.Failed() > failed {
		return
	}
	if s.Numbers.LR != "" && s.Optimizer.ValueLR > 0 {
		p := at.With("numbers").With("lr")
		d.Fail(p, "%s does not go with optimizer.value_lr, which follows the schedule that it replaces", d.Name(p))
	}
	program, err := s.Before()
	if err != nil {
		d.beforeFaults(err, at)
		return
	}
	for _, part := range slices.Sorted(maps.Keys(s.beforeParts())) {
		p := pathOf(part, at)
		level, _, _ := program.Level(part)
		group := slices.Contains([]string{curriculumPart + "weight", curriculumPart + "order", curriculumPart + "completions"}, part) || strings.HasPrefix(part, settingsPart)
		if level > formula.Group || level == formula.Group && !group {
			d.Fail(p, "%s: one value for each %s where one for the %s is wanted", d.Name(p), level, map[bool]string{true: "prompt", false: "run"}[group])
		}
		for _, need := range program.Needs(part) {
			if slices.ContainsFunc(formula.Structure(), func(f formula.Fact) bool { return f.Name == need }) {
				d.Fail(p, "%s reads %s, which is known after sampling", d.Name(p), need)
			}
			if a, err := s.Compiled(); need == "prompt_value" && err == nil && !slices.Contains(a.Needs(), "value") {
				d.Fail(p, "%s reads prompt_value, but no loss of the stage reads value, so that nothing trains the value head", d.Name(p))
			}
			if need == "probed" && s.Curriculum.Block == 0 {
				d.Fail(p, "%s reads probed, but nothing is drawn of problems before they are chosen; accepted: with curriculum.block, the steps between two fresh passes", d.Name(p))
			}
			if strings.HasPrefix(part, numbersPart) && (need == "prompt_chance" || s.ofProblem(need)) {
				d.Fail(p, "%s reads %s, which belongs to a prompt; accepted: step, steps, progress, chance and states without by", d.Name(p), need)
			}
			if s.Kind == KindSFT && !slices.Contains(ofStepOnly, need) {
				d.Fail(p, "%s reads %s, which a stage of kind sft does not have; accepted: %s", d.Name(p), need, strings.Join(ofStepOnly, ", "))
			} else if strings.HasPrefix(part, settingsPart) && s.ofProblem(need) {
				d.Fail(p, "%s reads %s, which belongs to a problem, but the problem does not exist yet; accepted: step, steps, progress, chance, prompt_chance and states without by", d.Name(p), need)
			}
		}
	}
	if d.Failed() == failed {
		d.tried(s, r, program, at)
	}
}

// ofStepOnly are the facts of the time before sampling that need no problem.
var ofStepOnly = []string{"step", "steps", "progress", "chance", "prompt_chance"}

// ofProblem says whether a fact of the time before sampling is of a problem that is there.
func (s *Stage) ofProblem(fact string) bool {
	if state, is := s.Algorithm.states()[fact]; is {
		return state.By != ""
	}
	return !slices.Contains(ofStepOnly, fact)
}

// curriculum checks which keys go together.
func (d decoder) curriculum(s *Stage, task Task, at settings.Path) {
	c := s.Curriculum
	fail := func(key, format string, args ...any) {
		p := at
		if key != "" {
			p = at.With(key)
		}
		d.Fail(p, "%s %s", d.Name(p), fmt.Sprintf(format, args...))
	}
	known := task.Settings != nil
	given, where := task.FromData() || task.World.Given(), "data"
	if !task.FromData() {
		where = "of a program of others"
	}
	d.completions(s, at)
	d.blocks(s, task, at)
	switch {
	case c.Candidates > 0 && c.Order == "":
		fail("candidates", "goes with order, which says which of them come first")
	case c.Candidates > 0 && c.Weight+c.Share+c.Arms != "":
		fail("candidates", "draws new problems in every step: it does not go with weight, share or arms, which are of a list of problems")
	case c.Candidates > 0 && c.Pool > 0:
		fail("pool", "is a list of problems; candidates draws new ones in every step: remove one of them")
	case c.Candidates+c.Block == 0 && (c.Order == "") != (c.Share == ""):
		fail("share", "and order go together: order says which problems come first, share how many of them are open")
	case c.Arms != "" && !strings.HasPrefix(c.Arms, "row."):
		fail("arms", "= %q is not accepted; accepted: a member of the rows, such as row.category", c.Arms)
	case len(c.Settings) > 0 && (s.Lists() || c.Pool+c.Candidates > 0):
		fail("settings", "make new problems in every step: they do not go with weight, order, arms, pool or candidates, which choose among existing problems")
	case len(c.Teacher.Space) > 0 && (s.Lists() || c.Pool+c.Candidates+len(c.Settings) > 0):
		fail("teacher", "makes new problems in every step: it does not go with weight, order, arms, pool, candidates or settings")
	case len(c.Teacher.Space) > 0 && given:
		fail("teacher", "chooses settings of a procedural task; the problems of this recipe are %s", where)
	case len(c.Settings) > 0 && given:
		fail("settings", "are those of a procedural task; the problems of this recipe are %s", where)
	case c.Pool > 0 && task.FromData():
		fail("pool", "is of procedural tasks; the problems of this recipe are data: all rows of it")
	case (c.Pool > 0 || s.Lists()) && task.World.Given() && !task.FromData():
		fail("", "chooses among the problems of data or of a procedural task; those of this recipe are of a program of others; accepted: task.data with [task.world]")
	case c.Pool > 0 && !s.Lists():
		fail("pool", "goes with weight, order or arms")
	case c.Pool == 0 && known && s.Lists():
		fail("pool", "is missing: a procedural task has no list of problems; say how many of them to choose among")
	case known:
		for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
			var have []string
			for _, setting := range tasks.Settings(task.Settings) {
				have = append(have, setting.Key)
			}
			if p := at.With("settings").With(name); !slices.Contains(have, name) {
				d.Fail(p, "unknown key %s%s", d.Name(p), settings.DidYouMean(name, have, ""))
			}
		}
	}
}

// blocks checks what a list is sorted by again and again.
func (d decoder) blocks(s *Stage, task Task, at settings.Path) {
	c, p := &s.Curriculum, at.With("block")
	if c.Block == 0 {
		if p := at.With("probe"); c.Probe > 0 {
			d.Fail(p, "%s goes with block, the steps between two fresh passes", d.Name(p))
		}
		return
	}
	if c.Probe == 0 {
		c.Probe = s.RL.GroupSize
	}
	if c.Order == "" {
		d.Fail(p, "%s goes with order, by which a fresh pass sorts the problems", d.Name(p))
	}
	if c.Weight+c.Share+c.Arms != "" || c.Candidates > 0 {
		d.Fail(p, "%s uses each problem of a list in its turn: it does not go with weight, share, arms or candidates, which draw them", d.Name(p))
	}
	if p := at.With("pool"); c.Pool > 0 && c.Pool < s.RL.PromptsPerStep {
		d.Fail(p, "%s = %d fills no step; accepted: at least prompts_per_step = %d", d.Name(p), c.Pool, s.RL.PromptsPerStep)
	}
	for _, other := range []struct {
		given     bool
		key, says string
	}{
		{s.Sits(), "seats", "in which a prompt would have the mean score of all seats that the policy plays"},
		{s.Proposes(), "propose", "whose problems the policy writes"},
		{s.Refill.Tries > 0, "refill.tries", "which draws other prompts in place of some"},
		{s.Arrives(), "order = \"arrival\"", "which takes groups of several steps"},
		{s.Replay.Store != "" && s.Replay.Share > 0, "replay.share", "whose groups stand in place of some prompts"},
		{len(s.Sources) > 0, "[[stage.source]]", "whose rows stand in place of some prompts"},
		{s.Numbers.PromptsPerStep != "", "numbers.prompts_per_step", "which takes fewer of them in some steps"},
	} {
		if other.given {
			d.Fail(p, "%s does not go with %s, %s", d.Name(p), other.key, other.says)
		}
	}
}

// completions checks what the completions of a step are shared among its prompts by.
func (d decoder) completions(s *Stage, at settings.Path) {
	c := &s.Curriculum
	if c.Completions == "" {
		if p := at.With("completions_most"); c.CompletionsMost > 0 {
			d.Fail(p, "%s goes with completions, the formula by which they are shared", d.Name(p))
		}
		return
	}
	if c.CompletionsMost == 0 {
		c.CompletionsMost = min(4*s.RL.GroupSize, 1<<16)
	}
	if p := at.With("completions_most"); c.CompletionsMost < s.RL.GroupSize {
		d.Fail(p, "%s = %d is out of range; accepted: at least group_size = %d, which is the mean", d.Name(p), c.CompletionsMost, s.RL.GroupSize)
	}
	p := at.With("completions")
	if s.RL.GroupSize < LeastCompletions {
		d.Fail(p, "%s needs a group_size of at least %d, which each prompt gets; found %d", d.Name(p), LeastCompletions, s.RL.GroupSize)
	}
	for _, other := range []struct {
		given     bool
		key, says string
	}{
		{s.Refill.Tries > 0, "refill.tries", "which draws other prompts in place of some"},
		{s.SecondChance.When != "", "second_chance.when", "which replaces completions of a group"},
		{s.Replay.Store != "", "replay.store", "whose groups are a part of the step"},
		{s.Order == "arrival", "order = \"arrival\"", "which takes groups of several steps"},
		{s.played, "a task that is played in turns", "whose episodes are numbered by groups of one size"},
	} {
		if other.given {
			d.Fail(p, "%s does not go with %s, %s", d.Name(p), other.key, other.says)
		}
	}
}

// mostSettings is how many settings a teacher may choose.
const mostSettings = 5

// teacher checks the space of a teacher: its settings, and the task at both ends and in the middle of each.
func (d decoder) teacher(s *Stage, r *Recipe, at settings.Path) {
	t, failed := s.Curriculum.Teacher, d.Failed()
	names, space := t.Names(), at.With("space")
	switch own := stageDefaults(s.Kind).Curriculum.Teacher; {
	case len(names) == 0 && (t.Refit != own.Refit || t.Random != own.Random || t.Gaussians != own.Gaussians):
		d.Fail(at, "%s has no space: the settings of the task that it draws, such as space = {terms = [2, 4]}", d.Name(at))
	case len(names) > mostSettings:
		d.Fail(space, "%s has %d settings; accepted: at most %d", d.Name(space), len(names), mostSettings)
	}
	if len(names) == 0 || d.Failed() > failed || r.Task.Settings == nil {
		return // a task that is not there has been refused
	}
	var have []string
	for _, setting := range tasks.Settings(r.Task.Settings) {
		have = append(have, setting.Key)
	}
	for _, name := range names {
		p := space.With(name)
		if !slices.Contains(have, name) {
			d.Fail(p, "unknown key %s%s", d.Name(p), settings.DidYouMean(name, have, ""))
		} else if _, _, ok := t.ends(name); !ok {
			d.Fail(p, "%s is not accepted; accepted: a list of two numbers, the smaller one first, such as [2, 4]", d.Name(p))
		}
	}
	if d.Failed() > failed {
		return
	}
	for i := range int(math.Pow(3, float64(len(names)))) {
		point := make([]float64, len(names))
		for a := range point {
			point[a], i = float64(i%3)/2, i/3
		}
		if err := r.changed(t.At(r.Task.Settings, point)); err != nil {
			d.Fail(space, "%s: %v", d.Name(space), err)
			return
		}
	}
}

// tried evaluates what depends on the step and on prompt_chance alone, for steps over the
// whole stage.
func (d decoder) tried(s *Stage, r *Recipe, program *formula.Program, at settings.Path) {
	const tries = 64
	steps := s.RL.Steps
	if s.Kind == KindSFT {
		steps = s.SFT.HoldSteps + s.SFT.DecaySteps
	}
	for i := range min(tries, steps) {
		step := 1
		if n := min(tries, steps) - 1; n > 0 {
			step += i * (steps - 1) / n
		}
		numbers := map[string]float64{}
		var changed [triedChances]map[string]float64
		t := ofStep(step, steps)
		for part := range s.beforeParts() {
			if slices.ContainsFunc(program.Needs(part), func(need string) bool { _, known := t.Column(need); return !known }) {
				continue
			}
			key, setting := strings.CutPrefix(part, settingsPart)
			level, _, _ := program.Level(part)
			if setting {
				level = formula.Group
			}
			c, err := program.On(t).At(part, level)
			if err != nil {
				d.beforeFaults(err, at)
				return
			}
			if number, is := strings.CutPrefix(part, numbersPart); is {
				numbers[number] = c.V[0]
			}
			for i := range changed {
				if changed[i] == nil {
					changed[i] = map[string]float64{}
				}
				if setting {
					changed[i][key] = c.V[i]
				}
			}
		}
		if _, err := s.With(numbers); err != nil {
			d.Fail(at.With("numbers"), "%s in step %d: %v", d.Name(at), step, err)
			return
		}
		for _, set := range changed {
			if len(set) < len(s.Curriculum.Settings) || len(set) == 0 || r.Task.Settings == nil {
				break
			}
			if err := r.changed(set); err != nil {
				p := at.With("curriculum").With("settings")
				d.Fail(p, "%s in step %d: %v", d.Name(p), step, err)
				return
			}
		}
	}
}

// changed refuses settings of the task that its family does not accept, or whose problems the
// run could not read.
func (r *Recipe) changed(set map[string]float64) error {
	family, err := tasks.Lookup(r.Task.Name)
	if err != nil {
		return err
	}
	other, err := family.Changed(r.Task.Settings, set)
	if err != nil {
		return err
	}
	own, problems := r.Task.Demonstrator(), tasks.Demonstrator(nil)
	if problems, _ = other.(tasks.Demonstrator); problems == nil || own == nil {
		return nil // of no fixed length
	}
	if n, most := problems.PromptTokens(), max(r.Task.MaxPromptTokens, own.PromptTokens()); n > most {
		return fmt.Errorf("prompts of %d tokens are out of range; accepted: at most %d, the length under [task.settings]; task.max_prompt_tokens raises it", n, most)
	}
	if r.Model.Path != "" {
		return nil // it has a vocabulary of its own
	}
	known := own.Vocabulary()
	for _, token := range problems.Vocabulary() {
		if !slices.Contains(known, token) {
			return fmt.Errorf("the problems have the token %q; accepted: the tokens of [task.settings], from which the model's vocabulary is made", token)
		}
	}
	return nil
}

// triedChances is how many values of prompt_chance are tried: 0, the largest one, and some
// between them.
const triedChances = 9

// ofStep has what is known of a step before anything of it is drawn. Its frame is that of
// prompts with each value of prompt_chance that is tried.
func ofStep(step, steps int) *formula.Table {
	groups, tokens := make([]int, triedChances), make([][]int, triedChances)
	chance := formula.Column{Level: formula.Group}
	for i := range groups {
		groups[i], tokens[i] = i, []int{0}
		chance.V = append(chance.V, math.Min(float64(i)/(triedChances-1), math.Nextafter(1, 0)))
	}
	frame, err := formula.NewFrame(groups, tokens, nil)
	if err != nil {
		panic(err) // one completion without tokens for each prompt is accepted
	}
	t := formula.NewTable(frame)
	columns := map[string]formula.Column{"prompt_chance": chance}
	for name, x := range map[string]float64{"step": float64(step), "steps": float64(steps), "progress": float64(step-1) / math.Max(1, float64(steps-1))} {
		columns[name] = formula.Column{Level: formula.Run, V: []float64{x}}
	}
	for name, c := range columns {
		if err := t.Add(name, c); err != nil {
			panic(err) // a column of another size is a fault of the program
		}
	}
	return t
}

// pathOf is the key that has a part of [Stage.Before].
func pathOf(part string, at settings.Path) settings.Path {
	table, key, _ := strings.Cut(part, "/")
	if table+"/" == settingsPart {
		at = at.With("curriculum")
	}
	return at.With(table).With(key)
}

// beforeFaults records what the checker of formulas found.
func (d decoder) beforeFaults(err error, at settings.Path) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			d.beforeFaults(err, at)
		}
		return
	}
	var fault *formula.Error
	if !errors.As(err, &fault) {
		d.Fail(at, "%s: %v", d.Name(at), err)
		return
	}
	p, inside := pathOf(fault.Part, at), *fault
	inside.Part = ""
	known := ""
	if inside.Near == "" && strings.HasPrefix(inside.Text, "unknown name") {
		known = "; known before sampling: step, steps, progress, chance, states and, of a prompt, row.NAME, prompt_tokens, seen, solved, last_solved, steps_since, prompt_value, probed, and the name of a model of [models] with a head"
	}
	d.Fail(p, "%s: %v%s", d.Name(p), &inside, known)
}
