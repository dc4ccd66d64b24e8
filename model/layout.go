package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/hf"
)

// dims are the sizes of a model on the device. Every width is padded to a
// multiple of 8 with zeros that stay zero (docs/why/model.md#why-are-widths-padded), so
// that no kernel has to treat a ragged edge. The two halves of a head are
// padded separately, because rotation pairs element i with i + hd/2.
type dims struct {
	layers, heads, kv int
	width, ld         int // real, padded
	hd, hdp           int // head
	mlp, mlpp         int
	vocab, vocabp     int
	kvDtype           storage
	window            int  // of the layers that have one, tokens; 0: none has
	sandwich          bool // there are norms after attention and MLP
	rank, adapted     int  // of an adapter, the largest: rank, rows of a module; 0: there is none
}

func pad8(n int) int { return (n + 7) &^ 7 }

func newDims(c hf.Config) dims {
	return dims{
		layers: c.Layers, heads: c.Heads, kv: c.KVHeads,
		width: c.Width, ld: pad8(c.Width),
		hd: c.HeadDim, hdp: 2 * pad4(c.HeadDim/2),
		mlp: c.MLP, mlpp: pad8(c.MLP),
		vocab: c.Vocab, vocabp: pad8(c.Vocab),
		kvDtype: storage(c.KVDtype), window: c.Window, sandwich: c.Parts().Sandwich,
	}
}

// kvWords is the size of the keys, or of the values, of so many tokens in one
// block, 32-bit words.
func (d dims) kvWords(tokens int) int {
	n := tokens * d.kv * d.hdp
	if d.kvDtype == bf16 {
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

// slab is a run of whole vocabulary rows that fits one binding.
type slab struct {
	row0 int
	linear
}

// layout places all parameters of a decoder.
type layout struct {
	dims
	tensors
	embed  []slab
	head   []slab // the embedding's own slabs when tied
	blocks []block
	norm   *region

	family hf.Parts
	dtype  storage // of matrices
	tied   bool
}

// slabRows are the rows of vocabulary in a slab when the table does not fit one
// binding (128 MiB on lavapipe and by WebGPU's default): a multiple of 2048.
func slabRows(vocabp, ld, maxBinding int) int {
	if vocabp*ld*4 <= maxBinding {
		return vocabp
	}
	return max(8, maxBinding/(ld*4)/2048*2048)
}

// newLayout places the parameters of a model in bindings of at most so many bytes.
func newLayout(c hf.Config, maxBinding int) *layout {
	l := &layout{dims: newDims(c), family: c.Parts(), dtype: storage(c.Dtype), tied: c.TieEmbeddings, tensors: tensors{maxBinding: maxBinding, align: 256}}
	switch {
	case l.dtype == bf16:
		l.align = 512
	case l.dtype.blocked(): // 64 blocks, whose numbers and whose scales are multiples of 256 bytes
		l.align = 64 * blockSize * 4
	}
	l.embed = l.vocabSlabs(hf.EmbedName)
	for i := range l.dims.layers {
		l.addBlock(c, i)
	}
	l.norm = l.addNorm("model.norm")
	l.head = l.embed
	if !l.tied {
		l.head = l.vocabSlabs(hf.HeadName)
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

// fits refuses matrices that are larger than a binding, of a model that is frozen or trained.
func (l *layout) fits(frozen bool) error {
	d := l.dims
	if l.dtype.blocked() && (d.ld%blockSize != 0 || d.mlpp%blockSize != 0 || d.heads*d.hdp%blockSize != 0) {
		return fmt.Errorf("%s keeps %d numbers of a row together: hidden_size %d, intermediate_size %d and the heads' width %d are not all multiples of that",
			l.dtype, blockSize, d.width, d.mlp, d.heads*d.hd)
	}
	for _, m := range []struct {
		names  string
		rows   int // of the files
		padded int
	}{{"mlp.gate_proj and up_proj", 2 * d.mlp, 2 * d.mlpp}, {"self_attn.q_proj, k_proj and v_proj", (d.heads + 2*d.kv) * d.hd, d.qkv()}} {
		kept := f32
		if frozen || l.dtype.blocked() {
			kept = cmp.Or(l.dtype, f32)
		}
		c := l.with(chunk{storage: kept}, m.padded*d.ld*4)
		if bytes := c.packed() + c.unpacked(); bytes > l.maxBinding {
			err := fmt.Errorf("%w: %s are one matrix of %d x %d numbers, %d MiB in %s; a binding has at most %d MiB here",
				gpu.ErrUnsupported, m.names, m.rows, d.width, bytes>>20, kept, l.maxBinding>>20)
			return hint.With(err, "train an adapter over matrices in fewer bits (lora.rank, dtype), or take a smaller model")
		}
	}
	return nil
}

// addNorm places the factors of a norm of the residual stream.
func (l *layout) addNorm(name string) *region {
	r := l.place(1, l.ld, false)
	l.vector(name+".weight", r, 0, l.width, same, l.normStart())
	return r
}

// normStart is the initial factor of a norm, as the files hold it.
func (l *layout) normStart() float64 { return 1 - l.family.NormPlus }

// embedScale is the parameter of the embedding's kernels that multiplies its rows.
func (l *layout) embedScale() uint32 {
	if l.family.EmbedScale {
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
			real = append(real, slice{strings.TrimSuffix(name, ".weight"), n, d.width, 0, rows, same, same, nil})
		}
		slabs = append(slabs, slab{row, l.linear(l.dtype.table(), rows, d.ld, false, false, real...)})
		if real != nil {
			l.pieces[len(l.pieces)-1].from = row
		}
	}
	return slabs
}
