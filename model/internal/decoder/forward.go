package decoder

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/seq"
)

// RecordForward records the blocks for the first T rows of a workspace: from token
// ids to the residual stream in ws.last. Trainer, Scorer and Engine all use it.
func (m *Decoder) RecordForward(r *device.Recorder, ws *Workspace, T int) {
	m.recordBlocks(r, ws, T, m.Layout.Layers)
	ws.mix.each(func(s summand) { s.of.RecordForward(r, s.ws, T) })
}

// recordBlocks records the first n blocks, to the residual stream after them.
func (m *Decoder) recordBlocks(r *device.Recorder, ws *Workspace, T, n int) {
	d, p := m.Layout.Dims, &pass{Recorder: r, m: m, ws: ws, T: T}
	for _, s := range m.Layout.embed {
		table := m.Params.Matrix(s.weight)
		r.Op(table.Storage.Kernel("embed"), d.ld, T, []gpu.View{ws.ids, table.Numbers, ws.stream(0)}, u(T), u(d.ld), u(s.row0), u(s.weight.Rows), m.Layout.embedScale())
	}
	for i := range n {
		m.Layout.blocks[i].forward(p, &ws.blocks[i], ws.stream(i+1))
	}
}

// recordStates records the forward pass to the final norm of the R rows that are read, where nothing is kept for a backward
// pass. If they are few, the last block is computed for them alone, and for the keys and values of all: a row has the same
// bits whatever is beside it.
func (m *Decoder) recordStates(r *device.Recorder, ws *Workspace, T, R int) {
	if !ws.narrow(T, R) {
		m.RecordForward(r, ws, T)
		m.RecordFinalNorm(r, ws, R)
		return
	}
	last := m.Layout.Layers - 1
	m.recordBlocks(r, ws, T, last)
	p := &pass{Recorder: r, m: m, ws: ws, T: T}
	m.Layout.blocks[last].forwardRead(p, &ws.blocks[last], R, ws.last)
	p.norm(m.Layout.norm, R, ws.last, ws.Head.h, ws.Head.rstd)
}

// uploadRead is [Workspace.Upload] for recordStates.
func (m *Decoder) uploadRead(ws *Workspace, b seq.Batch) error {
	err := ws.Upload(b)
	if err != nil || !ws.narrow(b.T, b.R) {
		return err
	}
	read := make([]uint32, 0, 2*b.R)
	for _, row := range b.Idx {
		read = append(read, b.Keys[2*row:2*row+2]...)
	}
	if m.Layout.blocks[m.Layout.Layers-1].attention.window {
		read = lastKeys(read, ws.window)
	}
	return device.Upload(device.Put(ws.read, read))
}

// RecordFinalNorm records the final norm of the R rows that predict a token.
func (m *Decoder) RecordFinalNorm(r *device.Recorder, ws *Workspace, R int) {
	d, h, p := m.Layout.Dims, &ws.Head, &pass{Recorder: r, m: m, ws: ws}
	r.Op("gather_rows", d.ld, R, []gpu.View{ws.last, h.Idx, h.x}, u(R), u(d.ld))
	p.norm(m.Layout.norm, R, h.x, h.h, h.rstd)
	ws.mix.each(func(s summand) { s.of.RecordFinalNorm(r, s.ws, R) })
}

// ReadHidden reads the R rows that RecordFinalNorm made, or those of a layer before it, [R][width].
func (m *Decoder) ReadHidden(ws *Workspace, R int) ([][]float32, error) {
	d := m.Layout.Dims
	all, out := make([]float32, R*d.ld), make([][]float32, R)
	for i := range out {
		out[i] = all[i*d.ld:][:d.width]
	}
	return out, device.Read(ws.Head.h, all)
}

// Blocks calls do for each block of the R rows: first row and number of rows.
func (h *HeadSpace) Blocks(R int, do func(r0, n int)) {
	for r0 := 0; r0 < R; r0 += h.Block {
		do(r0, min(h.Block, R-r0))
	}
}

// RecordLogits records the logits of rows r0 .. r0+n-1 into the workspace, or what is summed there.
func (m *Decoder) RecordLogits(r *device.Recorder, ws *Workspace, r0, n int) {
	d, h, p := m.Layout.Dims, &ws.Head, &pass{Recorder: r, m: m, ws: ws}
	for _, s := range m.Layout.head {
		s.forward(p, n, device.At(h.h, r0*d.ld), device.At(h.Logits, s.row0), d.VocabPadded)
	}
	ws.mix.recordSum(r, h, d.VocabPadded, r0, n)
}

// RecordStats records log-prob, entropy and mean log-softmax of rows r0 .. r0+n-1
// from the logits in the workspace.
func (m *Decoder) RecordStats(r *device.Recorder, ws *Workspace, r0, n int) {
	d, h := m.Layout.Dims, &ws.Head
	r.Op("vocab_stats", n, 1, []gpu.View{h.Logits, device.At(h.Target, r0), device.At(h.InvTemp, r0), device.At(h.Stats, r0*4)}, u(n), u(d.Vocab), u(d.VocabPadded))
}

// RecordScores records the whole forward pass of a batch, statistics included.
func (m *Decoder) RecordScores(r *device.Recorder, ws *Workspace, T, R int) {
	m.RecordForward(r, ws, T)
	m.RecordFinalNorm(r, ws, R)
	m.recordStats(r, ws, R)
}

