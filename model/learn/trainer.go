package learn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// ErrNotFinite: the gradient holds NaN or infinity. Nothing was updated.
var ErrNotFinite = errors.New("the gradient is not finite")

// Weights are dLoss/d(statistic) for each predicted token of a sequence,
// in the order of [seq.Stats]. Nil counts as zeros.
type Weights struct {
	Logprob, Entropy, MeanLogprob, Value []float64
	Score                                []float64 // only with [Trainer.Scores]
}

func (w Weights) columns() [4][]float64 {
	return [...][]float64{w.Logprob, w.Entropy, w.MeanLogprob, w.Value}
}

// Times are the weights of a loss that is multiplied by a factor.
func (w Weights) Times(factor float64) Weights {
	for _, v := range []*[]float64{&w.Logprob, &w.Entropy, &w.MeanLogprob, &w.Value, &w.Score} {
		*v = slices.Clone(*v)
		for i := range *v {
			(*v)[i] *= factor
		}
	}
	return w
}

// Part are the weights of the tokens from up to to.
func (w Weights) Part(from, to int) Weights {
	for _, v := range []*[]float64{&w.Logprob, &w.Entropy, &w.MeanLogprob, &w.Value, &w.Score} {
		if *v != nil {
			*v = (*v)[from:to]
		}
	}
	return w
}

func (w Weights) zero() bool {
	for _, v := range w.columns() {
		for _, x := range v {
			if x != 0 {
				return false
			}
		}
	}
	return true
}

// Trainer computes log-probs, gradients and updates of one model.
//
// One update is Accumulate, or Forward and Backward, and then Step. Gradients add up
// until Step, and the sum has the same bits however the sequences were cut into
// batches, as long as every group fits one (see [seq.GroupRows], which counts one sequence for a completion:
// a group with contexts that begin anew has more, and may need more rows).
type Trainer struct {
	d       *decoder.Decoder
	trained []*trained         // all parameters of the model, or those of its adapter; then the value head's, if there is one
	headed  bool               // it has a value head, see [ValueHead]
	scores  bool               // which says something after each token too, see [Trainer.Scores]
	value   *decoder.ValueHead // nil for none
	keep    decoder.Kept
	pool    *device.Pool // of what stays from pass to pass
	scratch *device.Pool // of activations and their gradients
	phase   *model.Phase // that a pass is in
	beside  *Trainer     // whose activations' memory it uses; nil: it has its own
	room    *room
	ws      *decoder.Workspace // in the room, with the value head of this trainer
	grads   *decoder.Gradients
	table   []gpu.View // a gradient of the output table, zeros but while influences are computed; nil: see [Influence]

	influences bool // of a trainer of an adapter
	progs      *device.Programs
	part       gpu.View // partial sums of the gradient's squares
	moments    int      // arrays that the rule of the updates keeps, see [Optimizes]
	updates    int      // of the optimizer so far

	rows    int          // since the last Step
	batches []seq.Batch  // of the last Forward
	scored  []seq.Scored // the sequences of the last Forward; nil: they were read without scores
}

// room is what passes of trainers write to, one after the other.
type room struct {
	backward *decoder.BackwardSpace
	resident *Trainer // whose only batch's activations are still there; nil: nobody's
}

// Option is an option of NewTrainer.
type Option func(*Trainer)

// Recompute makes a trainer keep only the residual stream before each block; the backward
// pass makes the other activations of a block again (Chen et al., arXiv 1604.06174). That
// is a fourth more work in less memory, and changes no bit.
func Recompute(t *Trainer) { t.keep = decoder.KeptInputs }

// Beside lets a trainer write its activations where another one of an equal model, of as many rows and with the same
// [Recompute], does: the two take turns, and none of the gradients and moments is shared. It is closed before the
// other one.
func Beside(other *Trainer) Option {
	return func(t *Trainer) { t.beside = other }
}

// In lets a trainer, and those that it lends to, write activations and their gradients in a phase.
func In(phase *model.Phase) Option {
	return func(t *Trainer) { t.phase = phase }
}

