package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/seq"
)

// logitsBytes bounds the workspace in which logits are made, block by block
// (docs/why/model.md#why-are-logits-made-in-blocks).
const logitsBytes = 64 << 20

// Devices with memory of their own take a share of it, up to a bound: few rows would leave
// a large GPU idle while each sums over the whole vocabulary. The blocks change no bits.
const (
	cardLogitsBytes = 512 << 20
	cardLogitsShare = 32
)

// Workspace is what a forward pass over at most T rows needs.
type Workspace struct {
	MaxRows int
	blocks  []blockActs // shared buffers where nothing is kept for a backward pass
	last    gpu.View    // [T][ld] residual stream after the last block
	ids     gpu.View    // [T] u32
	place   gpu.View    // [T][2] u32: position, slot of its key and value
	keys    gpu.View    // [T][2] u32: offset into kvidx, number of keys
	near    gpu.View    // the same in layers with a window, if there are any
	read    gpu.View    // [T][2] u32: what the rows that are read see in the last layer, see recordStates
	kvidx   gpu.View    // u32 slots of the keys of each list
	Head    HeadSpace
	lora    loraSpace // unused without an adapter
	keep    Kept
	window  int      // of the layers that have one, tokens; 0: none has
	mix     *Mixture // nil: it has no room for the logits of others
}

// HeadSpace is what the vocabulary part needs for at most R predicted tokens.
type HeadSpace struct {
	MaxRows int
	Block   int        // rows of logits made at a time, a multiple of 64
	Idx     gpu.View   // [R] u32 row of the hidden state
	x, h    gpu.View   // [R][ld] before and after the final norm
	rstd    gpu.View   // [R]
	Target  gpu.View   // [R] u32
	InvTemp gpu.View   // [R]
	Stats   gpu.View   // [R][4]
	Logits  gpu.View   // [block][vocabp]
	Value   *ValueHead // of a trainer that has one; nil for none
}

func blockRows(vocabp, maxRows int, caps gpu.Caps) int {
	most := logitsBytes
	if caps.Kind == gpu.Discrete {
		most = max(logitsBytes, min(cardLogitsBytes, caps.Memory/cardLogitsShare))
	}
	n := min(most, caps.MaxBinding) / (4 * vocabp) / 64 * 64
	return max(64, min(n, (maxRows+63)&^63))
}

func newHeadSpace(p *device.Pool, d Dims, rows int, caps gpu.Caps) HeadSpace {
	block := blockRows(d.VocabPadded, rows, caps)
	return HeadSpace{
		MaxRows: rows, Block: block,
		Idx: p.Words("predicted rows", rows), x: p.Words("last hidden", rows*d.ld), h: p.Words("final norm", rows*d.ld),
		rstd: p.Words("final rstd", rows), Target: p.Words("targets", rows), InvTemp: p.Words("inverse temperature", rows),
		Stats: p.Words("statistics", rows*4), Logits: p.Words("logits", block*d.VocabPadded),
	}
}

// NewWorkspace makes a workspace for packed sequences of at most so many rows together.
func NewWorkspace(p *device.Pool, d Dims, rows int, keep Kept, caps gpu.Caps) *Workspace {
	ws := &Workspace{MaxRows: rows, keep: keep}
	ws.blocks, ws.last = activations(p, d, rows, keep, nil)
	ws.rowSpace(p, d, rows)
	ws.kvidx, ws.read = p.Words("key index", seq.TreeSequences*rows), p.Words("key ranges that are read", 2*rows)
	ws.Head = newHeadSpace(p, d, rows, caps)
	return ws
}

// NewCachedWorkspace makes a workspace for rows whose keys lie in a cache, by lists of their slots
// in kvidx, of which at most so many predict a token.
func NewCachedWorkspace(p *device.Pool, d Dims, rows, predicted int, cache []KVLayer, kvidx gpu.View, caps gpu.Caps) *Workspace {
	ws := &Workspace{MaxRows: rows, kvidx: kvidx}
	ws.blocks, ws.last = activations(p, d, rows, KeptNothing, cache)
	ws.rowSpace(p, d, rows)
	ws.Head = newHeadSpace(p, d, predicted, caps)
	return ws
}

// NewKVLayer allocates the keys and values of so many slots.
func NewKVLayer(p *device.Pool, d Dims, slots int) KVLayer {
	return KVLayer{p.Words("key cache", d.KVWords(slots)), p.Words("value cache", d.KVWords(slots))}
}

// KVLayer are one block's keys and values, one row a token: [slots][KV hd],
// float32 or pairs of bf16.
type KVLayer struct{ k, v gpu.View }

// rowSpace allocates what is uploaded about the rows, but for the list of keys, and what
// adapters need.
func (ws *Workspace) rowSpace(p *device.Pool, d Dims, rows int) {
	ws.ids, ws.place, ws.keys = p.Words("ids", rows), p.Words("places", 2*rows), p.Words("key ranges", 2*rows)
	ws.ownRows(p, d, rows)
}

