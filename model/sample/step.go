package sample

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
)

// roundRows is what the rows of a step, and its draws, are a multiple of where they are
// more. Without it almost every step of a rollout is a program of its own, as completions
// part and end: 491 programs in 100 rollouts of 32 x 8 completions of the demo's model,
// with it 23. Products on lavapipe come in tiles of 16 rows, so the rows that fill up a
// step cost little; fewer than 8 rows have kernels of their own.
const roundRows = 8

// rounded is the number of rows or draws that a step with n of them computes.
func rounded(n int) int {
	if n <= roundRows {
		return n
	}
	return (n + roundRows - 1) / roundRows * roundRows
}

// stepRows are the rows of one step and what is to be sampled after it.
type stepRows struct {
	ids, place, keys []uint32
	idx              []uint32 // row that each draw reads; more than draws, see fill
	rowp             []uint32 // [draw][8]
	invTemp          []float32
	draws            []draw
	allow            []uint32 // [draw][ceil(vocab/32)]; nil: no draw has a guide
	filtered         bool
	guided           bool

	read      []*group      // whose prompts end in this step
	questions []question    // beyond what the draws tell
	scores    []promptScore // those about tokens of prompts
	hidden    []hiddenRow
}

// draw is one of token at of a completion.
type draw struct {
	g     *group
	s     *sequence
	at    int
	guide Guide
	fault error // of the guide
}

// collect lists the next rows: one for each branch of completions, then prompt
// tokens, then those of drafts, as far as there is room. The rows and their order
// decide nothing but speed.
func (e *Engine) collect() (*stepRows, error) {
	r := &stepRows{}
	for _, g := range e.active {
		if g.read < len(g.req.Prompt) {
			continue
		}
		for _, b := range g.branches {
			if len(r.ids) == e.opt.StepRows {
				break
			}
			first := b[0]
			e.addRow(r, first.IDs[len(first.IDs)-1], first.list)
			for _, s := range b {
				s.list.used = first.list.used
				r.addDraw(len(r.ids)-1, g, s, len(s.IDs), s.guide)
			}
		}
	}
	room := min(e.opt.StepRows-len(r.ids), e.opt.PromptRows)
	for _, g := range e.active {
		first, row := g.read, len(r.ids)
		for room > 0 && g.read < len(g.req.Prompt) {
			e.addRow(r, g.req.Prompt[g.read], g.prompt)
			g.read++
			room--
			if g.read == len(g.req.Prompt) {
				r.read = append(r.read, g)
				r.addFirstDraws(g)
			}
		}
		r.scorePrompt(g, row, first, g.read)
		r.hidePrompt(g, row, first, g.read)
		e.count.Prompt += g.read - first
	}
	if err := e.addDrafts(r); err != nil {
		return nil, err
	}
	e.askGuides(r)
	e.fill(r)
	return r, nil
}

// fill rounds up the numbers of rows and of draws. The rows that it adds write their keys to a
// free page, each to a slot of its own, where nobody reads them, and see one key of the first
// row; without a free page the number of rows stays. The draws repeat the first one.
func (e *Engine) fill(r *stepRows) {
	if free := e.cache.freePages; len(free) > 0 {
		slot := free[len(free)-1] * pageTokens
		for i := range rounded(len(r.ids)) - len(r.ids) { // fewer than a page has
			r.ids, r.place, r.keys = append(r.ids, 0), append(r.place, 0, uint32(slot+i)), append(r.keys, r.keys[0], 1)
		}
	}
	mask := len(r.allow) / max(1, len(r.draws))
	for range rounded(len(r.draws)) - len(r.draws) {
		r.idx, r.invTemp = append(r.idx, r.idx[0]), append(r.invTemp, r.invTemp[0])
		r.rowp, r.allow = append(r.rowp, r.rowp[:8]...), append(r.allow, r.allow[:mask]...)
	}
}

// addFirstDraws adds those of the first tokens of completions, which read the last row.
func (r *stepRows) addFirstDraws(g *group) {
	for _, s := range g.seqs {
		if !s.finish {
			r.addDraw(len(r.ids)-1, g, s, 0, s.guide)
		}
	}
}

