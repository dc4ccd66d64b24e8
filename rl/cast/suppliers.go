package cast

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// supplier computes a fact about each token that the policy wrote.
type supplier struct {
	fact string                                                   // as losses and rewards name it
	role string                                                   // the model, or the part of one, that it takes
	run  func(c *Cast, views []rollout.View) ([][]float64, error) // nil: the trainer computes it in each update
}

// suppliers has a row for every fact that takes a pass of a model. A value is that of
// the time of sampling where the policy is still what it was then.
var suppliers = []supplier{
	{"ref", "reference", func(c *Cast, views []rollout.View) ([][]float64, error) { return logprobs(c.reference.scorer, views) }},
	{"ema", "average", func(c *Cast, views []rollout.View) ([][]float64, error) { return logprobs(c.average.scorer, views) }},
	{"old_uniform_logp", "policy", func(c *Cast, views []rollout.View) ([][]float64, error) {
		return c.Policy.now(views, func(s model.TokenStats) []float32 { return s.MeanLogprob })
	}},
	{"old_value", "value head", func(c *Cast, views []rollout.View) ([][]float64, error) {
		return c.Policy.now(views, func(s model.TokenStats) []float32 { return s.Value })
	}},
	{"value", "value head", nil},
}

// Needs lists the facts that a stage reads and that take a pass of a model.
func Needs(st *recipe.Stage) []string {
	if st.Skip || st.Kind != recipe.KindRL {
		return nil
	}
	reads, err := st.Reads()
	if err != nil { // a stage that no recipe was read for
		return nil
	}
	var facts []string
	for _, s := range suppliers {
		if slices.Contains(reads, s.fact) {
			facts = append(facts, s.fact)
		}
	}
	return facts
}

// asks lists the texts that the reward of a stage has models score.
func asks(st *recipe.Stage) []reward.Ask {
	if st.Skip || st.Kind != recipe.KindRL {
		return nil
	}
	return reward.AsksOf(st.Reward, st.Verifiers)
}

// roomForTexts is how many tokens a text that is asked for behind a completion may
// have: as many as a prompt.
func roomForTexts(r *recipe.Recipe) int {
	for i := range r.Stages {
		if slices.ContainsFunc(asks(&r.Stages[i]), func(a reward.Ask) bool { return a.After == "completion" }) {
			return r.Task.MaxPromptTokens
		}
	}
	return 0
}

// roles says which roles the stages of a recipe need besides the policy.
func roles(r *recipe.Recipe) map[string]bool {
	needed := map[string]bool{}
	for i := range r.Stages {
		for _, ask := range asks(&r.Stages[i]) {
			for _, s := range suppliers {
				if s.fact == ask.Model {
					needed[s.role] = true
				}
			}
		}
		for _, fact := range Needs(&r.Stages[i]) {
			for _, s := range suppliers {
				if s.fact == fact {
					needed[s.role] = true
				}
			}
		}
	}
	return needed
}

// Supply computes a fact of [Needs]: a row for each view, with an entry for each token
// that the policy wrote.
func (c *Cast) Supply(fact string, views []rollout.View) ([][]float64, error) {
	i := slices.IndexFunc(suppliers, func(s supplier) bool { return s.fact == fact })
	if i < 0 {
		return nil, fmt.Errorf("no model supplies the fact %q", fact)
	}
	return suppliers[i].run(c, views)
}
