// Package worker runs an engine for strangers' programs in child processes, so that one that hangs
// can be ended. A child is this binary, started again.
//
//	Pool.Do(task) ── length, JSON ──> child: run(task) under a Guard ──> Report
//	     └─ out of time, or the child ends itself: the next task gets a new one
//
// An engine runs here if its own code can take minutes without looking at a limit, as an indexOf
// over 2^53 absent items does in QuickJS. Nothing inside the process could stop that.
//
// # Limits
//
// A [Guard] counts the processor time of the child: at the limit it asks the engine to stop, and
// ends the process when that takes more than a fifth of a second more. The clock of the parent is
// the backstop for a child that does not use its processor. [LimitMemory] bounds the memory of the
// process, for what an engine's own limit does not count. The engine itself limits what a program
// can reach: a child is an ordinary process with an empty environment. A child ignores interrupts,
// which a terminal sends to all processes of the program. Its parent ends it.
//
// # Threads
//
// A Pool is safe for concurrent use; a child serves one request at a time. Register is called from
// init functions; in a child it takes over the process.
package worker
