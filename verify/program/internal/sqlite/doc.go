// Package sqlite runs one query of a stranger on a database, within limits that
// are counted and not timed.
//
//	script (trusted) ── Build ──> Image ── OpenImage ─┐
//	file on disk ────────────────────────── OpenFile ─┴─> DB ── Query(limits) ──> Result{columns, rows, tables read}
//
// It calls the transpiled C of modernc.org/sqlite/lib itself. The database/sql
// driver of the same module owns the one progress handler of a connection, so
// that only time could stop a query, and it turns text of columns that are
// declared DATE into time.Time; here work is counted in steps of SQLite's virtual
// machine, and a value is what SQLite holds.
//
// # What a query can reach
//
// One statement that reads: the authorizer lets SELECT, reads, recursion and
// functions pass, except those whose results differ from run to run or that load
// code. Writes, PRAGMA, ATTACH, EXPLAIN and a second statement are errors. The
// database is opened for reading only, as immutable; temporary tables live in
// memory, and no file is ever created. The clock that SQL sees stands still at
// [Now], as rows and verdicts must not depend on the day.
//
// # Limits
//
// Steps, rows and bytes of a result are those of [Limits]; a value, a statement,
// the depth of an expression and the like have limits of the connection
// (limits in open.go). SQLite's heap is shared by all connections of the
// process and limited to heapBytes: a query that meets the limit while others
// run is run again alone, so that its outcome is its own.
//
// A step is one instruction of the virtual machine. A single one can be long
// (instr over two long texts), and such work has the time of the context as its
// backstop. SQLite looks at it where its machine loops, so what stands in one row's
// expressions is bounded by their count (maxFunctions) and the lengths.
//
// # Threads
//
// A DB belongs to one goroutine at a time; an Image is immutable and may be
// shared. Memory of C is held by DB and Image until their Close.
//
// # Sources
//
// https://www.sqlite.org/c3ref/intro.html and, for strangers' queries,
// https://www.sqlite.org/security.html.
package sqlite
