// Package memory counts, by purpose, the device memory that a run will take.
//
//	config, capabilities, Use ─ Plan ─> gpu.Plan: parameters, gradient, activations, cache, …
//
// It calls the functions that allocate tensors and buffers, with a pool that has no device, so that
// the plan is what the run takes. Sizes are bytes. Plan is safe for concurrent use.
package memory
