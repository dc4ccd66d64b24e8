package model

import "github.com/rlzero/rlzero/gpu"

import "github.com/rlzero/rlzero/model/hf"

// valueColumns is the width of what the value head's product gives: the value, and
// padding.
const valueColumns = 8

// valueHead is a linear map from the final hidden state of which a token is predicted to
// a number, v = h·w + b, in float32. It belongs to a trainer and not to the model:
// samplers do not compute it, and no folder of the model has it.
type valueHead struct {
	*trained
	weight, bias *region // [8][ld], [8]; the first row and number count

	// Of the R predicted rows; the first of 8 columns counts.
	value  gpu.View // [R][8]
	dvalue gpu.View // [R][8] dLoss/dvalue
}

// newValueHead places a head for models of a width.
func newValueHead(d dims, maxBinding int) *valueHead {
	h := &valueHead{trained: &trained{tensors: &tensors{maxBinding: maxBinding, align: 256}}}
	h.weight, h.bias = h.place(valueColumns, d.ld, true), h.place(1, valueColumns, false)
	h.pieces = append(h.pieces, piece{name: "value.weight", shape: []int{1, d.width}, region: h.weight, row: same, col: same})
	h.vector("value.bias", h.bias, 0, 1, same, 0)
	return h
}

// space allocates what the passes over so many rows need.
func (h *valueHead) space(p *pool, rows int) {
	h.value, h.dvalue = p.words("values", rows*valueColumns), p.words("dvalues", rows*valueColumns)
}

// forward records the values of R rows of the final hidden state.
func (h *valueHead) forward(r *recorder, R, ld int, hidden gpu.View) {
	r.matmul("matmul_nt", R, valueColumns, ld, ld, ld, valueColumns, hidden, h.values.view(h.weight), h.value)
	r.op("add_bias", valueColumns, R, []gpu.View{h.value, h.values.view(h.bias)}, u(R), valueColumns)
}

// backward records the gradients of the head, and adds what it asks of the hidden state to
// dhidden.
func (h *valueHead) backward(r *recorder, R, ld int, hidden, dhidden gpu.View) {
	r.matmulTN(valueColumns, ld, R, valueColumns, ld, ld, h.dvalue, hidden, h.grads.view(h.weight))
	r.op("bias_backward", valueColumns, 1, []gpu.View{h.dvalue, h.grads.view(h.bias)}, u(R), valueColumns)
	r.matmulNN(true, R, ld, valueColumns, valueColumns, ld, ld, h.dvalue, matrix{numbers: h.values.view(h.weight)}, dhidden)
}

// read is the values of a batch in the order of the predicted tokens.
func (h *valueHead) read(b batch) ([]float32, error) {
	raw, out := make([]float32, b.R*valueColumns), make([]float32, b.R)
	if err := readF32(h.value.Buffer, h.value.Offset, raw); err != nil {
		return nil, err
	}
	for i, at := range b.order {
		out[at] = raw[i*valueColumns]
	}
	return out, nil
}

// write is the upload of the derivatives of R rows.
func (h *valueHead) write(dvalue []float32) write {
	rows := make([]float32, len(dvalue)*valueColumns)
	for i, x := range dvalue {
		rows[i*valueColumns] = x
	}
	return write{h.dvalue, f32Bytes(rows)}
}

// ValueHead gives a trainer a value head, zeros at first: statistics then have the values
// of the states that tokens were drawn in, and their weights train the head and the model.
func ValueHead(t *Trainer) {
	t.value = newValueHead(t.m.layout.dims, t.m.layout.maxBinding)
}

// ValueTensors lists the value head; nil without one.
func (t *Trainer) ValueTensors() []hf.NamedTensor {
	if t.value == nil {
		return nil
	}
	return t.value.named(t.value.values, "")
}

// SetValueTensors overwrites the value head with what ValueTensors gave.
func (t *Trainer) SetValueTensors(ts *hf.TensorSet) error {
	return t.value.fill(t.value.values, "", ts)
}
