package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algebra"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/reward"
)

// Names of models that every recipe has without a table of their own.
const (
	PolicyModel    = "policy" // the one that is trained, unless a stage says who is
	ReferenceModel = "ref"    // the only one that may have a table in [models]
)

// Member is a model of the run beside the policy. It is one of a folder, a copy of the policy, made of others, or made
// from random weights.
type Member struct {
	// an existing model with the policy's tokens, which is never trained: a Hugging Face folder, a .gguf
	// file, a run or a checkpoint
	Path string `toml:"path" of:"path"`

	// a PEFT folder, whose adapter is added to the model of path. If path is the folder of the policy, which
	// learns an adapter too, and the storage is the same, both share the parameters, and this model costs its
	// adapter alone
	Adapter string `toml:"adapter" of:"path"`

	// storage of the matrices of path; auto: as it was trained, else f32
	Dtype string `toml:"dtype" of:"path" choice:"auto,f32,bf16,q8_0,q4_0" default:"auto"`

	// storage of keys and values of path; auto: as it was trained, else f32
	KVDtype string `toml:"kv_dtype" of:"path" choice:"auto,f32,bf16" default:"auto"`

	// where the parameters of path are: always, on the device all the time; phase, only while the model is
	// asked, read from the folder again each time; auto, in phases if memory is short. The results are the
	// same. On WebGPU they stay on the device. phase is not for one that plays a seat, is asked by a tool or is in logits
	Resident string `toml:"resident" of:"path" choice:"auto,always,phase" default:"auto"`

	// the address of a server of this machine that has a model which judges, such as "127.0.0.1:8080", on which
	// rlzero serve listens. It is asked by POST /v1/chat/completions of OpenAI's API, and only the text of its
	// answers is known. They are kept in calls.jsonl, and a question that was answered is not asked again
	URL string `toml:"url" of:"url"`

	// the name that the server has for the model; "": it has one
	Model string `toml:"model" of:"url"`

	// the longest time of an answer; a later answer counts as missing
	Seconds float64 `toml:"seconds" of:"url" range:"(0,86400]" default:"60" unit:"seconds"`

	// policy: a copy of the model that a stage trains, as it was when the stage began. A copy that some
	// stage trains itself is made once, of the policy, when the first stage begins that trains or reads it. Or the
	// name of a model that learns beside the policy: a copy of that one, with its head, as it was when the stage began
	Copy string `toml:"copy" of:"copy"`

	// a formula that makes the model of others: each number of each tensor from those that policy, models with
	// path and copies that stages train have in its place, such as "policy + 0.7*(tuned - policy)". It is made
	// once, when the first stage begins that trains, measures or reads it; functions: slerp(a, b, t),
	// ties(base, share, a, ...), dare(base, p, seed, a), random_like(base, seed, a), as rlzero weights --help
	// has them
	Weights string `toml:"weights" of:"weights"`

	// a sum of what models say of the next token, each times a factor, such as "policy + 0.5*(tuned - small)":
	// logits, before the softmax. A stage that trains it draws and learns by the sum, and the policy, which is
	// in it, is who learns; a stage of kind eval measures it; formulas read its log-prob. Those that it names
	// have the policy's tokens: policy, and models with path, copy or weights
	Logits string `toml:"logits" of:"logits"`

	Shape `of:"family"` // a new model of these dimensions with the policy's tokens, which stages of kind sft train

	// the copy is made again after every so many steps of a stage; 0: only when a stage begins
	Renew int `toml:"renew" of:"copy" range:"[0,1000000000]" unit:"steps"`

	// with renew: the step of a stage after which it is made again for the first time; 0: renew. Copies
	// with other such steps are a pool of earlier policies
	RenewFirst int `toml:"renew_first" of:"copy" range:"[0,1000000000]" unit:"steps"`

	// the copy moves this share of the way to the model that is trained, at each update of a stage of kind
	// rl, or to the model that learns beside the policy, at each update of that: a moving average; 0: it stays
	Follow float64 `toml:"follow" of:"copy" range:"[0,1]"`

	// the model has a head, which scores: the fact NAME is what the head says after each token, in a reward
	// after the last one, and before sampling, as in a curriculum, after the prompt; NAME.value is what it says before
	// each token, of the state from which that is drawn. Of path it is that of
	// *ForSequenceClassification, *ForTokenClassification,
	// Qwen2ForProcessRewardModel or TRL's value head. A copy of the policy and a model of weights begin with a head of zeros,
	// whatever heads those have that a formula names, and stages train it by losses that read score or, beside
	// the policy, value
	Head bool `toml:"head"`

	// the label whose probability the fact is, of a head with several; "": the head has one, and the fact is
	// its number
	Label string `toml:"label" of:"path"`

	// a question in place of the policy's own, with members of the row in braces, such as "{question} The
	// answer is {answer}.": the model scores the policy's tokens after it, and its head learns from them after
	// it. A completion for which it is longer than max_prompt_tokens has no such log-prob or score; where a head
	// learns, no prompt may be longer; for stages of kind rl; "": the policy's prompt
	Prompt string `toml:"prompt"`
}

// MemberWeights and MemberHead are the files of a checkpoint that have the weights of a copy that the
// recipe names, and its head.
func MemberWeights(name string) string { return "models/" + name + ".safetensors" }

// MemberOptimizer and MemberState are the files of a checkpoint that have what a copy keeps from update to update that
// learns beside the policy.
func MemberOptimizer(name string) string { return "models/" + name + ".optimizer.safetensors" }

