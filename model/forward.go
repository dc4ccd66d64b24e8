package model

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

// Span is the range of places From to To-1 in a sequence of tokens.
type Span struct{ From, To int }

// Sequence is a token sequence. The tokens of its spans are predicted, each from
// all tokens before it, by logits divided by the temperature.
type Sequence struct {
	IDs         []int
	Spans       []Span  // ascending and disjoint, within 1 to len(IDs)
	Temperature float64 // above 0

	// Group makes sequences that follow each other with the same number, not 0, a group,
	// such as the completions of one prompt: what they have in common at their beginnings
	// is computed once. Log-probs have the bits that they have without; gradients are
	// added up in another order, which depends on the group alone.
	Group int
}

// Predict is the sequence whose tokens from a place on are predicted.
func Predict(ids []int, from int, temperature float64) Sequence {
	return Sequence{IDs: ids, Spans: []Span{{from, len(ids)}}, Temperature: temperature}
}

// inputs are the tokens that are read: all but the last.
func (s Sequence) inputs() []int { return s.IDs[:max(0, len(s.IDs)-1)] }

// predicted is the number of tokens in the spans.
func (s Sequence) predicted() int {
	n := 0
	for _, span := range s.Spans {
		n += span.To - span.From
	}
	return n
}

// rows calls do for each row of the sequence: its input token's place, and
// whether the token after it is predicted.
func (s Sequence) rows(do func(place int, predicts bool)) {
	spans := s.Spans
	for p := range len(s.IDs) - 1 {
		for len(spans) > 0 && spans[0].To <= p+1 {
			spans = spans[1:]
		}
		do(p, len(spans) > 0 && spans[0].From <= p+1)
	}
}

// check refuses spans that are not ranges of predictable tokens.
func (s Sequence) check() error {
	end := 1
	for _, span := range s.Spans {
		if span.From < end || span.To < span.From || span.To > len(s.IDs) {
			return fmt.Errorf("span %d to %d; accepted: ascending, disjoint spans within 1 to %d", span.From, span.To, len(s.IDs))
		}
		end = span.To
	}
	if !(s.Temperature > 0) {
		return fmt.Errorf("temperature %v; accepted: numbers above 0", s.Temperature)
	}
	return nil
}

// TokenStats are what the device computes for each predicted token of a
// sequence: entry i is about the i-th token of its spans. Nats.
type TokenStats struct {
	Logprob     []float32 // log-prob of the token itself
	Entropy     []float32 // of the whole distribution
	MeanLogprob []float32 // mean of the log-softmax over the vocabulary
	Value       []float32 // of the state that the token was drawn in; nil without a value head
}

// upload writes what the forward pass reads of a batch. window is that of the layers
// that have one.
func (ws *workspace) upload(b batch, window int) error {
	h := &ws.head
	return writeAll(append(ws.rowWrites(b.ids, b.place, b.keys, window), write{ws.kvidx, u32Bytes(b.kvidx)},
		write{h.idx, u32Bytes(b.idx)}, write{h.target, u32Bytes(b.target)}, write{h.invTemp, f32Bytes(b.invTemp)})...)
}

type write struct {
	to   gpu.View
	data []byte
}

func writeAll(ws ...write) error {
	for _, w := range ws {
		if len(w.data) == 0 {
			continue
		}
		if err := w.to.Buffer.Write(w.to.Offset, w.data); err != nil {
			return err
		}
	}
	return nil
}

// packedWorkspace makes a workspace for packed sequences; keep gives every
// block its own buffers.
func (p *pool) packedWorkspace(m *Model, rows int, keep kept) (*workspace, error) {
	ws := p.planWorkspace(m.layout.dims, rows, keep, m.dev.Caps())
	return ws, p.err
}

func (p *pool) planWorkspace(d dims, rows int, keep kept, caps gpu.Caps) *workspace {
	ws := &workspace{maxRows: rows}
	ws.keep = keep
	ws.blocks, ws.last = p.activations(d, rows, keep, nil)
	ws.rowSpace(p, d, rows)
	ws.kvidx = p.words("key index", treeSequences*rows)
	ws.head = p.headSpace(d, rows, caps)
	return ws
}

