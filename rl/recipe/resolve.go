package recipe

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// decoder turns a document into a recipe.
type decoder struct {
	*settings.Document
	folder string // of the recipe's file
	old    *bool  // it has keys of an older version
}

// recipe reads the whole tree over the defaults and checks what no single key
// shows.
func (d decoder) recipe() *Recipe {
	r := defaults()
	d.Decode(&r, d.Tree(), nil, append(d.misplaced(&r), "stage", "task", "model")...)
	if r.Base != "" {
		d.Fail(settings.Path{"base"}, "base = %q: an override cannot change the base of a recipe", r.Base)
	}
	d.model(&r.Model)
	d.task(&r.Task)
	d.models(&r)
	d.stageList(&r)
	d.sourced(&r)
	d.teaching(&r)
	if d.Failed() == 0 {
		d.members(&r)
	}
	return &r
}

// misplaced are the keys of a stage that stand outside of all stages.
func (d decoder) misplaced(r *Recipe) []string {
	has := func(fields []settings.Field, key string) bool {
		return slices.ContainsFunc(fields, func(f settings.Field) bool { return f.Key == key })
	}
	var found []string
	own, ofStage := settings.Fields(r), settings.Fields(&Stage{})
	for _, key := range slices.Sorted(maps.Keys(d.Tree())) {
		if has(own, key) || !has(ofStage, key) {
			continue
		}
		form := key + " = ..."
		if _, table := d.Tree()[key].(map[string]any); table {
			form = "[stage." + key + "]"
		}
		err := fmt.Errorf("%s belongs to a stage: write %s below a [[stage]]", key, form)
		d.Fail(settings.Path{key}, "%w", d.WithHomes(err, settings.Path{key}))
		found = append(found, key)
	}
	return found
}

// noHomes are tables whose keys nobody means by a bare name: lists, and formulas in place of
// numbers.
var noHomes = []string{"models.NAME", "task.source", "task.tool", "stage.verifier", "stage.make", "stage.source", "stage.numbers", "stage.learn.NAME", "stage.expect", "expect"}

// homes are the full names of a key, those of stages that learn from rewards first.
func (d decoder) homes(key string) []string {
	var first, others []string
	for _, k := range Keys() {
		if k.Key != key || slices.Contains(noHomes, k.Table) || k.Table == "stage" && key == "verifier" {
			continue
		}
		inner, ofStage := strings.CutPrefix(k.Table, "stage")
		if !ofStage {
			others = append(others, strings.TrimPrefix(k.Table+"."+key, "."))
			continue
		}
		for i, t := range settings.Tables(d.Tree()["stage"]) {
			kind, _ := t["kind"].(string)
			if !slices.Contains(k.Kinds, kind) {
				continue
			}
			name := d.Name(settings.Path{"stage", strconv.Itoa(i)}) + inner + "." + key
			if kind == KindRL {
				first = append(first, name)
			} else {
				others = append(others, name)
			}
		}
	}
	return append(first, others...)
}

// sub is the table at a key of the tree; nil, with a fault, if it is not there
// or something else.
func (d decoder) sub(key, needed string) map[string]any {
	value, there := d.Tree()[key]
	if t, ok := value.(map[string]any); ok {
		return t
	}
	if there {
		d.WrongType(settings.Path{key}, value, "a table ["+key+"]")
	} else {
		d.Fail(nil, "there is no table [%s]: %s", key, needed)
	}
	return nil
}

