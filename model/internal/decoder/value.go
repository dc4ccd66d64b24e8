package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// valueColumns is the width of what the value head's product gives: the value, and
// padding.
const valueColumns = 8

// ValueHead is a linear map from the final hidden state of which a token is predicted to
// a number, v = h·w + b, in float32. It belongs to a trainer and not to the model:
// samplers do not compute it, and no folder of the model has it.
type ValueHead struct {
	tensors.Set
	Values, Grads tensors.Arena
	weight, bias  *tensors.Region // [8][ld], [8]; the first row and number count

	// Of the R predicted rows; the first of 8 columns counts.
	value  gpu.View // [R][8]
	dvalue gpu.View // [R][8] dLoss/dvalue
}

// NewValueHead places a head for models of some sizes, with room for the passes over so many
// rows. Its numbers and their gradient are the trainer's.
func NewValueHead(p *device.Pool, d Dims, rows, maxBinding int) *ValueHead {
	h := &ValueHead{Set: tensors.Set{MaxBinding: maxBinding, Align: 256}}
	h.weight, h.bias = h.Place(valueColumns, d.ld, true), h.Place(1, valueColumns, false)
	h.Pieces = append(h.Pieces, tensors.Piece{Name: "value.weight", Shape: []int{1, d.width}, Region: h.weight, Row: same, Col: same})
	h.PlaceVector("value.bias", h.bias, 0, 1, same, 0)
	h.value, h.dvalue = p.Words("values", rows*valueColumns), p.Words("dvalues", rows*valueColumns)
	return h
}

// forward records the values of R rows of the final hidden state.
func (h *ValueHead) forward(r *device.Recorder, R, ld int, hidden gpu.View) {
	r.Matmul("matmul_nt", R, valueColumns, ld, ld, ld, valueColumns, hidden, h.Values.View(h.weight), h.value)
	r.Op("add_bias", valueColumns, R, []gpu.View{h.value, h.Values.View(h.bias)}, u(R), valueColumns)
}

// backward records the gradients of the head, and adds what it asks of the hidden state to
// dhidden.
func (h *ValueHead) backward(r *device.Recorder, R, ld int, hidden, dhidden gpu.View) {
	r.MatmulTN(valueColumns, ld, R, valueColumns, ld, ld, h.dvalue, hidden, h.Grads.View(h.weight))
	r.Op("bias_backward", valueColumns, 1, []gpu.View{h.dvalue, h.Grads.View(h.bias)}, u(R), valueColumns)
	tensors.Matrix{Numbers: h.Values.View(h.weight)}.Multiply(r, true, R, ld, valueColumns, valueColumns, ld, ld, h.dvalue, dhidden)
}

// read is the values of a batch in the order of the predicted tokens.
func (h *ValueHead) read(b seq.Batch) ([]float32, error) {
	raw, out := make([]float32, b.R*valueColumns), make([]float32, b.R)
	if err := device.Read(h.value, raw); err != nil {
		return nil, err
	}
	for i, at := range b.Order {
		out[at] = raw[i*valueColumns]
	}
	return out, nil
}

// write is the upload of the derivatives of R rows.
func (h *ValueHead) write(dvalue []float32) device.Write {
	rows := make([]float32, len(dvalue)*valueColumns)
	for i, x := range dvalue {
		rows[i*valueColumns] = x
	}
	return device.Put(h.dvalue, rows)
}
