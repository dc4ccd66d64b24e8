package learn

import (
	"bytes"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/seq"
)

// Scores says whether the passes to come also read what the value head says of the state that each token
// leaves: statistics have a Score, and weights may. Each sequence then takes one more row.
func (t *Trainer) Scores(on bool) { t.scores = on }

// toTheEnd are sequences that are read to their ends.
func toTheEnd(seqs []seq.Sequence) (scored []seq.Scored, all []seq.Sequence) {
	for _, s := range seqs {
		q := s.Scored()
		scored, all = append(scored, q), append(all, q.Sequence)
	}
	return scored, all
}

// statsOf are the statistics of the tokens of sequences.
func statsOf(scored []seq.Scored, all []seq.Stats) []seq.Stats {
	out := make([]seq.Stats, len(all))
	for i := range all {
		out[i] = scored[i].Stats(all[i])
	}
	return out
}

// weightsOf are weights of all that is predicted.
func weightsOf(scored []seq.Scored, weights []Weights) []Weights {
	out := make([]Weights, len(weights))
	for i, w := range weights {
		s := scored[i]
		out[i] = Weights{Logprob: s.Spread(w.Logprob, nil), Entropy: s.Spread(w.Entropy, nil), MeanLogprob: s.Spread(w.MeanLogprob, nil),
			Value: s.Spread(w.Value, w.Score)}
	}
	return out
}

// Head is the value head as it is now.
func (t *Trainer) Head() (*hf.Head, error) {
	tensors := t.ValueTensors()
	weight, err := tensors[0].Data()
	if err != nil {
		return nil, err
	}
	bias, err := tensors[1].Data()
	if err != nil {
		return nil, err
	}
	return hf.NewHead(weight, bias[0]), nil
}

// HeadTensors lists a head as [Trainer.ValueTensors] lists the value head.
func (t *Trainer) HeadTensors(h *hf.Head) []hf.NamedTensor {
	tensors := t.ValueTensors()
	weight, bias := h.Linear()
	tensors[0].Data = func() ([]float32, error) { return weight, nil }
	tensors[1].Data = func() ([]float32, error) { return []float32{bias}, nil }
	return tensors
}

// SetHead overwrites the value head.
func (t *Trainer) SetHead(h *hf.Head) error {
	var file bytes.Buffer
	if err := hf.WriteSafetensors(&file, t.HeadTensors(h)); err != nil {
		return err
	}
	ts, err := hf.ReadTensors("the head", bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		return err
	}
	return t.SetValueTensors(ts)
}
