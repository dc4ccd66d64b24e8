package learn

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/model/seq"
)

// Influence lets a trainer of an adapter compute influences too, for which it keeps a sum as large as the output
// table. One that trains the model itself has that already.
func Influence(t *Trainer) { t.influences = true }

// Influence is, for each predicted token i of sequences, the sum over all predicted tokens j of them of
// x[j] <g[i], g[j]>, where g are the gradients of log-probs by the output table: what a small step along the sum
// of x[j] g[j] adds to the log-prob of i, per size of the step. x has a number for each predicted token. No
// gradient may be waiting for a step, and no logits of others be added, see [Trainer.Sum].
func (t *Trainer) Influence(seqs []seq.Sequence, x [][]float64) ([][]float64, error) {
	if t.table == nil {
		return nil, errors.New("the trainer of an adapter was opened without Influence")
	}
	if t.ws.Summed() != "" {
		return nil, errors.New("influences are those of the model's own logits, and others are added to them")
	}
	batches, err := t.cut(seqs)
	if err == nil {
		err = t.phase.Enter()
	}
	if err != nil {
		return nil, err
	}
	defer t.phase.Leave()
	t.batches, t.room.resident = nil, nil
	first, weights := 0, make([][]float32, len(batches))
	for i, b := range batches {
		for k, s := range b.Seqs {
			if n := len(x[first+k]); n != s.Predicted() {
				return nil, fmt.Errorf("sequence %d has %d numbers for %d predicted tokens", first+k, n, s.Predicted())
			}
			for j := range x[first+k] {
				weights[i] = append(weights[i], float32(x[first+k][j]))
			}
		}
		first += len(b.Seqs)
	}
	sums, err := t.d.Influence(t.progs, t.ws, t.room.backward, t.table, batches, weights)
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for i, b := range batches {
		for _, s := range b.Seqs {
			n := s.Predicted()
			out = append(out, sums[i][:n:n])
			sums[i] = sums[i][n:]
		}
	}
	return out, nil
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
