package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/verify/judge"
)

// Judging is a judge of a recipe.
type Judging struct {
	*judge.Judge
	Stage *Stage // that declares it; nil: the task does
	Name  string // in the reward
}

// Judges are the judges of the task and of the stages that are not left out. Those whose options are not
// accepted are left out here, and refused when the recipe is opened.
func (r *Recipe) Judges() []Judging {
	var out []Judging
	add := func(options map[string]any, st *Stage, name string) {
		if j := judgeOf(options); j != nil {
			out = append(out, Judging{j, st, name})
		}
	}
	if r.Task.Verifier == judge.Name {
		add(r.Task.Options, nil, "task")
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		for _, v := range st.Verifiers {
			if v.Verifier == judge.Name && !st.Skip && st.Draws() {
				add(v.Options, st, v.Name)
			}
		}
	}
	return out
}

// judgeOf is a judge with options; nil: they are not accepted.
func judgeOf(options map[string]any) *judge.Judge {
	raw, err := json.Marshal(options)
	if err != nil {
		return nil
	}
	j, err := judge.New(raw)
	if err != nil {
		return nil
	}
	return j
}

// JudgeRoom is how many tokens the longest question of a judge has with its answer: its context, or what
// the recipe's prompts and completions may take in it.
func (r *Recipe) JudgeRoom(j Judging) int {
	if j.Context > 0 {
		return j.Context
	}
	st := j.Stage
	if st == nil {
		st = &Stage{}
	}
	group, answer := 1, 0
	if j.Shows == judge.Group {
		group = max(1, st.LargestGroup())
	}
	for _, c := range j.Choices() {
		answer = max(answer, len(c))
	}
	switch {
	case j.Draws():
		answer = j.MaxTokens
	case j.Head(): // the end token, where it is read
		answer = 1
	}
	room := r.Task.MaxPromptTokens + j.Shown(group)*r.MaxDrawn(st) + j.PromptBytes() + j.Marks(group) + answer
	if j.Shows == judge.Items { // an item is as long as a prompt at most
		room += r.Task.MaxPromptTokens
	}
	return room
}

// StepJudges are the judges of a stage's verifiers that judge the steps of completions, by the facts that tell their
// verdicts.
func (s *Stage) StepJudges() map[string]*judge.Judge {
	out := map[string]*judge.Judge{}
	for _, v := range s.Verifiers {
		if shows, _ := v.Options["shows"].(string); v.Verifier == judge.Name && shows == judge.Steps {
			if j := judgeOf(v.Options); j != nil {
				out[v.Name+algo.StepFact] = j
			}
		}
	}
	return out
}

// judgedBy are the models that judge in a stage.
func (s *Stage) judgedBy() []string {
	var out []string
	for _, v := range s.Verifiers {
		if name, _ := v.Options["model"].(string); v.Verifier == judge.Name && !s.Skip && s.Draws() {
			out = append(out, name)
		}
	}
	return out
}

// JudgedBy is the model that judges the task; "": none does.
func (t Task) JudgedBy() string {
	name, _ := t.Options["model"].(string)
	if t.Verifier != judge.Name {
		return ""
	}
	return name
}

// judges checks whom the judges of a stage ask.
func (d decoder) judges(r *Recipe, st *Stage, at settings.Path) {
	for i, v := range st.Verifiers {
		if name, _ := v.Options["model"].(string); v.Verifier == judge.Name && name != "" {
			d.asked(r, st, v.Options, name, at.With("verifier").With(strconv.Itoa(i)).With("options"))
		}
	}
}

