package model

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Scratch is device memory in which phases take turns: sampling, training, the passes of other models. What a phase
// leaves there is undefined once another one has been entered. Trainers, scorers and engines enter and leave the phase
// that they were made in by themselves, and wait for the others.
type Scratch = device.Scratch

// Phase is what lies side by side in a scratch: what may be needed at once. The nil phase is memory of one's own.
type Phase = device.Phase

// NewScratch allocates a scratch of buffers of so many bytes, as package memory plans them.
func NewScratch(dev gpu.Device, blocks []int) (*Scratch, error) {
	return device.NewScratch(dev, blocks)
}
