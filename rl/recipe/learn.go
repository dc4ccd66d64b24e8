package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
)

// Learning are the keys of a [stage.learn.NAME]: a model of [models] that learns in the steps of a stage beside the
// policy or, with the name policy, a second loss of the policy.
type Learning struct {
	// what it learns from. rl: the completions of the step, with their rewards; sft, preference: rows, as
	// stages of these kinds do
	Kind string `toml:"kind" choice:"rl,sft,preference" default:"rl"`

	// what it takes for the reward of a completion: what the stage pays, or the stage's truth, which goes
	// with a reward that reads what the learner says
	Reward string `toml:"reward" in:"rl" choice:"paid,truth" default:"paid"`

	// name of made rows, which a [[stage.make]] of the stage or of an earlier one makes; task: the rows of
	// the task's data or, with kind = "sft", its demonstrations
	Rows string `toml:"rows" in:"sft,preference" default:"task"`

	// take the newest of the made rows, each once a step, in place of rows at random
	Newest bool `toml:"newest" in:"sft,preference"`

	// rows of a step; those of the policy are dealt to its updates
	BatchSize int `toml:"batch_size" in:"sft,preference" range:"[1,1048576]" unit:"rows" default:"32"`

	// longest row with its prompt, counting the longer of two completions; 0: demonstrations of the task
	MaxTokens int `toml:"max_tokens" in:"sft,preference" range:"[0,16777216]" unit:"tokens" default_preference:"1024"`

	// it learns from the groups of the store of [stage.replay] that take part in the step too; what its formulas say of
	// them is computed anew, its advantages too
	Replayed bool `toml:"replayed" in:"rl" hashed:"given"`

	// updates in a step, each from all that it learns from in the step, of which models are asked again before each;
	// 0: one
	Updates int `toml:"updates" in:"rl" range:"[0,1024]" hashed:"given"`

	// it learns in one of so many steps, from the first on
	Every int `toml:"every" range:"[1,1000000000]" unit:"steps" default:"1"`

	// it learns before the advantages of the step are computed, so that formulas which read it have what it
	// says after that; otherwise it learns after the policy
	First bool `toml:"first" of:"beside"`

	// the second loss of the policy is multiplied by this; the two gradients are added, and one update is
	// made of both
	Weight float64 `toml:"weight" of:"policy" range:"(0,1e6]" default:"1"`

	// how its weights follow the gradient, as in [stage.optimizer]
	Optimizer Optimizer `toml:"optimizer" of:"beside"`

	// its loss, as in [stage.algorithm]
	Algorithm Algorithm `toml:"algorithm"`

	second bool // it is a second loss of the policy
}

// Variant implements [settings.Variant]: a second loss of the policy shares its optimizer.
func (l Learning) Variant() string {
	if l.second {
		return PolicyModel
	}
	return "beside"
}

// SecondLoss stands in metrics for the name of a model where a second loss of the policy is meant.
const SecondLoss = "second"

// TaskRows are the rows of a learner that the task has, and no stage makes.
const TaskRows = "task"

// Beside is a learner of the steps of a stage beside the method of the stage, as a stage of its own: one of the
// learner's kind that trains it, with its loss, rows and optimizer.
type Beside struct {
	*Stage
	Every   int
	First   bool
	Weight  float64 // of a second loss of the policy
	ByTruth bool    // it takes the truth of the stage for the reward
	Stored  bool    // it learns from replayed groups too
	Updates int     // of a step, at least 1
}

// Learners are those of a stage beside its own method, by their names.
func (s *Stage) Learners() []Beside {
	if s.Skip {
		return nil
	}
	var out []Beside
	for _, name := range slices.Sorted(maps.Keys(s.Learn)) {
		l := s.Learn[name]
		out = append(out, Beside{s.learner(name, &l), l.Every, l.First, l.Weight, l.Reward == "truth", l.Replayed, max(1, l.Updates)})
	}
	return out
}

// learner is a stage that learns as a table says.
func (s *Stage) learner(name string, l *Learning) *Stage {
	own := Stage{Kind: l.Kind, models: s.models, played: s.played}
	if l.Kind == KindRL { // it sees what the stage has drawn
		own = *s
		own.Learn, own.Make, own.Sources, own.Best = nil, nil, nil, stageDefaults(KindRL).Best
		own.SecondChance, own.Replay, own.Refill, own.Numbers, own.Curriculum = secondChance{}, replay{}, refill{}, stageNumbers{}, curriculum{}
		own.replays = l.Replayed
		own.UpdatesPerRollout = 1
	} else if l.Rows != TaskRows {
		own.Sources = []rowSource{{Rows: l.Rows, Share: 1, Newest: l.Newest}}
	}
	own.Name, own.Trains, own.Steps = s.Name, name, s.Steps
	own.SFT.BatchSize, own.SFT.MaxTokens = l.BatchSize, l.MaxTokens
	own.Optimizer, own.Algorithm = l.Optimizer, l.Algorithm
	own.Optimizer.Schedule = cmp.Or(own.Optimizer.Schedule, "constant") // kind sft has no other
	return &own
}

