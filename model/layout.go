package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
)

// dims are the sizes of a model on the device. Every width is padded to a
// multiple of 8 with zeros that stay zero (RATIONALE.md#why-are-widths-padded), so
// that no kernel has to treat a ragged edge. The two halves of a head are
// padded separately, because rotation pairs element i with i + hd/2.
type dims struct {
	layers, heads, kv int
	width, ld         int // real, padded
	hd, hdp           int // head
	mlp, mlpp         int
	vocab, vocabp     int
	kvDtype           Dtype
	window            int  // of the layers that have one, tokens; 0: none has
	sandwich          bool // there are norms behind attention and MLP
}

func pad8(n int) int { return (n + 7) &^ 7 }

func newDims(c Config) dims {
	return dims{
		layers: c.Layers, heads: c.Heads, kv: c.KVHeads,
		width: c.Width, ld: pad8(c.Width),
		hd: c.HeadDim, hdp: 2 * pad4(c.HeadDim/2),
		mlp: c.MLP, mlpp: pad8(c.MLP),
		vocab: c.Vocab, vocabp: pad8(c.Vocab),
		kvDtype: c.KVDtype, window: c.Window, sandwich: families[c.Family].sandwich,
	}
}

// kvWords is the size of the keys, or of the values, of so many tokens in one
// block, 32-bit words.
func (d dims) kvWords(tokens int) int {
	n := tokens * d.kv * d.hdp
	if d.kvDtype == BF16 {
		return n / 2
	}
	return n
}

func pad4(n int) int { return (n + 3) &^ 3 }

func (d dims) qkv() int { return (d.heads + 2*d.kv) * d.hdp }

// headRow maps row r of a projection made of heads to its padded row.
func (d dims) headRow(r int) int {
	h, i := r/d.hd, r%d.hd
	if half := d.hd / 2; i >= half {
		i += d.hdp/2 - half
	}
	return h*d.hdp + i
}

func same(i int) int { return i }

// region is a matrix inside an arena.
type region struct {
	rows, cols int // padded
	chunk      int
	off        int // bytes, multiple of layout.align
}

func (r region) bytes() int { return r.rows * r.cols * 4 }

// piece says where one tensor of a model file, or a slab of it, lies inside a region.
type piece struct {
	name       string // as in the file
	shape      []int  // as in the file
	region     *region
	row, col   func(int) int
	vector     bool    // factors of a norm or a bias: no weight decay
	start      float32 // initial value of a vector
	projection bool    // output projection of a block, smaller initial values
}

func (p piece) size() (rows, cols int) {
	if len(p.shape) == 1 {
		return 1, p.shape[0]
	}
	return p.shape[0], p.shape[1]
}

// slab is a run of whole vocabulary rows that fits one binding.
type slab struct {
	row0 int
	linear
}

// blockTensor is the name of a tensor of block i in the files, but for its ending
// weight or bias.
func blockTensor(i int, name string) string {
	return fmt.Sprintf("model.layers.%d.%s.", i, name)
}

// layout places all parameters in arenas. Matrices (with weight decay) and
// vectors (without) lie in different chunks, so that one update kernel serves a
// whole chunk.
type layout struct {
	dims
	chunks []chunk
	embed  []slab
	head   []slab // the embedding's own slabs when tied
	blocks []block
	norm   *region
	pieces []piece // in the order of Tensors

	family     family
	dtype      Dtype // of matrices
	tied       bool
	maxBinding int // bytes
	align      int // bytes; 256 for views, twice that where halves of the offsets are views too
}

type chunk struct {
	size  int // bytes
	decay bool
}

// What of a chunk an arena holds, bytes.

func (c chunk) whole() int { return c.size }
func (c chunk) none() int  { return 0 }

func (c chunk) vectors() int {
	if c.decay {
		return 0
	}
	return c.size
}

func (c chunk) halves() int { return (c.size - c.vectors()) / 2 }

// slabRows are the rows of vocabulary in a slab when the table does not fit one
// binding (128 MiB on lavapipe and by WebGPU's default): a multiple of 2048.
func slabRows(vocabp, ld, maxBinding int) int {
	if vocabp*ld*4 <= maxBinding {
		return vocabp
	}
	return max(8, maxBinding/(ld*4)/2048*2048)
}

// newLayout places the parameters of a model in bindings of at most so many bytes.
func newLayout(c Config, maxBinding int) *layout {
	l := &layout{dims: newDims(c), family: families[c.Family], dtype: c.Dtype, tied: c.TieEmbeddings, maxBinding: maxBinding, align: 256}
	if c.Dtype == BF16 {
		l.align = 512
	}
	l.embed = l.vocabSlabs(embedName)
	for i := range l.dims.layers {
		l.addBlock(c, i)
	}
	l.norm = l.addNorm("model.norm.")
	l.head = l.embed
	if !l.tied {
		l.head = l.vocabSlabs(headName)
	}
	return l
}