func (d decoder) model(m *Model) {
	t := d.sub("model", `give path = "FOLDER", or family and dimensions of a model to make`)
	if t == nil {
		return
	}
	at := settings.Path{"model"}
	d.Decode(m, t, at)
	if blocks := m.Dtype == "q8_0" || m.Dtype == "q4_0"; blocks && m.LoRA.Rank == 0 { // of a trainer, which every run has
		err := fmt.Errorf("model.dtype = %q keeps matrices in blocks, which no update can change, and model.lora.rank is 0; accepted: an adapter that is trained in their place (model.lora.rank above 0), or f32, bf16", m.Dtype)
		d.Fail(at.With("dtype"), "%w", hint.With(err, "--set model.lora.rank=16"))
	}
	if p, there := t["path"]; there && p != "" {
		for _, f := range settings.Fields(m) {
			if _, given := t[f.Key]; given && !f.Of(m.Variant()) {
				d.Fail(at.With(f.Key), "model.%s cannot be set together with model.path = %q, whose config.json has it: remove one of them", f.Key, p)
			}
		}
		settings.Clear(m)
		m.Path = d.absolute(at.With("path"), m.Path)
		return
	}
	d.shape(&m.Shape, t, at)
}

// shape checks the dimensions of a new model, and completes them.
func (d decoder) shape(m *Shape, t map[string]any, at settings.Path) {
	var missing []string
	for _, key := range []string{"family", "layers", "width", "heads", "mlp"} {
		if _, ok := t[key]; !ok {
			missing = append(missing, key)
		}
	}
	if missing != nil {
		d.Fail(at, "[%s] has no %s: a model from random weights needs it. For a model that exists, give path", d.Name(at), strings.Join(missing, ", "))
		return
	}
	if m.KVHeads == 0 {
		m.KVHeads = m.Heads
	}
	if m.HeadDim == 0 && m.Heads > 0 {
		m.HeadDim = m.Width / m.Heads
	}
	if p := at.With("kv_heads"); m.Heads > 0 && m.Heads%m.KVHeads != 0 {
		d.Fail(p, "%s = %d does not divide %s = %d", d.Name(p), m.KVHeads, d.Name(at.With("heads")), m.Heads)
	}
	if p := at.With("head_dim"); m.Heads > 0 && (m.HeadDim < 2 || m.HeadDim%2 != 0) {
		d.Fail(p, "%s = %d; accepted: an even number from 2, since rotation takes pairs (default: width / heads)", d.Name(p), m.HeadDim)
	}
}

func (d decoder) task(task *Task) {
	t := d.sub("task", `give name = "NAME" (rlzero tasks lists them), or data = "FILE"`)
	if t == nil {
		return
	}
	at := settings.Path{"task"}
	before := d.Failed()
	d.Decode(task, t, at, "settings", "episode", "tool")
	if task.FromData() {
		d.tools(task, t, at)
	}
	_, tools := t["tool"]
	_, outside := t["world"]
	if outside && d.Failed() == before {
		d.world(task, t, at.With("world"))
	}
	for _, f := range settings.Fields(task) {
		if f.Key == "episode" && (!task.FromData() || tools) || f.Key == "tool" || outside && !f.Of("data") || slices.Contains(toolKeys, f.Key) {
			continue // they say for which tasks they are
		}
		if _, given := t[f.Key]; given && !f.Of(task.Variant()) {
			d.Fail(at.With(f.Key), "task.%s cannot be set together with task.%s: remove one of them", f.Key, task.origin())
		}
	}
	if task.FromData() {
		d.data(task, at)
	}
	if task.World.Given() || task.FromData() && len(task.Tools) > 0 {
		d.episode(task, t, at.With("episode"))
	}
	if task.FromData() || outside {
		return
	}
	if task.Name == "" {
		if _, there := t["name"]; !there {
			d.Fail(at, "task.name is missing; give a name (rlzero tasks lists them), or data = \"FILE\"")
		}
		return
	}
	made, err := tasks.New(task.Name)
	if err != nil {
		var names []string
		for _, f := range tasks.Families() {
			names = append(names, f.Name)
		}
		d.Fail(at.With("name"), "task.name = %q is not known%s", task.Name, settings.DidYouMean(task.Name, names, "rlzero tasks lists them all"))
		return
	}
	own, ok := t["settings"].(map[string]any)
	if value, there := t["settings"]; there && !ok {
		d.WrongType(at.With("settings"), value, "a table [task.settings]")
		return
	}
	if d.settings(made, own, at.With("settings")) {
		task.Settings = made
		d.tools(task, t, at)
		d.episode(task, t, at.With("episode"))
	}
}

