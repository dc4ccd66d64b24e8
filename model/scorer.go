package model

import (
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/seq"
)

// Scorer computes log-probs without keeping anything for a backward pass: the
// score command, and the reference policy.
type Scorer struct {
	d     *decoder.Decoder
	pool  *device.Pool
	ws    *decoder.Workspace
	progs *device.Programs
	phase *device.Phase // that a pass is in
	lent  func()        // is called before each pass; nil: the workspace is its own
}

// NewScorer makes a scorer for batches of at most rows tokens; longer lists of
// sequences are cut.
func (m *Model) NewScorer(rows int) (*Scorer, error) { return m.NewScorerIn(nil, rows) }

// NewScorerIn is NewScorer with activations in a phase.
func (m *Model) NewScorerIn(phase *Phase, rows int) (*Scorer, error) {
	s := newScorer(m.decoder, phase)
	s.ws = decoder.NewWorkspace(s.pool, s.d.Layout.Dims, rows, decoder.KeptNothing, s.d.Device.Caps())
	if s.pool.Err != nil {
		s.Close()
		return nil, s.pool.Err
	}
	return s, nil
}

func newScorer(d *decoder.Decoder, phase *device.Phase) *Scorer {
	return &Scorer{d: d, phase: phase, pool: device.NewPoolIn(phase, d.Device, "scorer"), progs: device.NewPrograms(d.Device, 16)}
}

// NewLentScorer makes a scorer that writes in a workspace of others, which take turns: of a model of an equal layout, in
// a phase. base leaves out the model's adapter. lent is called before each pass. Trainers lend theirs so.
func (m *Model) NewLentScorer(ws *decoder.Workspace, phase *Phase, base bool, lent func()) *Scorer {
	d := m.decoder
	if base {
		d = d.Without()
	}
	s := newScorer(d, phase)
	s.ws, s.lent = ws, lent
	return s
}

// enter is called before each pass, after which the phase is left.
func (s *Scorer) enter() error {
	if err := s.phase.Enter(); err != nil {
		return err
	}
	if s.lent != nil {
		s.lent()
	}
	return nil
}

// Sum makes the scorer score by a sum of logits from now on: the model's own by a factor, and those of others with the
// same tokens by theirs: those that have room in its workspace, if that is a trainer's.
func (s *Scorer) Sum(own float64, others []*Model, factors []float64) error {
	var decoders []*decoder.Decoder
	for _, m := range others {
		decoders = append(decoders, m.decoder)
	}
	if s.lent == nil {
		s.ws.Mix(s.pool, s.ws.MaxRows, decoders, nil)
	}
	s.ws.Sum(own, factors)
	return s.pool.Err
}

// Score returns the statistics of every predicted token.
func (s *Scorer) Score(seqs []seq.Sequence) ([]seq.Stats, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.phase.Leave()
	batches, err := s.d.Pack(seqs, s.ws.MaxRows)
	if err != nil {
		return nil, err
	}
	var out []seq.Stats
	for _, b := range batches {
		if err := s.d.Score(s.progs, s.ws, b); err != nil {
			return nil, err
		}
		if out, err = s.ws.ReadStats(b, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Read returns, for each token of the sequences' spans, what a head says of the state that it leaves:
// the number of a label, given by its place among the head's. Temperatures do not matter.
func (s *Scorer) Read(seqs []seq.Sequence, head *hf.Head, label int) ([]seq.Stats, error) {
	out := make([]seq.Stats, len(seqs))
	err := s.States(seqs, 0, func(i int, states [][]float32) error {
		out[i].Score = make([]float32, len(states))
		for t, state := range states {
			out[i].Score[t] = float32(head.Score(state, label))
		}
		return nil
	})
	return out, err
}

// States calls do for each sequence, in their order, with the states that the tokens of its spans leave in
// a layer, from 1: the residual stream after so many blocks, and after the last one, which is 0 too, what the
// final norm makes of it, [token][width]. They have the same bits whatever else is in the list. do may not keep them.
// Temperatures do not matter.
func (s *Scorer) States(seqs []seq.Sequence, layer int, do func(i int, states [][]float32) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.phase.Leave()
	return s.d.States(s.progs, s.ws, seqs, layer, do)
}

// Close frees the scorer's device memory.
func (s *Scorer) Close() {
	s.progs.Free()
	s.pool.Free()
}
