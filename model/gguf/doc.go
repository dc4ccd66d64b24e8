// Package gguf reads and writes GGUF files, version 3, the format of llama.cpp and
// Ollama: metadata, and tensors in blocks of one of many types.
//
//	file ── Open ──> Metadata, Tensors ── Read ──> float32
//	metadata, tensors ── Write ──> file
//
// Shapes are those of Hugging Face folders, slowest dimension first: [out][in]. The file
// has them the other way round. Blocks lie along the last dimension.
//
// Every type that fixtures or published models commonly have is read: F32, F16, BF16, Q4_0, Q4_1,
// Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4. Written are F32, F16, BF16, Q4_0, Q4_1,
// Q5_0, Q5_1 and Q8_0, to the bytes that the reference implementation gives. The package does not
// know what the keys of a model mean.
//
// A file is not trusted: what it claims is compared with its size before anything is allocated, a
// header may take at most 1 GiB, and no tensor may lie outside the file. Bytes between tensors are
// padding and are skipped.
//
// A File is safe for concurrent use; Read reads the disk each time.
//
// Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and for the blocks
// ggml/src/ggml-common.h, ggml-quants.c and gguf-py/gguf/quants.py of
// https://github.com/ggml-org/llama.cpp
package gguf
