// Package program has the verifiers of what a completion does rather than says:
// "code:python", "code:javascript", "code:wasm" and "sql". Importing it for its
// effect registers them.
//
//	completion ── last fenced block ──> program ─┐
//	row {tests | input_output | test_list …} ── suite ─┴─> box or engine ──> outcomes ──> Verdict
//
// # Where a program runs
//
// Python runs in a box of the operating system (package verify/box); SQL, JavaScript
// and WebAssembly in engines inside children of this binary, bounded in memory and work,
// with neither files nor a network. No program is given more than
// the input of the test at hand: what is expected stays in this process and is
// compared here, so that reading the tests, leaving early, patching equality or
// printing a verdict earns nothing.
//
// # Whose fault
//
// A program that fails, hangs, floods its output, meets a limit or breaks the engine
// that runs it, twice, is wrong: a completion cannot talk itself out of being scored.
// Not scored are a row without tests, with a test or a setup that fails whatever the
// program is, or with a test that checks nothing; a box that cannot be built on this
// system; and a machine too busy to give the program its time. The last is told by how
// long a thread of the program waited for a processor: more than half of the limit by
// the clock, which its own threads cannot take up, as a program is one process with one
// limit on processor time, of less than that.
//
// # Threads
//
// Verifiers are safe for concurrent use. Boxes are kept warm and shared out, one
// program at a time in each.
//
// # Time
//
// Limits count the processor time of the program or query where the system tells it; the
// limit by the clock, several times longer, is for programs that wait. Verdicts
// near a limit can differ between machines. So other machines are asked for verdicts
// ([verify.Portable]) and believed where each test ended, by the clock, within a tenth of
// the processor time that it may have, and met no limit of time or memory.
package program
