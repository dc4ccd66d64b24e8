// Package sqlite runs one query of a stranger on a database. Its limits are counted, not timed.
//
//	script (trusted) ── Build ──> Image ── OpenImage ─┐
//	file on disk ────────────────────────── OpenFile ─┴─> DB ── Query(limits) ──> Result{columns, rows, tables read}
//
// It calls the transpiled C of modernc.org/sqlite/lib itself. The database/sql driver of that
// module uses the one progress handler of a connection, so only time could stop a query. It also
// turns text into time.Time in columns that are declared DATE. Here work is counted in steps of
// SQLite's virtual machine, and a value is what SQLite holds.
//
// # What a query can reach
//
// A query is one statement that reads. The authorizer allows SELECT, reads, recursion and
// functions, except functions whose results differ from run to run or that load code. Writes,
// PRAGMA, ATTACH, EXPLAIN and a second statement are errors. The database is opened for reading
// only, as immutable; temporary tables live in memory, and no file is ever created. The clock that
// SQL sees stands still at [Now], since rows and verdicts must not depend on the day.
//
// # Limits
//
// [Limits] bounds the steps, rows and bytes of a result. The connection bounds the length of a
// value and a statement, the depth of an expression and the like (limits in open.go). All
// connections of the process share SQLite's heap, which is limited to heapBytes. A query that meets
// this limit while others run is run again alone, so that its outcome does not depend on them.
//
// A step is one instruction of the virtual machine. A single instruction can take long (instr over
// two long texts); the time of the context is the backstop for it. SQLite checks the time where its
// machine loops, so the work within the expressions of one row is bounded by the number of
// functions (maxFunctions) and by the lengths.
//
// # Threads
//
// A DB belongs to one goroutine at a time; an Image is immutable and may be shared. DB and Image
// hold C memory until they are closed.
//
// # Sources
//
// https://www.sqlite.org/c3ref/intro.html and, for strangers' queries,
// https://www.sqlite.org/security.html.
package sqlite
