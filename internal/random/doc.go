// Package random has the random numbers of a run. Each is a function of the run's
// seed and of what it is for, and of nothing else: no generator has a state that a
// checkpoint would have to keep, and neither the order of work nor the machine can
// change a number.
//
//	(seed, stream, index) ── At ──> Rand: Uint64, Between, Chance
//	Purpose × stage ── Stream ──> stream
//
// A [Purpose] names a use. Two uses never share numbers, as each purpose and stage
// has a stream of its own. A purpose is never renumbered: that would change every
// run there is.
//
// Rand is not safe for concurrent use; make one for each element with [At].
//
// The generator is ChaCha8 (https://c2sp.org/chacha8rand), which gives the same
// numbers on every platform.
package random
