// Package tools has the tools of this program, which implement [world.Tool].
//
//	ask          a model, or the policy itself
//	blocks       picks how another model goes on with the answer: it takes whole turns, and is a world
//	browse       pages with links
//	calculator   exact arithmetic
//	files        files of a row, in memory
//	search       documents by the words of a query
//
// A recipe names one by its [Entry], whose [Options] are read over their defaults:
//
//	[[task.tool]]  ── Lookup, Options ──>  settings checked  ── Make ──>  world.Tool
//
// Make alone reads files, through the function that it is given.
package tools
