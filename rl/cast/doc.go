// Package cast holds the models of a run, by role, and what they are asked to do.
//
//	role        what it is                                      opened
//	policy      the model that is trained and samples           always
//	reference   the policy as it was when the stage began       where a formula reads the fact "ref"
//	average     the moving average of the policy's weights      where a formula reads the fact "ema"
//	value head  one more output of the policy's trainer         where a formula reads "value" or "old_value"
//
// [Needs] says which facts the stages of a recipe read. A role is opened, and counted
// by [Plan], if and only if it supplies one of them. A new role is a row of the table
// of suppliers (suppliers.go) and a place in [Open].
//
// The value head is part of the policy's trainer. Checkpoints have it in trainer/, beside
// the optimizer's state, so a checkpoint is still a folder that other programs open.
//
// The package is the lowest that knows package model: it turns views of package
// rollout into the trainer's sequences, and the sampler's completions into segments.
//
// Shapes: a column has a row for each view, with an entry for each token that the
// policy wrote. Log-probs are in nats, of logits divided by the view's temperature.
//
// A Cast belongs to one goroutine. Close frees the device memory.
package cast
