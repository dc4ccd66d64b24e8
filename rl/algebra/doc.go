// Package algebra reads formulas over models: over what they are, and over what they say.
//
//	weights   a number of a tensor from those that other models have in its place   base + 0.7*(tuned - base)
//	logits    a sum of what models say of the next token, each by a factor          big + 0.5*(tuned - small)
//
// Both are in the language of package formula, in which the name of a model stands for its numbers. The
// package knows names alone: who computes with tensors and logits are packages above it.
//
// A [Weights] may use arithmetic on each element and the functions of [Functions], which need a whole tensor or
// random numbers. A [Sum] is linear: anything else is refused, because logits are added on the device.
package algebra
