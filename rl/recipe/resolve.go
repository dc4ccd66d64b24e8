package recipe

import (
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// recipe reads the whole tree over the defaults and checks what no single key
// shows.
func (d *decoder) recipe() *Recipe {
	r := defaults()
	d.table(reflect.ValueOf(&r).Elem(), d.tree, nil, "", "stage", "task", "model")
	d.model(&r.Model)
	d.task(&r.Task)
	d.stageList(&r)
	d.teaching(&r)
	return &r
}

// sub is the table at a key of the tree; nil, with a fault, if it is not there
// or something else.
func (d *decoder) sub(key, needed string) map[string]any {
	value, there := d.tree[key]
	if t, ok := value.(map[string]any); ok {
		return t
	}
	if there {
		d.wrongType(path{key}, value, "a table ["+key+"]")
	} else {
		d.fail(nil, "there is no table [%s]: %s", key, needed)
	}
	return nil
}

func (d *decoder) model(m *Model) {
	t := d.sub("model", `give path = "FOLDER", or family and dimensions of a model to make`)
	if t == nil {
		return
	}
	at := path{"model"}
	d.table(reflect.ValueOf(m).Elem(), t, at, "")
	if p, there := t["path"]; there && p != "" {
		for key := range t {
			if !slices.Contains(besidePath, key) {
				d.fail(at.with(key), "model.%s does not go with model.path = %s, whose config.json says it: remove one of them", key, show(p))
			}
		}
		*m = Model{Dtype: m.Dtype, KVDtype: m.KVDtype, Path: d.absolute(at.with("path"), m.Path)}
		return
	}
	var missing []string
	for _, key := range []string{"family", "layers", "width", "heads", "mlp"} {
		if _, ok := t[key]; !ok {
			missing = append(missing, key)
		}
	}
	if missing != nil {
		d.fail(at, "[model] lacks %s: a model from random weights needs it (or give path)", strings.Join(missing, ", "))
		return
	}
	if m.KVHeads == 0 {
		m.KVHeads = m.Heads
	}
	if m.HeadDim == 0 && m.Heads > 0 {
		m.HeadDim = m.Width / m.Heads
	}
	if m.Heads > 0 && m.Heads%m.KVHeads != 0 {
		d.fail(at.with("kv_heads"), "model.kv_heads = %d does not divide model.heads = %d", m.KVHeads, m.Heads)
	}
	if m.Heads > 0 && (m.HeadDim < 2 || m.HeadDim%2 != 0) {
		d.fail(at.with("head_dim"), "model.head_dim = %d; accepted: an even number from 2, as rotation takes pairs (default: width / heads)", m.HeadDim)
	}
}

func (d *decoder) task(task *Task) {
	t := d.sub("task", `give name = "NAME", see rlzero tasks, or data = "FILE"`)
	if t == nil {
		return
	}
	at := path{"task"}
	d.table(reflect.ValueOf(task).Elem(), t, at, "", "settings")
	accepted, with := besideName, "name"
	if task.Data != "" {
		accepted, with = besideData, "data"
	}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if !slices.Contains(accepted, key) && slices.Contains(slices.Concat(besideName, besideData), key) {
			d.fail(at.with(key), "task.%s does not go with task.%s: remove one of them", key, with)
		}
	}
	if task.Data != "" {
		d.data(task, at)
		return
	}
	if task.Name == "" {
		if _, there := t["name"]; !there {
			d.fail(at, "task.name is missing: see rlzero tasks; or give data = \"FILE\"")
		}
		return
	}
	made, err := tasks.New(task.Name)
	if err != nil {
		var names []string
		for _, f := range tasks.Families() {
			names = append(names, f.Name)
		}
		d.fail(at.with("name"), "task.name = %q is not known%s; rlzero tasks lists them", task.Name, DidYouMean(task.Name, names))
		return
	}
	at = at.with("settings")
	settings, ok := t["settings"].(map[string]any)
	if value, there := t["settings"]; there && !ok {
		d.wrongType(at, value, "a table [task.settings]")
		return
	}
	if d.settings(made, settings, at) {
		task.Settings = made
	}
}

// data checks the keys of a task that is a file. The file is opened when a run
// begins. Its path becomes absolute, so that the resolved recipe can lie
// elsewhere.
func (d *decoder) data(task *Task, at path) {
	task.Data = d.absolute(at.with("data"), task.Data)
	if task.Verifier == "" {
		d.fail(at, "task.verifier is missing: it judges the completions for task.data; rlzero verifiers lists them")
		return
	}
	entry, err := verify.Lookup(task.Verifier)
	if err != nil {
		var known []string
		for _, e := range verify.Entries() {
			known = append(known, e.Name)
		}
		d.fail(at.with("verifier"), "task.verifier = %q is not known%s; rlzero verifiers lists them", task.Verifier, DidYouMean(task.Verifier, known))
		return
	}
	task.Options = d.options(at.with("options"), entry, task.Options)
}

