// Package recipe reads what a run is to do: a strict TOML file of at most some
// sixty lines, or one of the presets in presets/.
//
//	name, about, seed, micro_batch_tokens, sampler_sequences
//	[model]       a path, or the dimensions of a model made from random weights
//	[task]        where problems come from and how they are judged: a family, or a file
//	[checkpoint]  how many are kept
//	[[stage]]     sft, rl or eval, in order; each with optimizer, sampling, algorithm,
//	              and the verifiers that its reward can name
//
//	text ─parse─> tree ─overrides─> tree ─table by table, over the defaults─> Recipe ─Resolved─> text
//
// An unknown key is an error with its line, column and the nearest known name;
// so are a wrong type, a value out of range, and a key that its kind of stage
// does not have. Overrides (path=value) go through the same checks. Everything
// that is wrong is told at once. Resolved writes the recipe with every default,
// which loads to the same recipe.
//
// A Recipe is plain data, safe for concurrent reading. Loading opens none of the
// files that it names and compiles no reward: package resolve does, when a run
// begins, and reports faults with [Recipe.Faults]. Relative paths begin at the
// folder of the recipe's file, those in overrides and presets at the current
// folder; the Recipe has absolute ones.
//
// The package knows nothing of devices.
package recipe
