package decoder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Mixture is what a workspace has to add the logits of other models to those of its own: logits that have the place of
// the model's own in draws, statistics and gradients. The others read the same rows, and none of them learns.
type Mixture struct {
	own    float32 // factor of the model's own logits
	others []summand
	key    string // tells the factors apart; "": only the model's own logits are made
	read   int    // one of the others that is computed whatever its factor is, from 1; 0: none, see [Workspace.Read]
}

// summand is one of the others.
type summand struct {
	of     *Decoder
	ws     *Workspace
	factor float32
}

// Mix gives a workspace of so many rows, predicted of which predict a token, room for the logits of other decoders
// with tables of the same height. caches have their keys and values, if they lie in a cache. Until [Workspace.Sum] it
// changes nothing.
func (ws *Workspace) Mix(p *device.Pool, predicted int, others []*Decoder, caches [][]KVLayer) {
	ws.mix = &Mixture{own: 1}
	var logits gpu.View
	for i, d := range others {
		var cache []KVLayer
		if caches != nil {
			cache = caches[i]
		}
		own := mixedSpace(p, d.Layout.Dims, ws, predicted, cache)
		if i == 0 {
			logits = p.Words("logits of others", ws.Head.Block*d.Layout.VocabPadded)
		}
		own.Head.Logits = logits // one after the other
		ws.mix.others = append(ws.mix.others, summand{of: d, ws: own})
	}
}

// mixedSpace is the workspace of another decoder for the rows of a workspace.
func mixedSpace(p *device.Pool, d Dims, rows *Workspace, predicted int, cache []KVLayer) *Workspace {
	ws := &Workspace{MaxRows: rows.MaxRows}
	ws.blocks, ws.last = activations(p, d, rows.MaxRows, KeptNothing, cache)
	ws.ownRows(p, d, rows.MaxRows)
	ws.ids, ws.place, ws.keys, ws.kvidx = rows.ids, rows.place, rows.keys, rows.kvidx
	ws.Head = HeadSpace{MaxRows: predicted, Block: rows.Head.Block, Idx: rows.Head.Idx,
		x: p.Words("last hidden", predicted*d.ld), h: p.Words("final norm", predicted*d.ld), rstd: p.Words("final rstd", predicted)}
	return ws
}

// Lend is the workspace for another decoder of an equal layout, that has no head of values, and factors of its own for
// the logits of others. The two write to the same memory.
func (ws *Workspace) Lend() *Workspace {
	lent := *ws
	lent.Head.Value = nil
	if ws.mix != nil {
		lent.mix = &Mixture{own: 1, others: slices.Clone(ws.mix.others)}
		lent.Sum(1, nil)
	}
	return &lent
}

// Sum says by which factors logits are summed in the passes to come: the model's own, and those of the others in the
// order of [Workspace.Mix]. Another model whose factor is 0 is not computed. nil: there are only the model's own.
func (ws *Workspace) Sum(own float64, factors []float64) {
	m := ws.mix
	m.own, m.key = 1, ""
	for i := range m.others {
		m.others[i].factor = 0
	}
	if factors == nil {
		return
	}
	m.own = float32(own)
	words := []string{fmt.Sprint(own)}
	for i, x := range factors {
		m.others[i].factor = float32(x)
		words = append(words, fmt.Sprint(x))
	}
	m.key = " sum " + strings.Join(words, ",")
}

// Read has one of the others computed in the passes to come, whatever its factor is, given by its place from 0, so that
// [Workspace.RecordOther] has its logits. -1: none.
func (ws *Workspace) Read(other int) {
	if ws.mix != nil {
		ws.mix.read = other + 1
	}
}

// Summed tells programs that are recorded for a workspace apart by what is computed of others.
func (ws *Workspace) Summed() string {
	switch m := ws.mix; {
	case m == nil:
		return ""
	case m.read > 0:
		return fmt.Sprintf("%s read %d", m.key, m.read)
	default:
		return m.key
	}
}

// each calls do for the others that are computed.
func (m *Mixture) each(do func(s summand)) {
	if m == nil {
		return
	}
	for i, s := range m.others {
		if s.factor != 0 || i+1 == m.read {
			do(s)
		}
	}
}

// RecordOther records the logits of rows r0 .. r0+n-1 by the one of the others that [Workspace.Read] names, after the
// model's own. They stay there until those of the next rows.
func (ws *Workspace) RecordOther(r *device.Recorder, r0, n int) gpu.View {
	s := ws.mix.others[ws.mix.read-1]
	s.of.RecordLogits(r, s.ws, r0, n)
	return s.ws.Head.Logits
}

// recordSum makes of the logits of rows r0 .. r0+n-1 the sum.
func (m *Mixture) recordSum(r *device.Recorder, h *HeadSpace, vocabp, r0, n int) {
	if m == nil || m.key == "" {
		return
	}
	spare := m.others[0].ws.Head.Logits
	add := func(factor float32) {
		r.Op("add_columns", vocabp, n, []gpu.View{h.Logits, spare}, u(n), u(vocabp), u(vocabp), 0, device.Float(float64(factor)))
	}
	if m.own != 1 {
		if m.own != 0 {
			r.Op("take_columns", vocabp, n, []gpu.View{h.Logits, spare}, u(n), u(vocabp), u(vocabp), 0, device.Float(float64(m.own)))
		}
		r.Op("fill", n*vocabp, 1, []gpu.View{h.Logits}, u(n*vocabp), 0)
		if m.own != 0 {
			add(1)
		}
	}
	for _, s := range m.others {
		if s.factor != 0 {
			s.of.RecordLogits(r, s.ws, r0, n)
			add(s.factor)
		}
	}
}

// weigh multiplies the weights of statistics of the sum by the factor of the model's own logits, whose gradient is
// that of the sum times it.
func (m *Mixture) weigh(weights [][4]float32) [][4]float32 {
	if m == nil || m.own == 1 {
		return weights
	}
	out := make([][4]float32, len(weights))
	for i, w := range weights {
		out[i] = [4]float32{m.own * w[0], m.own * w[1], m.own * w[2], w[3]}
	}
	return out
}
