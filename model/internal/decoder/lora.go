package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// Adapter are the low-rank matrices beside a model's own, in float32. A model that has
// one is trained by it alone.
type Adapter struct {
	Config hf.AdapterConfig
	Files  []hf.TensorSpec // A and B of each module, as in PEFT's files
	Set    tensors.Set     // where they lie
	Values tensors.Arena
}

// lora is the pair of matrices of one module. Rank and rows are padded.
type lora struct {
	a, b  *tensors.Region // [rank][in], [rows][rank]
	scale float64
}

// loraSpace are the temporaries of adapters, shared by all modules.
type loraSpace struct {
	down, up gpu.View // [T][rank], [T][rows]
}

// NewAdapter places the matrices of an adapter for the modules of a model. A target that is
// no module of it is an error.
func NewAdapter(cfg hf.AdapterConfig, c hf.Config, l *Layout) (*Adapter, error) {
	files, err := cfg.Tensors(c)
	if err != nil {
		return nil, err
	}
	a := &Adapter{Config: cfg, Files: files, Set: tensors.Set{MaxBinding: l.MaxBinding, Align: 256}}
	for i := range l.blocks {
		b := &l.blocks[i]
		for _, w := range []*linear{&b.attention.qkv, &b.attention.out, &b.mlp.gateUp, &b.mlp.out} {
			for j := range w.slices {
				s := &w.slices[j]
				if a.Config.Targeted(s.name) {
					a.placeModule(l, w, s)
				}
			}
		}
	}
	return a, nil
}

func (a *Adapter) placeModule(l *Layout, w *linear, s *slice) {
	rank, scale := a.Config.Of(s.name)
	padded, in := pad8(rank), w.weight.Cols
	t := &a.Set
	pair := &lora{t.Place(padded, in, true), t.Place(s.rows, padded, true), scale}
	t.Pieces = append(t.Pieces,
		tensors.Piece{Name: hf.AdapterTensor(s.name, "A"), Shape: []int{rank, s.in}, Region: pair.a, Row: same, Col: s.col},
		tensors.Piece{Name: hf.AdapterTensor(s.name, "B"), Shape: []int{s.out, rank}, Region: pair.b, Row: func(r int) int { return s.row(r) - s.off }, Col: same})
	s.lora = pair
	l.rank, l.adapted = max(l.rank, padded), max(l.adapted, s.rows)
}