// MemberState is said with [MemberOptimizer].
func MemberState(name string) string { return "models/" + name + ".learner.json" }

// MemberHead is said with [MemberWeights].
func MemberHead(name string) string { return "models/" + name + ".head.safetensors" }

// Variant implements [settings.Variant].
func (m Member) Variant() string {
	switch {
	case m.Copy != "":
		return "copy"
	case m.Weights != "":
		return "weights"
	case m.Logits != "":
		return "logits"
	case m.URL != "":
		return "url"
	case m.Fresh():
		return "family"
	}
	return "path"
}

// CopyOf is the model beside the policy that one is a copy of; "": it is none.
func (m Member) CopyOf() string {
	if m.Copy == PolicyModel {
		return ""
	}
	return m.Copy
}

// Fresh says that the model is made from random weights, of a shape of its own.
func (m Member) Fresh() bool { return m.Family != "" }

// served is an address of this machine: its host and its port.
var served = regexp.MustCompile(`^(?:http://)?(127(?:\.[0-9]{1,3}){3}|localhost|\[::1\]):([0-9]{1,5})/?$`)

// Address is host:port of the server of a model behind an address. No name is looked up.
func (m Member) Address() string {
	host := served.FindStringSubmatch(m.URL)
	return strings.Replace(host[1], "localhost", "127.0.0.1", 1) + ":" + host[2]
}

// Renews says whether a copy is made again after a step of a stage.
func (m Member) Renews(step int) bool {
	first := cmp.Or(m.RenewFirst, m.Renew)
	return m.Renew > 0 && step >= first && (step-first)%m.Renew == 0
}

// Remembers says that a run keeps answers in a journal: those of tools, of programs of others, and of judges behind addresses.
func (r *Recipe) Remembers() bool {
	return r.Task.Remembers() || slices.ContainsFunc(r.Judges(), func(j Judging) bool { return r.Models[j.Model].URL != "" })
}

// ModelNames are the names of the models that have a table in [models], sorted.
func (r *Recipe) ModelNames() []string { return slices.Sorted(maps.Keys(r.Models)) }

// Trained says whether some stage trains a model of [models], or lets it learn beside the policy.
func (r *Recipe) Trained(name string) bool {
	return slices.ContainsFunc(r.Stages, func(st Stage) bool { return !st.Skip && st.Teaches(name) })
}

// Teaches says whether a model learns in a stage, also one that is left out, or is measured by one of kind eval.
func (s *Stage) Teaches(name string) bool {
	_, beside := s.Learn[name]
	return beside || s.Learner() == name
}

// Learner is the model that a stage trains or, if its kind is eval, measures.
func (s *Stage) Learner() string { return cmp.Or(s.Trains, PolicyModel) }

// Trains has the model that a stage trains or measures, by the name of the stage, where it is not the policy.
func (r *Recipe) Trains() map[string]string {
	out := map[string]string{}
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Trains != "" {
			out[st.Name] = st.Trains
		}
	}
	return out
}

// First is the recipe of the first n stages, with the models that these use. Where the task does not know how long an answer
// is, the stage that says so, which measures the others too, stays and is left out.
func (r *Recipe) First(n int) *Recipe {
	first := *r
	first.Stages = slices.Clone(r.Stages[:n])
	if i := slices.IndexFunc(r.Stages, func(st Stage) bool { return st.Draws() }); i >= n && r.Samples() && r.Task.Demonstrator() == nil {
		says := r.Stages[i]
		says.Skip = true
		first.Stages = append(first.Stages, says)
	}
	first.Models = nil
	for _, name := range r.ModelNames() {
		if first.Uses(name) {
			if first.Models == nil {
				first.Models = map[string]Member{}
			}
			first.Models[name] = r.Models[name]
		}
	}
	return &first
}

// Uses says whether some stage trains or asks a model, or another one whose formula names it, also one that is left out.
func (r *Recipe) Uses(name string) bool {
	return slices.ContainsFunc(r.Stages, func(st Stage) bool {
		st.Skip = false
		return st.Teaches(name) || st.Asks(name)
	}) || r.Task.JudgedBy() == name || r.Task.AskRoom(name) > 0 || slices.ContainsFunc(r.ModelNames(), func(of string) bool {
		return slices.Contains(r.namedBy(of), name) && r.Uses(of)
	})
}

// namedBy are the models that the table of a model names, in its formula or as what it copies; nil: it names none.
func (r *Recipe) namedBy(name string) []string {
	names := r.MadeOf(name)
	if of := r.Models[name].CopyOf(); of != "" {
		names = append(names, of)
	}
	for _, t := range r.Terms(name) {
		names = append(names, t.Model)
	}
	return names
}

// Terms are the summands of a model that is a sum of logits; nil: it is none.
func (r *Recipe) Terms(name string) []algebra.Term {
	if r.Models[name].Logits == "" {
		return nil
	}
	terms, err := algebra.CompileLogits(r.Models[name].Logits, r.formulaNames("logits"))
	if err != nil { // which was refused
		return nil
	}
	return terms
}

// MadeOf are the models that one is made of by a formula, the policy among them; nil: it is made of none.
func (r *Recipe) MadeOf(name string) []string {
	if r.Models[name].Weights == "" {
		return nil
	}
	f, err := algebra.CompileWeights(r.Models[name].Weights, r.formulaNames("weights"))
	if err != nil { // which was refused
		return nil
	}
	return f.Models
}

