// Package fit says which ways to train a model fit a device: the whole model, or a LoRA adapter
// over matrices in bf16, q8_0 or q4_0. For each it says how long contexts and how large groups can
// be, and about how fast it is.
//
// Memory is planned. Each answer is the memory plan of the recipe lora-math with the changes that
// the answer names, so train --dry-run with these changes prints the same bytes. Planning reads
// only the model's config and allocates no weights.
//
// Speed is an estimate, in tokens per second. One linear layer of the model's width is measured on
// the device with the program's own kernels and at most 32 MiB of numbers. All storages are
// measured in turns, so that a busy machine slows them alike. The median time for one row and one
// number of the matrix is multiplied by the number of products that the whole model takes for a
// token (Kaplan et al., arXiv 2001.08361, section 2.1): the matrices of the blocks and of the head,
// and attention to half of the context. Norms, drawing tokens, uploads and the optimizer's update
// are not included.
package fit
