// Package model holds decoder language models on a device: the forward and backward pass,
// sampling, and optimizers. Package model/hf reads and writes their files.
//
//	ids ─ embed ─ x ─┬─ rmsnorm ─ qkv ─ qk-norm, rope ─ attention ─ o ─(+)─┬─ rmsnorm ─ gate,up ─ swiglu ─ down ─(+)─ … ─ rmsnorm ─ head ─ logits
//	                 └─────────────────────────────────────────────────┘   └──────────────────────────────────┘
//
// # One path of arithmetic
//
// Sampler and trainer record the same kernels from the same function (decoder.go). A
// block is made of parts (part_attention.go, part_mlp.go), each with its tensors, its
// buffers and its two passes in one file; every product with a weight is a linear
// (linear.go).
// A kernel computes each row by itself in an order that does not depend on the
// other rows, so the log-prob that the sampler reports for a token has the same
// bits as the one the trainer computes for it later: whatever the batch, the
// chunks in which a prompt was read, or the pages its keys lie in.
//
// # Groups
//
// Sequences of a group, such as the completions of one prompt, share what they have in
// common at their beginnings. A batch holds the nodes of a tree for each group, in
// depth-first order:
//
//	prompt ─┬─ completion 1            rows: prompt, completion 1, what 2 and 3 have
//	        └──┬─ completion 2         in common, the rest of 2, the rest of 3
//	           └─ completion 3
//
// A row's position is its depth, and its keys are the rows of its path, from a list. So
// it has the numbers that it would have in a sequence of its own, and log-probs keep
// their bits. A row's gradient is a sum over all that follows it, in the order of the
// rows, so a group's gradient depends on the group but not on its batch. Batches are cut
// between groups; a group that no batch holds is cut between its sequences, and its
// gradient is then added up in another order. The sampler grows the same tree: completions
// with equal tokens so far are one row of a step, with a draw for each.
//
// # Shapes and units
//
// T rows (tokens of all sequences, packed one after the other, no padding
// between them, see above), D model width, H query heads, KV key/value heads, hd head
// width, F MLP width, V vocabulary, R rows whose next token is predicted.
// All arithmetic is float32. Log-probs and entropies are in nats, of logits divided
// by the temperature.
//
// # Storage
//
// hf.Config.Dtype and hf.Config.KVDtype say how matrices, and keys and values, lie in
// memory: as float32, or rounded once to bf16. Whoever reads them reads the same
// rounded numbers, so sampler and trainer agree to the bit in every storage, and a
// bf16 model computes what a float32 one with the rounded weights does.
//
//	              on the device                        rounded when
//	matrices      bf16; a model that is trained also   loaded, and after each update
//	              float32, which is updated and saved
//	keys, values  bf16, in the cache and in training   stored, after the rotation
//	the rest      float32
//
// The matrices of a frozen model's blocks may also be in q8_0 or q4_0 (llama.cpp's blocks
// of 32 numbers with a scale; the vocabulary's tables are then bf16). Products read the
// blocks, with the bits of products with the float32 numbers that these stand for.
//
// Gradients go through the rounding as they are ("straight through", Bengio et al.,
// arXiv 1308.3432).
//
// # Adapters
//
// A model may have one LoRA adapter (adapter.go): two float32 matrices beside each of
// the linear layers it targets. The model is then frozen, a Trainer trains the adapter
// alone, and NewBaseScorer scores with the adapter off. Several adapters over the same
// matrices are models of their own (WithAdapter) that take the memory of the adapter alone.
//
// # Memory
//
// Plan counts what a run takes before it takes it, by purpose. Files are read, and
// parameters written to the device, in bands of some rows (tensors.go), so that the host
// never holds a matrix. Blocks of a GGUF file go to the device as they are, if the model
// is kept in the same ones.
//
// # Values
//
// A Trainer may have a value head (value.go): one more output of its forward pass, a
// linear map of the final hidden state that a token is predicted from. Its weights
// are the trainer's and have their own learning rate. The gradient of a value goes through
// the model like that of a log-prob.
//
// # Logits
//
// The logits of a batch are never kept: they are made for a block of rows in a
// workspace of at most 64 MiB (on a card, 512 MiB or a 32nd of its memory, whichever
// is less), reduced to four numbers a row, and made again in the backward pass.
//
// # Drafts
//
// A request may say what its completions are expected to be (Request.Draft). All draws of
// a draft are computed in one pass, and the completion has the same bits with any draft.
// [Engine.Check] uses this to prove completions right or wrong, token by token, at the
// price of reading them.
//
// # Requests
//
// An engine's requests advance together, one step at a time, and join and leave it between
// steps. A completion gets memory for its keys as it grows; where there is none the youngest
// request is set back and repeated (engine_pages.go). A request may be told its tokens as
// they come, with the most likely ones beside them, and those of its prompt
// (engine_ask.go). Pages of prompts may be kept for others that begin alike (prefix.go).
// None of this changes a bit.
//
// # Threads
//
// A Trainer or Scorer belongs to one goroutine. Engine.Generate and Engine.Check may be
// called by many. Engine and Trainer share the device: do not train while a Generate
// is in flight.
package model