// formulaNames are the models that the formula of a key can name.
func (r *Recipe) formulaNames(key string) []string {
	names := []string{PolicyModel}
	for _, name := range r.ModelNames() {
		if m := r.Models[name]; m.Logits == "" && m.URL == "" && m.CopyOf() == "" && !m.Fresh() && (m.Weights == "" || key == "logits") {
			names = append(names, name)
		}
	}
	return names
}

// FirstUse is the index of the first stage that trains or asks a model of [models], or another one that is
// made of it; the number of stages: none does.
func (r *Recipe) FirstUse(name string) int {
	i := slices.IndexFunc(r.Stages, func(st Stage) bool { return !st.Skip && st.Teaches(name) || st.Asks(name) })
	if i < 0 {
		i = len(r.Stages)
	}
	for _, of := range r.ModelNames() {
		if slices.Contains(r.namedBy(of), name) {
			i = min(i, r.FirstUse(of))
		}
	}
	return i
}

// Facts are what the formulas of a stage read, of its method, of conditions on groups, of those who learn beside it,
// and before sampling; those of its reward are known to its program. A stage that is left out reads none.
func (s *Stage) Facts() []string {
	if s.Skip || s.Kind == KindEval {
		return nil
	}
	reads, err := s.Reads()
	if err != nil { // a stage that no recipe was read for
		return nil
	}
	if s.Kind == KindRL {
		before, err := s.Before()
		if err != nil {
			return nil
		}
		reads = append(reads, before.Needs()...)
	}
	for _, l := range s.Learners() {
		reads = append(reads, slices.DeleteFunc(l.Facts(), func(fact string) bool { return fact == "score" || fact == "value" && l.Trains != PolicyModel })...) // of a head of its own
	}
	return reads
}

// Reader is the key below the stage of a formula that calls a fact of its method, or before sampling.
func (s *Stage) Reader(fact string) string {
	name, _, _ := strings.Cut(fact, "(")
	calls := func(text any, needs []string) bool { // itself, and not through another formula
		written, _ := text.(string)
		return strings.Contains(written, name+"(") && slices.Contains(needs, fact)
	}
	before := s.beforeParts()
	if program, err := s.Before(); err == nil {
		for _, part := range slices.Sorted(maps.Keys(before)) {
			if calls(before[part], program.Needs(part)) {
				return strings.Join(pathOf(part, nil), ".")
			}
		}
	}
	if method, err := s.Compiled(); err == nil {
		for _, part := range slices.Sorted(maps.Keys(s.Algorithm.Values)) {
			if calls(s.Algorithm.Values[part], method.NeedsOf(part)) {
				return "algorithm." + part
			}
		}
	}
	return "algorithm"
}

// Texts are the texts that the reward of a stage, and its truth, have models score.
func (s *Stage) Texts() []reward.Ask {
	if s.Skip || !s.Draws() {
		return nil
	}
	return append(reward.AsksOf(s.Reward, s.Verifiers, s.models...), reward.AsksOf(s.Truth, s.Verifiers, s.models...)...)
}

// Scores says whether a stage trains a head: its method reads what the head of the model that learns
// says. The value head is the policy's.
func (s *Stage) Scores() bool {
	reads := s.Facts()
	return slices.Contains(reads, "score") || s.Learner() != PolicyModel && slices.Contains(reads, "value")
}

// Program is the reward of a stage.
func (s *Stage) Program() (*reward.Program, error) {
	return reward.Compile(s.Reward, s.Verifiers, s.models...)
}

// Measure is the truth of a stage, which is not paid; nil: it has none.
func (s *Stage) Measure() (*reward.Program, error) {
	if s.Truth == "" {
		return nil, nil
	}
	return reward.Compile(s.Truth, s.Verifiers, s.models...)
}

// Asks says whether a stage has a model say something: of the tokens that were drawn, or of texts.
func (s *Stage) Asks(name string) bool {
	return s.needs(name) != "" || slices.Contains(s.judgedBy(), name) || name == ReferenceModel && slices.Contains(s.Facts(), "mismatched")
}

// needs says what a stage has a model say beside judgements; "": nothing.
func (s *Stage) needs(name string) string {
	switch {
	case slices.ContainsFunc(s.Facts(), algo.SaidBy(name)):
		return "has formulas that read log-probs of " + name
	case s.shows(name):
		return "has formulas that read hidden states of " + name
	case slices.ContainsFunc(s.Texts(), func(a reward.Ask) bool { return a.Model == name }):
		return "has a reward that has " + name + " score texts"
	case slices.Contains(s.writtenBy(), name):
		return "has rows that " + name + " writes"
	case slices.Contains(s.seatedBy(), name):
		return "has games in which " + name + " plays"
	case name == s.FilteredBy():
		return "draws what a filter keeps of the distribution of " + name
	}
	return ""
}

// FilteredBy is the model on whose distribution the filters of sampling act; "": on that of the model that draws, or the
// stage draws nothing or is left out.
func (s *Stage) FilteredBy() string {
	if s.Skip || !s.Draws() {
		return ""
	}
	return s.Sampling.FilterBy
}