// addRow appends the row of one token, the next of a slot list.
func (e *Engine) addRow(r *stepRows, id int, l *slotList) {
	pos := l.used
	l.used++
	r.ids = append(r.ids, uint32(id))
	r.place = append(r.place, uint32(pos), uint32(l.slots[pos]))
	r.keys = append(r.keys, uint32(e.cache.offset(l)), uint32(pos+1))
}

// addDraw appends the draw of token at of a completion, which reads a row.
func (r *stepRows) addDraw(row int, g *group, s *sequence, at int, guide Guide) {
	p := g.req.Sampling
	inv, statInv := g.req.inverse()
	topP := p.TopP
	if topP <= 0 || topP > 1 {
		topP = 1
	}
	r.filtered = r.filtered || p.truncated()
	r.idx = append(r.idx, uint32(row))
	r.invTemp = append(r.invTemp, statInv)
	r.rowp = append(r.rowp, math.Float32bits(inv), uint32(p.TopK), device.Float(topP), device.Float(p.MinP),
		uint32(p.Seed), uint32(p.Seed>>32), g.req.Stream+uint32(s.index), uint32(len(g.req.Prompt)+at))
	r.draws = append(r.draws, draw{g: g, s: s, at: at, guide: guide})
	r.guided = r.guided || guide != nil
}

func maskWords(vocab int) int { return (vocab + 31) / 32 }

// askGuides collects what guides allow in a step; draws without one may take any token. A
// guide that allows none is at fault if its draw stands.
func (e *Engine) askGuides(r *stepRows) {
	if !r.guided {
		return
	}
	n := maskWords(e.m.Config.Vocab)
	r.allow = make([]uint32, n*len(r.draws))
	for i := range r.draws {
		d, bits := &r.draws[i], r.allow[n*i:][:n]
		if d.guide != nil {
			d.fault = d.guide.Allow(bits)
		}
		if d.guide == nil || d.fault != nil {
			for j := range bits {
				bits[j] = math.MaxUint32
			}
		}
	}
}

// inverse is 1 over the temperature as draws read it, 0 for the most likely token, and as
// log-probs do.
func (r Request) inverse() (draws, logprobs float32) {
	if r.Sampling.Temperature > 0 {
		draws = float32(1 / r.Sampling.Temperature)
	}
	if r.Unscaled || draws == 0 {
		return draws, 1
	}
	return draws, draws
}

// step computes one round: every completion in flight gets its next token, or
// several if it has a draft.
func (e *Engine) step() error {
	if err := e.makeRoom(); err != nil {
		return err
	}
	r, err := e.collect()
	if err != nil {
		return err
	}
	e.count.Steps++
	h := &e.ws.Head
	if err := device.Upload(append(e.ws.RowWrites(r.ids, r.place, r.keys),
		device.Put(h.Idx, r.idx), device.Put(h.InvTemp, r.invTemp), device.Put(e.rowp, r.rowp))...); err != nil {
		return err
	}
	T, R := len(r.ids), len(r.idx)
	if r.guided {
		if err := device.Upload(device.Put(e.allow, r.allow)); err != nil {
			return err
		}
	}
	err = e.progs.Run(fmt.Sprintf("step %d %d %v %v%s", T, R, r.filtered, r.guided, e.ws.Summed()), func(rec *device.Recorder) {
		e.d.RecordForward(rec, e.ws, T)
		if R > 0 {
			e.recordDraws(rec, r)
		}
		if e.opt.Edit != nil {
			rec.Ops = e.opt.Edit(rec.Ops)
		}
	})
	if err != nil {
		return err
	}
	if err := e.d.Device.Wait(); err != nil {
		return err
	}
	for _, g := range r.read {
		e.cache.prefixes.keep(e.cache, g.req.Prompt, g.prompt.slots)
	}
	drawn, err := e.readDraws(r)
	if err != nil {
		return err
	}
	if err := e.ask(r.questions); err != nil {
		return err
	}
	r.tellScores()
	if err := e.tellHidden(r.hidden); err != nil {
		return err
	}
	for i, d := range r.draws {
		if !d.stands() {
			continue
		}
		if d.fault != nil {
			d.g.fault, d.s.finish = d.fault, true
			continue
		}
		e.take(d.g, d.s, drawn[i])
		d.s.compareDraft(len(d.g.req.Prompt))
	}
	for _, g := range e.active {
		if err := e.part(g); err != nil {
			return err
		}
	}
	return nil
}

