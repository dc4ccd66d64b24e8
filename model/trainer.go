package model

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
)

// ErrNotFinite: the gradient holds NaN or infinity. Nothing was updated.
var ErrNotFinite = errors.New("the gradient is not finite")

// TokenWeights are dLoss/d(statistic) for each predicted token of a sequence,
// in the order of TokenStats. Nil counts as zeros.
type TokenWeights struct {
	Logprob, Entropy, MeanLogprob, Value []float64
}

func (w TokenWeights) columns() [4][]float64 {
	return [...][]float64{w.Logprob, w.Entropy, w.MeanLogprob, w.Value}
}

func (w TokenWeights) zero() bool {
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
// batches, as long as every group fits one (see [GroupRows]).
type Trainer struct {
	m       *Model
	trained []*trained // all parameters of the model, or those of its adapter; then the value head's, if there is one
	value   *valueHead // nil for none
	keep    kept
	pool    *pool
	ws      *workspace
	bs      *backwardSpace
	grads   *gradients
	progs   *programs
	part    gpu.View // partial sums of the gradient's squares
	moments int      // arrays that the rule of the updates keeps, see [Optimizes]
	updates int      // of the optimizer so far

	rows     int     // since the last Step
	batches  []batch // of the last Forward
	resident bool    // the only batch's activations are still there
}

// TrainerOption is an option of NewTrainer.
type TrainerOption func(*Trainer)

// Recompute makes a trainer keep only the residual stream before each block; the backward
// pass makes the other activations of a block again (Chen et al., arXiv 1604.06174). That
// is a fourth more work in less memory, and changes no bit.
func Recompute(t *Trainer) { t.keep = keptInputs }

// NewTrainer makes a trainer whose batches hold at most rows tokens.
func (m *Model) NewTrainer(rows int, options ...TrainerOption) (*Trainer, error) {
	if m.frozen && m.adapter == nil {
		return nil, errFrozen
	}
	t := &Trainer{m: m, keep: keptAll, moments: AdamW.moments(), pool: &pool{dev: m.dev, label: "trainer"}, progs: newPrograms(m.dev, 32)}
	t.trained = []*trained{{tensors: &m.layout.tensors, values: m.params.arena}}
	if m.adapter != nil {
		t.trained[0] = &trained{tensors: &m.adapter.tensors, values: m.adapter.values}
	}
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
	m, d := t.m, t.m.layout.dims
	var err error
	if t.ws, err = t.pool.packedWorkspace(m, rows, t.keep); err != nil {
		return err
	}
	t.bs = t.pool.backwardSpace(d, rows)
	if t.value != nil {
		if t.value.values, err = t.value.newArena(m.dev, "value head", chunk.whole); err != nil {
			return err
		}
		t.value.space(t.pool, rows)
		t.ws.head.value = t.value
		t.trained = append(t.trained, t.value.trained)
	}
	if err := t.allocateUpdate(); err != nil {
		return err
	}
	t.grads = &gradients{arena: t.trained[0].grads}
	for _, s := range t.lookups() {
		v := t.grads.view(s.weight)
		if m.layout.tied {
			v = t.pool.words("embedding lookup gradient", s.weight.rows*s.weight.cols)
		}
		t.grads.lookup = append(t.grads.lookup, v)
	}
	return t.pool.err
}

// lookups are the slabs of the embedding whose gradient is wanted.
func (t *Trainer) lookups() []slab {
	if t.m.adapter != nil {
		return nil
	}
	return t.m.layout.embed
}

// Forward computes the statistics of every predicted token. It is for losses that
// need those of all sequences before the first gradient; Accumulate computes half
// as much.
func (t *Trainer) Forward(seqs []Sequence) ([]TokenStats, error) {
	batches, err := t.cut(seqs)
	if err != nil {
		return nil, err
	}
	t.batches, t.resident = batches, false
	var out []TokenStats
	for _, b := range batches {
		if err := t.forward(b); err != nil {
			return nil, err
		}
		if out, err = t.ws.readStats(b, out); err != nil {
			return nil, err
		}
	}
	t.resident = len(batches) == 1
	return out, nil
}

// cut checks sequences and cuts them into batches that fit the memory.
func (t *Trainer) cut(seqs []Sequence) ([]batch, error) {
	if err := t.m.check(seqs); err != nil {
		return nil, err
	}
	return pack(seqs, t.m.capacityOf(t.ws.maxRows))
}

// Rows is how many rows the batches had of which gradients were computed since the last
// Step: the tokens that were read, those that sequences of a group share once.
func (t *Trainer) Rows() int { return t.rows }

// Accumulate adds the gradient of a loss whose weights for a sequence depend on
// that sequence's statistics alone: one forward and one backward pass for each
// batch. weigh gets the statistics of the sequences first, first+1, ... and returns
// their weights; it is called in the order of the sequences. The gradient has the
// bits that Forward and Backward give.
func (t *Trainer) Accumulate(seqs []Sequence, weigh func(first int, stats []TokenStats) ([]TokenWeights, error)) error {
	batches, err := t.cut(seqs)
	if err != nil {
		return err
	}
	t.batches = nil
	first := 0
	for _, b := range batches {
		t.rows += b.T
		if err := t.forward(b); err != nil {
			return err
		}
		stats, err := t.ws.readStats(b, nil)
		if err != nil {
			return err
		}
		weights, err := weigh(first, stats)
		if err != nil {
			return err
		}
		if len(weights) != len(b.seqs) {
			return fmt.Errorf("weights for %d sequences, but the batch has %d", len(weights), len(b.seqs))
		}
		t.resident = true
		if err := t.backward(b, weights); err != nil {
			return err
		}
		first += len(b.seqs)
	}
	return nil
}

func (t *Trainer) forward(b batch) error {
	if b.R == 0 {
		return nil
	}
	if err := t.ws.upload(b, t.m.layout.window); err != nil {
		return err
	}
	err := t.progs.run(fmt.Sprintf("forward %d %d", b.T, b.R), func(r *recorder) { t.m.recordScores(r, t.ws, b.T, b.R) })
	if err != nil {
		return err
	}
	return t.m.dev.Wait()
}

// Backward adds the gradient of sum over tokens of weight * statistic, for the
// sequences of the last Forward.
func (t *Trainer) Backward(weights []TokenWeights) error {
	n := 0
	for _, b := range t.batches {
		t.rows += b.T
		if len(weights) < n+len(b.seqs) {
			return fmt.Errorf("weights for %d sequences, but the last forward pass had more", len(weights))
		}
		ws := weights[n : n+len(b.seqs)]
		n += len(b.seqs)
		if err := t.backward(b, ws); err != nil {
			return err
		}
	}
	if n != len(weights) {
		return fmt.Errorf("weights for %d sequences, but the last forward pass had %d", len(weights), n)
	}
	return nil
}

func (t *Trainer) backward(b batch, weights []TokenWeights) error {
	all := make([][4]float32, 0, b.R)
	zero := true
	for i, s := range b.seqs {
		w := weights[i]
		zero = zero && w.zero()
		n := s.predicted()
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
	if !t.resident {
		if err := t.forward(b); err != nil {
			return err
		}
	}
	t.resident = false // the logits become their gradient
	if err := t.uploadBackward(b, all); err != nil {
		return err
	}
	buckets := min(b.T, t.m.Config.Vocab)
	err := t.progs.run(fmt.Sprintf("backward %d %d", b.T, b.R), func(r *recorder) {
		t.m.backwardHead(r, t.ws, t.bs, t.grads, b.T, b.R)
		t.m.backward(r, t.ws, t.bs, t.grads, b.T, buckets)
	})
	if err != nil {
		return err
	}
	return t.m.dev.Wait()
}

func entry(v []float64, i int) float32 {
	if v == nil {
		return 0
	}
	return float32(v[i])
}

// uploadBackward writes the weights of all predicted tokens, sequence by sequence, and
// what the backward kernels need to know about the rows.
func (t *Trainer) uploadBackward(b batch, all [][4]float32) error {
	weights, dvalue := make([]float32, 0, 4*b.R), make([]float32, b.R)
	for i, at := range b.order {
		weights = append(weights, all[at][:]...)
		dvalue[i] = all[at][3]
	}
	rows, start, order := buckets(b.ids, min(b.T, t.m.Config.Vocab))
	writes := []write{
		{t.bs.weights, f32Bytes(weights)}, {t.bs.predicted, u32Bytes(append(b.start, u(b.R)))}, {t.bs.ends, u32Bytes(b.ends)},
		{t.bs.rows, u32Bytes(rows)}, {t.bs.start, u32Bytes(start)}, {t.bs.order, u32Bytes(order)}}
	if t.m.layout.window > 0 {
		writes = append(writes, write{t.bs.windowEnds, u32Bytes(b.windowEnds)})
	}
	if t.value != nil {
		writes = append(writes, t.value.write(dvalue))
	}
	return writeAll(writes...)
}

// buckets sorts the rows of equal ids together: bucket i is about token
// rows[i] and holds order[start[i]:start[i+1]], ascending. Unused buckets, up to
// n, are empty and belong to no token.
func buckets(ids []uint32, n int) (rows, start, order []uint32) {
	byID := make([]int, len(ids))
	for i := range byID {
		byID[i] = i
	}
	sort.SliceStable(byID, func(a, b int) bool { return ids[byID[a]] < ids[byID[b]] })
	for i, row := range byID {
		if i == 0 || ids[row] != ids[byID[i-1]] {
			rows = append(rows, ids[row])
			start = append(start, u(i))
		}
		order = append(order, u(row))
	}
	for len(rows) < n {
		rows = append(rows, math.MaxUint32)
		start = append(start, u(len(order)))
	}
	return rows, append(start, u(len(order))), order
}

// Gradients lists the gradients added up so far under the parameters' names.
// With tied embeddings the sum over both uses is returned.
func (t *Trainer) Gradients() ([]hf.NamedTensor, error) {
	if t.m.layout.tied && len(t.lookups()) > 0 {
		if err := t.foldLookup(); err != nil {
			return nil, err
		}
	}
	var out []hf.NamedTensor
	for _, s := range t.trained {
		out = append(out, s.named(s.grads, "")...)
	}
	return out, nil
}

// foldLookup adds the gradient of the embedding lookup to that of the head and
// clears it.
func (t *Trainer) foldLookup() error {
	err := t.progs.run("fold lookup", func(r *recorder) { t.recordFold(r) })
	if err != nil {
		return err
	}
	return t.m.dev.Wait()
}

func (t *Trainer) recordFold(r *recorder) {
	if !t.m.layout.tied {
		return
	}
	for i, s := range t.lookups() {
		n := s.weight.rows * s.weight.cols
		r.op("add", n, 1, []gpu.View{t.grads.view(s.weight), t.grads.lookup[i]}, u(n))
		r.op("fill", n, 1, []gpu.View{t.grads.lookup[i]}, u(n), 0)
	}
}

// Close frees the trainer's device memory; the model stays.
func (t *Trainer) Close() {
	t.progs.free()
	t.pool.free()
	for _, s := range t.trained {
		s.free()
	}
	if t.value != nil {
		t.value.values.free()
	}
}
