// Package presets holds the recipes that come with the program.
//
//	NAME.toml          an example: a whole recipe to start from
//	FIELD/NAME.toml    a published system in miniature: what it changes of an example (base)
//	systems.tsv        the published systems, one a line: id, name, paper, and its state
//
// A field is what a system is about: loss, reward, length, curriculum and so on. The comment at the
// head of a system's recipe says what comes from the paper, what is scaled down and what to expect.
//
// A system is in one of four states:
//
//   - works: the recipe computes the paper's mechanism. Its head has the paper's formula, the part
//     of the recipe that computes it, and the metric that shows it.
//   - thin: there is a recipe, and the state says what it leaves out.
//   - waits: there is no recipe yet, and the state says what the program lacks.
//   - excluded: the paper trains nothing, or writes no text.
//
// A test of package compare writes docs/papers.md from the table.
//
// The package reads only the head of a recipe: name, about, paper, systems, and its first comment.
// Package recipe loads recipes. Everything is part of the program and safe for concurrent use.
package presets