// episode reads how long an episode of a task may be, over what the task says.
func (d decoder) episode(task *Task, t map[string]any, at settings.Path) {
	value, there := t["episode"]
	table, ok := value.(map[string]any)
	episodic := task.Episodic()
	switch {
	case there && !ok:
		d.WrongType(at, value, "a table [task.episode]")
	case len(task.Tools) > 0 || task.World.Given():
		task.Episode = Episode{Turns: defaultTurns, History: HistoryAppend}
		who := "tools answer"
		if task.Starts() {
			task.Episode.Seconds = outsideSeconds
		}
		if task.World.Given() {
			who = "the program of a world answers"
		}
		before := d.Failed()
		if d.Decode(&task.Episode, table, at); d.Failed() == before && task.Episode.Tokens == 0 {
			p := at.With("tokens")
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s is missing: what %s has no fixed length", d.Name(p), who), "--set %s=1024", d.Name(p)))
		}
		d.calledFirst(*task, at)
		d.sumsUp(task.Episode, at)
	case there && episodic == nil:
		var names []string
		for _, f := range tasks.Worlds() {
			names = append(names, f.Name)
		}
		d.Fail(at, "[task.episode] is for tasks that are played in turns, but the problems of %s have one answer; add [[task.tool]], or take a task in turns: %s", task.Name, strings.Join(names, ", "))
	case episodic != nil:
		task.Episode = Episode{Turns: episodic.Turns(), Tokens: episodic.EpisodeTokens(), History: HistoryAppend}
		d.Decode(&task.Episode, table, at)
		d.sumsUp(task.Episode, at)
	}
}

// data checks the keys of a task whose problems are data. Files are opened when a run
// begins. Their paths become absolute, so that the resolved recipe can lie elsewhere.
func (d decoder) data(task *Task, at settings.Path) {
	if task.Data != "" {
		task.Data = d.absolute(at.With("data"), task.Data)
	}
	d.columns(task.Columns, at)
	d.sources(task, at.With("source"))
	if task.Starlark != "" {
		if task.Verifier != "" {
			d.Fail(at.With("starlark"), "task.starlark cannot be set together with task.verifier: remove one of them")
		}
		d.starlark(task, at)
		return
	}
	if task.Verifier == "" { // see teaching
		if len(task.Options) > 0 {
			d.Fail(at.With("options"), "task.options needs task.verifier, which is missing")
		}
		return
	}
	entry, err := verify.Lookup(task.Verifier)
	if err != nil {
		var known []string
		for _, e := range verify.Entries() {
			known = append(known, e.Name)
		}
		d.Fail(at.With("verifier"), "task.verifier = %q is not known%s", task.Verifier, settings.DidYouMean(task.Verifier, known, "rlzero verifiers lists them all"))
		return
	}
	task.Options = d.options(at.With("options"), entry, task.Options)
}

// starlark makes a verifier of the script that judges the task.
func (d decoder) starlark(task *Task, at settings.Path) {
	file := d.absolute(at.With("starlark"), task.Starlark)
	task.Verifier, task.Options, task.Starlark = "starlark", map[string]any{"file": file}, ""
}

// settings reads a task's settings over its defaults and says whether they are
// accepted.
func (d decoder) settings(task tasks.Task, t map[string]any, at settings.Path) bool {
	before := d.Failed()
	d.Decode(task, t, at)
	if d.Failed() == before {
		d.check(task.Validate(), at)
	}
	return d.Failed() == before
}

// check records what a table's own check found: settings.Errors, or one error that
// is about several keys.
func (d decoder) check(err error, at settings.Path) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			d.check(err, at)
		}
		return
	}
	var wrong *settings.Error
	if errors.As(err, &wrong) {
		p := at.With(wrong.Key)
		d.Fail(p, "%s %s", d.Name(p), wrong.Problem)
	} else if err != nil {
		d.Fail(at, "%s: %v", d.Name(at), err)
	}
}

