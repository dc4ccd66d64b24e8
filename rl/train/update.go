package train

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// batch is an update's completions in the order in which they are trained.
type batch struct {
	s       *learner
	v       *Valued
	u       *algo.Update
	members []member       // their rows are those of the update's table
	slopes  [][]float64    // [number in the step] what the loss asks of each token; nil: it was in no update
	weight  float64        // of the loss in the gradient
	read    []rollout.View // what the gradient was computed of; nil: it was not yet
}

// member is a completion of an update.
type member struct {
	*Completion
	now    *Now
	number int // in the step
	row    int // in a table
}

// ownPrompt is the prompt after which a head learns from the completions of a step; "": the policy's.
func (s *learner) ownPrompt() string {
	if own := s.recipe.Models[s.stage.Learner()]; own.Head && s.stage.Kind == recipe.KindRL {
		return own.Prompt
	}
	return ""
}

// views are what the one who learns reads of the completions: the tokens of the policy after its own prompt or the head's.
func (b *batch) views() ([]rollout.View, error) {
	var out []rollout.View
	for _, m := range b.members {
		v := m.View
		if b.s.ownPrompt() != "" {
			ids, lacks := b.s.prompted(m.From.Problem, b.s.stage.Learner())
			if lacks != "" {
				return nil, b.s.blamed(errors.New(lacks))
			}
			v = v.After(ids)
		}
		out = append(out, v)
	}
	b.read = out
	return out, nil
}

// deal makes the update of some groups of a step, in the order in which they are trained. It is nil
// if nothing is left to learn from. slopes gets what it teaches.
func (s *learner) deal(v *Valued, groups []int, slopes [][]float64) (*batch, error) {
	cs := v.all()
	in := make([]bool, groupsOf(cs))
	for _, g := range groups {
		in[g] = true
	}
	u, err := v.Step.Update(in)
	if u == nil || err != nil {
		return nil, err
	}
	var members []member // with their rows in the step's table, in the order of training
	for _, g := range groups {
		for i := range cs {
			if cs[i].Group == g && u.Rows[i] {
				members = append(members, member{&cs[i], &v.Now[i], i, i})
			}
		}
	}
	return &batch{s, v, u, placed(u.Rows, members), slopes, 1, nil}, nil
}

// groups are those with a completion in the batch, in the order of training.
func (b *batch) groups() (out []int) {
	for _, m := range b.members {
		if len(out) == 0 || out[len(out)-1] != m.Group {
			out = append(out, m.Group)
		}
	}
	return out
}

// note writes down what the parts that the recipe writes came to for each completion.
func (b *batch) note(written []map[string][]float64) error {
	parts, err := b.u.Written()
	if err != nil {
		return b.s.blamed(err)
	}
	for _, m := range b.members {
		of := map[string][]float64{}
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			c := parts[name]
			for _, at := range b.u.Table.Rows(m.row, c.Level) {
				of[name] = append(of[name], c.V[at])
			}
		}
		written[m.number] = of
	}
	return nil
}

// apply changes the weights by the gradient of a batch, and moves the states of the method that
// are values of an update.
func (b *batch) apply(h learn.Optimizer) (norm float64, err error) {
	norm, err = b.s.who.Update(h)
	if errors.Is(err, learn.ErrNotFinite) {
		err = failed(err, h.LR, h.ClipNorm)
	}
	switch {
	case err != nil:
	case b.s.beside():
		err = b.s.cast.Follow(b.v.stage.Learner(), 0)
	case b.v.stage.Kind == recipe.KindRL: // every stage begins with an average of its own
		err = b.s.cast.Follow(recipe.PolicyModel, 1-b.v.stage.RL.EMADecay)
	}
	if err != nil {
		return norm, err
	}
	return norm, b.s.afterUpdate(b.u, problemsOf(b.v.all()))
}

// failed explains an update that was refused.
func failed(err error, lr, clipNorm float64) error {
	return hint.With(fmt.Errorf("%w: no weights were updated", err), "resume from the last checkpoint with a lower learning rate (now %v) or clip_norm (now %v)", lr, clipNorm)
}