// taskJudge checks whom the judge of the task asks, in evaluations after every stage too.
func (d decoder) taskJudge(r *Recipe) {
	name := r.Task.JudgedBy()
	at := settings.Path{"task", "options"}
	if name == "" {
		return
	}
	d.asked(r, nil, r.Task.Options, name, at)
	if r.Task.Played() {
		p := settings.Path{"task", "verifier"}
		d.Fail(p, "%s = \"judge\": an episode is judged as it is played, before a model could be asked; accepted: another verifier, and judges in [[stage.verifier]]", d.Name(p))
	}
	if m, known := r.Models[name]; known && m.Path == "" && m.URL == "" {
		p := at.With("model")
		d.Fail(p, "%s = %q: a judge of the task is asked after every stage, but %s changes as the run goes on; accepted: a model with path or url, or a judge in [[stage.verifier]]", d.Name(p), name, name)
	}
	if _, given := r.Task.Options["max_fooled"]; given {
		p := at.With("max_fooled")
		d.Fail(p, "%s: attacks are tried before a stage that pays by the judge; accepted: a judge in [[stage.verifier]]", d.Name(p))
	}
	if shows, _ := r.Task.Options["shows"].(string); shows == judge.Pairs || shows == judge.Group {
		p := at.With("shows")
		d.Fail(p, "%s = %q: evaluations judge each completion by itself; accepted: each, items, steps", d.Name(p), shows)
	}
}

// asked checks the model of a judge. st is nil for that of the task.
func (d decoder) asked(r *Recipe, st *Stage, options map[string]any, name string, at settings.Path) {
	p := at.With("model")
	m, known := r.Models[name]
	self, _ := options["allow_self"].(bool)
	head := options["read"] == "head"
	var problem error
	switch {
	case name == PolicyModel && st == nil:
		problem = errors.New("the policy cannot judge its own evaluations; accepted: a model of [models] with path")
	case name == PolicyModel && !self:
		problem = hint.With(errors.New("the policy would learn from its own verdicts"), "a model of [models] with copy = \"policy\" judges as it was; or say allow_self = true")
	case name == PolicyModel && head:
		problem = errors.New("the policy has no head that judges; accepted: a model of [models] with head = true")
	case name == PolicyModel && st != nil && r.Models[st.Learner()].Logits != "":
		problem = errors.New("the policy draws by a sum of logits in the stage; accepted: a copy of it")
	case name == PolicyModel:
		return
	case name == ReferenceModel:
		problem = errors.New("the reference is asked for log-probs; give a judge a name of its own, with copy = \"policy\" or path")
	case !known:
		accepted := r.ModelNames()
		if len(accepted) == 0 {
			problem = hint.With(fmt.Errorf("there is no [models.%s]", name), "add a table [models.%s] with path = \"FOLDER\" or copy = \"policy\"", name)
		} else {
			problem = errors.New("there is no [models." + name + "]" + settings.DidYouMean(name, accepted, ""))
		}
	case st != nil && st.Learner() == name:
		problem = errors.New("who learns in a stage cannot judge there: its verdicts would change with each step")
	case m.Logits != "":
		problem = errors.New("it is a sum of logits, and a judge is one model")
	case m.URL != "":
		if problem = behindOf(judgeOf(options)); problem == nil {
			return
		}
	case m.Prompt != "":
		problem = errors.New("a judge reads what its own prompt shows; take prompt out of [models." + name + "]")
	case head && !m.Head:
		problem = hint.With(fmt.Errorf("read = \"head\", but [models.%s] has no head", name), "head = true")
	case !head && m.Head:
		problem = hint.With(fmt.Errorf("[models.%s] has a head, which read does not read", name), "read = \"head\"")
	default:
		return
	}
	d.Fail(p, "%s = %q: %w", d.Name(p), name, problem)
}

// behindOf says why a judge cannot ask a model behind an address; nil: it can, or its options are refused.
func behindOf(j *judge.Judge) error {
	switch {
	case j == nil:
	case !j.Draws():
		return hint.With(fmt.Errorf("a model behind an address writes answers, and %s cannot be read", j.Reads()), `read = "Score: ([0-9]+)", or another regular expression or verifier that reads what it writes`)
	case j.Context == 0:
		return hint.With(errors.New("how long a question may be is not known of a model behind an address, and a policy must not leave itself out by long answers"), "context = 8192: the longest question in bytes, and max_tokens; a server that takes so many tokens takes such a question")
	}
	return nil
}