// filtered checks on whose distribution the filters of a stage act.
func (d decoder) filtered(r *Recipe, s *Stage, at settings.Path) {
	name, p := s.Sampling.FilterBy, at.With("sampling").With("filter_by")
	if name == "" || !s.Draws() {
		return
	}
	m, known := r.Models[name]
	var problem error
	switch c := s.Sampling; {
	case name == PolicyModel:
		problem = errors.New("the filters act on the distribution of the model that draws where filter_by is left out; accepted: a model of [models]")
	case name == ReferenceModel:
		problem = errors.New("the reference is asked for log-probs; give a model that filters a name of its own, with copy = \"policy\" or path")
	case !known:
		problem = hint.With(fmt.Errorf("there is no [models.%s]%s", name, settings.DidYouMean(name, r.ModelNames(), "")), "a lagging copy is a table [models.%s] with copy = \"policy\" and renew = 20", "lag")
	case m.URL != "":
		problem = errors.New("a model behind an address answers judges alone; accepted: a model with path, copy, weights or family")
	case m.Logits != "":
		problem = errors.New("it is a sum of logits, and one model filters; accepted: a model with path, copy, weights or family")
	case m.Head:
		problem = errors.New("a model with a head says nothing of the next token; accepted: one without head")
	case m.Prompt != "":
		problem = errors.New("who filters reads what the policy reads; take prompt out of [models." + name + "]")
	case s.Learner() == name:
		problem = errors.New("the stage trains it, so that it draws itself; accepted: another model")
	case c.TopK == 0 && c.TopP == 1 && c.MinP == 0 && s.Numbers.TopK+s.Numbers.TopP+s.Numbers.MinP == "":
		problem = hint.With(errors.New("no filter is on, so that it would do nothing"), "sampling = {top_p = 0.9, filter_by = %q}", name)
	default:
		return
	}
	d.Fail(p, "%s = %q: %w", d.Name(p), name, problem)
}

// shows says whether formulas of a stage, or its reward, read hidden states of a model.
func (s *Stage) shows(name string) bool {
	alike := func(a reward.Ask) bool { return a.Alike != nil && a.Model == name }
	return slices.ContainsFunc(s.Texts(), alike) ||
		slices.ContainsFunc(s.Facts(), func(fact string) bool { of, hidden := algo.HiddenOf(fact); return hidden && of.Model == name })
}

var modelName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// models checks the tables of models, before stages name them.
func (d decoder) models(r *Recipe) {
	tables, _ := d.Tree()["models"].(map[string]any)
	for _, name := range r.ModelNames() {
		at, m := settings.Path{"models", name}, r.Models[name]
		t, _ := tables[name].(map[string]any)
		if why := reserved(name); why != "" {
			d.Fail(at, "[models.%s]: the name %s", name, why)
		}
		said := slices.DeleteFunc(slices.Clone(modelKinds), func(key string) bool { return t[key] == nil })
		switch {
		case len(said) > 1:
			d.Fail(at.With(said[1]), "models.%s.%s cannot be set together with models.%s.%s: remove one of them", name, said[1], name, said[0])
			continue
		case len(said) == 0 || t[said[0]] == "":
			d.Fail(at, "[models.%s] says nothing of the model; accepted: path = \"FOLDER\", a model that exists, or copy = \"policy\", or weights = \"FORMULA\" or logits = \"FORMULA\", which name others, or url = \"127.0.0.1:PORT\", a judge that a server of this machine has, or family and dimensions of a model that stages train", name)
			continue
		}
		for _, f := range settings.Fields(&m) {
			if _, given := t[f.Key]; given && !f.Of(m.Variant()) {
				d.Fail(at.With(f.Key), "models.%s.%s cannot be set together with models.%s.%s: remove one of them", name, f.Key, name, m.Variant())
			}
		}
		if m.Renew > 0 && m.Follow > 0 {
			d.Fail(at.With("renew"), "models.%s.renew = %d does not go with follow = %v: a copy stays until it is made again, or moves at each update", name, m.Renew, m.Follow)
		}
		if m.RenewFirst > 0 && m.Renew == 0 {
			d.Fail(at.With("renew_first"), "models.%s.renew_first = %d would do nothing without renew", name, m.RenewFirst)
		}
		d.headed(name, m, at)
		if m.CopyOf() != "" {
			d.copied(r, name, at.With("copy"))
		}
		if m.Weights != "" {
			d.blended(r, name, at.With("weights"))
		}
		if m.Logits != "" {
			d.summed(r, name, at.With("logits"))
		}
		if m.URL != "" {
			d.behind(name, m, at)
		}
		if m.Fresh() {
			d.fresh(name, &m, t, at)
		}
		if m.Prompt != "" && name == ReferenceModel {
			d.Fail(at.With("prompt"), "models.ref.prompt: the reference reads the policy's prompts; give a model with a prompt another name")
		}
		if m.Path != "" {
			m.Path = d.absolute(at.With("path"), m.Path)
		}
		if m.Adapter != "" {
			m.Adapter = d.absolute(at.With("adapter"), m.Adapter)
		}
		settings.Clear(&m)
		r.Models[name] = m
	}
}

