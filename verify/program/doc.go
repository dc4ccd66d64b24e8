// Package program has the verifiers that run a completion: "code:python", "code:javascript",
// "code:wasm" and "sql". Importing it registers them.
//
//	completion ── last fenced block ──> program ─┐
//	row {tests | input_output | test_list …} ── suite ─┴─> box or engine ──> outcomes ──> Verdict
//
// # Where a program runs
//
// Python runs in a box of the operating system (package verify/box). SQL, JavaScript and
// WebAssembly run in engines inside children of this binary, bounded in memory and work, with
// neither files nor a network. A program gets only the input of the test at hand. Expected results
// stay in this process and are compared here, so reading the tests, leaving early, patching
// equality or printing a verdict earns nothing.
//
// # Whose fault
//
// A program is wrong if it fails, hangs, floods its output, meets a limit, or breaks the engine
// that runs it twice: a completion cannot talk itself out of being scored. A completion is not
// scored if its row has no tests, a test or a setup that fails whatever the program is, or a test
// that checks nothing; if the box cannot be built on this system; or if the machine is too busy to
// give the program its time. A machine is too busy if a thread of the program waited for a
// processor for more than half of the limit by the clock. The program's own threads cannot cause
// that wait: a program is one process, and its limit on processor time is lower.
//
// # Threads
//
// Verifiers are safe for concurrent use. Boxes are kept warm and shared out, one
// program at a time in each.
//
// # Time
//
// Limits count the processor time of the program or query, where the system reports it. The limit
// by the clock is several times longer and is meant for programs that wait. Verdicts near a limit
// can differ between machines. So a verdict from another machine ([verify.Portable]) is believed
// only if each test met no limit of time or memory, and ended, by the clock, within a tenth of the
// processor time that it may have.
package program
