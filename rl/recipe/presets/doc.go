// Package presets holds the recipes that come with the program.
//
//	NAME.toml          an example: a whole recipe to start from
//	FIELD/NAME.toml    a published system in miniature: what it changes of an example (base)
//	systems.tsv        the published systems, one a line: id, name, and what its recipe waits for
//	                   that recipes cannot say, empty once a recipe names the id
//
// A field is what a system is about: loss, reward, length, curriculum and so on. The recipe of
// a system says in its head what is the paper's, what is scaled down and what to expect.
//
// The package only reads the head of a recipe: name, about, paper, systems. Package recipe
// loads them. Everything is part of the program and safe for concurrent use.
package presets
