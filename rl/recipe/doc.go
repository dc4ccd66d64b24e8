// Package recipe reads recipes. A recipe says what a run does: it is a strict TOML
// file, usually of less than sixty lines, or one of the presets in presets/.
//
//	name, about, base, paper, systems, seed, recompute_activations, micro_batch_tokens, sampler_sequences
//	[model]       a path, or the dimensions of a model made from random weights
//	[task]        where problems come from and how they are judged: a family, or a file
//	[checkpoint]  how many are kept
//	[[stage]]     sft, preference, rl or eval, in order; each with optimizer, sampling,
//	              algorithm, and the verifiers that its reward can name
//	[[expect]]    what a run should show against a control
//
//	text ─parse─> tree ─overrides─> tree ─table by table, over the defaults─> Recipe ─Resolved─> text
//
// An unknown key, a wrong type, a value out of range and a key of another kind of
// stage are errors with line and column, or with the override (path=value) that
// caused them. All errors are reported at once. Resolved writes the recipe with
// every default; the text loads to the same recipe. [Keys] is a reference of all
// keys. Package settings does the decoding.
//
// A recipe with a base begins from a preset, which has no base itself, and says what it changes
// ([settings.Document.Over]). Overrides come after that. The resolved text has no base.
//
// The table [stage.algorithm] is open: a number replaces a parameter of the method that its preset
// names, text a formula of it (algorithm.go). The formulas are checked against the facts that the
// stage supplies, and everything in force is written into the resolved recipe. Keys from the time
// before methods were formulas are refused, with what to write instead (former.go).
//
// A Recipe is plain data, safe for concurrent reading. Loading opens none of the files that it
// names and compiles no reward. Package resolve does that when a run begins, and reports faults
// with [Recipe.Faults]. Relative paths begin at the folder of the recipe's file, those in overrides
// and presets at the current folder; the Recipe has absolute ones.
//
// The package knows nothing of devices.
package recipe
