// Package memory counts, by purpose, the device memory that a run will take.
//
//	config, capabilities, Use ─ Plan ─> gpu.Plan: parameters, gradient, …, scratch and what each phase has in it
//
// It calls the functions that allocate tensors and buffers, with a pool that has no device, so that
// the plan is what the run takes. Sizes are bytes. Plan is safe for concurrent use.
//
// # What stays and what is scratch
//
// Some memory holds its numbers from step to step; the rest is written and read within one phase of a
// step, and all phases of a run have it in one scratch ([model.Scratch]), as large as the largest needs.
//
//	stays    parameters, what they are rounded to, and rope tables, of each model
//	         adapters, value heads with what they say, heads
//	         gradient, moments, sums over the gradient, of each learner
//	         the table that influences are summed in
//	scratch  sampling              the policy's sampler: keys and values with their lists, activations of a
//	                               step, logits; those of who plays seats beside it
//	         training              activations, their gradients, logits; scorers of models of the policy's
//	                               sizes and other learners write there too, one after the other
//	         model NAME, learning  those of a model of another shape that stages train; its scorer writes there too
//	         model NAME, reading   activations of a scorer of other sizes
//	         model NAME, writing   a sampler of its own
//	         both                  parameters of a model that leaves: they come back from its folder when a
//	                               phase of it is entered after another one
//
// Keys and values that samplers keep for prompts that begin alike (prefixes) are scratch: they are computed
// again after another phase, to the same bits. So are the activations between a forward pass and its backward
// pass, which the trainer computes again if another phase came between them. No kernel reads what is not
// written in its phase, so what another one left there changes no bit (TestPhases of package learn fills it
// with NaN).
package memory
