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
//	hashed   "given": [Hashed] leaves it out where it is zero, so that what was hashed before there
//	         was such a key has the same hash
//	was      its former name, which is refused with the new one
//	about    what the setting is, in a phrase
//
// A description that is longer than a phrase stands in the comment above the field, in place of
// about; [Comments] brings it into the program. So everything about a key is in one place:
//
//	// divides the logits, in sampler and trainer alike
//	Temperature float64 `toml:"temperature" range:"(0,100]" default:"1"`
//
// The keys of an embedded struct belong to the struct around it. A struct whose keys depend on
// another setting is a [Variant]. Of two numbers min_x and max_x the first may not exceed the
// second.
//
// All faults are reported at once. Each has file, line and column, or the override that caused it,
// and says what was found, what is accepted and the nearest known name. Printed text decodes to the
// same values and depends on nothing else.
//
// A Document is not safe for concurrent use. The functions are, as long as nobody changes the
// structs.
package settings
