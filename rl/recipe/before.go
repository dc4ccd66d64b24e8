package recipe

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/tasks"
)

// curriculum are the keys that say which problems a stage draws. Its formulas are
// evaluated before every step, over all problems that can be drawn.
type curriculum struct {
	// formula of a prompt, such as "if(solved < 1, 1, 0.1)": problems are drawn in proportion to it. A
	// weight without a value is 1; if all weights are 0, all problems are equally likely; "": equally
	// likely
	Weight string `toml:"weight"`

	// formula of a prompt, such as "row.level": the problems with the lowest values come first; goes with
	// share; "": no order
	Order string `toml:"order"`

	// formula of the run, such as "linear(0.2, 1, 1, steps)": share of the problems, in that order, that
	// may be drawn
	Share string `toml:"share"`

	// member of the problems' rows, such as "row.category": all problems with the same value form an arm,
	// and an arm is drawn by the mean weight of its problems, however many it has; "": none
	Arms string `toml:"arms"`

	// number of problems of a procedural task from which a stage with weight, order or arms draws; 0: for
	// data, whose rows are the problems
	Pool int `toml:"pool" range:"[0,1000000]" unit:"problems"`

	// settings of the procedural task by name, each a formula of the run or of a prompt that is evaluated
	// in every step, such as {numbers = "floor(piecewise(3, 100, 4))"}; they replace those of
	// [task.settings]
	Settings map[string]any `toml:"settings"`
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

// Beside are the formulas of an rl stage that stand beside its method, as lines for people:
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
	add("second_chance.when", s.SecondChance.When)
	add("replay.store", s.Replay.Store)
	return lines
}

// Before are the formulas of an rl stage that are evaluated before a step is sampled. The
// names of their parts are numbers/KEY, curriculum/KEY and settings/NAME.
func (s *Stage) Before() (*formula.Program, error) {
	all := func(string) bool { return true }
	facts := s.Algorithm.method(algo.Method{}, all).PromptFacts()
	return formula.Compile(formula.Text{Parts: s.beforeParts(), Earlier: true}, facts)
}

// Lists says whether a stage draws from a list of problems.
func (s *Stage) Lists() bool { return s.Curriculum.Weight+s.Curriculum.Order+s.Curriculum.Arms != "" }

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
	return &out, nil
}

// before checks the curriculum and the numbers of a stage.
func (d decoder) before(s *Stage, r *Recipe, at settings.Path) {
	failed := d.Failed()
	d.curriculum(s, r.Task, at.With("curriculum"))
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
		group := part == curriculumPart+"weight" || part == curriculumPart+"order" || strings.HasPrefix(part, settingsPart)
		if level > formula.Group || level == formula.Group && !group {
			d.Fail(p, "%s: one value for each %s where one for the %s is wanted", d.Name(p), level, map[bool]string{true: "prompt", false: "run"}[group])
		}
		for _, need := range program.Needs(part) {
			if slices.ContainsFunc(formula.Structure(), func(f formula.Fact) bool { return f.Name == need }) {
				d.Fail(p, "%s reads %s, which is known after sampling", d.Name(p), need)
			}
			if strings.HasPrefix(part, numbersPart) && (need == "prompt_chance" || s.ofProblem(need)) {
				d.Fail(p, "%s reads %s, which belongs to a prompt; accepted: step, steps, progress, chance and states without by", d.Name(p), need)
			}
			if strings.HasPrefix(part, settingsPart) && s.ofProblem(need) {
				d.Fail(p, "%s reads %s, which belongs to a problem, but the problem does not exist yet; accepted: step, steps, progress, chance, prompt_chance and states without by", d.Name(p), need)
			}
		}
	}
	if d.Failed() == failed {
		d.tried(s, r, program, at)
	}
}

// ofProblem says whether a fact of the time before sampling is of a problem that is there.
func (s *Stage) ofProblem(fact string) bool {
	if state, is := s.Algorithm.states()[fact]; is {
		return state.By != ""
	}
	return !slices.Contains([]string{"step", "steps", "progress", "chance", "prompt_chance"}, fact)
}

// curriculum checks which keys go together.
func (d decoder) curriculum(s *Stage, task Task, at settings.Path) {
	c := s.Curriculum
	fail := func(key, format string, args ...any) {
		d.Fail(at.With(key), "%s %s", d.Name(at.With(key)), fmt.Sprintf(format, args...))
	}
	known := task.Settings != nil
	switch {
	case (c.Order == "") != (c.Share == ""):
		fail("share", "and order go together: order says which problems come first, share how many of them are open")
	case c.Arms != "" && !strings.HasPrefix(c.Arms, "row."):
		fail("arms", "= %q is not accepted; accepted: a member of the rows, such as row.category", c.Arms)
	case len(c.Settings) > 0 && (s.Lists() || c.Pool > 0):
		fail("settings", "make new problems in every step: they do not go with weight, order, arms or pool, which choose among existing problems")
	case len(c.Settings) > 0 && task.FromData():
		fail("settings", "are those of a procedural task; the problems of this recipe are data")
	case c.Pool > 0 && task.FromData():
		fail("pool", "is of procedural tasks; the problems of this recipe are data: all rows of it")
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

// tried evaluates what depends on the step and on prompt_chance alone, for steps over the
// whole stage.
func (d decoder) tried(s *Stage, r *Recipe, program *formula.Program, at settings.Path) {
	const tries = 64
	for i := range min(tries, s.RL.Steps) {
		step := 1
		if n := min(tries, s.RL.Steps) - 1; n > 0 {
			step += i * (s.RL.Steps - 1) / n
		}
		numbers := map[string]float64{}
		var changed [triedChances]map[string]float64
		t := ofStep(step, s.RL.Steps)
		for part := range s.beforeParts() {
			if slices.ContainsFunc(program.Needs(part), func(need string) bool { _, known := t.Column(need); return !known }) {
				continue
			}
			key, setting := strings.CutPrefix(part, settingsPart)
			level := formula.Run
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
		known = "; known before sampling: step, steps, progress, chance, states and, of a prompt, row.NAME, prompt_tokens, seen, solved, last_solved, steps_since"
	}
	d.Fail(p, "%s: %v%s", d.Name(p), &inside, known)
}