// NewTrainer makes a trainer whose batches hold at most rows tokens.
func NewTrainer(m *model.Model, rows int, options ...Option) (*Trainer, error) {
	d := m.Decoder()
	set, values, err := d.Trained()
	if err != nil {
		return nil, err
	}
	t := &Trainer{d: d, keep: decoder.KeptAll, moments: AdamW.moments(), pool: device.NewPool(d.Device, "trainer"), progs: device.NewPrograms(d.Device, 32)}
	t.trained = []*trained{{Set: set, values: values}}
	for _, set := range options {
		set(t)
	}
	if err := t.allocate(rows); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Trainer) allocate(rows int) error {
	d := t.d.Layout.Dims
	if other := t.beside; other != nil {
		t.ws, t.room, t.phase, t.scratch = other.ws.Lend(), other.room, other.phase, other.scratch
	} else {
		t.scratch = device.NewPoolIn(t.phase, t.d.Device, "trainer")
		t.ws = decoder.NewWorkspace(t.scratch, d, rows, t.keep, t.d.Device.Caps())
		t.room = &room{backward: decoder.NewBackwardSpace(t.scratch, d, rows)}
		t.phase.OnEnter(func() error { t.room.resident = nil; return nil })
	}
	if t.headed {
		var err error
		h := decoder.NewValueHead(t.pool, d, rows, t.d.Layout.MaxBinding)
		if h.Values, err = h.NewArena(t.d.Device, "value head", tensors.Chunk.Whole); err != nil {
			return err
		}
		t.value, t.ws.Head.Value = h, h
		t.trained = append(t.trained, &trained{Set: &h.Set, values: h.Values})
	}
	if err := t.allocateUpdate(); err != nil {
		return err
	}
	if t.value != nil {
		t.value.Grads = t.trained[1].grads
	}
	t.grads = t.d.NewGradients(t.pool, t.trained[0].grads)
	if t.d.Adapter == nil || t.influences {
		t.table = t.d.TableGradient(t.pool, t.grads)
	}
	return errors.Join(t.pool.Err, t.scratch.Err)
}

// Lends says whether a model is of the sizes of the one that is trained, so that [Trainer.NewScorer] can make a scorer
// of it.
func (t *Trainer) Lends(m *model.Model) bool { return m.Decoder().Layout.Dims == t.d.Layout.Dims }

// NewScorer makes a scorer of a model of the sizes of the one that is trained, with its adapter off if base says so,
// whose activations lie where the trainer's do: the two take turns, as long as the trainer is open.
func (t *Trainer) NewScorer(m *model.Model, base bool) *model.Scorer {
	return m.NewLentScorer(t.ws.Lend(), t.phase, base, func() { t.room.resident = nil })
}

// Mix gives the trainer room to add the logits of other models with the same tokens to those of its own, see
// [Trainer.Sum]. It is called once, before there is a gradient. Trainers beside it have none of that room.
func (t *Trainer) Mix(others []*model.Model) error {
	var decoders []*decoder.Decoder
	for _, m := range others {
		decoders = append(decoders, m.Decoder())
	}
	t.ws.Mix(t.scratch, t.ws.MaxRows, decoders, nil)
	return t.scratch.Err
}

// Sum says by which factors logits are summed in the passes to come: the model's own, and those of the others. Log-probs
// are then those of the sum, and gradients of the model alone, through the sum. nil: there are only the model's own.
func (t *Trainer) Sum(own float64, factors []float64) {
	t.room.resident = nil
	t.ws.Sum(own, factors)
}

// Forward computes the statistics of every predicted token. It is for losses that
// need those of all sequences before the first gradient; Accumulate computes half
// as much.
func (t *Trainer) Forward(seqs []seq.Sequence) ([]seq.Stats, error) {
	if err := t.phase.Enter(); err != nil {
		return nil, err
	}
	defer t.phase.Leave()
	t.scored = nil
	if t.scores {
		t.scored, seqs = toTheEnd(seqs)
	}
	batches, err := t.cut(seqs)
	if err != nil {
		return nil, err
	}
	t.batches, t.room.resident = batches, nil
	var out []seq.Stats
	for _, b := range batches {
		if err := t.d.Forward(t.progs, t.ws, b); err != nil {
			return nil, err
		}
		if out, err = t.ws.ReadStats(b, out); err != nil {
			return nil, err
		}
	}
	if len(batches) == 1 {
		t.room.resident = t
	}
	if t.scored != nil {
		out = statsOf(t.scored, out)
	}
	return out, nil
}

// States calls do for each sequence with the states that its tokens leave in a layer, by the weights of
// now, see [model.Scorer.States].
func (t *Trainer) States(seqs []seq.Sequence, layer int, do func(i int, states [][]float32) error) error {
	if err := t.phase.Enter(); err != nil {
		return err
	}
	defer t.phase.Leave()
	t.batches, t.room.resident = nil, nil
	return t.d.States(t.progs, t.ws, seqs, layer, do)
}

// cut checks sequences and cuts them into batches that fit the memory.
func (t *Trainer) cut(seqs []seq.Sequence) ([]seq.Batch, error) {
	return t.d.Pack(seqs, t.ws.MaxRows)
}

// Rows is the number of rows in the batches whose gradients were computed since the last Step.
// Tokens that sequences of a group share count once.
func (t *Trainer) Rows() int { return t.rows }