// Lessons says for people who learns beside the method of a stage: from what, by which formulas.
func (s *Stage) Lessons() ([]string, error) {
	var out []string
	for _, l := range s.Learners() {
		method, err := l.Compiled()
		if err != nil {
			return nil, err
		}
		out = append(out, l.line())
		for _, text := range strings.Split(method.Text(), "\n") {
			out = append(out, "  "+text)
		}
	}
	return out, nil
}

// line says who learns, from what and when.
func (l Beside) line() string {
	from := "the completions of the step"
	if l.ByTruth {
		from += " and the stage's truth"
	}
	if l.Stored {
		from += ", and of the store"
	}
	if l.Kind != KindRL {
		rows := "rows of the task"
		if len(l.Sources) > 0 {
			rows = "made rows " + l.Sources[0].Rows
		}
		from = fmt.Sprintf("%d %s, as in a stage of kind %s", l.SFT.BatchSize, rows, l.Kind)
	}
	who, when := l.Trains+" learns beside the policy", ", after it"
	if l.First {
		when = ", before the advantages"
	}
	if l.Trains == PolicyModel {
		who, when = fmt.Sprintf("%v times a second loss of the policy", l.Weight), ""
	}
	if l.Updates > 1 {
		when += fmt.Sprintf(", by %d updates of a step", l.Updates)
	}
	if l.Every > 1 {
		when += fmt.Sprintf(", in one of %d steps", l.Every)
	}
	return who + ", from " + from + when
}

// ownFacts says what a model which learns beside the policy reads.
const ownFacts = "logp, entropy, score, value with head = true, old and start of the policy, and the names of other models"

// foreign are facts of the policy that a model which learns beside it has none of. One with a head has a value.
var foreign = []string{"old_value", "prompt_value", "old_uniform_logp", "mismatched", "greedy_reward"}

// learning reads the tables of those who learn beside the method of a stage.
func (d decoder) learning(s *Stage, r *Recipe, t map[string]any, at settings.Path) {
	value, there := t["learn"]
	tables, ok := value.(map[string]any)
	at = at.With("learn")
	if there && !ok {
		d.WrongType(at, value, "tables [stage.learn.NAME]")
	}
	s.Learn = nil
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		p := at.With(name)
		table, ok := tables[name].(map[string]any)
		if !ok {
			d.WrongType(p, tables[name], "a table [stage.learn."+name+"]")
			continue
		}
		l := Learning{Kind: KindRL, second: name == PolicyModel}
		if kind, _ := table["kind"].(string); slices.Contains([]string{KindSFT, KindPreference}, kind) {
			l.Kind = kind
		}
		before := d.Failed()
		if err := d.unknownLearner(r, name); err != nil {
			d.Fail(p, "%s: %w", d.Name(p), err)
			continue
		}
		settings.SetDefaults(&l, l.Kind)
		d.Decode(&l, table, p, "algorithm")
		for _, f := range settings.Fields(l) {
			if _, given := table[f.Key]; given && !f.Of(l.Variant()) {
				who := "a second loss of the policy: it is part of the update of the stage, by stage.optimizer"
				if !l.second {
					who = "another model, whose loss has an update of its own"
				}
				d.Fail(p.With(f.Key), "%s does not go with %s", d.Name(p.With(f.Key)), who)
			}
		}
		settings.Clear(&l)
		if l.second && l.Kind == KindRL {
			d.Fail(p, "%s has kind = %q, but what the policy learns from completions is the method of the stage; accepted: kind = \"sft\" or \"preference\", a second loss on rows", d.Name(p), l.Kind)
		}
		if d.Failed() > before {
			continue
		}
		own := s.learner(name, &l)
		d.algorithm(own, table, p)
		if l.Algorithm = own.Algorithm; d.Failed() == before && !l.second {
			d.ruled(own, p)
			if l.Kind != KindSFT {
				d.rate(own, p)
			}
		}
		if s.Learn == nil {
			s.Learn = map[string]Learning{}
		}
		s.Learn[name] = l
	}
}

// learners checks who learns beside the method of a stage, when models and rows are known.
func (d decoder) learners(r *Recipe, st *Stage, at settings.Path) {
	if len(st.Learn) == 0 {
		return
	}
	at = at.With("learn")
	switch {
	case st.Learner() != PolicyModel:
		d.Fail(at, "%s goes with trains = \"policy\"; here %s has the place of the policy", d.Name(at), st.Learner())
		return
	case st.Arrives():
		d.Fail(at, "%s does not go with order = \"arrival\": those who learn beside the policy take the steps in their order", d.Name(at))
		return
	}
	for _, l := range st.Learners() {
		p := at.With(l.Trains)
		if problem := d.learnerFault(r, st, l); problem != nil {
			d.Fail(p, "%s: %w", d.Name(p), problem)
		}
		d.learnerRows(r, st, l, p)
	}
}

