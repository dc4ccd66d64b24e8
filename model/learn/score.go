package learn

import "github.com/rlzero/rlzero/model/seq"

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
