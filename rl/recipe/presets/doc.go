// Package presets holds the recipes that come with the program.
//
//	NAME.toml          an example: a whole recipe to start from
//	FIELD/NAME.toml    a published system in miniature: what it changes of an example (base)
//	systems.tsv        the published systems, one a line: id, name, paper, and its state
//
// A field is what a system is about: loss, reward, length, curriculum and so on. The recipe of
// a system says in its head what is the paper's, what is scaled down and what to expect.
//
// A system is in one of four states. works: the recipe computes the paper's mechanism, and its
// head has the paper's formula, the part of the recipe that computes it and the metric in which
// it is seen. thin: there is a recipe, and the state says what it leaves out. waits: there is no
// recipe, and the state says what the program has to learn first. excluded: nothing is trained,
// or no text is written. docs/papers.md is written from the table by a test of
// package compare.
//
// The package only reads the head of a recipe: name, about, paper, systems, and the comment
// that it begins with. Package recipe
// loads them. Everything is part of the program and safe for concurrent use.
package presets