// copied checks whose copy a model is that is not one of the policy.
func (d decoder) copied(r *Recipe, name string, at settings.Path) {
	m := r.Models[name]
	of, known := r.Models[m.Copy]
	var problem error
	switch {
	case !known:
		problem = fmt.Errorf("there is no [models.%s]%s; accepted: policy, or a model that learns beside it", m.Copy, settings.DidYouMean(m.Copy, append(r.ModelNames(), PolicyModel), ""))
	case name == ReferenceModel:
		problem = errors.New("the reference is of the policy; give a copy of another model a name of its own")
	case r.circle(name) != "":
		problem = fmt.Errorf("%s; accepted: policy, or a model that learns beside it", r.circle(name))
	case of.Copy != PolicyModel && of.Weights == "":
		problem = fmt.Errorf("%s cannot learn beside the policy; accepted: policy, or a model with copy = \"policy\" or weights that learns beside it", m.Copy)
	case m.Head && !of.Head:
		problem = fmt.Errorf("the copy has a head, and %s has none; accepted: head = true in both", m.Copy)
	case m.Prompt != of.Prompt:
		problem = fmt.Errorf("prompt is not that of %s, which learns after its own; accepted: the same prompt in both", m.Copy)
	}
	if problem != nil {
		d.Fail(at, "models.%s.copy = %q: %w", name, m.Copy, problem)
	}
}

// circle says how a copy comes back to itself, as in "a copies b, which copies a"; "": it does not.
func (r *Recipe) circle(name string) string {
	said, seen := name+" copies ", map[string]bool{}
	for at := r.Models[name].Copy; r.Models[at].Copy != "" && !seen[at]; at = r.Models[at].Copy {
		if at == name {
			return said + name
		}
		said, seen[at] = said+at+", which copies ", true
	}
	return ""
}

// modelKinds are the keys that say what a model is.
var modelKinds = []string{"path", "copy", "weights", "logits", "url", "family"}

// behind checks what a table says of a model behind an address.
func (d decoder) behind(name string, m Member, at settings.Path) {
	p := at.With("url")
	parts := served.FindStringSubmatch(m.URL)
	var problem error
	switch {
	case parts == nil && strings.HasPrefix(m.URL, "https://"):
		problem = errors.New("a run asks nobody beyond this machine, and on it without encryption; accepted: \"127.0.0.1:PORT\"")
	case parts == nil:
		problem = hint.With(errors.New("it is no address of this machine; accepted: \"127.0.0.1:PORT\", \"localhost:PORT\" or \"[::1]:PORT\", with http:// before it or not, and nothing after it"), "a server of another machine is reached by a tunnel: ssh -L 8080:127.0.0.1:8080 HOST")
	case name == ReferenceModel:
		problem = errors.New("the reference is asked for log-probs, and a model behind an address writes texts alone; give a judge a name of its own")
	default:
		for _, number := range append(strings.Split(parts[1], "."), parts[2]) {
			if n, err := strconv.Atoi(number); err == nil && (n > 65535 || number != parts[2] && n > 255 || number == parts[2] && n == 0) {
				problem = fmt.Errorf("%d is no part of an address; accepted: bytes from 0 to 255, and a port from 1 to 65535", n)
			}
		}
	}
	if problem != nil {
		d.Fail(p, "models.%s.url = %q: %w", name, m.URL, problem)
	}
	for _, of := range []struct {
		key   string
		given bool
	}{{"head", m.Head}, {"prompt", m.Prompt != ""}} {
		if of.given {
			d.Fail(at.With(of.key), "models.%s.%s does not go with url: the model behind an address writes answers to a judge's questions, and nothing else", name, of.key)
		}
	}
}

// fresh checks the table of a model from random weights, and completes it.
func (d decoder) fresh(name string, m *Member, t map[string]any, at settings.Path) {
	if name == ReferenceModel {
		d.Fail(at.With("family"), "models.ref.family: the reference is the policy of before; give a model from random weights a name of its own")
	}
	for _, of := range []struct {
		key   string
		given bool
	}{{"head", m.Head}, {"prompt", m.Prompt != ""}} {
		if of.given {
			d.Fail(at.With(of.key), "models.%s.%s does not go with family: a model from random weights learns to write, by stages of kind sft; accepted: a model with path or copy", name, of.key)
		}
	}
	d.shape(&m.Shape, t, at)
}

// blended checks the formula that makes a model.
func (d decoder) blended(r *Recipe, name string, at settings.Path) {
	names := d.namable(r, "weights")
	if r.Model.LoRA.Rank > 0 {
		d.Fail(at, "%s: the formula is over whole models, but the run trains an adapter (model.lora.rank = %d); accepted: model.lora.rank = 0", d.Name(at), r.Model.LoRA.Rank)
	}
	_, err := algebra.CompileWeights(r.Models[name].Weights, names)
	if err == nil {
		return
	}
	d.formulaFault(at, "weights", err, names)
}

// namable are the names that a formula of a key can name, without those that no model may have.
func (d decoder) namable(r *Recipe, key string) []string {
	return slices.DeleteFunc(r.formulaNames(key), func(n string) bool { return n != PolicyModel && reserved(n) != "" })
}

// formulaFault records what is wrong with a formula over models.
func (d decoder) formulaFault(at settings.Path, key string, err error, names []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			d.formulaFault(at, key, err, names)
		}
		return
	}
	text := strings.TrimPrefix(err.Error(), key+": ")
	if strings.Contains(text, "unknown name") {
		text += "; accepted: " + strings.Join(names, ", ") + "; a model with " + key + " is none of them"
	}
	err = fmt.Errorf("%s: %s", d.Name(at), text)
	if !strings.Contains(text, "accepted:") {
		err = hint.With(err, "%s", formulaHints[key])
	}
	d.Fail(at, "%w", err)
}

// formulaHints are formulas over models as they can be, for those that cannot be read.
var formulaHints = map[string]string{
	"weights": `weights = "policy + 0.7*(tuned - policy)"; rlzero weights --help has the functions`,
	"logits":  `logits = "policy + 0.5*(tuned - small)"`,
}

