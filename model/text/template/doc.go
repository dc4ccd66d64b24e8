// Package template renders chat templates: the Jinja templates that come with
// models and turn a conversation into the text that the model reads.
//
//	source ─ lex ─ parse ─ statements ─┬─ render ─ text, spans of the assistant
//	variables (JSON) ──────────────────┘
//
// # What it follows
//
// The language is that of Jinja 3.1 (https://jinja.palletsprojects.com/) in the
// environment of transformers' apply_chat_template
// (https://huggingface.co/docs/transformers/chat_templating): trim_blocks and
// lstrip_blocks on, no HTML escaping, tojson as json.dumps with characters beyond
// ASCII kept, break and continue, raise_exception, strftime_now, and
// {% generation %} around what the assistant says. Values behave as Python's: None
// prints "None", strings are sequences of characters, integers have no overflow,
// dicts keep their order, a generator is read once and has no length, and an
// unknown name is empty text until something is asked of it. What the sandbox of
// transformers refuses is refused: attributes that begin with "_", methods that
// change a list or dict, ranges of more than 100,000 items.
//
// Tests compare it with texts that Jinja made (fixtures) and with its documentation.
//
// # What is missing
//
// Tags that read other templates (include, import, extends), autoescape, and the
// filters of refusedFilters. They are errors that say so. Addresses in the text of
// objects ("<generator object at 0x...>") are left out. Case, digits and printable
// characters are those of Go's Unicode tables.
//
// # Bounds
//
// A template may come from anyone. It sees its variables and the functions here and nothing else:
// no files, no clock, no randomness. A rendering ends with an error when it takes too many steps,
// makes too much text, or nests too deep ([Limits]). This includes comparing, hashing or printing
// lists that contain themselves many times over. Parsing is linear in the source, which has at most
// 1 MiB.
//
// # Units
//
// Spans are bytes of the text. Lines and columns of errors count from 1, columns
// in characters.
//
// # Threads
//
// A [Template] is immutable and may be rendered by several goroutines at a time. A
// rendering does not change its variables.
package template
