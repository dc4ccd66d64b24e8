// Package memory counts what a run takes of a device's memory before it takes it, by purpose.
//
//	config, capabilities, Use ─ Plan ─> gpu.Plan: parameters, gradient, activations, cache, …
//
// It places tensors and buffers by the functions that allocate them, on a pool without a device, so
// that what is planned is what is taken. Sizes are bytes. Plan is safe for concurrent use.
package memory