// settings reads a task's settings over its defaults and says whether they are
// accepted.
func (d *decoder) settings(task tasks.Task, t map[string]any, at path) bool {
	before := len(d.faults)
	d.table(reflect.ValueOf(task).Elem(), t, at, "")
	if len(d.faults) > before {
		return false
	}
	err := task.Validate()
	var bad *tasks.SettingError
	switch {
	case errors.As(err, &bad):
		p := at.with(bad.Key)
		d.fail(p, "%s = %s is out of range; accepted: %s", d.name(p), bad.Found, bad.Accepted)
	case err != nil:
		d.fail(at, "%s: %v", d.name(at), err)
	}
	return err == nil
}

func (d *decoder) stageList(r *Recipe) {
	stages := d.stages()
	if len(stages) == 0 {
		if value, there := d.tree["stage"]; there {
			d.wrongType(path{"stage"}, value, "tables headed [[stage]]")
		} else {
			d.fail(nil, "there is no [[stage]]: a run needs one or more, of kind %s, %s or %s", KindSFT, KindRL, KindEval)
		}
	}
	names := map[string]bool{}
	for i, t := range stages {
		at := path{"stage", strconv.Itoa(i)}
		kind, _ := t["kind"].(string)
		if !slices.Contains([]string{KindSFT, KindRL, KindEval}, kind) {
			if _, there := t["kind"]; !there {
				d.fail(at, "stage %d has no kind; accepted: %s, %s, %s", i, KindSFT, KindRL, KindEval)
				continue
			}
			kind = "" // the field's own check reports it
		}
		s := stageDefaults(kind)
		d.stage(&s, t, at, r.Task)
		if kind != "" && names[s.Name] {
			d.fail(at.with("name"), "two stages are called %q: give each a name = \"...\" of its own", s.Name)
		}
		names[s.Name] = true
		r.Stages = append(r.Stages, s)
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Kind == KindRL && s.EvalProblems > r.Task.EvalProblems {
			p := path{"stage", strconv.Itoa(i), "eval_problems"}
			if _, given := stages[i]["eval_problems"]; given {
				d.fail(p, "%s = %d is out of range; accepted: at most task.eval_problems = %d", d.name(p), s.EvalProblems, r.Task.EvalProblems)
			}
			s.EvalProblems = r.Task.EvalProblems
		}
	}
}

