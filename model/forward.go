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
}

// Predict is the sequence whose tokens from a place on are predicted.
func Predict(ids []int, from int, temperature float64) Sequence {
	return Sequence{ids, []Span{{from, len(ids)}}, temperature}
}

// predicted is the number of tokens in the spans.
func (s Sequence) predicted() int {
	n := 0
	for _, span := range s.Spans {
		n += span.To - span.From
	}
	return n
}

// rows calls do for each row of the sequence: its input token's place, and
// whether the token behind it is predicted.
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
			return fmt.Errorf("span %d to %d: accepted are ascending, disjoint spans within 1 to %d", span.From, span.To, len(s.IDs))
		}
		end = span.To
	}
	if !(s.Temperature > 0) {
		return fmt.Errorf("temperature %v: accepted are numbers above 0", s.Temperature)
	}
	return nil
}

// TokenStats are what the device computes for each predicted token of a
// sequence: entry i is about the i-th token of its spans. Nats.
type TokenStats struct {
	Logprob     []float32 // log-prob of the token itself
	Entropy     []float32 // of the whole distribution
	MeanLogprob []float32 // mean of the log-softmax over the vocabulary
}

// batch is a set of sequences packed into rows: the inputs are all tokens but
// the last of each sequence.
type batch struct {
	seqs []Sequence
	T, R int
}

// pack cuts sequences into batches of at most maxRows rows, in order.
func pack(seqs []Sequence, maxRows, maxPos int) ([]batch, error) {
	var out []batch
	for i, s := range seqs {
		rows := len(s.IDs) - 1
		switch {
		case rows > maxRows:
			return nil, fmt.Errorf("sequence %d has %d tokens, but the workspace holds %d: raise micro_batch_tokens", i, len(s.IDs), maxRows+1)
		case rows > maxPos:
			return nil, fmt.Errorf("sequence %d has %d tokens, but the model was opened for %d positions", i, len(s.IDs), maxPos)
		}
		if n := len(out); n == 0 || out[n-1].T+rows > maxRows {
			out = append(out, batch{})
		}
		b := &out[len(out)-1]
		b.seqs = append(b.seqs, s)
		b.T += rows
		b.R += s.predicted()
	}
	return out, nil
}

// upload writes a batch's token ids, positions and key ranges. window is that of the
// layers that have one.
func (ws *workspace) upload(b batch, window int) error {
	ids := make([]uint32, 0, b.T)
	place, keys := make([]uint32, 0, 2*b.T), make([]uint32, 0, 2*b.T)
	idx, target := make([]uint32, 0, b.R), make([]uint32, 0, b.R)
	temps := make([]float32, 0, b.R)
	for _, s := range b.seqs {
		first := len(ids)
		s.rows(func(p int, predicts bool) {
			row := len(ids)
			ids = append(ids, u(s.IDs[p]))
			place = append(place, u(p), u(row))
			keys = append(keys, u(first), u(p+1))
			if predicts {
				idx = append(idx, u(row))
				target = append(target, u(s.IDs[p+1]))
				temps = append(temps, float32(1/s.Temperature))
			}
		})
	}
	h := &ws.head
	return writeAll(append(ws.rowWrites(ids, place, keys, window),
		write{h.idx, u32Bytes(idx)}, write{h.target, u32Bytes(target)}, write{h.invTemp, f32Bytes(temps)})...)
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
func (p *pool) packedWorkspace(m *Model, rows, predicted int, keep bool) (*workspace, error) {
	ws := p.planWorkspace(m.layout.dims, rows, predicted, keep, m.dev.Caps().MaxBinding)
	if p.err != nil {
		return nil, p.err
	}
	identity := make([]uint32, rows)
	for i := range identity {
		identity[i] = u(i)
	}
	return ws, ws.kvidx.Buffer.Write(0, u32Bytes(identity))
}

func (p *pool) planWorkspace(d dims, rows, predicted int, keep bool, maxBinding int) *workspace {
	ws := &workspace{maxRows: rows}
	ws.blocks, ws.last = p.activations(d, rows, keep, nil)
	ws.rowSpace(p, d, rows)
	ws.kvidx = p.words("key index", rows)
	ws.head = p.headSpace(d, predicted, maxBinding)
	return ws
}

// recordScores records the whole forward pass of a batch, statistics included.
func (m *Model) recordScores(r *recorder, ws *workspace, T, R int) {
	m.forward(r, ws, T)
	m.finalNorm(r, ws, R)
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
	for _, s := range b.seqs {
		n := s.predicted()
		st := TokenStats{make([]float32, n), make([]float32, n), make([]float32, n)}
		for i := range n {
			st.Logprob[i], st.Entropy[i], st.MeanLogprob[i] = raw[4*i], raw[4*i+1], raw[4*i+2]
		}
		raw = raw[4*n:]
		out = append(out, st)
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
	if s.ws, err = s.pool.packedWorkspace(m, rows, rows, false); err != nil {
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
	batches, err := pack(seqs, s.ws.maxRows, s.m.maxPos)
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
