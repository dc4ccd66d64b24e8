package sample

import (
	"fmt"
	"github.com/rlzero/rlzero/model/internal/device"
	"slices"
)

// Token is one of a completion, or of a prompt that is scored.
type Token struct {
	ID      int
	Logprob float32 // nats
	Entropy float32 // nats, of the distribution it was drawn from
	Stop    string  // why the completion ends with it; "": it goes on
	Top     []Alternative
}

// Alternative is one of the most likely tokens of a place.
type Alternative struct {
	ID      int
	Logprob float32 // nats; the bits that it would have as the token that was drawn
}

// question asks for what a row says about the token after it, where that was not drawn
// or where the most likely ones are wanted too.
type question struct {
	row     uint32
	target  uint32
	invTemp float32
	top     int
	to      *Token // the answer
}

// ask answers questions about the rows of the step that was just computed. It makes their
// logits again, in the bits that they had, and reads the statistics of each token asked
// for: so an alternative has the log-prob of a token that is drawn.
func (e *Engine) ask(qs []question) error {
	h := &e.ws.Head
	for len(qs) > 0 {
		n := min(len(qs), h.Block, h.MaxRows)
		if err := e.askBlock(qs[:n]); err != nil {
			return err
		}
		qs = qs[n:]
	}
	return nil
}

func (e *Engine) askBlock(qs []question) error {
	h, n, top := &e.ws.Head, len(qs), 0
	idx, target, invTemp := make([]uint32, n), make([]uint32, n), make([]float32, n)
	for i, q := range qs {
		idx[i], target[i], invTemp[i], top = q.row, q.target, q.invTemp, max(top, q.top)
	}
	if err := device.Upload(device.Put(h.Idx, idx), device.Put(h.InvTemp, invTemp)); err != nil {
		return err
	}
	if err := e.progs.Run(fmt.Sprintf("logits %d%s", n, e.ws.Summed()), func(rec *device.Recorder) {
		e.d.RecordFinalNorm(rec, e.ws, n)
		e.d.RecordLogits(rec, e.ws, 0, n)
	}); err != nil {
		return err
	}
	stats, err := e.statsOf(target)
	if err != nil {
		return err
	}
	for i, q := range qs {
		q.to.ID, q.to.Logprob, q.to.Entropy = int(q.target), stats[4*i], stats[4*i+1]
		if q.to.Top, err = e.mostLikely(i, q.top); err != nil {
			return err
		}
	}
	for k := range top {
		for i, q := range qs {
			if k < len(q.to.Top) {
				target[i] = uint32(q.to.Top[k].ID)
			}
		}
		if stats, err = e.statsOf(target); err != nil {
			return err
		}
		for i, q := range qs {
			if k < len(q.to.Top) {
				q.to.Top[k].Logprob = stats[4*i]
			}
		}
	}
	return nil
}

// statsOf are the statistics [row][4] of a token of each row of logits.
func (e *Engine) statsOf(target []uint32) ([]float32, error) {
	h, n := &e.ws.Head, len(target)
	if err := device.Upload(device.Put(h.Target, target)); err != nil {
		return nil, err
	}
	if err := e.progs.Run(fmt.Sprintf("statistics %d", n), func(rec *device.Recorder) { e.d.RecordStats(rec, e.ws, 0, n) }); err != nil {
		return nil, err
	}
	if err := e.d.Device.Wait(); err != nil {
		return nil, err
	}
	out := make([]float32, 4*n)
	return out, device.Read(h.Stats, out)
}

// mostLikely are the tokens with the largest logits of a row, best first; of equal ones
// the one with the smaller id.
func (e *Engine) mostLikely(row, n int) ([]Alternative, error) {
	if n == 0 {
		return nil, nil
	}
	logits := make([]float32, e.m.Config.Vocab)
	if err := device.Read(device.At(e.ws.Head.Logits, row*e.d.Layout.VocabPadded), logits); err != nil {
		return nil, err
	}
	return largest(logits, n), nil
}

// largest are the places of the n largest numbers, the largest first; of equal ones the
// first.
func largest(v []float32, n int) []Alternative {
	best := make([]Alternative, 0, n+1)
	for id, x := range v {
		if len(best) == n && x <= best[n-1].Logprob {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, x, func(a Alternative, x float32) int {
			if a.Logprob >= x {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, at, Alternative{id, x})
		best = best[:min(len(best), n)]
	}
	return best
}

// scorePrompt adds the questions about the tokens of a prompt after rows that are about
// to be computed: those of tokens first to end-1, the first of them in a row.
func (r *stepRows) scorePrompt(g *group, row, first, end int) {
	if !g.req.ScorePrompt {
		return
	}
	_, invTemp := g.req.inverse()
	for at := max(first, g.scored) + 1; at <= min(end, len(g.req.Prompt)-1); at++ {
		t := &Token{}
		r.questions = append(r.questions, question{uint32(row + at - 1 - first), uint32(g.req.Prompt[at]), invTemp, g.req.Top, t})
		r.scores = append(r.scores, promptScore{g, at, t})
	}
}

// promptScore is what the model says of a token of a prompt.
type promptScore struct {
	g  *group
	at int
	t  *Token
}

// tellScores tells requests of the tokens of their prompts.
func (r *stepRows) tellScores() {
	for _, s := range r.scores {
		s.g.req.Each(-1, *s.t)
		s.g.scored = s.at
	}
}

// hiddenRow is a row of a step whose final hidden state a request is told.
type hiddenRow struct {
	g   *group
	at  int // token of the prompt
	row uint32
}

// hidePrompt adds the tokens of a prompt, first to end-1, the first of them in a row, to those
// whose hidden states are told.
func (r *stepRows) hidePrompt(g *group, row, first, end int) {
	if g.req.Hidden == nil {
		return
	}
	for at := max(first, g.hidden); at < end; at++ {
		r.hidden = append(r.hidden, hiddenRow{g, at, uint32(row + at - first)})
	}
}

// tellHidden tells requests of the final hidden states of the step that was just computed.
func (e *Engine) tellHidden(rows []hiddenRow) error {
	for len(rows) > 0 {
		n := min(len(rows), e.ws.Head.MaxRows)
		idx := make([]uint32, n)
		for i, r := range rows[:n] {
			idx[i] = r.row
		}
		if err := device.Upload(device.Put(e.ws.Head.Idx, idx)); err != nil {
			return err
		}
		if err := e.progs.Run(fmt.Sprintf("hidden %d%s", n, e.ws.Summed()), func(rec *device.Recorder) { e.d.RecordFinalNorm(rec, e.ws, n) }); err != nil {
			return err
		}
		if err := e.d.Device.Wait(); err != nil {
			return err
		}
		states, err := e.d.ReadHidden(e.ws, n)
		if err != nil {
			return err
		}
		for i, r := range rows[:n] {
			r.g.req.Hidden(r.at, states[i])
			r.g.hidden = r.at + 1
		}
		rows = rows[n:]
	}
	return nil
}
