// Package fit says which ways to train a model fit a device: the whole model, or a LoRA
// adapter over matrices in bf16, q8_0 or q4_0; with how long contexts and how large
// groups; and how fast about.
//
// Memory is planned: each answer is the memory plan of the recipe lora-math with the
// changes that the answer names, so train --dry-run with them prints the same bytes.
// Nothing of the model's size is allocated, and its config is all that is read.
//
// Speed is an estimate, in tokens per second. One linear layer of the model's width is
// measured on the device with the program's own kernels and at most 32 MiB of numbers, in
// all storages in turns, so that a busy machine slows them alike; the median of its time for
// a row and a number of the matrix is multiplied by what the
// whole model multiplies for a token (Kaplan et al., arXiv 2001.08361, section 2.1): the
// matrices of the blocks and of the head, and attention to half of the context. What else
// takes time (norms, drawing tokens, uploads, the optimizer's update) is not in it.
package fit