// recordStats records values and statistics of the R rows that are read.
func (m *Decoder) recordStats(r *device.Recorder, ws *Workspace, R int) {
	if v := ws.Head.Value; v != nil {
		v.forward(r, R, m.Layout.ld, ws.Head.h)
	}
	ws.Head.Blocks(R, func(r0, n int) {
		m.RecordLogits(r, ws, r0, n)
		m.RecordStats(r, ws, r0, n)
	})
}

// Pack lays sequences out in batches of at most so many rows.
func (m *Decoder) Pack(seqs []seq.Sequence, rows int) ([]seq.Batch, error) {
	for i, s := range seqs {
		if err := m.CheckIDs(s.IDs); err != nil {
			return nil, fmt.Errorf("sequence %d: %w", i, err)
		}
	}
	return seq.Pack(seqs, m.capacityOf(rows))
}

// Score computes the statistics of a batch, as Forward does, and keeps nothing for a backward pass.
func (m *Decoder) Score(progs *device.Programs, ws *Workspace, b seq.Batch) error {
	if b.R == 0 {
		return nil
	}
	if err := m.uploadRead(ws, b); err != nil {
		return err
	}
	err := progs.Run(fmt.Sprintf("score %d %d%s", b.T, b.R, ws.Summed()), func(r *device.Recorder) {
		m.recordStates(r, ws, b.T, b.R)
		m.recordStats(r, ws, b.R)
	})
	if err != nil {
		return err
	}
	return m.Device.Wait()
}

// Forward computes the statistics of a batch, which [Workspace.ReadStats] reads.
func (m *Decoder) Forward(progs *device.Programs, ws *Workspace, b seq.Batch) error {
	if b.R == 0 {
		return nil
	}
	if err := ws.Upload(b); err != nil {
		return err
	}
	err := progs.Run(fmt.Sprintf("forward %d %d%s", b.T, b.R, ws.Summed()), func(r *device.Recorder) { m.RecordScores(r, ws, b.T, b.R) })
	if err != nil {
		return err
	}
	return m.Device.Wait()
}

// States calls do for each sequence, in their order, with the states that the tokens of its spans leave
// in a layer, [token][width]: the residual stream after so many blocks, and of the last one, which is 0 too,
// what the final norm makes of it. Temperatures do not matter. No more states are on the host at a time than the
// workspace has rows, and do may not keep them.
func (m *Decoder) States(progs *device.Programs, ws *Workspace, seqs []seq.Sequence, layer int, do func(i int, states [][]float32) error) error {
	last := m.Layout.Layers
	if layer < 0 || layer > last {
		return fmt.Errorf("layer %d; accepted: 1 to %d", layer, last)
	}
	if layer == 0 {
		layer = last
	}
	after := make([]seq.Sequence, len(seqs))
	for i, s := range seqs {
		after[i] = s.Read()
	}
	batches, err := m.Pack(after, ws.MaxRows)
	if err != nil {
		return err
	}
	first := 0
	for _, b := range batches {
		rows, err := m.statesOf(progs, ws, b, layer)
		if err != nil {
			return err
		}
		states := make([][]float32, b.R)
		for i, at := range b.Order {
			states[at] = rows[i]
		}
		for i, s := range b.Seqs {
			n := s.Predicted()
			if err := do(first+i, states[:n:n]); err != nil {
				return err
			}
			states = states[n:]
		}
		first += len(b.Seqs)
	}
	return nil
}

// statesOf are the states in a layer of each row of a batch of which a token is predicted, [R][width].
func (m *Decoder) statesOf(progs *device.Programs, ws *Workspace, b seq.Batch, layer int) ([][]float32, error) {
	if b.R == 0 {
		return nil, nil
	}
	if err := m.uploadRead(ws, b); err != nil {
		return nil, err
	}
	err := progs.Run(fmt.Sprintf("states %d %d %d%s", layer, b.T, b.R, ws.Summed()), func(r *device.Recorder) {
		if layer == m.Layout.Layers {
			m.recordStates(r, ws, b.T, b.R)
			return
		}
		m.recordBlocks(r, ws, b.T, layer)
		r.Op("gather_rows", m.Layout.ld, b.R, []gpu.View{ws.stream(layer), ws.Head.Idx, ws.Head.h}, u(b.R), u(m.Layout.ld))
	})
	if err == nil {
		err = m.Device.Wait()
	}
	if err != nil {
		return nil, err
	}
	return m.ReadHidden(ws, b.R)
}

// capacityOf is that of a workspace for so many rows. Where a driver stops a shader after
// so many iterations of their loops, a key's gradient has a bound of readers: for each
// query head, attention_backward_dkv makes hd/4+3 iterations for 8 of them on TL and
// hd/4+35 for 32 on T0, and on TL looks at 7 rows before the first one.
func (m *Decoder) capacityOf(rows int) seq.Capacity {
	c := seq.Capacity{Rows: rows, Positions: m.Positions, Window: m.Layout.window}
	d := m.Layout.Dims
	if most := m.Device.Caps().MaxLoop; most > 0 {
		c.Readers = 32*(most/(d.heads/d.kv))/max(4*(d.hdp/4+3), d.hdp/4+35) - 8
	}
	return c
}

// u is a number of a kernel's parameters.
func u(n int) uint32 { return uint32(n) }