// teaching checks what only a task with demonstrations and a fixed vocabulary
// can be asked for.
func (d *decoder) teaching(r *Recipe) {
	if r.Task.Settings == nil && r.Task.Data == "" {
		return
	}
	name, maxPrompt := r.Task.label(), path{"task", "max_prompt_tokens"}
	if t := r.Task.Demonstrator(); t != nil {
		if r.Task.MaxPromptTokens == 0 {
			r.Task.MaxPromptTokens = t.PromptTokens()
		} else if r.Task.MaxPromptTokens < t.PromptTokens() {
			d.fail(maxPrompt, "task.max_prompt_tokens = %d is out of range; accepted: at least %d, the length of the prompts of task %s", r.Task.MaxPromptTokens, t.PromptTokens(), name)
		}
		return
	}
	if r.Task.MaxPromptTokens == 0 {
		d.fail(path{"task", "name"}, "task.max_prompt_tokens is missing: the prompts of task %s have no fixed length", name)
	}
	if r.Model.Path == "" {
		d.fail(path{"model"}, "model.path is missing: task %s has no vocabulary for a model from random weights", name)
	}
	for i := range r.Stages {
		at := path{"stage", strconv.Itoa(i)}
		switch st := &r.Stages[i]; {
		case st.Kind == KindSFT:
			p := at.with("kind")
			d.fail(p, "%s = %q does not go with task %s, which has no demonstrations: leave the stage out, or take one of %s", d.name(p), KindSFT, name, strings.Join(demonstrators(), ", "))
		case st.Kind == KindEval && r.MaxCompletion(st) == 0:
			d.fail(at, "how long completions may be is not known: a recipe of task %s needs a stage of kind %s with sampling.max_completion_tokens (rlzero eval takes --max-tokens)", name, KindRL)
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

func (d *decoder) stage(s *Stage, t map[string]any, at path, task Task) {
	if s.Kind == "" { // which keys are right is not known
		d.table(reflect.ValueOf(s).Elem(), map[string]any{"kind": t["kind"]}, at, "")
		return
	}
	before := len(d.faults)
	d.table(reflect.ValueOf(s).Elem(), t, at, s.Kind, "algorithm")
	if !stageNames.MatchString(s.Name) {
		d.fail(at.with("name"), "stage name %q is not accepted: letters, digits, - and _, and not a number alone", s.Name)
	}
	known := task.Settings != nil || task.Data != ""
	if s.Kind == KindRL && s.Sampling.MaxCompletionTokens == 0 && known {
		demonstrator := task.Demonstrator()
		if demonstrator == nil {
			p := at.with("sampling").with("max_completion_tokens")
			d.fail(p, "%s is missing: the answers of task %s have no fixed length", d.name(p), task.label())
			return
		}
		s.Sampling.MaxCompletionTokens = demonstrator.CompletionTokens()
	}
	if s.Kind == KindRL && known || t["algorithm"] != nil {
		d.algorithm(s, t, at)
	}
	if s.Kind == KindRL {
		d.verifiers(s, at)
	}
	if len(d.faults) > before || s.Kind != KindRL {
		return
	}
	if estimator := s.Algorithm.Estimator; s.GroupSize == 1 && slices.Contains([]string{"group_mean", "group_std", "leave_one_out"}, estimator) {
		p := at.with("group_size")
		d.fail(p, "%s = 1 is out of range; accepted: at least 2, as the estimator %s compares the completions of one prompt", d.name(p), estimator)
	}
	if s.UpdatesPerRollout > s.PromptsPerStep {
		p := at.with("updates_per_rollout")
		d.fail(p, "%s = %d is out of range; accepted: at most prompts_per_step = %d, as each update takes whole groups", d.name(p), s.UpdatesPerRollout, s.PromptsPerStep)
	}
}

// verifiers completes the verifiers that a stage declares. The reward is compiled
// when a run begins.
func (d *decoder) verifiers(s *Stage, at path) {
	for i := range s.Verifiers {
		v, inner := &s.Verifiers[i], at.with("verifier").with(strconv.Itoa(i))
		if v.Starlark != "" && v.Source == "" {
			v.Starlark = d.absolute(inner.with("starlark"), v.Starlark)
		}
		if v.Scripted() && v.Range == [2]float64{} {
			v.Range = [2]float64{0, 1}
		}
		if entry, err := verify.Lookup(v.Verifier); err == nil {
			v.Options = d.options(inner.with("options"), entry, v.Options)
		}
	}
}

// options makes the paths among a verifier's options absolute.
func (d *decoder) options(at path, entry verify.Entry, options map[string]any) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(entry.Paths)) {
		fallback := entry.Paths[key]
		name, given := options[key].(string)
		if _, there := options[key]; !there && fallback != "" {
			name, given = fallback, true
		}
		if given && name != "" {
			options = maps.Clone(options)
			if options == nil {
				options = map[string]any{}
			}
			options[key] = d.absolute(at.with(key), name)
		}
	}
	return options
}

// absolute is the path of a file or folder that a recipe names. A relative one
// begins at the recipe's folder; in an override and in a preset, at the current
// folder.
func (d *decoder) absolute(at path, name string) string {
	file := filepath.FromSlash(name)
	if !filepath.IsAbs(file) && d.set(at) == nil {
		file = filepath.Join(filepath.Dir(d.src.file), file)
	}
	file, err := filepath.Abs(file)
	if err != nil { // the current folder is gone
		d.fail(at, "%s = %q is a relative path, and the current folder cannot be found: %v", d.name(at), name, err)
	}
	return filepath.ToSlash(file)
}

// algorithm reads the table over the values of its preset.
func (d *decoder) algorithm(s *Stage, t map[string]any, at path) {
	at = at.with("algorithm")
	value, there := t["algorithm"]
	table, ok := value.(map[string]any)
	switch {
	case s.Kind != KindRL:
		d.fail(at, "%s is a table of %s stages; this one is of kind %s", d.name(at), KindRL, s.Kind)
		return
	case there && !ok:
		d.wrongType(at, value, "a table [stage.algorithm]")
		return
	}
	if preset, ok := table["preset"].(string); ok && preset != "" {
		cfg, err := algo.Preset(preset)
		if err != nil {
			known := algo.PresetNames()
			d.fail(at.with("preset"), "%s = %q is not known%s; accepted: %s", d.name(at.with("preset")), preset, DidYouMean(preset, known), strings.Join(known, ", "))
			return
		}
		s.Algorithm.Config = cfg
	}
	s.Algorithm.MaxCompletionTokens = s.Sampling.MaxCompletionTokens
	before := len(d.faults)
	d.table(reflect.ValueOf(&s.Algorithm).Elem(), table, at, s.Kind)
	if len(d.faults) > before {
		return
	}
	for _, err := range unjoin(s.Algorithm.Validate()) {
		key, _, _ := strings.Cut(err.Error(), " ") // Validate's errors begin with the key
		d.fail(at.with(key), "%s.%v", d.name(at), err)
	}
}

func unjoin(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}
