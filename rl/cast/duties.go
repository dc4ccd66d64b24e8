package cast

import (
	"slices"

	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/algebra"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// duty is a fact about each token that the policy wrote, and the member that is asked for it.
type duty struct {
	fact   string // as losses and rewards name it
	member string // its name
	of     quantity
	less   string // the member whose log-prob is subtracted; "": none
	before bool   // it is asked about what stands before each token
}

// quantity is a number that one pass of a model has for each token.
type quantity struct {
	read func(seq.Stats) []float32
	head bool // the model needs a value head for it
}

var (
	logprob     = quantity{read: func(s seq.Stats) []float32 { return s.Logprob }}
	meanLogprob = quantity{read: func(s seq.Stats) []float32 { return s.MeanLogprob }}
	value       = quantity{read: func(s seq.Stats) []float32 { return s.Value }, head: true}
	said        = quantity{read: func(s seq.Stats) []float32 { return s.Score }} // by a member's own head, after the token
)

// duties has a row for each fact that takes a pass of a model that every recipe can have. An "old" fact is that of the
// time of sampling, because it is computed before the first update of a step. The updates
// themselves read "value", with the rest of their pass.
var duties = []duty{
	{fact: "ref", member: referenceName, of: logprob},
	{fact: "ema", member: averageName, of: logprob},
	{fact: "old_uniform_logp", member: policyName, of: meanLogprob},
	{fact: "old_value", member: policyName, of: value},
	{fact: "value", member: policyName, of: value},
	{fact: "score", member: policyName, of: value},                             // by whoever learns, with the rest of the updates' pass
	{fact: "prompt_value", member: policyName, of: value},                      // of views that one token follows the prompt in
	{fact: "mismatched", member: policyName, of: logprob, less: referenceName}, // of the views that it is asked for
}

// dutyOf is that of a fact: a model that the recipe names supplies the fact of its name and, by its head, that of the
// state from which a token is drawn.
func dutyOf(fact string) duty {
	if i := slices.IndexFunc(duties, func(d duty) bool { return d.fact == fact }); i >= 0 {
		return duties[i]
	}
	if model, is := algo.BeforeToken(fact); is {
		return duty{fact: fact, member: model, of: said, before: true}
	}
	return duty{fact: fact, member: fact, of: logprob}
}

// want is what a recipe wants of one model of the run.
type want struct {
	name   string         // of the member
	spec   *recipe.Member // what the recipe says of it; nil: it has no table
	facts  []string       // that it supplies, alone or with another member
	texts  bool           // rewards have it score texts
	head   bool           // it needs a value head
	draws  bool           // it draws completions in the policy's place
	learns bool           // it is made once: a stage trains it, or a formula makes it; of the policy nobody asks
	from   int            // index of the first stage that trains or asks one that learns
	made   []ingredient   // of which a formula makes it; nil: none does
	terms  []algebra.Term // whose logits it sums; nil: it is no sum
	summed bool           // its logits are in a sum
	keeps  bool           // filters of sampling act on its distribution
	beside *besides       // it learns beside the policy; nil: it does not

	optimized []learn.Rule // of a model from random weights: by which its stages train it

	influence bool // influences are asked of it, which the policy alone is

	judges bool            // it judges completions, or writes texts for rows
	plays  bool            // it writes between turns of the policy: it plays seats, or tools or the world ask it
	writes *sample.Options // it writes what it says; nil: it does not, or it is the policy, which has an engine
}

// wants lists the models that a recipe needs, in the order of the roles, the policy first, and then
// those that the recipe names. Planning and opening follow this list: what is not in it is neither
// counted nor opened.
func wants(r *recipe.Recipe) []want {
	var names, facts, reads, scorers, summed []string
	for _, role := range roles {
		names = append(names, role.name)
	}
	for _, d := range duties {
		facts = append(facts, d.fact)
	}
	kindOf := func(m recipe.Member) string {
		if m.CopyOf() != "" {
			return "copied"
		}
		return m.Variant()
	}
	for _, kinds := range [][]string{{"path", "copy", "family"}, {"weights"}, {"copied"}, {"logits"}} { // tables name those before them
		for _, name := range r.ModelNames() {
			if name != referenceName && slices.Contains(kinds, kindOf(r.Models[name])) {
				names, facts = append(names, name), append(facts, name, algo.ValueFact(name).Name)
			}
		}
	}
	for i := range r.Stages {
		reads = append(reads, r.Stages[i].Facts()...)
		for _, a := range r.Stages[i].Texts() {
			scorers = append(scorers, a.Model)
		}
	}
	for _, name := range r.ModelNames() {
		if r.Uses(name) {
			for _, t := range r.Terms(name) {
				summed = append(summed, t.Model)
			}
		}
	}
	judging := r.Judges()
	var found []want
	for _, name := range names {
		w := want{name: name, texts: slices.Contains(scorers, name)}
		if spec, named := r.Models[name]; named {
			w.spec, w.learns = &spec, r.Trained(name) || spec.Weights != ""
			w.made, w.terms, w.summed = ingredientsOf(r, name), r.Terms(name), slices.Contains(summed, name)
		}
		for _, fact := range facts {
			if d := dutyOf(fact); slices.Contains(reads, fact) && (d.member == name || d.less == name) {
				w.facts = append(w.facts, fact)
				w.head = w.head || d.member == name && d.of.head
			}
		}
		w.influence = name == policyName && slices.ContainsFunc(reads, algo.Influences)
		for _, fact := range reads {
			if of, hidden := algo.HiddenOf(fact); hidden && of.Model == name {
				w.facts = append(w.facts, fact)
			}
		}
		if w.learns {
			w.from, w.beside = r.FirstUse(name), besideOf(r, name)
		}
		if w.spec != nil && w.spec.Fresh() {
			w.optimized = rulesOf(r, name)
		}
		w.draws = slices.ContainsFunc(r.Stages, func(st recipe.Stage) bool {
			return !st.Skip && (name == bestName && st.Best.Every > 0 || w.terms != nil && st.Learner() == name)
		})
		w.keeps = slices.ContainsFunc(r.Stages, func(st recipe.Stage) bool { return st.FilteredBy() == name })
		for _, j := range judging {
			if w.judges = w.judges || j.Model == name; j.Model == name && j.Draws() && name != policyName {
				w.writes = writerEngine(r, judging, name)
			}
		}
		for _, by := range r.Writers() {
			if w.judges = w.judges || by.Model == name; by.Model == name && name != policyName {
				w.writes = writerEngine(r, judging, name)
			}
		}
		if name != policyName {
			w.plays = r.Task.AskRoom(name) > 0 || len(r.Seats(name)) > 0
		}
		if name == policyName || w.judges || w.texts || w.draws || w.learns || w.summed || w.keeps || len(w.facts) > 0 {
			found = append(found, w)
		}
	}
	return found
}

// roomForTexts is how many tokens a text that is scored after a completion may have: as
// many as a prompt.
func roomForTexts(r *recipe.Recipe) int {
	for i := range r.Stages {
		if slices.ContainsFunc(r.Stages[i].Texts(), func(a reward.Ask) bool { return a.After == "completion" || a.After == "thought" }) {
			return r.Task.MaxPromptTokens
		}
	}
	return 0
}

// Supply computes a fact of the table of duties, or what a model that the recipe names says, its
// log-prob or its head: a row for each view, with an entry for each token that the policy wrote.
func (c *Cast) Supply(fact string, views []rollout.View) ([][]float64, error) {
	d := dutyOf(fact)
	if c.headed[d.member] {
		d.of = said
	}
	if d.before {
		views = preceding(views)
	}
	rows, err := c.ask(d.member, d.of, views)
	if err != nil || d.less == "" {
		return rows, err
	}
	less, err := c.ask(d.less, logprob, views)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		for j := range row {
			row[j] -= less[i][j]
		}
	}
	return rows, nil
}

// preceding are views of the tokens that stand before those that the policy wrote. Each of these has one, in its context.
func preceding(views []rollout.View) []rollout.View {
	out := slices.Clone(views)
	for i, v := range views {
		out[i].Spans = slices.Clone(v.Spans)
		for k, s := range v.Spans {
			out[i].Spans[k] = rollout.Span{From: s.From - 1, To: s.To - 1}
		}
	}
	return out
}

// States calls do for each view, in their order, with the states that the tokens of its spans leave in a
// layer of a member, given by its name: [token][width], see [model.Scorer.States].
func (c *Cast) States(name string, layer int, views []rollout.View, do func(i int, states [][]float32) error) error {
	m, err := c.member(name)
	if err != nil {
		return err
	}
	return m.states(views, layer, do)
}

// ask has a member compute a quantity of the tokens that the policy wrote.
func (c *Cast) ask(name string, of quantity, views []rollout.View) ([][]float64, error) {
	m, err := c.member(name)
	if err != nil {
		return nil, err
	}
	stats, err := m.score(views)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(stats))
	for i, s := range stats {
		rows[i] = Widen(of.read(s))
	}
	return rows, nil
}