// summed checks the formula of a sum of logits.
func (d decoder) summed(r *Recipe, name string, at settings.Path) {
	names := d.namable(r, "logits")
	terms, err := algebra.CompileLogits(r.Models[name].Logits, names)
	if err != nil {
		d.formulaFault(at, "logits", err, names)
		return
	}
	switch m := r.Models[name]; {
	case name == ReferenceModel:
		d.Fail(at, "%s: the reference is one model; give a sum a name of its own", d.Name(at))
	case m.Prompt != "":
		d.Fail(settings.Path{"models", name, "prompt"}, "models.%s.prompt does not go with logits: a sum reads the policy's prompts", name)
	case len(terms) == 1 && terms[0].Model == PolicyModel:
		d.Fail(at, "%s: the formula names the policy alone; accepted: a sum with another model", d.Name(at))
	}
	for _, t := range terms {
		switch m := r.Models[t.Model]; {
		case m.Head:
			d.Fail(at, "%s: %s has a head, and says nothing of the next token", d.Name(at), t.Model)
		case m.Prompt != "":
			d.Fail(at, "%s: %s has a prompt of its own, and a sum is of one text; accepted: a model without a prompt", d.Name(at), t.Model)
		}
	}
}

// headed checks what a table says of a head.
func (d decoder) headed(name string, m Member, at settings.Path) {
	switch {
	case m.Label != "" && !m.Head:
		d.Fail(at.With("label"), "models.%s.label = %q would do nothing without head = true", name, m.Label)
	case !m.Head:
	case m.Logits != "":
		d.Fail(at.With("head"), "models.%s.head: a sum of logits has no head; accepted: a model with path, copy or weights", name)
	case name == ReferenceModel:
		d.Fail(at.With("head"), "models.ref.head: the reference is asked for log-probs; give a model with a head another name")
	case m.Adapter != "":
		d.Fail(at.With("adapter"), "models.%s.adapter does not go with head = true; accepted: the folder of a whole model with a head", name)
	case m.CopyOf() == "" && (m.Renew > 0 || m.Follow > 0):
		key := "renew"
		if m.Follow > 0 {
			key = "follow"
		}
		d.Fail(at.With(key), "models.%s.%s does not go with head = true: a copy with a head is made once, and stages train it", name, key)
	}
}

// reserved says why a model cannot have a name; "": it can.
func reserved(name string) string {
	switch {
	case name == ReferenceModel:
		return ""
	case !modelName.MatchString(name):
		return "is not accepted; accepted: lower-case letters, digits and _, such as teacher"
	case name == PolicyModel:
		return "is that of the model of [model]"
	case name == SecondLoss:
		return "is where the metrics of a second loss of the policy are"
	case name == "ema":
		return "is that of the average whose share ema_decay of a stage says; give a moving average of your own another name"
	}
	meaning := algo.Taken(name)
	for _, f := range reward.Facts() {
		if family, _, _ := strings.Cut(f.Name, "."); family == name {
			meaning = "a fact of rewards"
		}
	}
	for _, p := range reward.Parts() {
		if part, _, _ := strings.Cut(p.Name, "("); part == name {
			meaning = "a formula of rewards"
		}
	}
	for _, m := range metrics.Table() {
		if area, _, _ := strings.Cut(m.Name, "/"); area == name {
			meaning = "where metrics such as " + m.Name + " are"
		}
	}
	if meaning == "" {
		return ""
	}
	return "is reserved: it is " + meaning + "; choose another one, such as teacher"
}

// EndsWith is the model that the last stage that is not skipped trains; the policy, if that stage only measures or makes.
func (r *Recipe) EndsWith() string {
	for _, st := range slices.Backward(r.Stages) {
		if !st.Skip && st.Learns() {
			return st.Learner()
		}
		if !st.Skip {
			break
		}
	}
	return PolicyModel
}

