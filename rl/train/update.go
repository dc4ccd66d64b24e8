package train

import (
	"errors"
	"math"
	"slices"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// nowFacts are what the trainer computes of each token: its statistic, the weight that
// its derivative is, and what the sampler recorded of it.
var nowFacts = []struct {
	fact     string
	of       func(s *model.TokenStats) *[]float32
	weight   func(w *model.TokenWeights) *[]float64
	recorded func(c *Completion) []float32 // at the beginning of the step; nil: nothing
}{
	{"logp", func(s *model.TokenStats) *[]float32 { return &s.Logprob }, func(w *model.TokenWeights) *[]float64 { return &w.Logprob },
		func(c *Completion) []float32 { return c.start().Logprob }},
	{"entropy", func(s *model.TokenStats) *[]float32 { return &s.Entropy }, func(w *model.TokenWeights) *[]float64 { return &w.Entropy },
		func(c *Completion) []float32 { return c.start().Entropy }},
	{"uniform_logp", func(s *model.TokenStats) *[]float32 { return &s.MeanLogprob }, func(w *model.TokenWeights) *[]float64 { return &w.MeanLogprob }, nil},
	{"value", func(s *model.TokenStats) *[]float32 { return &s.Value }, func(w *model.TokenWeights) *[]float64 { return &w.Value }, nil},
}

func isNow(fact string) bool {
	for _, f := range nowFacts {
		if f.fact == fact {
			return true
		}
	}
	return false
}

// batch is an update's completions in the order in which they are trained.
type batch struct {
	s       *learner
	u       *algo.Update
	members []member // their rows are those of the update's table
}

// member is a completion of an update.
type member struct {
	*Completion
	row int // in a table
}

func (b batch) views() []rollout.View {
	var out []rollout.View
	for _, m := range b.members {
		out = append(out, m.View)
	}
	return out
}

// update is one change of the weights. first says that none came before it in the step,
// so that the trainer computes what the sampler recorded. between is called when the gradient
// is there and the weights are still what they were; nil: nothing is.
func (s *learner) update(step *algo.StepValues, b batch, first bool, h model.Optimizer, between func() error) (measured, error) {
	m, err := b.backward(step, first)
	if err == nil && between != nil {
		err = between()
	}
	if err != nil {
		return m, err
	}
	m.norm, err = s.Cast.Policy.Update(h)
	if errors.Is(err, model.ErrNotFinite) {
		err = failed(err, h.LR, h.ClipNorm)
	}
	if err == nil && s.stage.Kind == recipe.KindRL { // every stage begins with an average of its own
		err = s.Cast.Follow(1 - s.stage.RL.EMADecay)
	}
	return m, err
}

// backward computes the gradient of the loss. A local loss is computed batch by batch.
// Another one needs the statistics of all completions first: as the sampler recorded
// them in a step's first update, and by a forward pass of their own in the others.
func (b batch) backward(step *algo.StepValues, first bool) (measured, error) {
	policy, views := b.s.Cast.Policy, b.views()
	local, _ := b.s.method.Local()
	switch {
	case local:
		return b.local(views)
	case first && b.recorded():
		return b.foreseen(step, views)
	}
	stats, err := policy.Forward(views)
	if err != nil {
		return measured{}, err
	}
	weights, err := b.weights(b.u, stats)
	if err != nil {
		return measured{}, err
	}
	if err := policy.Backward(weights); err != nil {
		return measured{}, err
	}
	return measureOf(b.u)
}

// local computes loss and gradient of each batch of the trainer at once.
func (b batch) local(views []rollout.View) (measured, error) {
	var all []model.TokenStats
	whole := false
	err := b.s.Cast.Policy.Accumulate(views, func(first int, stats []model.TokenStats) ([]model.TokenWeights, error) {
		all = append(all, stats...)
		if whole = len(stats) == len(views); whole {
			return b.weights(b.u, stats)
		}
		members := b.members[first : first+len(stats)]
		in := make([]bool, b.u.Table.Size(formula.Completion))
		for _, m := range members {
			in[m.row] = true
		}
		part, err := b.u.Table.Select(in, nil)
		if err != nil {
			return nil, err
		}
		members = placed(in, members)
		if err := b.addNow(part, members, stats); err != nil {
			return nil, err
		}
		slopes, err := b.u.PartSlopes(part)
		if err != nil {
			return nil, b.s.blamed(err)
		}
		return taught(members, weightsOf(part, members, slopes)), nil
	})
	if err == nil && !whole {
		err = b.addNow(b.u.Table, b.members, all)
	}
	if err != nil {
		return measured{}, err
	}
	return measureOf(b.u)
}

// foreseen computes the gradient of a loss whose statistics the sampler recorded, with
// one forward and one backward pass. What is measured is of the trainer's own figures:
// where the two differ in a bit, the metrics say so.
func (b batch) foreseen(step *algo.StepValues, views []rollout.View) (measured, error) {
	stats := make([]model.TokenStats, len(views))
	for _, f := range nowFacts {
		for i := range views {
			if f.recorded != nil {
				*f.of(&stats[i]) = f.recorded(b.members[i].Completion)
			}
		}
	}
	weights, err := b.weights(b.u, stats)
	if err != nil {
		return measured{}, err
	}
	var found []model.TokenStats
	err = b.s.Cast.Policy.Accumulate(views, func(first int, stats []model.TokenStats) ([]model.TokenWeights, error) {
		found = append(found, stats...)
		return weights[first : first+len(stats)], nil
	})
	if err != nil {
		return measured{}, err
	}
	if slices.EqualFunc(found, stats, func(x, y model.TokenStats) bool { return slices.Equal(x.Logprob, y.Logprob) }) {
		return measureOf(b.u)
	}
	in := make([]bool, len(b.u.Rows))
	for _, m := range b.members {
		in[m.Group] = true
	}
	again, err := step.Update(in)
	if err != nil {
		return measured{}, err
	}
	if err := b.addNow(again.Table, b.members, found); err != nil {
		return measured{}, err
	}
	return measureOf(again)
}

// recorded says whether the sampler recorded all that the method reads of now.
func (b batch) recorded() bool {
	for _, f := range nowFacts {
		if slices.Contains(b.s.method.Needs(), f.fact) && f.recorded == nil {
			return false
		}
	}
	return true
}

// weights adds the statistics of all completions to the update and gives the loss's
// derivatives.
func (b batch) weights(u *algo.Update, stats []model.TokenStats) ([]model.TokenWeights, error) {
	if err := b.addNow(u.Table, b.members, stats); err != nil {
		return nil, err
	}
	_, slopes, err := u.Loss()
	if err != nil {
		return nil, b.s.blamed(err)
	}
	return taught(b.members, weightsOf(u.Table, b.members, slopes)), nil
}

// taught notes in the completions what the loss asks of each token.
func taught(members []member, weights []model.TokenWeights) []model.TokenWeights {
	for i, w := range weights {
		members[i].Slope = w.Logprob
	}
	return weights
}

// addNow adds the facts of now to a table, from the statistics of its members.
func (b batch) addNow(t *formula.Table, members []member, stats []model.TokenStats) error {
	for _, f := range nowFacts {
		if !slices.Contains(b.s.method.Needs(), f.fact) {
			continue
		}
		c := formula.Column{Level: formula.Token, V: make([]float64, t.Size(formula.Token))}
		for i, m := range members {
			from, _ := t.Tokens(m.row)
			copy(c.V[from:], cast.Widen(*f.of(&stats[i])))
		}
		if err := t.Add(f.fact, c); err != nil {
			return err
		}
	}
	return nil
}

// placed are some completions of a table with their rows in a selection of it.
func placed(in []bool, members []member) []member {
	place, n := make([]int, len(in)), 0
	for row, selected := range in {
		place[row] = n
		if selected {
			n++
		}
	}
	var out []member
	for _, m := range members {
		out = append(out, member{m.Completion, place[m.row]})
	}
	return out
}

// weightsOf are a loss's derivatives as the trainer takes them.
func weightsOf(t *formula.Table, members []member, slopes map[string]formula.Column) []model.TokenWeights {
	weights := make([]model.TokenWeights, len(members))
	for i, m := range members {
		from, to := t.Tokens(m.row)
		for _, f := range nowFacts {
			if c, ok := slopes[f.fact]; ok {
				*f.weight(&weights[i]) = c.V[from:to]
			}
		}
	}
	return weights
}

// measured is what an update has measured.
type measured struct {
	tokens  int // trained
	loss    float64
	norm    float64 // of the gradient
	metrics map[string]float64
}

func measureOf(u *algo.Update) (m measured, err error) {
	if m.loss, err = u.Value(); err != nil {
		return m, err
	}
	for t := range u.Table.Size(formula.Token) {
		if u.Table.Trained(t) {
			m.tokens++
		}
	}
	m.metrics, err = u.Metrics()
	return m, err
}

// updates are those of a step.
type updates []measured

// atFirst are metrics that a step has of its first update: later ones have other weights
// than the sampler had.
var atFirst = []string{"policy/mismatch_kl", "policy/compared", "policy/equal"}

// into adds the metrics to a step's: means over the updates, those of formulas weighted
// by the tokens that each update trained.
func (us updates) into(row metrics.Row) {
	row["optim/updates"] = float64(len(us))
	if len(us) == 0 {
		return
	}
	sum, tokens := map[string]float64{}, map[string]float64{}
	for _, u := range us {
		row["policy/loss"] += u.loss / float64(len(us))
		row["policy/grad_norm"] += u.norm / float64(len(us))
		for name, v := range u.metrics {
			sum[name] += v * float64(u.tokens)
			tokens[name] += float64(u.tokens)
		}
	}
	for name, total := range sum {
		if row[name] = total / tokens[name]; math.IsNaN(row[name]) { // a metric that is infinite
			delete(row, name)
		}
	}
	if first, ok := us[0].metrics["policy/ratio_mean"]; ok {
		row["policy/ratio_first"] = first
	}
	for _, name := range atFirst {
		if v, ok := us[0].metrics[name]; ok {
			row[name] = v
		}
	}
}
