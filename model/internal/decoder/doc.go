// Package decoder records the forward and backward pass of a decoder over rows of tokens.
//
//	ids ─ embed ─ x ─┬─ rmsnorm ─ qkv ─ qk-norm, rope ─ attention ─ o ─(+)─┬─ rmsnorm ─ gate,up ─ swiglu ─ down ─(+)─ … ─ rmsnorm ─ head ─ logits
//	                 └─────────────────────────────────────────────────┘   └──────────────────────────────────┘
//
// Sampler, scorer and trainer record the same kernels by the same functions (forward.go). A block
// is made of parts (part_attention.go, part_mlp.go); each has its tensors, its buffers and its two
// passes in one file. Every product with a weight is a linear (linear.go), which also has the
// matrices of an adapter (lora.go).
//
// # Shapes and units
//
// T rows (see package seq), D model width, H query heads, KV key/value heads, hd head
// width, F MLP width, V vocabulary, R rows whose next token is predicted.
// All arithmetic is float32. Log-probs and entropies are in nats, of logits divided
// by the temperature.
//
// # Logits
//
// The logits of a batch are never kept: they are made for a block of rows in a
// workspace of at most 64 MiB (on a card, 512 MiB or a 32nd of its memory, whichever
// is less), reduced to four numbers a row, and made again in the backward pass.
//
// # Sums
//
// A workspace may add the logits of other decoders to those of its own (mixture.go). They read the same rows, and their
// logits are made block by block beside the others, in both passes. So statistics, draws and gradients are of the sum,
// by the same kernels; only the workspace's own decoder has a gradient, times its factor.
//
// Exported names are for the packages of model only. A workspace belongs to one goroutine.
package decoder