// members checks who trains and who is asked.
func (d decoder) members(r *Recipe) {
	last := -1
	for i := range r.Stages {
		st, at := &r.Stages[i], settings.Path{"stage", strconv.Itoa(i)}
		for _, v := range st.Verifiers {
			if _, model := r.Models[v.Name]; model {
				d.Fail(at.With("verifier"), "stage %s calls a verifier %s, which is a model of [models]: give one of them another name", st.Name, v.Name)
			}
		}
		if st.Skip {
			continue
		}
		last = i
		d.trains(r, st, at.With("trains"))
		d.learners(r, st, at)
		d.judges(r, st, at)
		d.seats(r, st, at)
		d.prompted(r, st)
		for _, name := range r.ModelNames() {
			says := st.needs(name)
			if st.Teaches(name) {
				says = "trains or measures " + name
			}
			if r.Models[name].URL != "" && says != "" {
				p := settings.Path{"models", name, "url"}
				d.Fail(p, "%s: stage %s %s, but a model behind an address writes answers of a judge, and nothing else; accepted: a model with path or copy", d.Name(p), st.Name, says)
			}
			if r.Models[name].Logits != "" && st.shows(name) {
				p := settings.Path{"models", name, "logits"}
				d.Fail(p, "%s: formulas of stage %s read hidden states of %s, and a sum of logits has none", d.Name(p), st.Name, name)
			}
		}
	}
	// After the last stage the model that it trained would be measured in the policy's place. A run that draws nothing measures
	// nothing; what it trained has to be one that export can write.
	who := r.EndsWith()
	if m := r.Models[who]; who != PolicyModel && (r.Samples() || m.Fresh() || m.Logits != "") {
		p := settings.Path{"stage", strconv.Itoa(last), "trains"}
		d.Fail(p, "%s = %q, but a run ends with its policy: let the last stage train the policy, as one of kind eval does, which only measures", d.Name(p), who)
	}
	d.taskJudge(r)
	d.asksModels(r)
	d.imitatesAnswers(r)
	for _, name := range r.ModelNames() {
		last := len(r.Stages) - 1
		for last >= 0 && !r.Stages[last].Asks(name) {
			last--
		}
		moves := func(st Stage) bool { return !st.Skip && st.Kind == KindRL && st.Learner() != name }
		if of := r.Models[name].CopyOf(); of != "" {
			d.copiesLearner(r, name, of)
			moves = func(st Stage) bool { _, beside := st.Learn[of]; return !st.Skip && beside }
		}
		if m, first := r.Models[name], r.FirstUse(name); m.Follow > 0 && first <= last && !slices.ContainsFunc(r.Stages[first:last+1], moves) {
			d.Fail(settings.Path{"models", name, "follow"}, "models.%s.follow = %v would do nothing: a copy follows %s, and there is none from its first use to its last", name, m.Follow, followed(m))
		}
		for _, of := range r.MadeOf(name) {
			if m := r.Models[of]; m.Copy != "" && !r.Trained(of) {
				err := fmt.Errorf("%s is a copy that no stage trains or measures, so it is the policy whenever a stage begins", of)
				d.Fail(settings.Path{"models", name, "weights"}, "models.%s.weights: %w", name, hint.With(err, "write policy; or keep what the policy is at some stage by one of kind eval there with trains = \"%s\"", of))
			}
		}
		if m := r.Models[name]; m.Head && m.Path == "" && r.Uses(name) {
			d.taught(r, name)
		}
		if m := r.Models[name]; m.Fresh() && r.Uses(name) && !slices.ContainsFunc(r.Stages, func(st Stage) bool { return !st.Skip && st.Learns() && st.Learner() == name }) {
			err := fmt.Errorf("no stage trains %s, or it is left out, and its weights are random", name)
			d.Fail(settings.Path{"models", name, "family"}, "models.%s.family: %w", name, hint.With(err, "add a stage of kind sft with trains = \"%s\"", name))
		}
		if !r.Uses(name) {
			err := fmt.Errorf("[models.%s] is used by nothing: no formula reads %s, no reward asks it, no verifier judges by it, no tool asks it, no filter of sampling acts on what it says, and no stage trains it", name, name)
			d.Fail(settings.Path{"models", name}, "%w", hint.With(err, "read it in a formula, such as penalty = \"0.01*square(logp - %s)/2\", or remove the table; a reward reads the name of a model only with head = true", name))
		}
	}
}

// followed says where a copy follows what it is a copy of.
func followed(m Member) string {
	if of := m.CopyOf(); of != "" {
		return "in stages with a table [stage.learn." + of + "]"
	}
	return "in stages of kind rl"
}

// copiesLearner checks that the model that one is a copy of learns beside the policy, and only there: while a stage
// trains it, its weights lie where the policy does.
func (d decoder) copiesLearner(r *Recipe, name, of string) {
	p := settings.Path{"models", name, "copy"}
	beside := func(st Stage) bool { _, learns := st.Learn[of]; return !st.Skip && learns }
	switch i := slices.IndexFunc(r.Stages, func(st Stage) bool { return !st.Skip && st.Learner() == of }); {
	case i >= 0:
		d.Fail(p, "models.%s.copy = %q: stage %s trains %s; accepted: a model that learns beside the policy alone, by a table [stage.learn.%s]", name, of, r.Stages[i].Name, of, of)
	case !slices.ContainsFunc(r.Stages, beside):
		err := fmt.Errorf("no stage lets %s learn beside the policy", of)
		d.Fail(p, "models.%s.copy = %q: %w", name, of, hint.With(err, "add a table [stage.learn.%s], or write copy = \"policy\"", of))
	}
}

// taught refuses a model whose head begins at 0 and is read before a stage has trained it.
func (d decoder) taught(r *Recipe, name string) {
	leftOut := false // a stage that trains it is left out, and none reads it
	of := r.Models[name].CopyOf()
	learns := cmp.Or(of, name)
	for _, st := range r.Stages {
		skip, asks := st.Skip, st.Asks(name)
		st.Skip = false
		trains := st.Learner() == learns && st.Scores() || slices.ContainsFunc(st.Learners(), func(l Beside) bool { return l.Trains == learns && l.Scores() })
		switch {
		case trains && !skip:
			return
		case trains:
			leftOut = true
		case asks && !skip:
			err := fmt.Errorf("stage %s reads the head of %s, and no stage before it trains that: the head is all zeros", st.Name, name)
			advice := fmt.Sprintf("add a stage before it with trains = \"%s\" and a loss that reads score, such as preset = \"bradley_terry\"", name)
			if of != "" {
				advice = fmt.Sprintf("give it a table [stage.learn.%s] with a loss that reads score or value", of)
			}
			d.Fail(settings.Path{"models", name, "head"}, "models.%s.head: %w", name, hint.With(err, "%s", advice))
			return
		}
	}
	if leftOut {
		return
	}
	err := fmt.Errorf("no stage trains the head of %s: none has trains = %q and a loss that reads score, or a table [stage.learn.%s] whose loss reads score or value", name, name, name)
	if of != "" {
		err = fmt.Errorf("no stage trains the head of %s, of which %s is a copy: none has a table [stage.learn.%s] whose loss reads score or value", of, name, of)
	}
	d.Fail(settings.Path{"models", name, "head"}, "models.%s.head: %w", name, hint.With(err, "preset = \"bradley_terry\" is such a loss; or leave head out"))
}