// unknownLearner refuses a name that no model has.
func (d decoder) unknownLearner(r *Recipe, name string) error {
	if _, known := r.Models[name]; known || name == PolicyModel {
		return nil
	}
	err := errors.New("there is no [models." + name + "]" + settings.DidYouMean(name, append(r.ModelNames(), PolicyModel), ""))
	return hint.With(err, "add a table [models.%s] with copy = \"policy\"", name)
}

// learnerFault says why a model cannot learn in a stage; nil: it can.
func (d decoder) learnerFault(r *Recipe, st *Stage, l Beside) error {
	name := l.Trains
	m := r.Models[name]
	reads := func(facts ...string) string {
		own := l.Facts()
		if i := slices.IndexFunc(facts, func(f string) bool { return slices.Contains(own, f) }); i >= 0 {
			return facts[i]
		}
		return ""
	}
	switch {
	case name == PolicyModel && reads("score") != "":
		return errors.New("its loss reads score, but the policy has no head that scores; give the head to a model of [models] with head = true")
	case name == PolicyModel:
		return nil
	case l.Stored && st.Replay.Store == "":
		return hint.With(errors.New("replayed = true, but the stage stores no groups"), "replay = {store = \"true\"} in the stage")
	case l.Stored && l.ByTruth:
		return errors.New("replayed = true does not go with reward = \"truth\": the store has what groups were paid, and not their truth")
	case l.ByTruth && st.Truth == "":
		return hint.With(errors.New("reward = \"truth\", but the stage has no truth"), "truth = \"task\" in the stage")
	case name == ReferenceModel:
		return errors.New("ref is what the stage began with; give the model that learns a name of its own")
	case m.Path != "":
		return errors.New("a model of a folder is never trained; accepted: a model with copy = \"policy\"")
	case m.Fresh():
		return errors.New("a model from random weights, of a shape of its own, learns in a stage of its own; accepted: trains = \"" + name + "\" in a stage of kind sft, or a model with copy = \"policy\"")
	case m.Logits != "":
		return errors.New("a sum of logits has no weights; accepted: a model with copy = \"policy\", or trains = \"" + name + "\" in a stage of its own")
	case m.CopyOf() != "":
		return errors.New("it is a copy of " + m.Copy + ", which learns; accepted: a model with copy = \"policy\"")
	case m.Renew > 0 || m.Follow > 0:
		return errors.New("a copy with renew or follow is made of the policy again and again; remove these keys from [models." + name + "]")
	case l.Kind == KindRL && st.Grows():
		return errors.New("kind = \"rl\" does not go with a tree, whose tokens are shared out by the method of the policy; accepted: rows")
	case reads(name) != "" && m.Head:
		return fmt.Errorf("its formulas read %s, but that is who learns: write score for what its head says now", name)
	case m.Head && reads(algo.ValueFact(name).Name) != "":
		return fmt.Errorf("its formulas read %s, but that is who learns: write value for what its head says before a token now", algo.ValueFact(name).Name)
	case reads(name) != "":
		return fmt.Errorf("its formulas read %s, but that is who learns: write logp", name)
	case slices.ContainsFunc(l.Facts(), algo.Influences), reads(algo.GradientNormFact) != "":
		return errors.New("its formulas read influence, own_influence or gradient_norm, which are of the policy's gradients; accepted: " + ownFacts)
	case reads("value") != "" && !m.Head:
		return hint.With(errors.New("its loss reads value, but it has no head"), "head = true in [models.%s]", name)
	case reads(foreign...) != "":
		return fmt.Errorf("its formulas read %s, which is the policy's; accepted: %s", reads(foreign...), ownFacts)
	}
	return nil
}

// learnerRows checks the rows that a learner of a stage learns from; those that stages make are checked with the
// sources of all stages.
func (d decoder) learnerRows(r *Recipe, st *Stage, l Beside, at settings.Path) {
	if l.Kind == KindRL {
		return
	}
	p := at.With("rows")
	switch name := r.Task.label(); {
	case len(l.Sources) > 0 || r.Task.FromData():
	case l.Kind == KindPreference:
		d.Fail(p, "%s = \"task\" needs rows with chosen and rejected, which task %s does not have; accepted: the name of rows that a [[stage.make]] makes", d.Name(p), name)
	case r.Task.Demonstrator() == nil:
		d.Fail(p, "%s = \"task\" needs demonstrations, which task %s does not have; accepted: the name of rows that a [[stage.make]] makes, or one of the tasks %s", d.Name(p), name, strings.Join(demonstrators(), ", "))
	}
	p = at.With("max_tokens")
	if l.SFT.MaxTokens == 0 && (len(l.Sources) > 0 || r.Task.FromData()) {
		d.Fail(p, "%w", hint.With(fmt.Errorf("%s is missing: rows have no fixed length", d.Name(p)), "--set %s=64", d.Name(p)))
	}
	if p := at.With("batch_size"); l.Trains == PolicyModel && l.SFT.BatchSize < st.UpdatesPerRollout {
		d.Fail(p, "%s = %d is out of range; accepted: at least updates_per_rollout = %d, since each update takes its share of the rows", d.Name(p), l.SFT.BatchSize, st.UpdatesPerRollout)
	}
}
