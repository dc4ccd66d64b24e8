// Package text turns text into token ids and back: the tokenizers of Hugging Face
// folders. It knows no device and no model.
//
//	text ─ added tokens cut out ─ normalise ─ split into words ─ model: BPE or whole words ─ ids
//
// Units: an id is a row of the embedding, from 0. Text is UTF-8. A token may hold
// part of a character.
//
// A [Tokenizer] is immutable and safe for use by several goroutines.
//
// Ids and text are those of the Rust library tokenizers for the same
// tokenizer.json (https://github.com/huggingface/tokenizers), held by test against
// its output. Unigram models, Metaspace and post-processors are not supported:
// the first two are refused by name, and no token is added in front or behind.
package text