// Accumulate adds the gradient of a loss whose weights for a sequence depend on
// that sequence's statistics alone: one forward and one backward pass for each
// batch. weigh gets the statistics of the sequences first, first+1, ... and returns
// their weights; it is called in the order of the sequences. The gradient has the
// bits that Forward and Backward give.
func (t *Trainer) Accumulate(seqs []seq.Sequence, weigh func(first int, stats []seq.Stats) ([]Weights, error)) error {
	if t.scores {
		var scored []seq.Scored
		scored, seqs = toTheEnd(seqs)
		tokens := weigh
		weigh = func(first int, stats []seq.Stats) ([]Weights, error) {
			weights, err := tokens(first, statsOf(scored[first:], stats))
			return weightsOf(scored[first:], weights), err
		}
	}
	batches, err := t.cut(seqs)
	if err == nil {
		err = t.phase.Enter()
	}
	if err != nil {
		return err
	}
	defer t.phase.Leave()
	t.batches, t.room.resident = nil, nil
	first := 0
	for _, b := range batches {
		t.rows += b.T
		if err := t.d.Forward(t.progs, t.ws, b); err != nil {
			return err
		}
		stats, err := t.ws.ReadStats(b, nil)
		if err != nil {
			return err
		}
		weights, err := weigh(first, stats)
		if err != nil {
			return err
		}
		if len(weights) != len(b.Seqs) {
			return fmt.Errorf("weights for %d sequences, but the batch has %d", len(weights), len(b.Seqs))
		}
		t.room.resident = t
		if err := t.backward(b, weights); err != nil {
			return err
		}
		first += len(b.Seqs)
	}
	return nil
}

// Backward adds the gradient of sum over tokens of weight * statistic, for the
// sequences of the last Forward.
func (t *Trainer) Backward(weights []Weights) error {
	if err := t.phase.Enter(); err != nil {
		return err
	}
	defer t.phase.Leave()
	if t.scored != nil && len(weights) == len(t.scored) {
		weights = weightsOf(t.scored, weights)
	}
	n := 0
	for _, b := range t.batches {
		t.rows += b.T
		if len(weights) < n+len(b.Seqs) {
			return fmt.Errorf("weights for %d sequences, but the last forward pass had more", len(weights))
		}
		ws := weights[n : n+len(b.Seqs)]
		n += len(b.Seqs)
		if err := t.backward(b, ws); err != nil {
			return err
		}
	}
	if n != len(weights) {
		return fmt.Errorf("weights for %d sequences, but the last forward pass had %d", len(weights), n)
	}
	return nil
}

func (t *Trainer) backward(b seq.Batch, weights []Weights) error {
	all := make([][4]float32, 0, b.R)
	zero := true
	for i, s := range b.Seqs {
		w := weights[i]
		zero = zero && w.zero()
		n := s.Predicted()
		if t.value == nil && w.Value != nil {
			return fmt.Errorf("sequence %d of the batch has weights of values, and the trainer has no value head", i)
		}
		for _, v := range w.columns() {
			if v != nil && len(v) != n {
				return fmt.Errorf("sequence %d of the batch has %d weights for %d predicted tokens", i, len(v), n)
			}
		}
		for j := range n {
			all = append(all, [4]float32{entry(w.Logprob, j), entry(w.Entropy, j), entry(w.MeanLogprob, j), entry(w.Value, j)})
		}
	}
	if zero {
		return nil
	}
	if t.room.resident != t {
		if err := t.d.Forward(t.progs, t.ws, b); err != nil {
			return err
		}
	}
	t.room.resident = nil // the logits become their gradient
	return t.d.Backward(t.progs, t.ws, t.room.backward, t.grads, b, all)
}

func entry(v []float64, i int) float32 {
	if v == nil {
		return 0
	}
	return float32(v[i])
}

// Gradients lists the gradients added up so far under the parameters' names.
// With tied embeddings the sum over both uses is returned.
func (t *Trainer) Gradients() ([]hf.NamedTensor, error) {
	if t.grads.Tied {
		if err := t.progs.Run("fold lookup", t.grads.RecordFold); err != nil {
			return nil, err
		}
		if err := t.d.Device.Wait(); err != nil {
			return nil, err
		}
	}
	var out []hf.NamedTensor
	for _, s := range t.trained {
		out = append(out, s.Named(s.grads, "")...)
	}
	return out, nil
}

// Close frees the trainer's device memory; the model stays.
func (t *Trainer) Close() {
	t.progs.Free()
	t.pool.Free()
	if t.beside == nil && t.scratch != nil {
		t.scratch.Free()
	}
	for _, s := range t.trained {
		s.free()
	}
	if t.value != nil {
		t.value.Values.Free()
	}
}