// readDraws reads what was drawn, and adds questions where a request wants to be told the
// most likely tokens too.
func (e *Engine) readDraws(r *stepRows) ([]Token, error) {
	R, h := len(r.draws), &e.ws.Head
	if R == 0 {
		return nil, nil
	}
	ids, stats := make([]byte, 4*R), make([]float32, 4*R)
	if err := h.Target.Buffer.Read(h.Target.Offset, ids); err != nil {
		return nil, err
	}
	if err := device.Read(h.Stats, stats); err != nil {
		return nil, err
	}
	drawn := make([]Token, R)
	for i, d := range r.draws {
		t := &drawn[i]
		*t = Token{ID: int(binary.LittleEndian.Uint32(ids[4*i:])), Logprob: stats[4*i], Entropy: stats[4*i+1]}
		if d.stands() && (t.ID >= e.m.Config.Vocab || !finite(t.Logprob) || !finite(t.Entropy)) {
			return nil, fmt.Errorf("the logits of a token are not finite: the model's weights are damaged, or too large for their arithmetic")
		}
		if d.g.req.Top > 0 && d.g.req.Each != nil {
			r.questions = append(r.questions, question{r.idx[i], uint32(t.ID), r.invTemp[i], d.g.req.Top, t})
		}
	}
	return drawn, nil
}

// recordDraws records final norm, logits, draw and statistics of the rows of draws. The
// token drawn is the target of the statistics.
func (e *Engine) recordDraws(rec *device.Recorder, r *stepRows) {
	d, h, R := e.d.Layout.Dims, &e.ws.Head, len(r.idx)
	e.d.RecordFinalNorm(rec, e.ws, R)
	h.Blocks(R, func(r0, n int) {
		e.d.RecordLogits(rec, e.ws, r0, n)
		from := h.Logits
		size := []uint32{uint32(n), uint32(d.Vocab), uint32(d.VocabPadded)}
		if r.guided {
			rec.Op("sample_mask", d.VocabPadded, n, []gpu.View{from, device.At(e.allow, r0*maskWords(d.Vocab)), e.left}, size...)
			from = e.left
		}
		switch {
		case !r.filtered:
		case e.by < 0:
			rec.Op("sample_filter", n, 1, []gpu.View{from, device.At(e.rowp, 8*r0), e.cut}, size...)
			from = e.cut
		default:
			from = e.recordFilter(rec, r, from, r0, n, size)
		}
		rec.Op("sample_draw", n, 1, []gpu.View{from, device.At(e.rowp, 8*r0), device.At(h.Target, r0)}, size...)
		e.d.RecordStats(rec, e.ws, r0, n)
	})
}

// recordFilter records what of the logits of rows r0 .. r0+n-1 the filter leaves that acts on those of another model,
// within what guides allow.
func (e *Engine) recordFilter(rec *device.Recorder, r *stepRows, from gpu.View, r0, n int, size []uint32) gpu.View {
	d := e.d.Layout.Dims
	by, kept := e.ws.RecordOther(rec, r0, n), e.cut
	if r.guided {
		rec.Op("sample_mask", d.VocabPadded, n, []gpu.View{by, device.At(e.allow, r0*maskWords(d.Vocab)), kept}, size...)
		by, kept = kept, by
	}
	rec.Op("sample_filter", n, 1, []gpu.View{by, device.At(e.rowp, 8*r0), kept}, size...)
	rec.Op("sample_within", d.VocabPadded, n, []gpu.View{from, kept, by}, size...)
	return by
}

func finite(x float32) bool { return x-x == 0 }
