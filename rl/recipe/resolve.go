package recipe

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/reward"
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
		*m = Model{Dtype: m.Dtype, KVDtype: m.KVDtype, Path: m.Path}
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
		d.data(task, t, at)
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

// data opens the file of a task. The path becomes absolute, so that the resolved
// recipe can lie elsewhere, and the hash tells when the file has changed.
func (d *decoder) data(task *Task, t map[string]any, at path) {
	if task.Verifier == "" {
		d.fail(at, "task.verifier is missing: it judges the completions for task.data; rlzero verifiers lists them")
		return
	}
	if _, err := verify.Lookup(task.Verifier); err != nil {
		var known []string
		for _, e := range verify.Entries() {
			known = append(known, e.Name)
		}
		d.fail(at.with("verifier"), "task.verifier = %q is not known%s; rlzero verifiers lists them", task.Verifier, DidYouMean(task.Verifier, known))
		return
	}
	if _, err := verify.New(task.Verifier, task.Options); err != nil {
		d.fail(at.with("options"), "task.options: %v", err)
		return
	}
	file, err := filepath.Abs(besideRecipe(d.src.file, task.Data))
	if err != nil {
		d.fail(at.with("data"), "task.data: %v", err)
		return
	}
	made, sum, err := tasks.OpenFile(file, task.Verifier, task.Options)
	switch {
	case err != nil:
		d.fail(at.with("data"), "task.data: %v", err)
		return
	case task.SHA256 != "" && task.SHA256 != sum:
		d.fail(at.with("sha256"), "task.sha256 = %q, but that of %s is %s: it has changed; put it back, or start a new run", task.SHA256, file, sum)
		return
	}
	task.Data, task.SHA256, task.Settings = filepath.ToSlash(file), sum, made
	switch most := made.HeldOut(); {
	case task.EvalProblems <= most:
	case t["eval_problems"] == nil:
		task.EvalProblems = most
	default:
		d.fail(at.with("eval_problems"), "task.eval_problems = %d is out of range; accepted: at most %d, the problems of %s that are held out", task.EvalProblems, most, file)
	}
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
		d.stage(&s, t, at, r.Task.Settings)
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
	if r.Task.Settings == nil {
		return
	}
	name, maxPrompt := r.Task.Settings.Name(), path{"task", "max_prompt_tokens"}
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

func (d *decoder) stage(s *Stage, t map[string]any, at path, task tasks.Task) {
	if s.Kind == "" { // which keys are right is not known
		d.table(reflect.ValueOf(s).Elem(), map[string]any{"kind": t["kind"]}, at, "")
		return
	}
	before := len(d.faults)
	d.table(reflect.ValueOf(s).Elem(), t, at, s.Kind, "algorithm")
	if !stageNames.MatchString(s.Name) {
		d.fail(at.with("name"), "stage name %q is not accepted: letters, digits, - and _, and not a number alone", s.Name)
	}
	if s.Kind == KindRL && s.Sampling.MaxCompletionTokens == 0 && task != nil {
		demonstrator, ok := task.(tasks.Demonstrator)
		if !ok {
			p := at.with("sampling").with("max_completion_tokens")
			d.fail(p, "%s is missing: the answers of task %s have no fixed length", d.name(p), task.Name())
			return
		}
		s.Sampling.MaxCompletionTokens = demonstrator.CompletionTokens()
	}
	if s.Kind == KindRL && task != nil || t["algorithm"] != nil {
		d.algorithm(s, t, at)
	}
	if s.Kind == KindRL {
		d.reward(s, at)
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

// reward checks a stage's reward: the verifiers that it declares, and the
// expression. Scripts are read here, so that the recipe needs no other file.
func (d *decoder) reward(s *Stage, at path) {
	for i := range s.Verifiers {
		v := &s.Verifiers[i]
		if v.Starlark != "" && v.Source == "" && v.Verifier == "" {
			text, err := readScript(besideRecipe(d.src.file, v.Starlark))
			if err != nil {
				p := at.with("verifier").with(strconv.Itoa(i)).with("starlark")
				d.fail(p, "%s: %v", d.name(p), err)
				return
			}
			v.Source = text
		}
		if v.Scripted() && v.Range == [2]float64{} {
			v.Range = [2]float64{0, 1}
		}
	}
	_, err := reward.Compile(s.Reward, s.Verifiers)
	var wrong reward.Errors
	errors.As(err, &wrong)
	for _, e := range wrong {
		p := at.with("reward")
		if e.Verifier >= 0 {
			p = at.with("verifier").with(strconv.Itoa(e.Verifier)).with(e.Key)
		}
		hint := ""
		if e.Unknown != "" {
			hint = DidYouMean(e.Unknown, e.Known)
		}
		d.fail(p, "%s: %v%s", d.name(p), e, hint)
	}
}

// besideRecipe is the file that a recipe names: a relative one lies beside it.
func besideRecipe(recipe, name string) string {
	file := filepath.FromSlash(name)
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(recipe), file)
}

func readScript(file string) (string, error) {
	text, err := files.Read(file, reward.MaxScriptBytes)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is not UTF-8 text", file)
	}
	return string(text), err
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