// ownRows allocates what of that depends on the decoder.
func (ws *Workspace) ownRows(p *device.Pool, d Dims, rows int) {
	if ws.window = d.window; d.window > 0 {
		ws.near = p.Words("key ranges of windows", 2*rows)
	}
	if d.rank > 0 {
		ws.lora = loraSpace{p.Words("adapter rank", rows*d.rank), p.Wide("adapter", rows*d.adapted)}
	}
}

// RowWrites are the uploads about rows: token ids, places and ranges of keys.
func (ws *Workspace) RowWrites(ids, place, keys []uint32) []device.Write {
	w := []device.Write{device.Put(ws.ids, ids), device.Put(ws.place, place), device.Put(ws.keys, keys)}
	if ws.window > 0 {
		w = append(w, device.Put(ws.near, lastKeys(keys, ws.window)))
	}
	ws.mix.each(func(s summand) {
		if s.ws.window > 0 {
			w = append(w, device.Put(s.ws.near, lastKeys(keys, s.ws.window)))
		}
	})
	return w
}

// lastKeys are ranges cut to their last n keys.
func lastKeys(keys []uint32, n int) []uint32 {
	out := make([]uint32, len(keys))
	for i := 0; i < len(keys); i += 2 {
		count := min(keys[i+1], u(n))
		out[i], out[i+1] = keys[i]+keys[i+1]-count, count
	}
	return out
}

// seen tells of each row which keys it sees.
func (ws *Workspace) seen(window bool) gpu.View {
	if window {
		return ws.near
	}
	return ws.keys
}

// narrow tells whether the last block is computed for the rows that are read alone: where they are few enough to be worth
// putting side by side, and no other model's logits are wanted.
func (ws *Workspace) narrow(T, R int) bool { return ws.Summed() == "" && 4*R <= 3*T }

// stream is the residual stream before block i, or after the last one.
func (ws *Workspace) stream(i int) gpu.View {
	if i == len(ws.blocks) {
		return ws.last
	}
	return ws.blocks[i].attention.x
}

// Kept says which activations are still there when the backward pass begins.
type Kept int

const (
	KeptNothing Kept = iota // there is none: all blocks share one set of buffers
	KeptInputs              // the residual stream before each block; the others are made again
	KeptAll
)

// activations allocates the buffers of a forward pass: those that are kept for every
// block, the others once. cache, if not nil, holds keys and values instead.
func activations(p *device.Pool, d Dims, rows int, keep Kept, cache []KVLayer) (blocks []blockActs, last gpu.View) {
	blocks = make([]blockActs, d.Layers)
	for i := range blocks {
		b := &blocks[i]
		switch {
		case keep == KeptAll || i == 0:
			*b = blockActs{newAttentionRows(p, d, rows), newMLPRows(p, d, rows)}
			if cache == nil {
				b.attention.k, b.attention.v = p.Words("k", d.KVWords(rows)), p.Words("v", d.KVWords(rows))
			}
		case keep == KeptInputs || i == 1: // a block reads its x while the next one's is written
			*b = blocks[0]
			b.attention.x = p.Words("residual", rows*d.ld)
		default:
			*b = blocks[i-1]
			b.attention.x = blocks[i-2].attention.x
		}
		if cache != nil {
			b.attention.k, b.attention.v = cache[i].k, cache[i].v
		}
	}
	return blocks, p.Words("residual", rows*d.ld)
}

// Upload writes what the forward pass reads of a batch.
func (ws *Workspace) Upload(b seq.Batch) error {
	h := &ws.Head
	return device.Upload(append(ws.RowWrites(b.IDs, b.Place, b.Keys), device.Put(ws.kvidx, b.KVIdx),
		device.Put(h.Idx, b.Idx), device.Put(h.Target, b.Target), device.Put(h.InvTemp, b.InvTemp))...)
}

// ReadStats reads the statistics of a batch and appends them by sequence.
func (ws *Workspace) ReadStats(b seq.Batch, out []seq.Stats) ([]seq.Stats, error) {
	raw := make([]float32, 4*b.R)
	if err := device.Read(ws.Head.Stats, raw); err != nil {
		return nil, err
	}
	all := seq.Stats{Logprob: make([]float32, b.R), Entropy: make([]float32, b.R), MeanLogprob: make([]float32, b.R)}
	for i, at := range b.Order {
		all.Logprob[at], all.Entropy[at], all.MeanLogprob[at] = raw[4*i], raw[4*i+1], raw[4*i+2]
	}
	if v := ws.Head.Value; v != nil {
		var err error
		if all.Value, err = v.read(b); err != nil {
			return nil, err
		}
	}
	return append(out, b.Split(all)...), nil
}