// recordScores records the whole forward pass of a batch, statistics included.
func (m *Model) recordScores(r *recorder, ws *workspace, T, R int) {
	m.forward(r, ws, T)
	m.finalNorm(r, ws, R)
	if v := ws.head.value; v != nil {
		v.forward(r, R, m.layout.ld, ws.head.h)
	}
	ws.head.blocks(R, func(r0, n int) {
		m.logits(r, ws, r0, n)
		m.stats(r, ws, r0, n)
	})
}

// readStats reads the statistics of a batch and appends them by sequence.
func (ws *workspace) readStats(b batch, out []TokenStats) ([]TokenStats, error) {
	raw := make([]float32, 4*b.R)
	if err := readF32(ws.head.stats.Buffer, 0, raw); err != nil {
		return nil, err
	}
	all := TokenStats{Logprob: make([]float32, b.R), Entropy: make([]float32, b.R), MeanLogprob: make([]float32, b.R)}
	for i, at := range b.order {
		all.Logprob[at], all.Entropy[at], all.MeanLogprob[at] = raw[4*i], raw[4*i+1], raw[4*i+2]
	}
	if v := ws.head.value; v != nil {
		var err error
		if all.Value, err = v.read(b); err != nil {
			return nil, err
		}
	}
	at := 0
	for _, s := range b.seqs {
		end := at + s.predicted()
		one := TokenStats{Logprob: all.Logprob[at:end:end], Entropy: all.Entropy[at:end:end], MeanLogprob: all.MeanLogprob[at:end:end]}
		if all.Value != nil {
			one.Value = all.Value[at:end:end]
		}
		out = append(out, one)
		at = end
	}
	return out, nil
}

// Scorer computes log-probs without keeping anything for a backward pass: the
// score command, and the reference policy.
type Scorer struct {
	m     *Model
	pool  *pool
	ws    *workspace
	progs *programs
}

// NewScorer makes a scorer for batches of at most rows tokens; longer lists of
// sequences are cut.
func (m *Model) NewScorer(rows int) (*Scorer, error) {
	s := &Scorer{m: m, pool: &pool{dev: m.dev, label: "scorer"}, progs: newPrograms(m.dev, 16)}
	var err error
	if s.ws, err = s.pool.packedWorkspace(m, rows, keptNothing); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// NewBaseScorer is NewScorer of the model with its adapter off: the reference policy of an
// adapter that is trained.
func (m *Model) NewBaseScorer(rows int) (*Scorer, error) {
	s, err := m.NewScorer(rows)
	if err == nil {
		s.ws.plain = true
	}
	return s, err
}

// Score returns the statistics of every predicted token.
func (s *Scorer) Score(seqs []Sequence) ([]TokenStats, error) {
	if err := s.m.check(seqs); err != nil {
		return nil, err
	}
	batches, err := pack(seqs, s.m.capacityOf(s.ws.maxRows))
	if err != nil {
		return nil, err
	}
	var out []TokenStats
	for _, b := range batches {
		if b.R > 0 {
			if err := s.ws.upload(b, s.m.layout.window); err != nil {
				return nil, err
			}
			err := s.progs.run(fmt.Sprintf("score %d %d", b.T, b.R), func(r *recorder) { s.m.recordScores(r, s.ws, b.T, b.R) })
			if err != nil {
				return nil, err
			}
			if err := s.m.dev.Wait(); err != nil {
				return nil, err
			}
		}
		if out, err = s.ws.readStats(b, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Close frees the scorer's device memory.
func (s *Scorer) Close() {
	s.progs.free()
	s.pool.free()
}

// check refuses what cannot be predicted, and token ids outside the vocabulary.
func (m *Model) check(seqs []Sequence) error {
	for i, s := range seqs {
		if err := s.check(); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		if err := m.checkIDs(s.IDs); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
	}
	return nil
}

func (m *Model) checkIDs(ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= m.Config.Vocab {
			return fmt.Errorf("token %d has id %d, but the vocabulary is 0 to %d", i, id, m.Config.Vocab-1)
		}
	}
	return nil
}
