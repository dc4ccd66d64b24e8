package model

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/rlzero/rlzero/gpu"
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

// pool allocates device memory under one label and remembers the first error. Without a
// device it plans.
type pool struct {
	dev   gpu.Device
	label string
	bufs  []gpu.Buffer
	bytes int
	plan  gpu.Plan // of its largest buffers
	err   error
}

// words allocates n 32-bit words that kernels bind as a whole.
func (p *pool) words(name string, n int) gpu.View { return p.allocate(name, n, true) }

// wide allocates n 32-bit words that kernels bind in parts, see [pass.cut].
func (p *pool) wide(name string, n int) gpu.View { return p.allocate(name, n, false) }

func (p *pool) allocate(name string, n int, whole bool) gpu.View {
	size := (max(n, 64)*4 + 255) &^ 255
	p.bytes += size
	p.plan.Note(gpu.Item{Name: name, Bytes: size}, whole)
	if p.dev == nil || p.err != nil { // planning only, or failed before
		return gpu.View{Size: size}
	}
	b, err := p.dev.NewBuffer(p.label+" "+name, size)
	if err != nil {
		p.err = err
		return gpu.View{}
	}
	p.bufs = append(p.bufs, b)
	return gpu.View{Buffer: b, Size: size}
}

func (p *pool) free() {
	for _, b := range p.bufs {
		b.Free()
	}
	p.bufs = nil
}

// workspace is what a forward pass over at most T rows needs.
type workspace struct {
	maxRows int
	blocks  []blockActs // shared buffers where nothing is kept for a backward pass
	last    gpu.View    // [T][ld] residual stream after the last block
	ids     gpu.View    // [T] u32
	place   gpu.View    // [T][2] u32: position, slot of its key and value
	keys    gpu.View    // [T][2] u32: offset into kvidx, number of keys
	near    gpu.View    // the same in layers with a window, if there are any
	kvidx   gpu.View    // u32 slots of the keys of each list
	head    headSpace
	lora    loraSpace // unused without an adapter
	plain   bool      // the adapter is off
	adapter arena     // read in place of the model's; nil: that is
	keep    kept
}

// headSpace is what the vocabulary part needs for at most R predicted tokens.
type headSpace struct {
	maxRows int
	block   int        // rows of logits made at a time, a multiple of 64
	idx     gpu.View   // [R] u32 row of the hidden state
	x, h    gpu.View   // [R][ld] before and after the final norm
	rstd    gpu.View   // [R]
	target  gpu.View   // [R] u32
	invTemp gpu.View   // [R]
	stats   gpu.View   // [R][4]
	logits  gpu.View   // [block][vocabp]
	value   *valueHead // of a trainer that has one; nil for none
}

func blockRows(vocabp, maxRows int, caps gpu.Caps) int {
	most := logitsBytes
	if caps.Kind == gpu.Discrete {
		most = max(logitsBytes, min(cardLogitsBytes, caps.Memory/cardLogitsShare))
	}
	n := min(most, caps.MaxBinding) / (4 * vocabp) / 64 * 64
	return max(64, min(n, (maxRows+63)&^63))
}

func (p *pool) headSpace(d dims, rows int, caps gpu.Caps) headSpace {
	block := blockRows(d.vocabp, rows, caps)
	return headSpace{
		maxRows: rows, block: block,
		idx: p.words("predicted rows", rows), x: p.words("last hidden", rows*d.ld), h: p.words("final norm", rows*d.ld),
		rstd: p.words("final rstd", rows), target: p.words("targets", rows), invTemp: p.words("inverse temperature", rows),
		stats: p.words("statistics", rows*4), logits: p.words("logits", block*d.vocabp),
	}
}

// rowSpace allocates what is uploaded about the rows, but for the list of keys, and what
// adapters need.
func (ws *workspace) rowSpace(p *pool, d dims, rows int) {
	ws.ids, ws.place, ws.keys = p.words("ids", rows), p.words("places", 2*rows), p.words("key ranges", 2*rows)
	if d.window > 0 {
		ws.near = p.words("key ranges of windows", 2*rows)
	}
	if d.rank > 0 {
		ws.lora = loraSpace{p.words("adapter rank", rows*d.rank), p.wide("adapter", rows*d.adapted)}
	}
}