func (d decoder) stageList(r *Recipe) {
	stages := settings.Tables(d.Tree()["stage"])
	if len(stages) == 0 {
		if value, there := d.Tree()["stage"]; there {
			d.WrongType(settings.Path{"stage"}, value, "tables headed [[stage]]")
		} else {
			d.Fail(nil, "there is no [[stage]]: a run needs one or more; kinds: %s", strings.Join(kinds, ", "))
		}
	}
	names := map[string]bool{}
	for i, t := range stages {
		at := settings.Path{"stage", strconv.Itoa(i)}
		kind, _ := t["kind"].(string)
		if !slices.Contains(kinds, kind) {
			if _, there := t["kind"]; !there {
				others := ""
				if len(names) > 0 {
					others = "; one that changes a stage of base has its name: " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
				}
				d.Fail(at, "stage %d has no kind; accepted: %s%s", i, strings.Join(kinds, ", "), others)
				continue
			}
			kind = "" // the field's own check reports it
		}
		s := stageDefaults(kind)
		d.stage(&s, t, at, r)
		if kind != "" && names[s.Name] {
			d.Fail(at.With("name"), "two stages are called %q: give each a name = \"...\" of its own", s.Name)
		}
		names[s.Name] = true
		r.Stages = append(r.Stages, s)
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Kind == KindRL && s.EvalProblems > r.Task.EvalProblems {
			p := settings.Path{"stage", strconv.Itoa(i), "eval_problems"}
			own, task := d.Written(p), d.Written(settings.Path{"task", "eval_problems"})
			switch {
			case own && task:
				d.Fail(p, "%s = %d is out of range; accepted: at most task.eval_problems = %d", d.Name(p), s.EvalProblems, r.Task.EvalProblems)
			case own: // what is written bends what is not
				r.Task.EvalProblems = s.EvalProblems
			}
			s.EvalProblems = r.Task.EvalProblems
		}
		if s.Kind == KindRL && s.Patience > 0 && s.EvalEvery == 0 {
			p := settings.Path{"stage", strconv.Itoa(i), "patience"}
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s counts evaluations, and the stage has none", d.Name(p)), "eval_every = 10"))
		}
	}
}

