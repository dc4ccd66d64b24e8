// Package random has the random numbers of a run. Each is a function of the run's seed and of its
// purpose, and of nothing else. So no generator has a state that a checkpoint would have to keep,
// and neither the order of work nor the machine can change a number.
//
//	(seed, stream, index) ── At ──> Rand: Uint64, Between, Chance
//	Purpose × stage ── Stream ──> stream
//
// A [Purpose] names a use. Two uses never share numbers, since each purpose and stage has a stream
// of its own. Never renumber a purpose: that would change every existing run.
//
// Rand is not safe for concurrent use; make one for each element with [At].
//
// The generator is ChaCha8 (https://c2sp.org/chacha8rand), which gives the same
// numbers on every platform.
package random