// prompted checks what a stage asks and teaches models with a prompt of their own.
func (d decoder) prompted(r *Recipe, st *Stage) {
	for _, name := range r.ModelNames() {
		m := r.Models[name]
		teaches := m.Head && st.Learns() && st.Teaches(name)
		if m.Prompt == "" || !st.Asks(name) && !teaches {
			continue
		}
		p := settings.Path{"models", name, "prompt"}
		kind := st.Kind // by which the head learns
		if l, beside := st.Learn[name]; beside {
			kind = l.Kind
		}
		switch {
		case teaches && kind != KindRL:
			d.Fail(p, "models.%s.prompt: the head learns in stage %s by kind %s, whose rows have prompts of their own; accepted: kind rl, or a model without a prompt", name, st.Name, kind)
		case !st.Draws():
			d.Fail(p, "models.%s.prompt: stage %s is of kind %s, whose rows have prompts of their own; accepted: a model without a prompt there", name, st.Name, st.Kind)
		case st.played:
			d.Fail(p, "models.%s.prompt does not go with a task that is played in turns", name)
		case st.shows(name):
			d.Fail(p, "models.%s.prompt: formulas of stage %s read hidden states of %s, which are those after the policy's prompt; give them a model without a prompt", name, st.Name, name)
		case slices.ContainsFunc(st.Texts(), func(a reward.Ask) bool { return a.Model == name && !a.Head }):
			d.Fail(p, "models.%s.prompt: the reward of stage %s asks %s about texts, which stand after the policy's prompt; give it a model without a prompt", name, st.Name, name)
		}
	}
}

// asksSum is the first sum that a stage asks with one of some models in it; "": it asks none.
func (r *Recipe) asksSum(st *Stage, of ...string) string {
	for _, name := range r.ModelNames() {
		if st.Asks(name) && slices.ContainsFunc(r.Terms(name), func(t algebra.Term) bool { return slices.Contains(of, t.Model) }) {
			return name
		}
	}
	return ""
}

// trains checks who learns in a stage.
func (d decoder) trains(r *Recipe, st *Stage, at settings.Path) {
	who := st.Learner()
	if who == PolicyModel {
		return
	}
	m, known := r.Models[who]
	var problem string
	switch {
	case !known:
		problem = "there is no [models." + who + "]" + settings.DidYouMean(who, append(r.ModelNames(), PolicyModel), "")
	case who == ReferenceModel:
		problem = "ref is what the stage began with; give the model that learns a name of its own"
	case m.Path != "":
		problem = "a model of a folder is never trained; accepted: policy, or a model with copy = \"policy\"; stage." + st.Name + ".skip=true leaves the stage out"
	case m.Fresh() && st.Kind != KindSFT:
		problem = "a model from random weights, of a shape of its own, learns in stages of kind sft alone; accepted: such a stage, or a model with copy = \"policy\""
	case m.Logits != "" && st.Learns() && !slices.ContainsFunc(r.Terms(who), func(t algebra.Term) bool { return t.Model == PolicyModel }):
		problem = "the policy is not in its formula, and nobody else in it learns; accepted: a formula that names policy, or a stage of kind eval"
	case m.Logits != "" && (st.Asks(ReferenceModel) || st.Asks("ema")):
		problem = "its formulas read ref or ema, which are of the policy alone, and the stage draws by a sum; give the sum of before a name: logits with a model of copy = \"policy\" in the policy's place"
	case m.Logits != "" && slices.ContainsFunc(st.Facts(), algo.Influences):
		problem = "its formulas read influences, which are those of the policy's own logits"
	case m.Logits != "" && slices.ContainsFunc(st.Texts(), func(a reward.Ask) bool { return a.Model == PolicyModel }):
		problem = "its reward has the policy score texts, and the stage draws by a sum; accepted: a copy of it"
	case m.Logits != "" && st.Best.Every > 0:
		problem = "the best policy, which [stage.best] keeps, would draw without the others of the sum"
	case m.CopyOf() != "":
		problem = "it is a copy of " + m.Copy + ", which learns; accepted: policy, or a model with copy = \"policy\""
	case m.Renew > 0 || m.Follow > 0:
		problem = "a copy with renew or follow is made of the policy again and again; remove these keys from [models." + who + "]"
	case st.FilteredBy() == who: // which is told at its key
		return
	case st.Asks(who) && m.Head:
		problem = "its formulas read " + who + ", but that is who learns: write score for what its head says now"
	case st.Asks(who):
		problem = "its formulas read " + who + ", but that is who learns: write logp, or old for the log-prob when the token was drawn"
	case m.Logits == "" && r.asksSum(st, PolicyModel, who) != "":
		problem = "it asks " + r.asksSum(st, PolicyModel, who) + ", a sum that policy or " + who + " is in, and each stands in the other's place while " + who + " learns; accepted: sums of other models"
	case slices.ContainsFunc(st.Facts(), func(f string) bool { return f == "value" || f == "old_value" || f == "prompt_value" }):
		problem = "its formulas read the value head, which is the policy's"
	default:
		return
	}
	d.Fail(at, "%s = %q: %w", d.Name(at), who, errors.New(problem))
}