// ropes are the kinds of rotation that the blocks have.
func (l *layout) ropes() []ropeKind {
	var kinds []ropeKind
	for kind := range ropeKinds {
		if slices.ContainsFunc(l.blocks, func(b block) bool { return b.attention.rope == kind }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// fits refuses matrices that are larger than a binding.
func (l *layout) fits() error {
	d := l.dims
	for _, m := range []struct {
		names string
		rows  int
	}{{"mlp.gate_proj and up_proj", 2 * d.mlpp}, {"self_attn.q_proj, k_proj and v_proj", d.qkv()}} {
		if m.rows*d.ld*4 > l.maxBinding {
			return fmt.Errorf("%w: %s are one matrix of %d x %d float32, %d MiB; a binding has at most %d MiB here: take a smaller model",
				gpu.ErrUnsupported, m.names, m.rows, d.ld, m.rows*d.ld*4>>20, l.maxBinding>>20)
		}
	}
	return nil
}

// place reserves a region in the last chunk of its kind, or in a new one.
func (l *layout) place(rows, cols int, decay bool) *region {
	r := &region{rows: rows, cols: cols, chunk: -1}
	for i := len(l.chunks) - 1; i >= 0; i-- {
		if c := l.chunks[i]; c.decay == decay && c.size+r.bytes() <= l.maxBinding {
			r.chunk, r.off = i, c.size
			break
		}
	}
	if r.chunk < 0 {
		r.chunk = len(l.chunks)
		l.chunks = append(l.chunks, chunk{decay: decay})
	}
	l.chunks[r.chunk].size = (r.off + r.bytes() + l.align - 1) / l.align * l.align
	return r
}

// vector adds a tensor of n numbers that lie in a row of a region.
func (l *layout) vector(name string, r *region, row, n int, col func(int) int, start float64) {
	l.pieces = append(l.pieces, piece{name: name, shape: []int{n}, region: r,
		row: func(int) int { return row }, col: col, vector: true, start: float32(start)})
}

// addNorm places the factors of a norm of the residual stream.
func (l *layout) addNorm(name string) *region {
	r := l.place(1, l.ld, false)
	l.vector(name+"weight", r, 0, l.width, same, l.normStart())
	return r
}

// normStart is the initial factor of a norm, as the files hold it.
func (l *layout) normStart() float64 { return 1 - l.family.normPlus }

// embedScale is the parameter of the embedding's kernels that multiplies its rows.
func (l *layout) embedScale() uint32 {
	if l.family.embedScale {
		return f(math.Sqrt(float64(l.width)))
	}
	return f(1)
}

// vocabSlabs places a [vocab][width] table in slabs, each with a piece of its own.
func (l *layout) vocabSlabs(name string) []slab {
	d := l.dims
	var slabs []slab
	n := slabRows(d.vocabp, d.ld, l.maxBinding)
	for row := 0; row < d.vocabp; row += n {
		rows := min(n, d.vocabp-row)
		var real []slice
		if n := min(rows, d.vocab-row); n > 0 {
			real = append(real, slice{strings.TrimSuffix(name, "weight"), n, d.width, same, same})
		}
		slabs = append(slabs, slab{row, l.linear(rows, d.ld, false, false, real...)})
	}
	return slabs
}

// arena is device memory laid out by a layout: a buffer for each chunk.
type arena []gpu.Buffer

// newArena allocates what size says of each chunk; no buffer for nothing.
func (l *layout) newArena(dev gpu.Device, label string, size func(chunk) int) (arena, error) {
	a := make(arena, len(l.chunks))
	for i, c := range l.chunks {
		n := size(c)
		if n == 0 {
			continue
		}
		var err error
		if a[i], err = dev.NewBuffer(fmt.Sprintf("%s %d", label, i), n); err != nil {
			a[:i].free()
			return nil, err
		}
	}
	return a, nil
}

func (a arena) free() {
	for _, b := range a {
		if b != nil {
			b.Free()
		}
	}
}

func (a arena) write(r *region, data []float32) error { return a[r.chunk].Write(r.off, f32Bytes(data)) }

func (a arena) read(r *region, data []float32) error { return readF32(a[r.chunk], r.off, data) }

func (a arena) view(r *region) gpu.View {
	return gpu.View{Buffer: a[r.chunk], Offset: r.off, Size: r.bytes()}
}

// bytes is the size of an arena.
func (l *layout) bytes(size func(chunk) int) int {
	n := 0
	for _, c := range l.chunks {
		n += size(c)
	}
	return n
}