// teaching checks what only a task with demonstrations and a fixed vocabulary
// can be asked for.
func (d decoder) teaching(r *Recipe) {
	if !r.Task.known() {
		return
	}
	name, maxPrompt := r.Task.label(), settings.Path{"task", "max_prompt_tokens"}
	for i, st := range r.Stages {
		if st.Kind == KindPreference && !r.Task.FromData() && !st.OfRows() {
			p := settings.Path{"stage", strconv.Itoa(i), "kind"}
			d.Fail(p, "%s = %q needs rows with chosen and rejected, which task %s does not have: give them with task.data, let a stage of kind %s make them and draw them with [[stage.source]], or make pairs from samples of the policy, with a stage of kind %s and algorithm.preset = \"online_dpo\"", d.Name(p), KindPreference, name, KindMake, KindRL)
		}
	}
	for i, st := range r.Stages {
		if p := (settings.Path{"stage", strconv.Itoa(i), "max_tokens"}); st.Kind == KindSFT && len(st.Sources) > 0 && st.SFT.MaxTokens == 0 {
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s is missing: made rows have no fixed length", d.Name(p)), "--set %s=64", d.Name(p)))
		}
	}
	if t := r.Task.Demonstrator(); t != nil {
		if r.Task.MaxPromptTokens == 0 {
			r.Task.MaxPromptTokens = t.PromptTokens()
		} else if r.Task.MaxPromptTokens < t.PromptTokens() {
			d.Fail(maxPrompt, "task.max_prompt_tokens = %d is out of range; accepted: at least %d, the length of the prompts of task %s", r.Task.MaxPromptTokens, t.PromptTokens(), name)
		}
		return
	}
	if r.Task.MaxPromptTokens == 0 && r.Samples() {
		d.Fail(settings.Path{"task", "name"}, "%w", hint.With(fmt.Errorf("task.max_prompt_tokens is missing: the prompts of task %s have no fixed length", name), "--set task.max_prompt_tokens=512"))
	}
	if r.Model.Path == "" {
		err := fmt.Errorf("model.path is missing: task %s has no vocabulary for a model from random weights", name)
		if r.Task.FromData() {
			data := ""
			for _, s := range r.Task.DataSets() {
				data += " --data " + terminal.ShellWord(s.Data)
			}
			err = hint.With(err, "to make a model with random weights that reads your rows: rlzero model new start%s", data)
			err = hint.With(err, "then train it with --set model.path=start")
		}
		d.Fail(settings.Path{"model"}, "%w", err)
	}
	for i := range r.Stages {
		at := settings.Path{"stage", strconv.Itoa(i)}
		st := &r.Stages[i]
		switch {
		case st.Kind == KindSFT && !r.Task.FromData():
			p := at.With("kind")
			d.Fail(p, "%s = %q needs demonstrations, which task %s does not have: leave the stage out, use one of the tasks %s, or give rows with task.data", d.Name(p), KindSFT, name, strings.Join(demonstrators(), ", "))
		case st.Kind == KindSFT && st.SFT.Show != "":
			p := at.With("show")
			d.Fail(p, "%s is for demonstrations of a task, but rows of task.data are imitated as they are: put the hint into the rows", d.Name(p))
		case (st.Kind == KindSFT || st.Kind == KindPreference) && st.SFT.MaxTokens == 0:
			p := at.With("max_tokens")
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s is missing: the rows of task.data have no fixed length", d.Name(p)), "--set %s=512", d.Name(p)))
		case !st.Draws() && r.Samples() && r.MaxCompletion(st) == 0:
			d.Fail(at, "the length of the longest completion is not known: the recipe of a task such as %s needs a stage of kind %s with sampling.max_completion_tokens (rlzero eval takes --max-tokens); a recipe with only stages of kind %s and %s can leave out task.verifier, and samples nothing", name, KindRL, KindSFT, KindPreference)
		}
	}
}

// demonstrators are the tasks with demonstrations.
func demonstrators() []string {
	var names []string
	for _, f := range tasks.Families() {
		if _, ok := f.New().(tasks.Demonstrator); ok {
			names = append(names, f.Name)
		}
	}
	return names
}

// stageNames are words that an override cannot take for an index.
var stageNames = regexp.MustCompile(`^[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*$`)