// rowWrites are the uploads about rows: token ids, places and ranges of keys. window is
// that of the layers that have one.
func (ws *workspace) rowWrites(ids, place, keys []uint32, window int) []write {
	w := []write{{ws.ids, u32Bytes(ids)}, {ws.place, u32Bytes(place)}, {ws.keys, u32Bytes(keys)}}
	if window > 0 {
		w = append(w, write{ws.near, u32Bytes(lastKeys(keys, window))})
	}
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
func (ws *workspace) seen(window bool) gpu.View {
	if window {
		return ws.near
	}
	return ws.keys
}

// stream is the residual stream before block i, or after the last one.
func (ws *workspace) stream(i int) gpu.View {
	if i == len(ws.blocks) {
		return ws.last
	}
	return ws.blocks[i].attention.x
}

// kept says which activations are still there when the backward pass begins.
type kept int

const (
	keptNothing kept = iota // there is none: all blocks share one set of buffers
	keptInputs              // the residual stream before each block; the others are made again
	keptAll
)

// activations allocates the buffers of a forward pass: those that are kept for every
// block, the others once. cache, if not nil, holds keys and values instead.
func (p *pool) activations(d dims, rows int, keep kept, cache []kvLayer) (blocks []blockActs, last gpu.View) {
	blocks = make([]blockActs, d.layers)
	for i := range blocks {
		b := &blocks[i]
		switch {
		case keep == keptAll || i == 0:
			*b = blockActs{p.attentionRows(d, rows), p.mlpRows(d, rows)}
			if cache == nil {
				b.attention.k, b.attention.v = p.words("k", d.kvWords(rows)), p.words("v", d.kvWords(rows))
			}
		case keep == keptInputs || i == 1: // a block reads its x while the next one's is written
			*b = blocks[0]
			b.attention.x = p.words("residual", rows*d.ld)
		default:
			*b = blocks[i-1]
			b.attention.x = blocks[i-2].attention.x
		}
		if cache != nil {
			b.attention.k, b.attention.v = cache[i].k, cache[i].v
		}
	}
	return blocks, p.words("residual", rows*d.ld)
}

// panel is how many products of each sum one dispatch of the backward pass adds up
// on a CPU: what a tile reads of 512 rows of an operand stays in the second-level
// cache, where longer columns are read from memory by every tile anew
// (shaders/matmul.wgsl has the figures). The next dispatch continues the chains, so
// no bit depends on it. A multiple of 64: views start at multiples of 256 bytes.
const panel = 512

// recorder collects dispatches.
type recorder struct {
	ops   []gpu.Op
	panel int // products that a dispatch adds up, see panel; 0: all
}

func (r *recorder) op(kernel string, x, y int, bind []gpu.View, params ...uint32) {
	r.ops = append(r.ops, gpu.Op{Kernel: kernel, Bind: bind, Params: params, Size: [3]int{x, y, 1}})
}

func f(x float64) uint32 { return math.Float32bits(float32(x)) }
func u(n int) uint32     { return uint32(n) }

// at is the part of a view that starts n 32-bit words in.
func at(v gpu.View, n int) gpu.View {
	size := v.Size - n*4
	return gpu.View{Buffer: v.Buffer, Offset: v.Offset + n*4, Size: size}
}

// rowsOf is n rows of a view from row r0 on, each of so many 32-bit words.
func rowsOf(v gpu.View, r0, n, words int) gpu.View {
	return gpu.View{Buffer: v.Buffer, Offset: v.Offset + r0*words*4, Size: n * words * 4}
}

// matmul records a product of a kind that is never cut, c[M][N] = a[M][K] b[N][K]^T
// and the like; strides are the widths.
func (r *recorder) matmul(kernel string, m, n, k, lda, ldb, ldc int, bind ...gpu.View) {
	r.op(kernel, n, m, bind, u(m), u(n), u(k), u(lda), u(ldb), u(ldc))
}

// matmulNN records c[M][N] = a[M][K] b[K][N]. If continues is true the sums go on from
// what c holds.
func (r *recorder) matmulNN(continues bool, m, n, k, lda, ldb, ldc int, a gpu.View, b matrix, c gpu.View) {
	for k0, count := range r.panels(k) {
		kernel := "matmul_nn"
		if continues || k0 > 0 {
			kernel = "matmul_nn_acc"
		}
		bind := slices.Concat([]gpu.View{at(a, k0)}, b.from(k0, ldb), []gpu.View{c})
		r.matmul(b.storage.kernel(kernel), m, n, count, lda, ldb, ldc, bind...)
	}
}

// matmulTN records c[M][N] += a[K][M]^T b[K][N]: the sums go on from what c holds.
func (r *recorder) matmulTN(m, n, k, lda, ldb, ldc int, a, b, c gpu.View) {
	for k0, count := range r.panels(k) {
		r.matmul("matmul_tn_acc", m, n, count, lda, ldb, ldc, at(a, k0*lda), at(b, k0*ldb), c)
	}
}

// panels cuts a sum of k products: where each panel starts, and its length.
func (r *recorder) panels(k int) iter.Seq2[int, int] {
	size := r.panel
	if size == 0 {
		size = k
	}
	return func(yield func(int, int) bool) {
		for k0 := 0; k0 < k; k0 += size {
			if !yield(k0, min(size, k-k0)) {
				return
			}
		}
	}
}

// programs keeps recorded programs by key; the oldest go first.
type programs struct {
	dev   gpu.Device
	panel int // see recorder
	max   int
	keys  []string
	made  map[string]gpu.Program
}

func newPrograms(dev gpu.Device, max int) *programs {
	p := &programs{dev: dev, max: max, made: map[string]gpu.Program{}}
	if dev.Caps().Tier == gpu.TierLanes {
		p.panel = panel
	}
	return p
}

// run submits the program of a key, recording it first if it is new.
func (p *programs) run(key string, record func(r *recorder)) error {
	prog, ok := p.made[key]
	if !ok {
		r := recorder{panel: p.panel}
		record(&r)
		var err error
		if prog, err = p.dev.Record(key, r.ops); err != nil {
			return err
		}
		if len(p.keys) == p.max {
			if err := p.dev.Wait(); err != nil {
				return err
			}
			p.made[p.keys[0]].Free()
			delete(p.made, p.keys[0])
			p.keys = p.keys[1:]
		}
		p.keys = append(p.keys, key)
		p.made[key] = prog
	}
	if err := p.dev.Submit(prog); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (p *programs) free() {
	for _, prog := range p.made {
		prog.Free()
	}
	p.made, p.keys = map[string]gpu.Program{}, nil
}
