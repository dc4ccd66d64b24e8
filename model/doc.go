// Package model holds decoder language models on a device: their weights, their adapters, and the
// log-probs of sequences. Each use of a model has a package of its own:
//
//	hf, gguf       files: Hugging Face folders, PEFT adapters, GGUF
//	text, grammar  tokens, chat templates, what a schema allows next
//	seq            sequences, and how they are packed into rows
//	sample         engines, which draw completions
//	learn          trainers, optimizers, moving averages
//	memory         the device memory that a run will take
//
//	internal/decoder   the forward and backward pass, which all of these record
//	internal/tensors   where parameters lie, in which storage
//	internal/device    memory and recorded work
//
// # One path of arithmetic
//
// Sampler, scorer and trainer record the same kernels by the same functions (internal/decoder). A
// kernel computes each row by itself, in an order that does not depend on the other rows. So the
// log-prob that the sampler reports for a token has the same bits as the one that the trainer
// computes for it later, whatever the batch, the chunks in which a prompt was read, or the pages
// that hold its keys. The tests of this package compare sampler, scorer and trainer; those of the
// other packages test each alone.
//
// # Storage
//
// hf.Config.Dtype and hf.Config.KVDtype say how matrices, and keys and values, lie in memory: as
// float32, or rounded once to bf16. All readers get the same rounded numbers. So sampler and
// trainer agree to the bit in every storage, and a bf16 model computes what a float32 model with
// the rounded weights computes.
//
//	              on the device                        rounded when
//	matrices      bf16; a model that is trained also   loaded, and after each update
//	              float32, which is updated and saved
//	keys, values  bf16, in the cache and in training   stored, after the rotation
//	the rest      float32
//
// The matrices of a frozen model's blocks may also be in q8_0 or q4_0 (llama.cpp's blocks of 32
// numbers with a scale; the vocabulary's tables are then bf16). Products read the blocks, and have
// the bits of products with the float32 numbers that the blocks stand for.
//
// Gradients pass the rounding unchanged ("straight through", Bengio et al., arXiv 1308.3432).
//
// # Adapters
//
// A model may have one LoRA adapter: two float32 matrices beside each of the linear layers it
// targets. The model is then frozen, a trainer trains only the adapter, and a trainer lends scorers
// with the adapter off. Several adapters over the same matrices are models of their own
// (WithAdapter), each with only the memory of its adapter; so is a second set of the trained
// parameters (Beside).
//
// # Sums of logits
//
// Engines, scorers and trainers may add the logits of other models to those of their own, each times a factor, for draws,
// log-probs and gradients alike. The sum is made in one order by one kernel, so the bits are equal there too.
//
// # Files
//
// Files are read, and parameters written to the device, in bands of rows, so that the host never
// holds a whole matrix. Blocks of a GGUF file go to the device unchanged, if the model is kept in
// blocks of the same type.
//
// # Threads
//
// A Scorer or a trainer belongs to one goroutine; many may call an engine. All share the device: do
// not train while an engine samples.
package model