// backward computes the gradient of the loss. A local loss is computed batch by batch. Any other
// loss needs the statistics of all completions first: those that the sampler recorded in a step's
// first update, and those of a separate forward pass in later ones.
//
// first says that no update came before it in the step, so that the trainer computes what is
// recorded of the beginning of the step.
func (b *batch) backward(first bool) (measured, error) {
	who := b.s.who
	views, err := b.views()
	if err != nil {
		return measured{}, err
	}
	local, _ := b.s.method.Local()
	switch {
	case local:
		return b.local(views)
	case first && b.recorded():
		return b.foreseen(views)
	}
	stats, err := who.Forward(views)
	if err != nil {
		return measured{}, err
	}
	weights, err := b.weights(b.u, stats)
	if err != nil {
		return measured{}, err
	}
	if err := who.Backward(weights); err != nil {
		return measured{}, err
	}
	return measureOf(b.u)
}

// local computes loss and gradient of each batch of the trainer at once.
func (b *batch) local(views []rollout.View) (measured, error) {
	var all []seq.Stats
	whole := false
	err := b.s.who.Accumulate(views, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
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
		return b.taught(members, weightsOf(part, members, slopes)), nil
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
func (b *batch) foreseen(views []rollout.View) (measured, error) {
	stats := make([]seq.Stats, len(views))
	for _, f := range suppliers {
		for i := range views {
			if f.token != nil && f.token.recorded != nil {
				*f.token.of(&stats[i]) = f.token.recorded(b.members[i].now)
			}
		}
	}
	weights, err := b.weights(b.u, stats)
	if err != nil {
		return measured{}, err
	}
	var found []seq.Stats
	err = b.s.who.Accumulate(views, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
		found = append(found, stats...)
		return weights[first : first+len(stats)], nil
	})
	if err != nil {
		return measured{}, err
	}
	if slices.EqualFunc(found, stats, func(x, y seq.Stats) bool { return slices.Equal(x.Logprob, y.Logprob) }) {
		return measureOf(b.u)
	}
	in := make([]bool, len(b.u.Rows))
	for _, m := range b.members {
		in[m.Group] = true
	}
	again, err := b.v.Step.Update(in)
	if err != nil {
		return measured{}, err
	}
	if err := b.addNow(again.Table, b.members, found); err != nil {
		return measured{}, err
	}
	return measureOf(again)
}

// recorded says whether the beginning of the step recorded all that the method reads of now.
func (b *batch) recorded() bool {
	needs := b.s.method.Needs()
	for _, f := range suppliers {
		if f.token != nil && f.token.recorded == nil && slices.Contains(needs, f.fact) {
			return false
		}
	}
	return true
}

// weights adds the statistics of all completions to the update and gives the loss's
// derivatives.
func (b *batch) weights(u *algo.Update, stats []seq.Stats) ([]learn.Weights, error) {
	if err := b.addNow(u.Table, b.members, stats); err != nil {
		return nil, err
	}
	_, slopes, err := u.Loss()
	if err != nil {
		return nil, b.s.blamed(err)
	}
	return b.taught(b.members, weightsOf(u.Table, b.members, slopes)), nil
}

// taught notes what the loss asks of each token.
func (b *batch) taught(members []member, weights []learn.Weights) []learn.Weights {
	for i := range weights {
		if b.weight != 1 {
			weights[i] = weights[i].Times(b.weight)
		}
		b.slopes[members[i].number] = weights[i].Logprob
	}
	return weights
}

// addNow adds the facts of now to a table, from the statistics of its members.
func (b *batch) addNow(t *formula.Table, members []member, stats []seq.Stats) error {
	needs := b.s.method.Needs()
	for _, f := range suppliers {
		if f.token == nil || !slices.Contains(needs, f.fact) {
			continue
		}
		c := formula.Column{Level: formula.Token, V: make([]float64, t.Size(formula.Token))}
		for i, m := range members {
			from, _ := t.Tokens(m.row)
			copy(c.V[from:], cast.Widen(*f.token.of(&stats[i])))
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
		m.row = place[m.row]
		out = append(out, m)
	}
	return out
}

// weightsOf are a loss's derivatives as the trainer takes them.
func weightsOf(t *formula.Table, members []member, slopes map[string]formula.Column) []learn.Weights {
	weights := make([]learn.Weights, len(members))
	for i, m := range members {
		from, to := t.Tokens(m.row)
		for fact, c := range slopes {
			*statisticOf(fact).weight(&weights[i]) = c.V[from:to]
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
