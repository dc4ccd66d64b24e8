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
// Ids and text are those of the Rust library tokenizers for the same tokenizer.json
// (https://github.com/huggingface/tokenizers); tests compare them with its output. Unigram models,
// Metaspace and post-processors are not supported. The first two are refused by name.
// Post-processors are ignored: no token is added before or after a text.
//
// # New tokenizers
//
// [Learn] makes the tokenizer of a small chat model from texts. [NewWords] makes the tokenizer of a
// model that knows only certain words.
//
// # GGUF
//
// [ReadGGUF] makes a tokenizer.json from the metadata of a GGUF file with byte-level BPE
// (pre-tokenizers gpt-2, smollm, llama-bpe, qwen2), or takes the one that the file holds.
// [Tokenizer.GGUF] writes both.
//
// # Chat
//
// A [Chat] is the template of a folder with the names of its special tokens:
// chat_template.jinja, or else chat_template.json, or else the key chat_template of
// tokenizer_config.json. Package template is the language.
package text
