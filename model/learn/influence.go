package learn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/seq"
)

// Influence lets a trainer of an adapter compute influences too, for which it keeps a sum as large as the output
// table. One that trains the model itself has that already.
func Influence(t *Trainer) { t.influences = true }

// Influence is, for each predicted token i of sets of sequences, the sum over all predicted tokens j of its set of
// x[j] <g[i], g[j]>, where g are the gradients of log-probs by the output table: what a small step along the sum
// of x[j] g[j] adds to the log-prob of i, per size of the step. x has a number for each predicted token, [set]
// [sequence][token], as the result has. Sets that fit are read together, to the bits of each alone. No gradient
// may be waiting for a step, and no logits of others be added, see [Trainer.Sum].
func (t *Trainer) Influence(sets [][]seq.Sequence, x [][][]float64) ([][][]float64, error) {
	if t.table == nil {
		return nil, errors.New("the trainer of an adapter was opened without Influence")
	}
	if t.ws.Summed() != "" {
		return nil, errors.New("influences are those of the model's own logits, and others are added to them")
	}
	if err := t.phase.Enter(); err != nil {
		return nil, err
	}
	defer t.phase.Leave()
	t.batches, t.room.resident = nil, nil
	weights := make([][]float32, len(sets))
	for k, set := range sets {
		for i, s := range set {
			if n := len(x[k][i]); n != s.Predicted() {
				return nil, fmt.Errorf("sequence %d of set %d has %d numbers for %d predicted tokens", i, k, n, s.Predicted())
			}
			for _, v := range x[k][i] {
				weights[k] = append(weights[k], float32(v))
			}
		}
	}
	out := make([][][]float64, len(sets))
	for from := 0; from < len(sets); {
		to, alone, err := t.together(sets[from:])
		if err != nil {
			return nil, err
		}
		var sums []float64
		if to += from; alone != nil {
			sums, err = t.across(alone, weights[from])
		} else {
			sums, err = t.atOnce(sets[from:to], slices.Concat(weights[from:to]...))
		}
		if err != nil {
			return nil, err
		}
		for k, set := range sets[from:to] {
			for _, s := range set {
				n := s.Predicted()
				out[from+k] = append(out[from+k], sums[:n:n])
				sums = sums[n:]
			}
		}
		from = to
	}
	return out, nil
}

// together is how many of the first sets one batch holds. Of a first set that none holds, alone are its batches.
func (t *Trainer) together(sets [][]seq.Sequence) (n int, alone []seq.Batch, err error) {
	rows, predicted, pass := 0, 0, 0
	for n, set := range sets {
		batches, err := t.cut(set)
		if err != nil {
			return 0, nil, err
		}
		if len(batches) > 1 && n == 0 {
			return 1, batches, nil
		}
		if len(batches) > 1 {
			return n, nil, nil
		}
		for _, b := range batches {
			own := decoder.Distinct(b)
			predicted, pass = t.d.StartPart(t.ws, predicted, pass, own)
			predicted += own
			if rows += b.T; n > 0 && max(rows, predicted) > t.ws.MaxRows {
				return n, nil, nil
			}
		}
	}
	return len(sets), nil, nil
}

// atOnce are the influences of sets that one batch holds, of all their predicted tokens.
func (t *Trainer) atOnce(sets [][]seq.Sequence, x []float32) ([]float64, error) {
	var all []seq.Sequence
	var ends []int
	end, group, tokens := 0, 0, 0
	for _, set := range sets {
		groups := map[int]int{} // of one set: those of others share no rows with it
		for _, s := range set {
			if s.Group != 0 {
				if groups[s.Group] == 0 {
					group++
					groups[s.Group] = group
				}
				s.Group = groups[s.Group]
			}
			all = append(all, s)
			end += s.Predicted()
			tokens += len(s.IDs)
		}
		ends = append(ends, end)
	}
	batches, err := t.d.Pack(all, tokens) // one: predictions that are equal count once, so that the workspace holds it
	if err != nil || len(batches) == 0 {
		return nil, err
	}
	return t.d.Influences(t.progs, t.ws, t.room.backward, t.table, batches[0], ends, x)
}

// across are the influences of a set in several batches, of all its predicted tokens.
func (t *Trainer) across(batches []seq.Batch, x []float32) ([]float64, error) {
	weights := make([][]float32, len(batches))
	for i, b := range batches {
		weights[i], x = x[:b.R], x[b.R:]
	}
	sums, err := t.d.InfluenceAcross(t.progs, t.ws, t.room.backward, t.table, batches, weights)
	return slices.Concat(sums...), err
}

// GradientNorm is the norm of the gradient of the sum of a sequence's log-probs by all that is trained. No
// gradient may be waiting for a step.
func (t *Trainer) GradientNorm(s seq.Sequence) (float64, error) {
	rows, ones := t.rows, make([]float64, s.Predicted())
	for i := range ones {
		ones[i] = 1
	}
	err := t.Accumulate([]seq.Sequence{s}, func(int, []seq.Stats) ([]Weights, error) { return []Weights{{Logprob: ones}}, nil })
	if err != nil {
		return 0, err
	}
	t.rows = rows
	norm, err := t.gradNorm(Optimizer{})
	if err != nil {
		return 0, err
	}
	return norm, t.ZeroGrad()
}
