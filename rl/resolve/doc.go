// Package resolve opens what a recipe names: it is the first step of a run, a dry
// run, an audit and an evaluation.
//
//	recipe.Load ─> Recipe: plain data ─> Open ─┬─> Recipe, complete: its text needs no script
//	                                           └─> Source: its problems
//
// A recipe that was loaded has types, ranges and names that are right. Whether its
// data file can be read and has the hash that the recipe records, whether its
// scripts are there and whether its rewards compile is found here. Every fault is
// reported with the line and column of its key, or with the override that set it.
//
// Open fills in what only the files say: the hash of the data file, the text of the
// scripts, and the number of held-out problems where the file has fewer than the
// recipe asks for. It changes a copy; the recipe that is given stays as it is.
package resolve
