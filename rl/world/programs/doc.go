// Package programs has the tools that run what a policy writes, in the box and the engines of package
// verify/program. Importing it registers them with package tools.
//
//	python       cells in the box: not pure, as a program sees the clock
//	javascript   cells in QuickJS: not pure, as the time that a cell takes is limited
//	wasm         programs for an interpreter that is a WebAssembly module: not pure, for the same reason
//	sql          queries on the database of a row, which is only read: not pure, likewise
//
// A cell runs after the cells before it that did not fail, in a new interpreter: what a session knows is
// the text of its cells. So nothing lives between two calls, and a session that is lost is made again from
// its turns.
//
// # Whose fault
//
// A program that fails, hangs, floods its output or breaks what runs it is a mistake, which its answer says.
// An error of a call is world.ErrUnable, which says that nothing could be run: there is no box, or the machine is
// too busy.
package programs
