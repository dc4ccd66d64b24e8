// Package settings reads, checks and prints structs whose fields are settings:
// the tables of a recipe, the settings of a task, the numbers of an algorithm, the
// options of a verifier. It knows none of them.
//
//	TOML text + overrides ─ Parse, Override ─> Document ─ Decode ─> struct ─ Print ─> TOML text
//	JSON options ───────────────────────────── DecodeJSON ─> struct
//	key, text ──────────────────────────────── Set ────────> struct ─ Check, Fields, Describe
//
// A field is described by its tags:
//
//	toml     the key; ",inline" stands for the keys of the struct it holds, ",rest" for all
//	         keys that no other field has: a map[string]any of numbers and texts
//	range    accepted numbers as an interval: "[1,inf)", "(0,1]"; an end of "inf]" takes inf
//	choice   accepted words: "a,b"
//	unit     of a number, such as "tokens"
//	default  the value without the key, as TOML or as text without quotes; "default_rl" that
//	         in a table of kind rl. Without the tag it is the zero value
//	in       kinds of table that have the key: "sft,rl"; the kind is the key "kind" of the
//	         table or of one around it
//	of       variants of the struct that have the key, see [Variant]
//	with     beside which words of another key it does something: "rule=sgd,adam"
//	was      its former name, which is refused with the new one
//	about    what the setting is, in a phrase
//
// What takes more than a phrase to say stands in the comment above the field, in place of
// about; [Comments] brings it into the program. All that there is to know of a key is so in
// one place:
//
//	// divides the logits, in sampler and trainer alike
//	Temperature float64 `toml:"temperature" range:"(0,100]" default:"1"`
//
// The keys of an embedded struct stand among those of the struct around it. A struct
// that does not have all of its keys at a time is a [Variant]. Of two numbers min_x
// and max_x the first may not exceed the second.
//
// Everything that is wrong is reported at once, each fault with file, line and column
// or with the override that caused it, with what was found, what is accepted and the
// nearest known name. Printed text decodes to the same values and depends on nothing
// but them.
//
// A Document is not safe for concurrent use. The functions are, on structs that
// nobody changes.
package settings
