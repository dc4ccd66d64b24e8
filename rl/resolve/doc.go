// Package resolve opens the files and scripts that a recipe names. It is the first step of a run, a
// dry run, an audit and an evaluation.
//
//	recipe.Load ─> Recipe: plain data ─> Open ─┬─> Recipe, complete: its text needs no script
//	                                           └─> Source: its problems
//
// Loading a recipe has checked its types, ranges and names. This package finds out whether its data
// file can be read and has the hash that the recipe records, whether its scripts exist, and whether
// its rewards compile. Every fault is reported with the line and column of its key, or with the
// override that set it.
//
// Open fills in what only the files can tell: the hash of the data file, the text of the scripts,
// and the number of held-out problems where the file has fewer than the recipe asks for. It changes
// a copy and not the given recipe.
package resolve