func (d decoder) stage(s *Stage, t map[string]any, at settings.Path, r *Recipe) {
	task := r.Task
	if s.Kind == "" { // which keys are right is not known
		d.Decode(s, map[string]any{"kind": t["kind"]}, at)
		return
	}
	before := d.Failed()
	s.played = task.Played()
	s.models = nil
	for _, name := range r.ModelNames() {
		if name != ReferenceModel {
			s.models = append(s.models, reward.Model{Name: name, Head: r.Models[name].Head})
		}
	}
	skip := []string{"algorithm"}
	if s.Kind == KindRL {
		skip = append(skip, "learn")
	}
	d.Decode(s, t, at, skip...)
	if !stageNames.MatchString(s.Name) {
		d.Fail(at.With("name"), "stage name %q is not accepted; accepted: letters, digits, - and _, but not just a number", s.Name)
	}
	if s.Kind == KindSFT && s.SFT.Show == "" && s.SFT.ShowShare != stageDefaults(KindSFT).ShowShare { // a resolved recipe has the default
		p := at.With("show_share")
		d.Fail(p, "%s = %v would do nothing without show: add show, such as show = \"{answer} {question}\", or leave show_share out", d.Name(p), s.SFT.ShowShare)
	}
	known := task.known()
	if s.Draws() && s.Sampling.MaxCompletionTokens == 0 && known {
		demonstrator := task.Demonstrator()
		if demonstrator == nil {
			p := at.With("sampling").With("max_completion_tokens")
			d.Fail(p, "%w", hint.With(fmt.Errorf("%s is missing: the answers of task %s have no fixed length", d.Name(p), task.label()), "--set %s=256", d.Name(p)))
			return
		}
		s.Sampling.MaxCompletionTokens = task.TurnTokens()
	}
	if s.Draws() {
		d.verifiers(s, at)
		d.size(s, t, at)
		d.filtered(r, s, at)
	}
	if s.Kind != KindEval && known || t["algorithm"] != nil {
		d.algorithm(s, t, at)
	}
	if d.Failed() == before && s.Learns() {
		d.ruled(s, at)
	}
	if d.Failed() == before && (s.Kind == KindRL || s.Kind == KindPreference) {
		d.rate(s, at)
	}
	if d.Failed() == before && s.Draws() && known {
		d.making(s, r, at)
	}
	if d.Failed() == before && s.Kind == KindSFT && len(s.Curriculum.Settings) > 0 && known {
		d.before(s, r, at)
	}
	if d.Failed() == before && known && (s.Kind == KindSFT || s.Kind == KindRL) {
		d.proposing(s, task, at)
	}
	if d.Failed() > before || s.Kind != KindRL {
		return
	}
	if known {
		d.before(s, r, at)
		d.again(s, at)
		d.arrival(s, at)
		d.inTurns(s, task, at)
		d.grows(s, task, at)
		if d.Failed() == before {
			d.learning(s, r, t, at)
		}
	}
	if s.UpdatesPerRollout > s.PromptsPerStep {
		p := at.With("updates_per_rollout")
		d.Fail(p, "%s = %d is out of range; accepted: at most prompts_per_step = %d, since each update takes whole groups", d.Name(p), s.UpdatesPerRollout, s.PromptsPerStep)
	}
}

// verifiers completes the verifiers that a stage declares. The reward is compiled
// when a run begins.
func (d decoder) verifiers(s *Stage, at settings.Path) {
	for i := range s.Verifiers {
		v, inner := &s.Verifiers[i], at.With("verifier").With(strconv.Itoa(i))
		if v.Starlark != "" && v.Source == "" {
			v.Starlark = d.absolute(inner.With("starlark"), v.Starlark)
		}
		if v.Scripted() && v.Range == [2]float64{} {
			v.Range = [2]float64{0, 1}
		}
		if entry, err := verify.Lookup(v.Verifier); err == nil {
			v.Options = d.options(inner.With("options"), entry, v.Options)
		}
	}
}

// options makes the paths among a verifier's options absolute.
func (d decoder) options(at settings.Path, entry verify.Entry, options map[string]any) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(entry.Paths)) {
		fallback := entry.Paths[key]
		name, given := options[key].(string)
		if _, there := options[key]; !there && fallback != "" {
			name, given = fallback, true
		}
		if text, _ := options["source"].(string); key == entry.Script && text != "" {
			continue // the text is there, and the name is for messages
		}
		if given && name != "" {
			options = maps.Clone(options)
			if options == nil {
				options = map[string]any{}
			}
			options[key] = d.absolute(at.With(key), name)
		}
	}
	return options
}

// absolute is the path of a file or folder that a recipe names. A relative one
// begins at the recipe's folder; in an override and in a preset, at the current
// folder.
func (d decoder) absolute(at settings.Path, name string) string {
	file := filepath.FromSlash(name)
	if !filepath.IsAbs(file) && !d.Overridden(at) {
		file = filepath.Join(d.folder, file)
	}
	file, err := filepath.Abs(file)
	if err != nil { // the current folder is gone
		d.Fail(at, "%s = %q is a relative path, and the current folder cannot be found: %v", d.Name(at), name, err)
	}
	return filepath.ToSlash(file)
}
