// Package learn trains a model: gradients of its log-probs, updates by them, and moving averages of
// the weights.
//
//	sequences ─ Forward ─> Stats ─ the loss ─> Weights ─ Backward ─> gradient ─ Step ─> parameters
//
// A Trainer trains all parameters of a model, or its adapter if it has one. If the loss of a
// sequence needs only the statistics of that sequence, Accumulate does Forward and Backward batch
// by batch, with one forward pass instead of two. Gradients add up until Step, with the same bits
// however the sequences were cut into batches.
//
// A Trainer may have a value head: one more output of its forward pass, a linear map of the final
// hidden state from which a token is predicted. Its weights are the trainer's and have their own
// learning rate. The gradient of a value goes through the model like that of a log-prob.
//
// The logits of a batch are never kept: they are made for a block of rows, reduced to four
// numbers a row, and made again in the backward pass.
//
// Log-probs, entropies and values have the shapes of seq.Stats; weights are the derivatives of
// the loss by them. A Trainer and an Average belong to one goroutine.
package learn
