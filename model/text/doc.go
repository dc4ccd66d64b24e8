// Package text turns text into token ids and back, and conversations into text:
// the tokenizers and chat templates of Hugging Face folders. It knows no device.
//
//	text ─ added tokens cut out ─ normalise ─ split into words ─ model: BPE or whole words ─ ids
//
// Units: an id is a row of the embedding, from 0. Text is UTF-8. A token may hold
// part of a character, so [Tokenizer.Decode] of a part of the ids may end in U+FFFD;
// a [Stream] holds such bytes back.
//
// A [Tokenizer] and a [Chat] are immutable and safe for use by several goroutines.
// A Stream belongs to one.
//
// # Text
//
// Ids and text are those of the Rust library tokenizers for the same
// tokenizer.json (https://github.com/huggingface/tokenizers), held by test against
// its output. Unigram models, Metaspace and post-processors are not supported:
// the first two are refused by name, and no token is added before or after.
//
// # New tokenizers
//
// [Learn] makes the tokenizer of a small chat model from texts, and [NewWords] that of a
// model which knows some words and no others.
//
// # GGUF
//
// [ReadGGUF] makes a tokenizer.json of the metadata of a GGUF file with byte-level BPE
// (pre-tokenizers gpt-2, smollm, llama-bpe, qwen2), or takes the one that the file holds.
// [Tokenizer.GGUF] writes both.
//
// # Chat
//
// A [Chat] is the template of a folder with the names of its special tokens:
// chat_template.jinja, or else chat_template.json, or else the key chat_template of
// tokenizer_config.json. Package template is the language.
package text
