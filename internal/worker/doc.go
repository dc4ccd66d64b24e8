// Package worker keeps an engine that runs strangers' programs in processes of its
// own, which are this binary started again, so that one that hangs can be ended.
//
//	Pool.Do(task) ── length, JSON ──> child: run(task) under a Guard ──> Report
//	     └─ out of time, or the child ends itself: the next task gets a new one
//
// An engine is put here when code of its own can run for minutes without looking at
// a limit, as an indexOf over 2^53 absent items does in QuickJS: nothing inside the
// process could stop that.
//
// # Limits
//
// A [Guard] counts the processor time of the child: at the limit it asks the engine
// to stop, and ends the process when that takes more than a fifth of a second more. The
// clock of the parent is the backstop for a child that does not use its processor.
// [LimitMemory] bounds what the process takes, for what an engine's own limit does not
// count. What an engine may reach is its own to limit: a child is an ordinary process,
// with an empty environment. It ignores interrupts, which a terminal sends to all
// processes of the program: its parent says when it ends.
//
// # Threads
//
// A Pool is safe for concurrent use; a child serves one request at a time. Register
// is called from init functions, and takes the process over in a child.
package worker
