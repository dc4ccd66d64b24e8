package decoder

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// Dims are the sizes of a model on the device. Every width is padded to a
// multiple of 8 with zeros that stay zero (docs/why/model.md#why-are-widths-padded), so
// that no kernel has to treat a ragged edge. The two halves of a head are
// padded separately, because rotation pairs element i with i + hd/2.
type Dims struct {
	Layers, heads, kv  int
	width, ld          int // real, padded
	hd, hdp            int // head
	mlp, mlpp          int
	Vocab, VocabPadded int
	KVDtype            tensors.Storage
	window             int  // of the layers that have one, tokens; 0: none has
	sandwich           bool // there are norms after attention and MLP
	rank, adapted      int  // of an adapter, the largest: rank, rows of a module; 0: there is none
}

func pad8(n int) int { return (n + 7) &^ 7 }

func newDims(c hf.Config) Dims {
	return Dims{
		Layers: c.Layers, heads: c.Heads, kv: c.KVHeads,
		width: c.Width, ld: pad8(c.Width),
		hd: c.HeadDim, hdp: 2 * pad4(c.HeadDim/2),
		mlp: c.MLP, mlpp: pad8(c.MLP),
		Vocab: c.Vocab, VocabPadded: pad8(c.Vocab),
		KVDtype: tensors.Storage(c.KVDtype), window: c.Window, sandwich: c.Parts().Sandwich,
	}
}

// KVWords is the size of the keys, or of the values, of so many tokens in one
// block, 32-bit words.
func (d Dims) KVWords(tokens int) int {
	n := tokens * d.kv * d.hdp
	if d.KVDtype == tensors.BF16 {
		return n / 2
	}
	return n
}

func pad4(n int) int { return (n + 3) &^ 3 }

func (d Dims) qkv() int { return (d.heads + 2*d.kv) * d.hdp }

// headRow maps row r of a projection made of heads to its padded row.
func (d Dims) headRow(r int) int {
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

// Layout places all parameters of a decoder.
type Layout struct {
	Dims
	tensors.Set
	embed  []slab
	head   []slab // the embedding's own slabs when tied
	blocks []block
	norm   *tensors.Region

	family hf.Parts
	dtype  tensors.Storage // of matrices
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

// NewLayout places the parameters of a model in bindings of at most so many bytes.
func NewLayout(c hf.Config, maxBinding int) *Layout {
	l := &Layout{Dims: newDims(c), family: c.Parts(), dtype: tensors.Storage(c.Dtype), tied: c.TieEmbeddings, Set: tensors.Set{MaxBinding: maxBinding, Align: 256}}
	switch {
	case l.dtype == tensors.BF16:
		l.Align = 512
	case l.dtype.Blocked(): // 64 blocks, whose numbers and whose scales are multiples of 256 bytes
		l.Align = 64 * tensors.BlockSize * 4
	}
	l.embed = l.vocabSlabs(hf.EmbedName)
	for i := range l.Dims.Layers {
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
func (l *Layout) ropes() []ropeKind {
	var kinds []ropeKind
	for kind := range ropeKinds {
		if slices.ContainsFunc(l.blocks, func(b block) bool { return b.attention.rope == kind }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Fits refuses matrices that are larger than a binding, of a model that is frozen or trained.
func (l *Layout) Fits(frozen bool) error {
	d := l.Dims
	if l.dtype.Blocked() && (d.ld%tensors.BlockSize != 0 || d.mlpp%tensors.BlockSize != 0 || d.heads*d.hdp%tensors.BlockSize != 0) {
		return fmt.Errorf("%s keeps %d numbers of a row together: hidden_size %d, intermediate_size %d and the heads' width %d are not all multiples of that",
			l.dtype, tensors.BlockSize, d.width, d.mlp, d.heads*d.hd)
	}
	for _, m := range []struct {
		names  string
		rows   int // of the files
		padded int
	}{{"mlp.gate_proj and up_proj", 2 * d.mlp, 2 * d.mlpp}, {"self_attn.q_proj, k_proj and v_proj", (d.heads + 2*d.kv) * d.hd, d.qkv()}} {
		kept := tensors.F32
		if frozen || l.dtype.Blocked() {
			kept = cmp.Or(l.dtype, tensors.F32)
		}
		c := l.With(tensors.Chunk{Storage: kept}, m.padded*d.ld*4)
		if bytes := c.Packed() + c.Unpacked(); bytes > l.MaxBinding {
			err := fmt.Errorf("%w: %s are one matrix of %d x %d numbers, %d MiB in %s; a binding has at most %d MiB here",
				gpu.ErrUnsupported, m.names, m.rows, d.width, bytes>>20, kept, l.MaxBinding>>20)
			return hint.With(err, "train an adapter over matrices in fewer bits (lora.rank, dtype), or take a smaller model")
		}
	}
	return nil
}

// addNorm places the factors of a norm of the residual stream.
func (l *Layout) addNorm(name string) *tensors.Region {
	r := l.Place(1, l.ld, false)
	l.PlaceVector(name+".weight", r, 0, l.width, same, l.normStart())
	return r
}

// normStart is the initial factor of a norm, as the files hold it.
func (l *Layout) normStart() float64 { return 1 - l.family.NormPlus }

// embedScale is the parameter of the embedding's kernels that multiplies its rows.
func (l *Layout) embedScale() uint32 {
	if l.family.EmbedScale {
		return device.Float(math.Sqrt(float64(l.width)))
	}
	return device.Float(1)
}

// vocabSlabs places a [vocab][width] table in slabs, each with a piece of its own.
func (l *Layout) vocabSlabs(name string) []slab {
	d := l.Dims
	var slabs []slab
	n := slabRows(d.VocabPadded, d.ld, l.MaxBinding)
	for row := 0; row < d.VocabPadded; row += n {
		rows := min(n, d.VocabPadded-row)
		var real []slice
		if n := min(rows, d.Vocab-row); n > 0 {
			real = append(real, slice{strings.TrimSuffix(name, ".weight"), n, d.width, 0, rows, same, same, nil})
		}
		slabs = append(slabs, slab{row, l.linear(l.dtype.Table(), rows, d.ld, false, false, real...)})
		if real != nil {
			l.Pieces[len(l.Pieces)-1].From = row
		}
	}
	return slabs
}

// RopeBytes is the size of the rotations' tables for so many positions.
func (l *Layout) RopeBytes(positions int) int { return len(l.ropes()) * positions * l.hdp * 4 }

// LookupBytes is the size of the gradient of a tied embedding's lookup, 0 if it is not tied.
func (l *Layout) LookupBytes() int {
	if !l.tied {
		return 0
	}
	n := 0
	for _, s := range l.embed {
		n += s.weight.Bytes()
	}
	return n
}
