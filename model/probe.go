package model

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
)

// Probe is one linear layer alone, all zeros, as both passes use it: Forward and Backward run one
// of them to its end. It measures the time of a model's products before the model exists.
type Probe = decoder.Probe

// NewProbe makes a layer of so many outputs and inputs, multiples of 32, that is kept in
// a storage, for batches of so many rows. With a rank above 0 it has an adapter, and the
// backward pass has no gradient of the matrix.
func NewProbe(dev gpu.Device, dtype hf.Dtype, rank, rows, out, in int) (*Probe, error) {
	return decoder.NewProbe(dev, dtype, rank, rows, out, in)
}
